"""Marks around the tasks of a Dask worker: each task is an experiment of the tracer's, and so is the time between them.

An end marker closes the experiment of its name that began last. So two tasks of one kind that run at once need names
that differ: the second has " #2" behind its name. Names are bounded in length and number, because the tracer keeps each
of them once and a program can make up as many keys as it likes.
"""

from __future__ import annotations

import re
import threading

from ._dask_trace import NONE
from ._line import marker

PREFIX = "dask:"
BETWEEN = PREFIX + "between tasks"
FROM = PREFIX + "from@got:"     # the traceparent of the tasks that begin from now on
OTHERS = "(others)"      # tasks beyond the number of names
MOST_NAMES = 4096        # pairs of a prefix and a cell that have a name of their own
_MOST_PREFIX = 80        # characters of a key's prefix
MOST_CELL = 60           # characters of a cell's name
_PLACE = re.compile(r" #\d+$")


def plain(text: object, most: int) -> str:
    """Return a text as a name has it: printable ASCII, at most so many characters, and no "#"."""
    text = str(text)[:most]
    return "".join(c if " " <= c <= "~" and c != "#" else "?" for c in text).strip()


class Marks:
    """The tasks that run in this process. Any thread may begin and end one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[tuple[str, str], str] = {}            # (prefix, cell): the name without its place
        self._known: dict[str, tuple[str, str]] = {}
        self._places: dict[str, set[int]] = {}                  # name: the places of the tasks that run
        self._running = 0
        self._trace = NONE            # the traceparent that was marked last
        self._traces: set[str] = set()
        self._heard = False           # a tracer listens: only then is the time between tasks marked
        self._between = False         # and this tracer has seen its begin
        self.begun = self.ended = 0                             # tasks so far

    def hear(self, listens: bool) -> None:
        """Take in that another tracer listens now, or that none does. Its first window is the time until the next
        task: an end without a begin would be a problem in its report."""
        with self._lock:
            self._heard, self._between = listens, False
            self._trace = NONE
            self._pause()

    def close(self) -> None:
        """End the time between tasks, as the last worker of the process ends."""
        with self._lock:
            self._heard = False
            self._go_on()

    def _pause(self) -> None:
        """Begin the time between tasks, if none runs."""
        if self._heard and not self._running and not self._between:
            self._between = True
            marker("begin " + BETWEEN)

    def _go_on(self) -> None:
        """End the time between tasks."""
        if self._between:
            self._between = False
            marker("end " + BETWEEN)

    def _mark_trace(self, trace: str) -> None:
        """Mark the traceparent of the next task, unless the task before had the same."""
        if trace not in self._traces:
            trace = trace if trace and len(self._traces) < MOST_NAMES else NONE
        if trace == self._trace:
            return
        self._trace = trace
        if trace != NONE:
            self._traces.add(trace)
        marker("begin " + FROM + trace)
        marker("end " + FROM + trace)

    def begin(self, prefix: object, cell: object = "", trace: str = "") -> str:
        """Begin a task, on the thread that runs it. trace: its traceparent, which was checked. Return its name for
        end()."""
        key = plain(prefix, _MOST_PREFIX), plain(cell, MOST_CELL)
        with self._lock:
            base = self._name(key)
            taken = self._places.setdefault(base, set())
            place = 1
            while place in taken:
                place += 1
            taken.add(place)
            self._running += 1
            self.begun += 1
            name = base if place == 1 else "%s #%d" % (base, place)
            self._mark_trace(trace)
            marker("begin " + name)         # before BETWEEN ends: each instant is in a window
            self._go_on()
        return name

    def end(self, name: str) -> None:
        """End the task that begin() gave this name."""
        found = _PLACE.search(name)
        base, place = (name[:found.start()], int(found.group()[2:])) if found else (name, 1)
        with self._lock:
            self._running -= 1
            self.ended += 1
            self._pause()
            marker("end " + name)
            taken = self._places[base]
            taken.discard(place)
            if not taken:
                del self._places[base]

    def _name(self, key: tuple[str, str]) -> str:
        name = self._names.get(key)
        if name is None:
            if len(self._names) >= MOST_NAMES:
                return PREFIX + OTHERS
            name = self._names[key] = PREFIX + " ".join(part for part in key if part)
            self._known.setdefault(name, key)
        return name

    def task(self, name: str) -> tuple[str, str] | None:
        """Return (prefix, cell) of the task that a window's name stands for; None for another window."""
        base = _PLACE.sub("", name)
        return (OTHERS, "") if base == PREFIX + OTHERS else self._known.get(base)


MARKS = Marks()   # those of this process
