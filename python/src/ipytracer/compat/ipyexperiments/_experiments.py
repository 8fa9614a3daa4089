"""IPyExperimentsCPU and IPyExperimentsPytorch, and the classes to derive others from."""

from __future__ import annotations

import gc
import os
import sys
import time

from ..._named import NamedTuple
from .. import _cells, _figures, _gpu
from . import _names, _report
from .cell_logger import CellLogger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._window import Figure, Window


class IPyExperimentMemory(NamedTuple):
    """Bytes that an experiment has taken, that came back at its end, and that are left; None where that is not
    known."""

    consumed: int | None
    reclaimed: int | None
    available: int | None


class IPyExperimentData(NamedTuple):
    """IPyExperimentMemory of the machine and of the GPU."""

    cpu: IPyExperimentMemory
    gpu: IPyExperimentMemory


class IPyExperiments:
    """The common part of all backends. Arguments: exp_enable (the experiment), cl_enable (figures below each cell), and
    the cell logger's cl_compact, cl_gc_collect and cl_set_seed."""

    backend: str | None = None
    has_gpu = False
    gpu_current_device_id = -1

    def __init__(
        self,
        exp_enable: bool = True,
        cl_enable: bool = True,
        cl_compact: bool = False,
        cl_gc_collect: bool = True,
        cl_set_seed: int = 0,
    ) -> None:
        self.running = False
        self._of = os.getpid()
        self.enable, self.cl_enable = exp_enable, cl_enable
        self.cl: CellLogger | None = None
        self.cl_kwargs: dict[str, Any] = dict(compact=cl_compact, gc_collect=cl_gc_collect, set_seed=cl_set_seed)
        self.var_names_keep: list[str] = []
        self.window: Window | None = None           # set once the experiment has ended
        self._stretch: _figures.Stretch | None = None
        self._final: IPyExperimentData | None = None
        if self.enable:
            self._shell = _cells.shell()
            self.var_names_start = self.get_var_names()
            self._began = time.monotonic()

    # ---- defined by custom backends

    def backend_init(self) -> None:
        """Prepare the backend. Nothing here."""

    def cpu_ram(self) -> tuple[int | None, int | None, int | None]:
        """Return (total, available, used) bytes."""
        return self.cpu_ram_total(), self.cpu_ram_avail(), self.cpu_ram_used()

    def cpu_ram_total(self) -> int | None:
        """Return the bytes of the machine, or of the container."""
        return 0

    def cpu_ram_avail(self) -> int | None:
        """Return the bytes of it that are left."""
        return 0

    def cpu_ram_used(self) -> int | None:
        """Return the bytes that this process has resident."""
        return 0

    def gpu_ram(self) -> tuple[int | None, int | None, int | None]:
        """Return (total, free, used) bytes of the device."""
        return 0, 0, 0

    def gpu_ram_avail(self) -> int | None:
        """Return the bytes that are free on the device."""
        return self.gpu_ram()[1]

    def gpu_ram_used(self) -> int | None:
        """Return the bytes that this process has on the device."""
        return 0

    def gpu_ram_used_fast(self, gpu_handle: Any = None) -> int | None:
        """Return the same as gpu_ram_used, without emptying PyTorch's cache; a handle is not needed."""
        return self.gpu_ram_used()

    def gpu_clear_cache(self) -> None:
        """Have the framework give back the memory that it keeps."""

    # ---- begin and end

    def start(self) -> None:
        """Begin; the constructors of the backends call it."""
        gc.collect()
        self.gpu_clear_cache()
        self.running = True
        if self.enable:
            _figures.listens()
            self._stretch = _figures.Stretch(type(self).__name__)
            self._used = self._now()
            self.print_state()
            print("\n")
        if self.cl_enable:
            self.cl = CellLogger(exp=self, **self.cl_kwargs)
            self.cl.start()

    def finish(self) -> IPyExperimentData | None:
        """End: delete the new names, measure the memory that came back, print it. Return IPyExperimentData; None where
        only cells were reported."""
        if not self.running:
            return self._final
        self.running = False
        if self.cl is not None:
            self.cl.stop()
            self.cl = None
        if not self.enable:
            return None
        print("\n%s: Finishing" % type(self).__name__)
        print(
            "\n*** Experiment finished in %s (elapsed wallclock time)" % _report.elapsed(time.monotonic() - self._began)
        )
        before = self._now()
        gone = _names.delete(
            self._shell, self.get_var_names() - self.var_names_start - set(self.var_names_keep), IPyExperiments
        )
        collected = gc.collect()
        self.gpu_clear_cache()
        after = self._now()
        self.window = self._stretch.end() if self._stretch is not None else None
        consumed = [_figures.difference(a, b) for a, b in zip(before, self._used)]
        reclaimed = [_figures.difference(a, b) for a, b in zip(before, after)]
        _report.names(gone, self.var_names_keep)
        _report.collected(collected, len(gc.garbage))
        _report.memory(consumed, reclaimed, self.has_gpu, self.window)
        self.print_state()
        print("\n")
        self._final = self._as_data(consumed, reclaimed)
        return self._final

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def __del__(self) -> None:
        # A forked child has a copy of the name, but the experiment belongs to its parent.
        if getattr(self, "running", False) and self._of == os.getpid() and not sys.is_finalizing():
            self.finish()

    # ---- figures

    def keep_var_names(self, *args: str) -> None:
        """Keep variables at the end, by their names. Raise ValueError for an invalid name."""
        for name in args:
            if not isinstance(name, str):
                raise ValueError("expecting variable names as strings")
        self.var_names_keep.extend(args)

    def get_var_names(self) -> set[str]:
        """Return the names that the user has defined so far, as a set."""
        return _names.listed(self._shell)

    @property
    def data(self) -> IPyExperimentData | None:
        """Return IPyExperimentData up to now; after the end, its result."""
        if not self.enable or self._final is not None:
            return self._final
        return self._as_data([_figures.difference(a, b) for a, b in zip(self._now(), self._used)], (0, 0))

    def _now(self) -> tuple[int | None, int | None]:
        return self.cpu_ram_used(), self.gpu_ram_used() if self.has_gpu else 0

    def _as_data(self, consumed: Sequence[int | None], reclaimed: Sequence[int | None]) -> IPyExperimentData:
        gpu = (
            IPyExperimentMemory(consumed[1], reclaimed[1], self.gpu_ram_avail())
            if self.has_gpu
            else IPyExperimentMemory(0, 0, 0)
        )
        return IPyExperimentData(IPyExperimentMemory(consumed[0], reclaimed[0], self.cpu_ram_avail()), gpu)

    def print_state(self) -> None:
        """Print used, free and total memory."""
        rows = [("CPU", *self.cpu_ram())]
        if self.has_gpu:
            rows.append(("GPU", *self.gpu_ram()))
        _report.state(rows)


