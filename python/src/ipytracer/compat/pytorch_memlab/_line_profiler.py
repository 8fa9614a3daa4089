"""LineProfiler: each execution of a line is a window of the tracer's, and its peak that window's. Each costs one
request to the tracer."""

from __future__ import annotations

import inspect
import re
import sys
import warnings

from .. import _figures, _gpu
from . import _events
from ._display import Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FrameType
    from typing import Any, TextIO

    from ..._types import Figures

DEFAULT_COLUMNS = ("active_bytes.all.peak", "reserved_bytes.all.peak")
# executions of lines that one profiler measures; of later ones it only says that there were more
MOST = 10_000

_TRIES = 5         # requests for a window: a busy machine may take its time

# Columns are three words: one of these, "all", and one of FIELDS. Those of a GPU are of the target.
_OF_GPU = {
    "active_bytes": "active",
    "allocated_bytes": "active",
    "reserved_bytes": "reserved",
    "driver_bytes": "driver",
}
_OF_CPU = {
    "resident_bytes": "cpu.resident",
    "mapped_bytes": "cpu.mapped",
    "numpy_bytes": "cpu.numpy",
    "torch_bytes": "cpu.torch",
}
_FIELDS = ("current", "peak")
COLUMNS = tuple("%s.all.%s" % (name, field) for name in (*_OF_GPU, *_OF_CPU) for field in _FIELDS)
# Columns of torch.cuda.memory_stats() that are not known here, and the reason in a sentence.
_PYTORCHS = re.compile(
    r"(?:allocation|segment|active|inactive_split|(?:allocated|reserved|active|inactive_split|requested)_bytes)"
    r"\.(?:all|small_pool|large_pool)\.(?:current|peak|allocated|freed)"
)
NOT_COUNTED = (
    "of PyTorch's own statistics the tracer counts bytes that are active, allocated and reserved, now and at their "
    "peak, in all pools "
    "together; neither blocks and segments, nor single pools, nor what was allocated and freed in sum"
)
CPU_COLUMNS = ("resident_bytes.all.peak", "torch_bytes.all.peak", "numpy_bytes.all.peak")


class Function:
    """A profiled function with the figures of its lines. lines: {number: {column: (bytes, mark)}}, the most of all
    executions."""

    def __init__(self, func: Any, code: CodeType) -> None:
        self.func, self.code, self.name = func, code, func.__qualname__
        self.lines: dict[int, dict[str, tuple[int, str]]] = {}
        self.unmeasured: set[int] = set()

    def add(self, number: int, meters: Figures, target: int | None) -> None:
        """Take in that an execution of a line has ended."""
        row = self.lines.setdefault(number, {})
        for names, prefix in ((_OF_GPU, "gpu.%d." % target if target is not None else None), (_OF_CPU, "")):
            for name, meter in names.items():
                found = _figures.figure(meters, prefix + meter) if prefix is not None else None
                if found is None:
                    continue
                for field, value in (("current", found.end), ("peak", found.peak)):
                    column = "%s.all.%s" % (name, field)
                    if column not in row or row[column][0] < value:
                        row[column] = value, _figures.mark(found, field)


