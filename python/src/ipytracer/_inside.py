"""Windows that this process measures itself, where no tracer listens: cells, experiments and the session, with the
meters of _inside_meters.py. They are asked for like those of a tracer, by the same questions, and have the same
names.

Every begin and end of a window is a boundary: all meters are read, and the peak since the boundary before counts for
each window that is open. So nested and overlapping windows have their own peaks.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque

from . import _asking, _room
from ._counts import COUNTS, OFF, ON, WORDS
from ._counts_facts import Unable
from ._counts_torch import TENSORS
from ._inside_meters import Meters
from ._packets import Certificate, Hello
from ._window import Figure, Lines, Window, Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._inside_meters import Reading

VARIABLE = "IPYTRACER_INSIDE"      # off: without a tracer there are no figures
_MOST_KEPT = 2000                  # windows that have ended
_MOST_OPEN = 100                   # experiments
_MOST_SOURCE = 65536               # characters
ONLY_OUTSIDE = "only a tracer outside can say that"
PROBLEMS = (
    "no tracer measured: figures are read inside the process, at the ends of windows",
    "memory of child processes, and who allocated, is not known",
)


class _Course:
    """One meter in an open window."""

    __slots__ = ("start", "end", "low", "high", "off")

    def __init__(self, start: int) -> None:
        self.start = self.end = self.low = start
        self.high: int | None = start
        self.off: int | None = 0

    def cut(self, r: Reading) -> None:
        """Take in the stretch up to a boundary."""
        self.end, self.low = r.now, max(self.low, r.low)
        self.high = None if self.high is None or r.high is None else max(self.high, r.high)
        self.off = None if self.off is None or r.off is None else max(self.off, r.off)

    def figure(self) -> Figure:
        """Return the window's figure."""
        peak = max(self.low, self.start, self.end)
        bound = None if self.high is None or self.off is None else max(self.high, peak) - peak + self.off
        return Figure(
            self.start, peak, self.end, self.end - self.start, peak - max(self.start, self.end), bound == 0, bound
        )


class _Open:
    """A window that is open."""

    def __init__(self, data: dict[str, Any], readings: dict[str, Reading]) -> None:
        self.data, self.began, self.cpu = data, time.monotonic_ns(), time.process_time_ns()
        self.courses = {meter: _Course(r.now) for meter, r in readings.items()}

    def cut(self, readings: dict[str, Reading]) -> None:
        """Take in the stretch up to a boundary. A meter that is read for the first time was 0 before."""
        for meter, r in readings.items():
            if meter not in self.courses:
                self.courses[meter] = _Course(0)
            self.courses[meter].cut(r)
        for meter in self.courses.keys() - readings.keys():      # it is not read any more
            self.courses[meter].high = self.courses[meter].off = None

    def window(self) -> Window:
        """Return the window as it is now."""
        figures = {meter: course.figure() for meter, course in self.courses.items()}
        data = dict(
            self.data,
            duration_ns=time.monotonic_ns() - self.began,
            cpu_ns=time.process_time_ns() - self.cpu,
            meters={meter: f._asdict() for meter, f in figures.items()},
        )
        return Window(data, figures, {}, (), {})


