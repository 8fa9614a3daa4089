"""fastai 1's utils.mem, utils.ipython and its callbacks of memory.

The queries are about the device and all processes, from NVML, in whole MB. GPUMemTrace and the callbacks measure this
process's own memory, from the tracer, so it includes no other process's.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings

from . import _figures, _gpu
from ._tracebacks import IS_IN_IPYTHON, clear_frames_ctx, clears_frames, is_in_ipython, release
from .fastai_callbacks import CpuPeakMemMetric, PeakMemMetric
from .ipyexperiments.utils.mem import b2mb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .._window import Figure, Window

    _Function = TypeVar("_Function", bound=Callable[..., Any])

GPUMemory = _gpu.GPUMemory

__all__ = [
    "CpuPeakMemMetric",
    "GPUMemTrace",
    "GPUMemory",
    "IS_IN_IPYTHON",
    "PeakMemMetric",
    "b2mb",
    "get_ref_free_exc_info",
    "gpu_mem_get",
    "gpu_mem_get_all",
    "gpu_mem_get_free",
    "gpu_mem_get_free_no_cache",
    "gpu_mem_get_used",
    "gpu_mem_get_used_fast",
    "gpu_mem_get_used_no_cache",
    "gpu_mem_restore",
    "gpu_mem_restore_ctx",
    "gpu_mem_trace",
    "gpu_with_max_free_mem",
    "is_in_ipython",
    "preload_pytorch",
    "reduce_mem_usage",
]

_HOPELESS = "device-side assert triggered"


def preload_pytorch() -> None:
    """Have PyTorch make CUDA's context, which takes memory that is never given back."""
    import torch
    torch.ones((1, 1)).cuda()


def _of(index: int | None) -> GPUMemory:
    found = _gpu.memory(index) if index is not None else None
    return GPUMemory(0, 0, 0) if found is None else GPUMemory(*map(b2mb, found))


def gpu_mem_get(id: int | None = None) -> GPUMemory:
    """Return GPUMemory of a device as CUDA numbers it in this process, by default PyTorch's current one; zeros where
    there is none."""
    return _of(_gpu.index_of(_gpu.current() if id is None else id))


def gpu_mem_get_all() -> list[GPUMemory]:
    """Return GPUMemory of each device that this process sees, as CUDA numbers them, or without CUDA of each that there
    is."""
    torch = _gpu.torch()
    if torch is None:
        return [_of(index) for index in range(_gpu.count())]
    return [gpu_mem_get(ordinal) for ordinal in range(torch.cuda.device_count())]


def gpu_mem_get_free() -> int:
    """Return the free memory of the current device."""
    return gpu_mem_get().free


def gpu_mem_get_free_no_cache() -> int:
    """Return its free memory after PyTorch has given its cache back."""
    _gpu.clear_cache()
    return gpu_mem_get().free


def gpu_mem_get_used() -> int:
    """Return its used memory, by all processes."""
    return gpu_mem_get().used


def gpu_mem_get_used_fast(gpu_handle: Any = None) -> int:
    """Return its used memory. gpu_handle: pynvml's, for another device."""
    if gpu_handle is None:
        return gpu_mem_get().used
    import pynvml
    return b2mb(pynvml.nvmlDeviceGetMemoryInfo(gpu_handle).used)


def gpu_mem_get_used_no_cache() -> int:
    """Return its used memory after PyTorch has given its cache back."""
    _gpu.clear_cache()
    return gpu_mem_get().used


def gpu_with_max_free_mem() -> tuple[int | None, int]:
    """Return (id, free MB) of the first device with most free memory; (None, 0) where there is none."""
    every = gpu_mem_get_all()
    if not every:
        return None, 0
    best = max(range(len(every)), key=lambda i: every[i].free)
    return best, every[best].free


