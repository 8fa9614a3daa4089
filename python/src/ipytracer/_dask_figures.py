"""The tracer's figures of the tasks of this process, which are asked for in a thread of their own.

The tracer keeps the last experiments of a process that have ended, and says how many more there were. Here the highest
task of each kind is kept, and the levels that bound the process's memory at each instant.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque

from ._dask_marks import BETWEEN, MARKS
from ._line import IN_ALL, LINE
from ._window import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._dask_marks import Marks
    from ._line import Line
    from ._packets import Hello
    from ._types import Data
    from ._window import Window

METER = "cpu.resident"
_TRIES = 3             # questions until the tracer has answered
_IDLE = 5.0            # seconds between two looks for a tracer, where none listens
_PAUSE = 0.2           # seconds between two times of asking, while tasks end
_TO_ANSWER = 0.5       # seconds that a tracer has to take the line over, where a report is asked for
_MOST_PAGES = 64       # answers at a time
_MOST_KINDS = 512      # kinds of tasks with figures: the ones that were seen last
_MOST_LEVELS = 4096


class Kind:
    """The tasks of one prefix and one cell in this process: their number, the one with the highest peak, and the times
    of the first begin and the last end (nanoseconds of the session)."""

    def __init__(self, window: Window) -> None:
        self.count, self.highest = 0, window
        self.first, self.last = window.start_ns, window.start_ns

    def add(self, window: Window) -> None:
        """Take in one more task."""
        self.count += 1
        self.first = min(self.first, window.start_ns)
        self.last = max(self.last, window.start_ns + window.duration_ns)
        if peak(window) >= peak(self.highest):
            self.highest = window


def peak(window: Window) -> int:
    """Return the most resident memory of the process and its children in a window."""
    figure = window.figures().get(METER)
    return figure.peak if figure is not None else 0


class Figures:
    """The figures of this process's tasks. Any thread may take them in, and ask for a report."""

    def __init__(self, marks: Marks = MARKS, line: Line = LINE) -> None:
        self._marks, self._line = marks, line
        self._lock = threading.Lock()
        self._hello: Hello | None = None
        self._whole = True                    # the tracer has answered for all that has ended
        self._forget()

    def _forget(self) -> None:
        self._seen = 0                        # experiments of this tracer's session, of all names
        self.lost = 0                         # experiments without figures, tasks or others
        self.known = 0                        # tasks with figures
        self.kinds: dict[tuple[str, str], Kind] = {}
        self._levels: deque[tuple[int, int, int]] = deque(maxlen=_MOST_LEVELS)
        self._behind = self._marks.ended      # tasks that had ended before this tracer listened

    def take(self, patience: float = 0) -> bool:
        """Ask for the windows that have ended since the last time. Report whether a tracer listens."""
        with self._lock:
            listens = self._line.look(cell=True, patience=patience)
            if self._line.hello is not self._hello:
                self._hello = self._line.hello
                self._forget()
                self._marks.hear(listens)
            self._whole = not listens
            for _ in range(_MOST_PAGES if listens else 0):
                found = self._line.ask("experiments", most=IN_ALL, after=self._seen)
                if not isinstance(found, Windows):
                    break
                self._seen += len(found) + found.lost
                self.lost += found.lost
                for window in found:
                    self._add(window)
                if not found and not found.lost:
                    self._whole = True
                    break
            return listens

    def _add(self, window: Window) -> None:
        key = self._marks.task(window.name)
        if key is None and window.name != BETWEEN:
            return
        self._levels.append((window.start_ns, window.start_ns + window.duration_ns, peak(window)))
        if key is None:
            return
        self.known += 1
        kind = self.kinds.pop(key, None) or Kind(window)
        kind.add(window)
        self.kinds[key] = kind                # the last one: seen last
        if len(self.kinds) > _MOST_KINDS:
            del self.kinds[next(iter(self.kinds))]

    def report(self, cell: str | None = None) -> Data:
        """Return the figures so far, for the notebook: times are of this machine's clock, in nanoseconds. cell: of the
        tasks of this one only."""
        listens = self.take(_TO_ANSWER)
        for _ in range(_TRIES if listens else 0):
            if self._whole:
                break
            self.take()
        for _ in range(_TRIES):
            before = time.time_ns()
            running = self._line.ask("running") if listens else None
            after = time.time_ns()
            if running is not None or not listens:
                break
        with self._lock:
            windows = [w for w in running if self._is_ours(w)] if isinstance(running, list) else []
            now = max((w.start_ns + w.duration_ns for w in windows), default=None)
            shift = (before + after) // 2 - now if now is not None else 0
            levels = list(self._levels) + [(w.start_ns, w.start_ns + w.duration_ns, peak(w)) for w in windows]
            kinds = [
                {
                    "task": prefix,
                    "cell": of,
                    "count": kind.count,
                    "first_ns": kind.first + shift,
                    "last_ns": kind.last + shift,
                    "window": kind.highest.to_dict(),
                }
                for (prefix, of), kind in self.kinds.items()
                if cell is None or of == cell
            ]
            return {
                "host": socket.gethostname(),
                "boot": boot(),
                "pid": os.getpid(),
                "now_ns": (before + after) // 2,
                "listens": listens,
                "kinds": kinds,
                "missing": max(0, self._marks.ended - self._behind - self.known) if listens else 0,
                "levels": [(a + shift, b + shift, n) for a, b, n in levels] if now is not None else [],
                "error_ns": (after - before + 1) // 2,
            }

    def _is_ours(self, window: Window) -> bool:
        return window.kind == "experiment" and (window.name == BETWEEN or self._marks.task(window.name) is not None)


def boot() -> str:
    """Return the id of the machine's start: processes with the same one have the same clock."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as f:
            return f.read(64).strip()
    except OSError:
        return ""


class Taker:
    """A thread that takes figures in while tasks end, and sleeps while none does."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._ended = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ipytracer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Take in that a task has ended."""
        self._ended.set()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._ended.set()

    def _run(self) -> None:
        listens = self._figures.take(_TO_ANSWER)
        while True:
            self._ended.wait(None if listens else _IDLE)
            self._ended.clear()
            if self._stop.wait(_PAUSE):
                return
            listens = self._figures.take()


FIGURES = Figures()   # those of this process