class Inside:
    """The windows of this process."""

    def __init__(self) -> None:
        self.on = os.environ.get(VARIABLE, "").lower() not in ("off", "0", "no")
        self.said = False                     # the user knows that figures are read inside
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self.meters = Meters()
        self.newest: Window | None = None     # the last cell that does not only ask
        self.started = ""                     # when the session began, RFC 3339
        self._pid = os.getpid()
        self._session: _Open | None = None
        self._cell: _Open | None = None
        self._info: Any = None                # of the cell that is open, or has just been closed by a marker
        self._open: list[_Open] = []          # experiments, in the order of their begins
        self._ended: deque[Window] = deque(maxlen=_MOST_KEPT)
        self._told = 0                        # the id of the last window in an answer about cells
        self._next, self._execution = 1, 0
        self.sources: dict[str, str] = {}     # of each meter

    def begin(self) -> None:
        """Begin the session, unless it has begun. A forked child has one of its own."""
        with self._lock:
            if self._pid != os.getpid():
                self._clear()
            if self._session is None and self.on:
                self._zero = time.monotonic_ns()
                self.started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                self._session = _Open(self._data("session"), self._read())

    def end(self) -> None:
        """Forget everything: a tracer listens now, or the extension is unloaded."""
        with self._lock:
            self._clear()

    def measures(self) -> bool:
        """Report whether windows are measured here."""
        return self._session is not None and self._pid == os.getpid()

    def _read(self) -> dict[str, Reading]:
        readings = self.meters.read()
        self.sources.update((meter, r.source) for meter, r in readings.items())
        return readings

    def _boundary(self) -> dict[str, Reading]:
        """Read all meters, for every open window."""
        readings = self._read()
        for one in (self._session, self._cell, *self._open):
            if one is not None:
                one.cut(readings)
        return readings

    def _data(self, kind: str, **more: Any) -> dict[str, Any]:
        number, self._next = self._next, self._next + 1
        parent = 0
        if kind != "session" and self._session is not None:
            parent = (self._cell or self._session).data["id"]
        return dict(
            {
                "id": number,
                "parent": parent,
                "kind": kind,
                "pid": self._pid,
                "execution": 0,
                "execution_count": None,
                "silent": False,
                "name": "",
                "line": 0,
                "source": "",
                "source_truncated": False,
                "status": "ok",
                "start_ns": time.monotonic_ns() - self._zero,
                "children": [],
            },
            **more,
        )

    def _close(self, one: _Open, **more: Any) -> Window:
        one.data.update(more)
        window = one.window()
        self._ended.append(window)
        return window

    # ---- cells

    def cell_begins(self, info: Any, count: int | None) -> None:
        """Take in that a cell begins. info: its ExecutionInfo; count: its In[N], None where it has none. Both hooks
        of a cell may call this, and a cell within another one is part of it."""
        self.begin()
        with self._lock:
            if not self.measures() or self._cell is not None and self._info is info:
                return
            COUNTS.arm()
            if self._cell is not None:
                return
            source = getattr(info, "raw_cell", None)
            source = source if isinstance(source, str) else ""
            self._execution += 1
            self._info = info
            silent = bool(getattr(info, "silent", False)) or count is None
            readings = self._boundary()
            self._cell = _Open(
                self._data(
                    "cell", execution=self._execution, execution_count=None if silent else count, silent=silent,
                    source=source[:_MOST_SOURCE], source_truncated=len(source) > _MOST_SOURCE,
                ),
                readings,
            )

    def cell_ends(self, info: Any = None, count: int | None = None, error: BaseException | None = None) -> None:
        """Take in that a cell has ended, unless another hook has ended it before, or it is within another one. count:
        its In[N], which some versions of IPython have raised before a cell begins."""
        with self._lock:
            if not self.measures() or self._cell is None or info is not None and info is not self._info:
                return
            status = "ok"
            if error is not None:
                status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            self._boundary()
            cell, self._cell = self._cell, None
            more: dict[str, Any] = {"error": type(error).__name__[:200]} if error is not None else {}
            if count is not None and not cell.data["silent"]:
                more["execution_count"] = count
            window = self._close(cell, status=status, **more)
            if not window.silent and not _asking.asks(window):
                self.newest = window

    # ---- markers and questions, as of a tracer's line

    def mark(self, text: str) -> None:
        """Take in a marker: "begin NAME", "end NAME"; others mean nothing here."""
        word, _, name = text.partition(" ")
        if word not in ("begin", "end") or not name:
            return
        self.begin()
        with self._lock:
            if not self.measures():
                return
            COUNTS.arm()
            if word == "begin":
                if len(self._open) < _MOST_OPEN:
                    readings = self._boundary()
                    self._open.append(_Open(self._data("experiment", name=name), readings))
                return
            mine = [one for one in self._open if one.data["name"] == name]
            if mine:
                self._boundary()
                self._open.remove(mine[-1])
                self._close(mine[-1])

    def ask(self, what: str, **more: Any) -> Any:
        """Answer a question of the line (_packets.READERS): with windows, with no lines, or with a sentence that says
        who could answer."""
        with self._lock:
            if not self.measures():
                return None
            if what == "certificate":
                return Certificate(False, PROBLEMS)
            if what == "lines":
                return Lines()
            answers: dict[str, Callable[..., Windows]] = {
                "cell": self._new_cells, "cells": self._cells, "running": self._running,
                "experiment": self._experiments, "experiments": self._experiments,
            }
            return answers[what](**more) if what in answers else ONLY_OUTSIDE

    def _new_cells(self) -> Windows:
        """Return the cells that have ended since this was last asked."""
        found = [w for w in self._ended if w.kind == "cell" and w.id > self._told]
        self._told = max([w.id for w in found], default=self._told)
        return Windows(found)

    def _cells(self, after: int = 0, limit: int = 0) -> Windows:
        found = [w for w in self._ended if w.kind == "cell" and w.id > after]
        return Windows(found[:limit] if limit else found)

    def _running(self) -> Windows:
        self._boundary()
        found = [one.window() for one in (self._session, self._cell, *self._open) if one is not None]
        return Windows(sorted(found, key=lambda w: w.id))

    def _experiments(self, name: str = "", **_: Any) -> Windows:
        return Windows(w for w in self._ended if w.kind == "experiment" and (not name or w.name == name))

    def count(self, word: str) -> str:
        """Carry out a word of %tracer counts: on and off for NumPy's arrays and PyTorch's tensors on the CPU, gpu for
        peaks of each window by PyTorch's statistics, which begin anew then; "" changes nothing. Return a sentence, or
        raise ValueError with the words that there are."""
        if word == "on":
            try:
                with self._lock:
                    COUNTS.begin()
                    TENSORS.begin()
            except Unable as e:
                return str(e)
        elif word == "off":
            COUNTS.off()
            TENSORS.off()
        elif word == "gpu":
            self.meters.resets_gpu = True
            return "at each begin and end of a cell, PyTorch's peaks of GPU memory begin anew (reset_peak_memory_stats)"
        elif word:
            raise ValueError(WORDS)
        return ON + TENSORS.sentence() if COUNTS.on else OFF

    def state(self) -> str:
        """Return the state in a sentence."""
        arrays = "NumPy's arrays and PyTorch's tensors are " + ("counted" if COUNTS.on else "not counted")
        return "ipytracer: no tracer listens; figures are read inside this process, %s%s" % (arrays, TENSORS.sentence())

    def windows(self) -> list[Window]:
        """Return all windows that are known, the session's first: those that are open as far as they are."""
        with self._lock:
            if not self.measures():
                return []
            running = self._running()
            return sorted([*running, *self._ended], key=lambda w: w.id)

    def hello(self) -> Hello:
        """Return what a tracer would say of itself: this process, and the tightest limit on its memory."""
        limits = [r for r in _room.rooms() if r.limit is not None]
        least = min(limits, key=lambda r: r.limit or 0, default=None)
        return Hello("none", os.getpid(), least.limit if least else None, least.of if least else "")


INSIDE = Inside()    # that of this process