class GPUMemTrace:
    """The memory that this process takes on the current device, and its peak, between start() and stop(), in MB; None
    without a tracer."""

    def __init__(self, silent: bool = False, ctx: object = None, on_exit_report: bool = True) -> None:
        self.silent, self.ctx, self.on_exit_report = silent, ctx, on_exit_report
        self.window: Window | None = None           # the Window up to the last data(), report() or stop()
        self.is_running = False
        self._stretch: _figures.Stretch | None = None
        self.start()

    def start(self) -> None:
        """Begin, with nothing used."""
        self.is_running = True
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        _gpu.clear_cache()
        _figures.listens()
        if self._stretch is not None:
            self._stretch.end(tell=False)
        self._meter = _gpu.meter()
        self._stretch = _figures.Stretch("GPUMemTrace" if self.ctx is None else "GPUMemTrace %s" % self.ctx)

    def data(self) -> tuple[int | None, int | None]:
        """Return (used, peaked): the MB more than at the start, and the MB needed on top of that for a while."""
        if self.is_running and self._stretch is not None:
            _gpu.clear_cache()
            self.window = self._stretch.window()
        return self._deltas()

    def _deltas(self) -> tuple[int | None, int | None]:
        found = self._figure()
        return (None, None) if found is None else (_mb(found.consumed), _mb(_figures.peaked(found)))

    def _figure(self) -> Figure | None:
        if self.window is None or self._meter is None:
            return None
        return _figures.figure(self.window.meters, self._meter)

    def stop(self) -> None:
        """End."""
        if self.is_running:
            self.is_running = False
            _gpu.clear_cache()
            self.window = self._stretch.end() if self._stretch is not None else None

    def __enter__(self) -> GPUMemTrace:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.on_exit_report:
            self.report("exit")

    def __del__(self) -> None:
        if getattr(self, "is_running", False) and self._stretch is not None and not sys.is_finalizing():
            self._stretch.end(tell=False)

    def __repr__(self) -> str:
        used, peaked = self.data()
        found = self._figure()
        marks = _figures.mark(found, "consumed"), _figures.mark(found, "peaked")
        return "△Used Peaked MB: %s %s" % (_wide(used, marks[0]), _wide(peaked, marks[1]))

    def report(self, subctx: object = None) -> None:
        """Print used and peaked, with the known contexts."""
        if not self.silent:
            known = [str(c) for c in (self.ctx, subctx) if c is not None]
            print("%r%s" % (self, " (%s)" % ": ".join(known) if known else ""))

    def report_n_reset(self, subctx: object = None) -> None:
        """Print used and peaked, and begin anew."""
        self.report(subctx)
        self.reset()


def _mb(n: int) -> int:
    """Return bytes in MB, to the nearest."""
    return (abs(n) + (1 << 19) >> 20) * (1 if n >= 0 else -1)


def _wide(n: int | None, mark: str) -> str:
    return ("–" if n is None else mark + format(n, ",d")).rjust(6)


def gpu_mem_trace(func: _Function) -> _Function:
    """Decorator: each call is traced and reported."""
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with GPUMemTrace(ctx=func.__qualname__, on_exit_report=True):
            return func(*args, **kwargs)
    made: Any = wrapper
    result: _Function = made
    return result


def get_ref_free_exc_info() -> tuple[Any, Any, Any]:
    """Return sys.exc_info() of the handled exception, with its frames' variables released."""
    kind, error, traceback = sys.exc_info()
    release(error)
    return kind, error, traceback


def _is_for_memory(error: BaseException) -> bool:
    """Report whether to release the frames of an exception, by the environment variable FASTAI_TB_CLEAR_FRAMES: 0
    never, 1 always, else if it is about CUDA's memory."""
    asked = os.environ.get("FASTAI_TB_CLEAR_FRAMES")
    if not is_in_ipython() or asked == "0":
        return False
    text = str(error)
    if _HOPELESS in text:
        warnings.warn(
            "After a failed assertion on the device nothing works until the kernel is restarted; "
            "set CUDA_LAUNCH_BLOCKING=1 before to see where",
            stacklevel=2,
        )
    return asked == "1" or _HOPELESS in text or "CUDA out of memory" in text


def gpu_mem_restore(func: _Function) -> _Function:
    """Decorator: when memory of the GPU runs out in IPython, the traceback keeps none of it."""
    return clears_frames(func, _is_for_memory)


class gpu_mem_restore_ctx(clear_frames_ctx):
    """A context manager: exceptions raised in it keep no memory."""


def reduce_mem_usage(df: Any) -> Any:
    """Give a DataFrame's columns smaller types that hold the same values: integers exactly, floats as float32 where
    their range allows (that rounds them), text as categories. It changes df, prints the savings, and returns df."""
    import numpy
    before = int(df.memory_usage().sum())
    print("Memory usage of dataframe is %.2f MB" % (before / 2**20))
    for name in df.columns:
        column = df[name]
        if column.dtype == object:
            df[name] = column.astype("category")
        elif column.dtype.kind in "if" and len(column) and not column.isna().all():
            low, high = column.min(), column.max()
            info = numpy.iinfo if column.dtype.kind == "i" else numpy.finfo
            sizes = (
                (numpy.int8, numpy.int16, numpy.int32, numpy.int64) if column.dtype.kind == "i" else (numpy.float32,)
            )
            fits = [
                t
                for t in sizes
                if info(t).min <= low and high <= info(t).max and numpy.dtype(t).itemsize < column.dtype.itemsize
            ]
            if fits:
                df[name] = column.astype(fits[0])
    after = int(df.memory_usage().sum())
    print("Memory usage after optimization is: %.2f MB" % (after / 2**20))
    print("Decreased by %.1f%%" % (100 * (before - after) / before if before else 0))
    return df