class LineProfiler:
    """Profiles functions line by line between enable() and disable(), or in a with block; display() shows it."""

    def __init__(self, *functions: Any, target_gpu: Any = 0) -> None:
        self.target_gpu = target_gpu
        self.enabled = False
        self._functions: dict[CodeType, Function] = {}       # code: Function
        self._running: dict[int, tuple[int, _figures.Stretch | None]] = {}         # id of a frame: (line, Stretch)
        self._left = MOST
        self._has_gpu = False
        for func in functions:
            self.add_function(func)

    def add_function(self, func: Any) -> None:
        """Profile a function, too. One without Python code is left out, with a warning."""
        func = inspect.unwrap(func) if callable(func) else func
        func = getattr(func, "__func__", func)
        code = getattr(func, "__code__", None)
        if code is None:
            warnings.warn("%r is no function written in Python, so it has no lines" % (func,), stacklevel=2)
            return
        if code not in self._functions:
            self._functions[code] = Function(func, code)
        if self.enabled:
            _events.refresh()

    def enable(self) -> None:
        """Begin. Without a tracer nothing is collected."""
        if self.enabled or not _figures.listens():
            return
        _gpu.clear_cache()
        self.enabled = True
        _events.listen(self)

    def disable(self) -> None:
        """End."""
        if not self.enabled:
            return
        self.enabled = False
        _events.ignore(self)
        for _, stretch in self._running.values():
            if stretch is not None:
                stretch.end(tell=False)
        self._running.clear()

    def clear(self) -> None:
        """Forget the functions and their figures."""
        self._functions, self._left = {}, MOST
        _events.refresh()

    def __enter__(self) -> LineProfiler:
        self.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self.disable()

    # ---- calls from _events

    def wants(self, code: CodeType) -> bool:
        """Report whether that code is profiled."""
        return code in self._functions

    def codes(self) -> list[CodeType]:
        """Return the codes that are profiled."""
        return list(self._functions)

    def enter(self, frame: FrameType) -> None:
        """Take in that a function is called, or resumed."""
        self._begin(frame, frame.f_lineno)

    def line(self, frame: FrameType, number: int) -> None:
        """Take in that a line begins."""
        self._end(frame)
        self._begin(frame, number)

    def leave(self, frame: FrameType) -> None:
        """Take in that a function returns, raises or yields."""
        self._end(frame)

    def _begin(self, frame: FrameType, number: int) -> None:
        stretch = None
        if self._left > 0:
            self._left -= 1
            stretch = _figures.Stretch("%.40s line %d" % (self._functions[frame.f_code].name, number))
        self._running[id(frame)] = number, stretch

    def _end(self, frame: FrameType) -> None:
        number, stretch = self._running.pop(id(frame), (0, None))
        function = self._functions.get(frame.f_code)
        if not number or function is None:
            return
        window = stretch.end(tries=_TRIES) if stretch is not None else None
        if window is None:
            function.unmeasured.add(number)
            return
        self._has_gpu = self._has_gpu or any(meter.startswith("gpu.") for meter in window.meters)
        function.add(number, window.meters, _gpu.index_of(_ordinal(self.target_gpu)))

    # ---- results

    def display(self, func: Any = None, columns: Iterable[str] = DEFAULT_COLUMNS) -> Records:
        """Return the results as text and as HTML: of all functions, or of one, given as such or by its name. Raise
        ValueError for unknown columns."""
        columns = tuple(columns)
        for column in columns:
            if len(column.split(".")) != 3:
                raise ValueError("Each column name should have three dot-separated parts, not %r" % column)
            if column not in COLUMNS:
                why = "is not counted: %s" % NOT_COUNTED if _PYTORCHS.fullmatch(column) else "is no column"
                raise ValueError("%r %s. Options are: %s" % (column, why, ", ".join(COLUMNS)))
        if columns == DEFAULT_COLUMNS and not self._has_gpu:
            columns = CPU_COLUMNS
        names = None
        if func is not None:
            names = {
                getattr(inspect.unwrap(one), "__qualname__", one)
                for one in (func if isinstance(func, (list, tuple)) else [func])
            }
        return Records([f for f in self._functions.values() if f.lines and (names is None or f.name in names)], columns)

    def print_stats(
        self, func: Any = None, columns: Iterable[str] = DEFAULT_COLUMNS, stream: TextIO | None = None
    ) -> None:
        """Write the text of display() to a stream, by default standard output."""
        (stream or sys.stdout).write(str(self.display(func, columns)))


def _ordinal(device: Any) -> int:
    """Return CUDA's number of a device, given as such, as text such as "cuda:1", or as torch.device."""
    index = getattr(device, "index", device)
    if isinstance(index, str) or not isinstance(index, int):
        digits = str(device).rpartition(":")[2]
        return int(digits) if digits.isdigit() else _gpu.current()
    return int(index)
