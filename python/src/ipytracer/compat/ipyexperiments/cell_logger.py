"""CellLogger: each cell's consumed, peaked and total memory, below the cell and as data.

The figures are the tracer's window of that cell: the same bytes as in its report. The GPU's figures are this process's
memory on the device, without other processes'.
"""

from __future__ import annotations

import datetime
import gc
import random
import sys

from ... import _words
from ..._named import NamedTuple
from .. import _cells, _figures, _gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._window import Figure, Window


class CellLoggerMemory(NamedTuple):
    """Bytes that a cell consumed, that it needed on top of that for a while, and that there are now; None where that is
    not known."""

    used_delta: int | None
    peaked_delta: int | None
    used_total: int | None


class CellLoggerTime(NamedTuple):
    """Seconds that the cell's code took."""

    time_delta: float


class CellLoggerData(NamedTuple):
    """CellLoggerMemory of the machine and of the GPU, and CellLoggerTime."""

    cpu: CellLoggerMemory
    gpu: CellLoggerMemory
    time: CellLoggerTime


_NOTHING = CellLoggerMemory(0, -1, -1)    # the GPU of a backend without one


def b2mb(x: float | None) -> int | None:
    """Return bytes in MB of 2**20, to the nearest; None stays None."""
    return None if x is None else _rounded(x)


def _rounded(x: float) -> int:
    x = int(x)
    return (abs(x) + (1 << 19) >> 20) * (1 if x >= 0 else -1)


def int2width(*n: int) -> int:
    """Return the width that the widest of some integers needs with commas."""
    longest = max(len(str(one)) for one in n)
    return longest + (longest - 1) // 3


def secs2time(secs: float) -> str:
    """Return seconds as "0:00:00.177"."""
    thousandths = int(secs * 1000 + 0.5)
    return "%s.%03d" % (datetime.timedelta(seconds=thousandths // 1000), thousandths % 1000)


def get_nvml_gpu_id(torch_gpu_id: int) -> int | None:
    """Return NVML's number of PyTorch's device; None where it is not known."""
    return _gpu.index_of(torch_gpu_id)


def cpu_ram_used() -> int | None:
    """Return the bytes that this process has resident now; None without a tracer."""
    return _figures.resident() if _figures.listens() else None


def set_seed(seed: int = 0) -> None:
    """Seed the random numbers of Python, and of NumPy and PyTorch where they are imported; 0 leaves them alone."""
    if seed == 0:
        return
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(seed)
        if torch.cuda.is_available():
            torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False


def written(n: int | None, width: int, mark: str = "") -> str:
    """Return bytes in MB for a table, or a dash. An ≈ is for behind the row: users' code reads its plain numbers."""
    mark = mark.replace(_words.ABOUT, "")
    return (mark + format(b2mb(n), ",d") if n is not None else "–").rjust(width)


def about(*marks: str) -> str:
    """Return an ≈ for behind a row with these marks, "" if none of its figures has one."""
    return " " + _words.ABOUT if _words.ABOUT in marks else ""


class CellLogger:
    """Prints a line or two below each cell between start() and stop(). data has the last cell's figures, window its
    Window."""

    def __init__(self, exp: Any = None, compact: bool = False, gc_collect: bool = True, set_seed: int = 0) -> None:
        self.backend = exp.backend if exp is not None else "cpu"
        self.gpu_current_device_id = getattr(exp, "gpu_current_device_id", -1)
        self.compact, self.gc_collect, self.set_seed = compact, gc_collect, set_seed
        self.window: Window | None = None
        self.data = CellLoggerData(CellLoggerMemory(0, 0, 0), CellLoggerMemory(0, 0, 0), CellLoggerTime(0))
        self._cells = _cells.Cells("CellLogger", self._after, self._before, self._settle)

    @property
    def running(self) -> bool:
        """Report whether cells are reported."""
        return self._cells.on

    def start(self) -> CellLogger:
        """Report the rest of this cell, and every later cell. Return the logger itself."""
        if self.gc_collect and not self.running:
            gc.collect()
        self._cells.start()
        return self

    def stop(self) -> None:
        """Report the part of this cell that has run, and no further cell."""
        self._cells.stop()

    def _before(self) -> None:
        set_seed(self.set_seed)

    def _settle(self) -> None:
        if self.gc_collect:
            gc.collect()
        if self.backend != "cpu":
            _gpu.clear_cache()

    def _after(self, cell: _cells.Cell) -> None:
        self.window = cell.window
        cpu, cpu_of = self._memory(_figures.RESIDENT)
        gpu, gpu_of = (_NOTHING, None) if self.backend == "cpu" else self._memory(_gpu.meter(self._device()))
        self.data = CellLoggerData(cpu, gpu, CellLoggerTime(cell.seconds))
        rows = [("CPU", cpu, cpu_of)] + ([] if self.backend == "cpu" else [("GPU", gpu, gpu_of)])
        print(_compact(rows, cell.seconds) if self.compact else _table(rows, cell.seconds))

    def _device(self) -> int:
        return self.gpu_current_device_id if self.gpu_current_device_id >= 0 else _gpu.current()

    def _memory(self, meter: str | None) -> tuple[CellLoggerMemory, Figure | None]:
        found = _figures.figure(self.window.meters, meter) if self.window is not None and meter is not None else None
        if found is None:
            return CellLoggerMemory(None, None, None), None
        return CellLoggerMemory(found.consumed, _figures.peaked(found), found.end), found


def _row(values: CellLoggerMemory, found: Figure | None, width: int, between: str) -> tuple[str, str]:
    """Return the memory of a row in MB, and the mark for behind it."""
    marks = [_figures.mark(found, quantity) for quantity in ("consumed", "peaked", "end")]
    return between.join(written(n, width, mark) for n, mark in zip(values, marks)), about(*marks)


def _compact(rows: list[tuple[str, CellLoggerMemory, Figure | None]], seconds: float) -> str:
    texts = [(name, *_row(values, found, 0, "/")) for name, values, found in rows]
    parts = ["%s: %s MB%s" % (name, text.replace(",", ""), mark) for name, text, mark in texts]
    return " | ".join(parts + ["Time " + secs2time(seconds), "(Consumed/Peaked/Used Total)"])


def _table(rows: list[tuple[str, CellLoggerMemory, Figure | None]], seconds: float) -> str:
    known = [_rounded(n) for _, values, _ in rows for n in values if n is not None]
    width = max(10, int2width(*known) + 1 if known else 0)
    lines = [
        "･ RAM: %s %s    %s | Exec time %s"
        % ("△Consumed".rjust(width), "△Peaked".rjust(width), "Used Total".rjust(width), secs2time(seconds))
    ]
    lines += ["･ %s: %s MB |%s" % (name, *_row(values, found, width, " ")) for name, values, found in rows]
    return "\n".join(lines)
