"""Reports the lines that functions execute to listeners: by sys.monitoring from Python 3.12 on, before by sys.settrace,
beside an existing tracer of lines.

Only the thread that began to listen is heard.
"""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Protocol

    class Listener(Protocol):
        """A receiver of line events."""

        def wants(self, code: CodeType) -> bool:
            """Report whether that code is of interest."""

        def codes(self) -> list[CodeType]:
            """Return the codes of interest."""

        def enter(self, frame: FrameType) -> None:
            """Take in that a function is called, or resumed."""

        def line(self, frame: FrameType, number: int) -> None:
            """Take in that a line begins."""

        def leave(self, frame: FrameType) -> None:
            """Take in that a function returns, raises or yields."""

_listeners: list[Listener] = []      # objects with enter(frame), line(frame, number), leave(frame) and wants(code)
# objects that take part in the interpreter's hooks while there are listeners
_hooks: list[_Monitoring | _Tracing] = []


def listen(listener: Listener) -> None:
    """Have a listener hear of the code that its wants() accepts, until ignore()."""
    if listener not in _listeners:
        _listeners.append(listener)
    if not _hooks:
        _hooks.append(_monitoring() or _Tracing())
        _hooks[0].begin()
    refresh()


def refresh() -> None:
    """Take in that the codes of interest have changed."""
    for hook in _hooks:
        hook.refresh()


def ignore(listener: Listener) -> None:
    """Stop reporting to a listener."""
    if listener in _listeners:
        _listeners.remove(listener)
    if not _listeners and _hooks:
        _hooks.pop().end()


def _wanted(code: CodeType) -> list[Listener]:
    return [one for one in _listeners if one.wants(code)]


class _Tracing:
    """sys.settrace; an older trace function is called, too."""

    def begin(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def refresh(self) -> None:
        pass

    def end(self) -> None:
        if sys.gettrace() == self._call:      # a later trace function calls this one, as this calls the one before
            sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        if _wanted is None:      # the interpreter is ending, and has cleared this module
            return None
        others = self._before(frame, event, arg) if self._before is not None else None
        wanted = _wanted(frame.f_code) if event == "call" else []
        if not wanted:
            return others
        for one in wanted:
            one.enter(frame)

        def local(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal others
            if others is not None:
                others = others(frame, event, arg)
            for one in wanted:
                if event == "line":
                    one.line(frame, frame.f_lineno)
                elif event == "return":
                    one.leave(frame)
            return local
        return local


def _monitoring() -> _Monitoring | None:
    """Return the hook by sys.monitoring, None where there is none, or no free tool number."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return None
    for number in (monitoring.PROFILER_ID, 3, 4):
        if monitoring.get_tool(number) is None:
            return _Monitoring(monitoring, number)
    return None


class _Monitoring:
    def __init__(self, monitoring: Any, number: int) -> None:
        self._m, self._number = monitoring, number
        self._codes: set[CodeType] = set()

    def begin(self) -> None:
        m = self._m
        m.use_tool_id(self._number, "ipytracer")
        self._thread = threading.get_ident()
        calls = {
            m.events.PY_START: self._enter,
            m.events.PY_RESUME: self._enter,
            m.events.LINE: self._line,
            m.events.PY_RETURN: self._leave,
            m.events.PY_YIELD: self._leave,
            m.events.PY_UNWIND: self._leave,
        }
        for event, call in calls.items():
            m.register_callback(self._number, event, call)
        self._local = sum(event for event in calls if event != m.events.PY_UNWIND)
        m.set_events(self._number, m.events.PY_UNWIND)     # cannot be requested for one function only

    def refresh(self) -> None:
        codes = {code for one in _listeners for code in one.codes()}
        for code in codes - self._codes:
            self._m.set_local_events(self._number, code, self._local)
        for code in self._codes - codes:
            self._m.set_local_events(self._number, code, 0)
        self._codes = codes

    def end(self) -> None:
        for code in self._codes:
            self._m.set_local_events(self._number, code, 0)
        self._m.set_events(self._number, 0)
        self._m.free_tool_id(self._number)

    def _heard(self, code: CodeType) -> list[Listener]:
        return _wanted(code) if threading.get_ident() == self._thread else []

    def _enter(self, code: CodeType, *_: object) -> None:
        for one in self._heard(code):
            one.enter(sys._getframe(1))

    def _line(self, code: CodeType, number: int) -> None:
        for one in self._heard(code):
            one.line(sys._getframe(1), number)

    def _leave(self, code: CodeType, *_: object) -> None:
        for one in self._heard(code):
            one.leave(sys._getframe(1))