class IPyExperimentsCPU(IPyExperiments):
    """An experiment without a GPU."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backend = "cpu"
        if type(self) is IPyExperimentsCPU:
            self.backend_init()
            self.start()

    def backend_init(self) -> None:
        """Print that it starts."""
        super().backend_init()
        if type(self) is IPyExperimentsCPU:
            print("\n*** Experiment started with the CPU-only backend\n")

    def cpu_ram_total(self) -> int | None:
        """Return the bytes of the machine, or of the container; None where the kernel does not report them."""
        return _figures.machine()[0]

    def cpu_ram_avail(self) -> int | None:
        """Return the bytes of it that are left; None where the kernel does not report them."""
        return _figures.machine()[1]

    def cpu_ram_used(self) -> int | None:
        """Return the bytes that this process has resident; None without a tracer."""
        found = self._of_stretch(_figures.RESIDENT)
        return found.end if found is not None else None

    def _of_stretch(self, meter: str | None) -> Figure | None:
        """Return the Figure of a meter up to now."""
        window = self._stretch.window() if self._stretch is not None else None
        return (
            _figures.figure(window.meters if window is not None else _figures.now(), meter)
            if meter is not None
            else None
        )


class IPyExperimentsGPU(IPyExperimentsCPU):
    """A base class for backends: the figures of the device with the number gpu_current_device_id in this process."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backend, self.has_gpu = "gpu-generic", True

    def gpu_ram(self) -> tuple[int | None, int | None, int | None]:
        """Return (total, free, used) bytes of the device, of all processes; None each where there is no NVML."""
        self.gpu_clear_cache()
        index = _gpu.index_of(self.gpu_current_device_id)
        found = _gpu.memory(index) if index is not None else None
        return (found.total, found.free, found.used) if found is not None else (None, None, None)

    def gpu_ram_used(self) -> int | None:
        """Return the bytes that this process has on the device; None without a tracer."""
        self.gpu_clear_cache()
        return self.gpu_ram_used_fast()

    def gpu_ram_used_fast(self, gpu_handle: Any = None) -> int | None:
        """Return the same as gpu_ram_used, without emptying PyTorch's cache; a handle is not needed."""
        found = self._of_stretch(_gpu.meter(self.gpu_current_device_id))
        return found.end if found is not None else None


class IPyExperimentsPytorch(IPyExperimentsGPU):
    """An experiment with PyTorch's current device. Raises RuntimeError where PyTorch has none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.backend = "pytorch"
        if type(self) is IPyExperimentsPytorch:
            self.backend_init()
            self.start()

    def backend_init(self) -> None:
        """Make CUDA's context, so that it is in no experiment's figures, and print the device."""
        super().backend_init()
        import torch
        if not torch.cuda.is_available():
            raise RuntimeError("torch.cuda.is_available() returns False; use IPyExperimentsCPU")
        print("\n*** Experiment started with the Pytorch backend")
        self.torch = torch
        self.gpu_current_device_id = torch.cuda.current_device()
        torch.ones((1, 1)).to(self.gpu_current_device_id)
        total = self.gpu_ram()[0]
        print(
            "Device: ID %d, %s (%s RAM)\n"
            % (
                self.gpu_current_device_id,
                torch.cuda.get_device_name(self.gpu_current_device_id),
                "–" if total is None else (total + (1 << 19)) >> 20,
            )
        )

    def gpu_clear_cache(self) -> None:
        """Call torch.cuda.empty_cache()."""
        _gpu.clear_cache()
