"""The display of a running cell: from its second second on, twice a second, in notebooks. Terminals show nothing before
the end.

The tracer says on a line of its own when a cell runs long, so short cells cost nothing. A thread waits for that
message; it exists only while a tracer listens. Its stack is small, so that it hardly adds to the memory that a notebook
has mapped.
"""

from __future__ import annotations

import logging
import os
import threading

from . import _show, _silence, _way
from ._line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Bundle, Companion, Shell
    from ._window import Frame

_log = logging.getLogger("ipytracer")
_STACK = 512 << 10     # bytes
_EARLY = 0.1           # seconds by which a tick may come early
_TO_ANSWER = 1.0       # seconds that a tracer has to say hello on a second line


def shown_by(stack: tuple[Frame, ...]) -> bool:
    """Report whether the thread of the display made a stack's calls."""
    return any(frame.file == __file__ and frame.function.endswith("_run") for frame in stack)


class Consoles:
    """The front ends of a kernel that cannot change their displays: jupyter-console, Qt's console, Spyder's. They are
    the ones that ask whether code is complete; notebooks know where a cell ends."""

    _ASKS = "is_complete_request"

    def __init__(self, shell: Shell) -> None:
        self._kernel: Any = getattr(shell, "kernel", None)
        self._sessions: set[str] = set()
        self._before: Callable[..., Any] | None = None

    def register(self) -> None:
        """Listen for those questions; they are answered as before."""
        handlers = getattr(self._kernel, "shell_handlers", None)
        before: Any = handlers.get(self._ASKS) if isinstance(handlers, dict) else None
        if handlers is None or before is None:
            return

        def asked(stream: Any, ident: Any, parent: Any) -> Any:
            try:
                self._sessions.add(parent["header"]["session"])
            except Exception:
                _log.debug("a front end without a session", exc_info=True)
            return before(stream, ident, parent)
        self._before, self._asked = before, asked
        handlers[self._ASKS] = asked

    def unregister(self) -> None:
        """Leave the kernel as it was."""
        if self._before is not None and self._kernel.shell_handlers.get(self._ASKS) is self._asked:
            self._kernel.shell_handlers[self._ASKS] = self._before

    def runs(self) -> bool:
        """Report whether the running cell is one of theirs. For the thread that runs cells."""
        if not self._sessions:
            return False
        try:
            parent = self._kernel.get_parent() if hasattr(self._kernel, "get_parent") else self._kernel._parent_header
            return parent["header"]["session"] in self._sessions
        except Exception:
            _log.debug("a cell without a request", exc_info=True)
            return False


class Live:
    """The display of the running cell. begin(), finish() and watch() are for the thread that runs cells."""

    def __init__(self, shell: Shell, companion: Companion) -> None:
        self._shell, self._companion = shell, companion
        self.consoles = Consoles(shell)
        self._console = False            # the running cell is a console's
        self.least: float | None = 1.0                 # seconds before a running cell is shown; None: never
        self._line = Line(" live")
        self._lock = threading.Lock()    # protects the members below
        self._cell = 0                   # changes as a cell begins and as it ends
        self._shown: str | None = None               # the id of the display that shows it
        self._thread: threading.Thread | None = None
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """Reset in a forked child: the thread belongs to the parent, and may have held the lock."""
        self._lock, self._thread, self._shown = threading.Lock(), None, None

    def watch(self) -> None:
        """Start a thread that waits for messages about long cells, unless there is one. Where no front end could change
        its display there is none."""
        if getattr(self._shell, "kernel", None) is None or self._thread is not None and self._thread.is_alive():
            return
        before = threading.stack_size(_STACK)
        try:
            self._thread = threading.Thread(target=self._run, name="ipytracer", daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(before)

    def begin(self) -> None:
        """Take in that a cell begins."""
        self._cell += 1
        self._shown = None
        self._console = self.consoles.runs()

    def finish(self) -> str | None:
        """Take in that the cell has ended: it is no longer shown as running. Return the id of the display that showed
        it, else None."""
        if self._thread is None:
            return None
        with self._lock:
            self._cell += 1
            shown, self._shown = self._shown, None
        return shown

    def now(self) -> Bundle | None:
        """Show the figures of the running cell, now and from now on. Return a display bundle where no front end could
        change its display, else None."""
        line = self._companion.line
        if not line.look():
            return _show.sentence(_way.unheard())
        found = line.ask("running")
        running = [w for w in found if w.kind == "cell"] if isinstance(found, list) else []
        if not running:
            return _show.sentence(
                "ipytracer: " + _silence.words()
                if found is None
                else "ipytracer: the tracer knows of no cell that runs"
            )
        bundle = _show.running(running[0], line.hello)
        if getattr(self._shell, "kernel", None) is None:
            return bundle
        with self._lock:
            again = self._shown is not None
            self._shown = self._shown or "ipytracer-%d-%d" % (os.getpid(), running[0].id)
            _show.publish(self._shell, bundle, self._shown, again)
        return None

    def close(self) -> None:
        """Give the line up; the thread ends."""
        self._line.close()

    def _run(self) -> None:
        try:
            if self._line.look(cell=True, patience=_TO_ANSWER):
                while self._line.wait():
                    self._show()
        except Exception:
            _log.debug("what runs is not shown any more", exc_info=True)
        self._line.close()

    def _show(self) -> None:
        """Show the memory that the running cell has taken so far. Code that a front end runs silently beside the cells
        shows nothing."""
        cell, least = self._cell, self.least
        found = self._line.ask("running")
        running = [w for w in found if w.kind == "cell" and not w.silent] if isinstance(found, list) else []
        if not running or not (self._companion.lines or self._companion.lab.listens or self._shown):
            return
        seconds = running[0].duration_ns / 1e9
        if self._shown is None and (seconds < 1 - _EARLY or least is None or seconds < least - _EARLY):
            return               # a tick may have been for the one before
        with self._lock:
            if self._cell != cell:
                return           # it has ended meanwhile
            self._companion.lab.running(running[0])
            if self._console or not self._companion.lines and self._shown is None:
                return
            again = self._shown is not None
            self._shown = self._shown or "ipytracer-%d-%d" % (os.getpid(), running[0].id)
            _show.publish(self._shell, _show.running(running[0], self._line.hello), self._shown, again)
