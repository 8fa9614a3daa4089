"""One test's windows: each phase is an experiment of the tracer's, and its window is asked for as it ends."""

from __future__ import annotations

import contextlib
import os
import time

from . import _serve, _source, _words
from ._experiment import _marker_name
from ._line import LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._types import Data
    from ._window import Line, Window

_TO_BEGIN = 20.0     # seconds that a session which a server has begun may take to listen
_PATIENCE = 10.0     # seconds that an answer may take; a test run waits rather than lose a figure
_MOST_NAME = 120     # bytes of a test's name in the tracer's reports


def _name(nodeid: str, phase: str) -> str:
    """Return the name of a window: the end of a test's name, which distinguishes it from others."""
    short = nodeid if len(nodeid) <= _MOST_NAME else ".." + nodeid[2 - _MOST_NAME:]
    name = _marker_name("%s, %s" % (short, phase))
    return name if name.endswith(phase) else _marker_name("%s, %s" % (ascii(short)[1:-1][-_MOST_NAME:], phase))


class Runner:
    """The tests of this process, with their windows from the tracer."""

    def __init__(self, wait: float, start: bool = False) -> None:
        self._wait, self._sought = wait, False   # seconds that a tracer has to take the line over
        self._start = start  # ask a running server to trace this process
        self._refused = ""   # its answer if it does not
        self._windows: dict[str, dict[str, Window]] = {}   # nodeid: {phase: Window}
        self._found: dict[str, Data] = {}     # nodeid: the results of a Judge
        self._newest = 0     # the id of the last window
        self._outside = False
        self.lost = False    # a tracer listened, and has ended

    def find(self) -> bool:
        """Wait for a tracer, once. Report whether there is a source of figures: the tracer, or this process itself."""
        if not self._sought:
            self._sought = True
            wait = self._wait
            if self._start and not LINE.look(cell=True, patience=0.1):
                begins, said = _serve.outcome("start", False, "")
                wait, self._refused = (max(wait, _TO_BEGIN), "") if begins else (wait, said.rstrip("; "))
            end = time.monotonic() + wait
            while not LINE.look(cell=True, patience=0.1) and time.monotonic() < end:
                time.sleep(0.01)
        return LINE.look(cell=True) or _source.answers()

    def begin(self, nodeid: str) -> None:
        """Take in that a test begins, perhaps again."""
        self.find()
        self._windows[nodeid], self._found[nodeid] = {}, {}

    @contextlib.contextmanager
    def window(self, nodeid: str, phase: str, after: Callable[[], object] | None = None) -> Iterator[None]:
        """Measure the code within. after: called before the window ends. Once it has ended the figures are there, if a
        tracer listens."""
        pid, name, listens = os.getpid(), _name(nodeid, phase), _source.answers(cell=True)
        if not _source.outside() and self._outside:
            self.lost, listens = True, False
        self._outside = _source.outside()
        _source.mark("begin " + name)
        try:
            yield
            if after is not None:
                after()
        finally:
            if os.getpid() == pid:       # else the code is in a child that the test has forked
                _source.mark("end " + name)
                found = _source.ask("experiment", _PATIENCE, name=name) if listens else None
                for w in found if isinstance(found, list) else ():
                    if w.id > self._newest and w.name == name:
                        self._newest = w.id
                        self._windows.setdefault(nodeid, {})[phase] = w

    def at(self, nodeid: str, phase: str) -> Window | None:
        """Return the Window of a phase, None where there is none."""
        return self._windows.get(nodeid, {}).get(phase)

    def of(self, nodeid: str) -> Data:
        """Return the results of a test, a dict that may be added to."""
        return self._found.setdefault(nodeid, {})

    def need(self, nodeid: str) -> int | None:
        """Return the resident memory that a test's call needed, children included, in bytes; None where that is not
        known."""
        window = self.at(nodeid, "call")
        figure = window.figures().get("cpu.resident") if window is not None else None
        return None if figure is None else figure.need

    def properties(self, nodeid: str) -> list[tuple[str, object]]:
        """Return the properties of a test for JUnit's XML: (name, bytes) for each meter that the call needed anything
        of."""
        window = self.at(nodeid, "call")
        found = window.figures().items() if window is not None else ()
        return [
            ("ipytracer.need." + m, f.need) for m, f in found if m == "cpu.resident" or f.need and not _words.is_part(m)
        ]

    def lines(self, window: Window) -> list[Line]:
        """Return the lines that allocated in a window."""
        found = _source.ask("lines", _PATIENCE, window=window.id)
        return found if isinstance(found, list) else []

    def told(self, nodeid: str, phase: str) -> Data:
        """Return plain data that goes along with the report of a phase."""
        if phase == "teardown":      # the last: nothing is kept
            windows, found = self._windows.pop(nodeid, {}), self._found.pop(nodeid, {})
        else:
            windows, found = self._windows.get(nodeid, {}), self._found.get(nodeid, {})
        out = dict(found) if phase == "call" else {}
        out["windows"] = {}
        if phase == "teardown":
            out["windows"] = {p: _plain(w) for p, w in windows.items()}
        elif phase == "call" and self.need(nodeid) is not None:
            out["need"] = self.need(nodeid)
        if not windows:
            out["why"] = (
                "the tracer has ended"
                if self.lost
                else self._refused or "no tracer listens"
                if not LINE.listens()
                else "the tracer did not answer"
            )
        return out

    def total(self) -> Data | None:
        """Return this process from its discovery by the tracer to now: a window's dict, None without a tracer."""
        if not _source.answers():
            return None
        found = _source.ask("running", _PATIENCE)
        for w in found if isinstance(found, list) else ():
            if w.kind == "session":
                return _plain(w)
        return None


def _plain(window: Window) -> Data:
    """Return a window as data for JSON, without its source."""
    data = window.to_dict()
    data.pop("source", None)
    data["top"] = {m: t._asdict() for m, t in window.top.items()}
    return data
