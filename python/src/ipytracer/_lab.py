"""The messages to JupyterLab's extension: the figures of cells by the cells' own ids, over a comm that the extension
has opened.

The kernel never opens one: a front end without the extension has nothing to complain about, and gets nothing. A message
on a comm is answered between cells, on the thread that runs them. The protocol is in docs/lab.md.
"""

from __future__ import annotations

import logging
import os
import re
import time
import zlib

from . import _asking, _serve, _source, _way, _words
from ._answers import ANSWERS, LONGEST
from ._line import IN_ALL
from ._window import outermost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from ._line import Line
    from ._packets import Hello
    from ._types import Data, Shell
    from ._window import Window

    _Own = tuple[Optional[str], int, int]     # the id of a cell, CRC and length of its text

TARGET = "ipytracer"
PROTOCOL = "ipytracer/lab/v1"

_log = logging.getLogger("ipytracer")
# Ids of cells: those of nbformat 4.5, or of VS Code, which sends an address and has the id behind its #.
_ID = re.compile(r"(?:vscode-notebook-cell:[^#\s]{0,4096}#)?([a-zA-Z0-9_%-]{1,64})")
_MOST_COMMS = 4       # front ends at once
_MOST_KNOWN = 1000    # cells with known ids
_MOST_TOLD = 1000     # cells in the history that a new extension gets
_IN_A_MESSAGE = 50    # cells of a message
_PAGE = 200           # cells in one request to the tracer
_MOST_METERS = 16     # of a cell
_METERS = re.compile(r"cpu\.(resident|numpy|torch|heap|mapped)|gpu\.\d+\.(driver|active)")


class _Sign:
    """An entry among the kernel's comms: comm_info_request shows by it that a companion is loaded. It is no comm:
    nothing is sent on it."""

    target_name = TARGET

    def __init__(self) -> None:
        self.comm_id = "ipytracer-" + os.urandom(8).hex()

    def handle_msg(self, _message: Data) -> None:
        """Ignore a message for it."""

    def handle_close(self, _message: Data) -> None:
        """Ignore a close: it cannot be closed."""


class Lab:
    """The extensions that listen, and for each cell of the tracer's the cell of the notebook. answers: more functions
    that answer a question, by its name."""

    def __init__(self, shell: Shell, line: Line, answers: dict[str, Callable[[Data], Data]]) -> None:
        self._shell, self._line = shell, line
        self._comms: list[Any] = []
        self._sign = _Sign()
        self._now = None      # the ExecutionInfo of the cell that runs
        # execution count of cells without figures yet: (id of the cell or None, crc, length)
        self._running: dict[int | None, _Own] = {}
        self._known: dict[int, _Own] = {}      # id of the window: the same
        self._silent = ""     # why the tracer does not answer in time
        self._listened = self._starts = False
        self._answers = dict(ANSWERS, start=self._start, state=self._state, **answers)

    # ---- the kernel's side of comms

    def _manager(self) -> Any:
        return getattr(getattr(self._shell, "kernel", None), "comm_manager", None)

    def register(self) -> None:
        """Have a kernel accept comms of the extension. A terminal has none."""
        manager = self._manager()
        if manager is not None:
            manager.register_target(TARGET, self._opened)
            manager.comms[self._sign.comm_id] = self._sign

    def unregister(self) -> None:
        """Close the comms of all extensions."""
        manager = self._manager()
        if manager is None:
            return
        for comm in self._comms[:]:
            self._forget(comm)
            comm.close()
        manager.comms.pop(self._sign.comm_id, None)
        if manager.targets.get(TARGET) == self._opened:
            manager.unregister_target(TARGET, self._opened)

    @property
    def listens(self) -> bool:
        """Report whether an extension wants figures."""
        return bool(self._comms)

    def _opened(self, comm: Any, message: Data) -> None:
        """Take in a comm that an extension has opened."""
        try:
            if _data(message).get("protocol") != PROTOCOL:
                comm.send({"error": "this companion speaks %s" % PROTOCOL})
                comm.close()
                return
            comm.on_msg(lambda m: self._asked(comm, m))
            comm.on_close(lambda _: self._forget(comm))
            self._comms.append(comm)
            for old in self._comms[:-_MOST_COMMS]:   # of pages that are gone: no message says that a browser was closed
                self._forget(old)
                old.close()
            self._send(comm, {"hello": self._hello()})
            self._history(comm)
        except Exception:
            _log.debug("a comm of the extension", exc_info=True)

    def _forget(self, comm: Any) -> None:
        if comm in self._comms:
            self._comms.remove(comm)

    def _send(self, comm: Any, data: Data) -> None:
        try:
            comm.send(data)
        except Exception:
            _log.debug("what was told to the extension", exc_info=True)
            self._forget(comm)

    def _tell(self, data: Data) -> None:
        for comm in self._comms[:]:
            self._send(comm, data)

    # ---- messages

    def _hello(self) -> Data:
        hello = self._line.hello if self._line.listens() else None
        self._listened, self._starts = hello is not None, hello is None and _serve.look() == _serve.THERE
        said = {
            "protocol": PROTOCOL,
            "session": self._sign.comm_id,
            "listens": hello is not None,
            "asks": sorted(self._answers),
            "command": _way.command(),
            "todo": _way.todo(),
            "starts": self._starts,
            "silent": self._silent,
            "tracer": None,
            "pid": None,
            "limit": None,
            "limit_of": "",
        }
        if hello is not None:
            said.update(
                tracer=_words.safe(hello.tracer, 100),
                pid=hello.pid,
                limit=hello.limit,
                limit_of=_words.safe(hello.limit_of, 100),
            )
        return said

    def state(self) -> None:
        """Send that a tracer has come, or gone."""
        self._silent = ""
        if self._comms:
            self._tell({"hello": self._hello()})

    def silent(self, why: str) -> None:
        """Send why the tracer does not answer in time, or, where why is "", that it answers again: what was not sent so
        far is sent now."""
        self._silent = why
        for comm in self._comms[:]:
            self._send(comm, {"hello": self._hello()})
            if not why:
                self._history(comm)

    def begins(self, info: Any) -> None:
        """Take in that a cell is about to run."""
        self._now = info

    def ran(self, info: Any, count: int) -> None:
        """Take in that cell In[count] has ended, so that its figures can be matched with it."""
        self._now = None
        self._running[count] = self._own(info)
        while len(self._running) > _MOST_KNOWN:
            del self._running[next(iter(self._running))]

    def _own(self, info: Any) -> _Own:
        source = getattr(info, "raw_cell", None)
        return (self._cell_id(info),) + _sum(source if isinstance(source, str) else "")

    def _cell_id(self, info: Any) -> str | None:
        """Return the id that the front end has sent along, None where it has sent none."""
        found = getattr(info, "cell_id", None)
        if found is None:
            try:
                found = self._shell.kernel.get_parent()["metadata"].get("cellId")
            except Exception:
                found = None
        one = _ID.fullmatch(found) if isinstance(found, str) else None
        return one.group(1) if one else None

    def told(self, window: Window) -> None:
        """Send a cell that the tracer has reported."""
        self._know(window)
        if self._comms:
            self._tell({"cell": self._record(window)})

    def _know(self, window: Window) -> _Own | None:
        """Return the cell of the notebook that a window belongs to, None where that is not known."""
        own = self._running.pop(window.execution_count, None)
        if own is not None:
            self._known[window.id] = own
            while len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
        return self._known.get(window.id)

    def running(self, window: Window) -> None:
        """Send the figures so far of a cell that still runs."""
        if self._comms:
            self._tell({"running": record(window, self._own(self._now))})

    def _record(self, window: Window) -> Data:
        return record(window, self._known.get(window.id) or self._know(window) or _of_text(window))

    def _history(self, comm: Any) -> None:
        """Send the cells that have ended, only the last ones of many. Cells that take too long to get are left out, and
        the message says so."""
        found, cut, until = self._cells()
        for at in range(0, len(found), _IN_A_MESSAGE):
            if time.monotonic() > until:
                cut = True
                break
            self._send(comm, {"cells": [self._record(w) for w in found[at:at + _IN_A_MESSAGE]]})
        self._send(comm, {"cells": [], "cut": cut, "whole": True})

    def _cells(self) -> tuple[list[Window], bool, float]:
        until = time.monotonic() + IN_ALL
        first = min(self._known) - 1 if len(self._known) >= _MOST_KNOWN else 0
        found: list[Window] = []
        after, cut = first, first > 0
        while _source.answers():
            page = _source.ask("cells", after=after, limit=_PAGE)
            newer = [w for w in page if w.id > after] if isinstance(page, list) else None
            if newer is None or time.monotonic() > until:
                return found, True, until
            if not newer:
                break
            after = max(w.id for w in newer)
            found = found + outermost([newer])
            cut, found = cut or len(found) > _MOST_TOLD, found[-_MOST_TOLD:]
        return found, cut, until

    # ---- requests of the extension

    def _asked(self, comm: Any, message: Data) -> None:
        """Answer a question of the extension: one that a user has asked by a button."""
        try:
            data = _data(message)
            number, ask = data.get("id"), data.get("ask")
            if (
                type(number) is not int
                or not 0 <= number < 2**53
                or not isinstance(ask, str)
                or ask not in self._answers
            ):
                self._send(comm, {"error": "no such question"})
                return
            try:
                answer = self._answers[ask](data)
            except Exception as failed:
                answer = {"error": _words.safe("%s: %s" % (type(failed).__name__, failed), LONGEST)}
            self._send(comm, dict(answer, answer=number))
        except Exception:
            _log.debug("a question of the extension", exc_info=True)

    def _start(self, _data: Data) -> Data:
        """Have a running server begin a session, as %tracer start does."""
        begins, said = _serve.outcome("start", self._line.look(), _way.todo())
        return {"begins": begins, "said": _words.safe(said, LONGEST)}

    def _state(self, _data: Data) -> Data:
        """Return whether a tracer listens now. All extensions are notified if it, or a server, has come or gone since
        the last message."""
        listens = self._line.look()
        if listens != self._listened or not listens and self._starts != (_serve.look() == _serve.THERE):
            self.state()
        return {"listens": listens}


def _data(message: Data) -> Data:
    data = message["content"].get("data")
    return data if isinstance(data, dict) else {}


def _sum(source: str) -> tuple[int, int]:
    """Return what two equal texts share: the CRC-32 and the length in UTF-8."""
    data = source.encode("utf-8", "surrogatepass")
    return zlib.crc32(data), len(data)


def _of_text(window: Window) -> _Own | None:
    """Return what is known of a cell by its text alone, None where that was cut."""
    return (None,) + _sum(window.source) if window.source and not window.source_truncated else None


def shown(kind: str, window: Window, hello: Hello | None) -> Data:
    """Return the figures that a line under a cell carries. kind: "cell", or "running"."""
    return {
        "protocol": PROTOCOL,
        "limit": hello.limit if hello else None,
        "limit_of": _words.safe(hello.limit_of, 100) if hello else "",
        kind: record(window, _of_text(window)),
    }


def record(window: Window, own: _Own | None) -> Data:
    """Return a window as the extension gets it: the names and integers of JSON, with fewer members."""
    meters = [m for m in _words.in_order(window.meters) if _METERS.fullmatch(m)][:_MOST_METERS]
    first = next((line for line in window.source.split("\n") if line.strip()), "")
    told: Data = {
        "window": window.id,
        "execution": window.execution,
        "execution_count": window.execution_count,
        "status": window.status,
        "error": _words.safe(window.error or "", 100),
        "note": _words.safe(window.note or "", LONGEST),
        "start_ns": window.start_ns,
        "duration_ns": window.duration_ns,
        "source": _words.safe(first.strip(), 120),
        "asks": _asking.asks(window),
        "children": len(window.children) + (window.children_unlisted or 0),
        "meters": {m: window.meters[m]._asdict() for m in meters},
        "tree": {m: f._asdict() for m, f in window.tree.items() if m in meters} if window.children else {},
        "where": {m: _words.safe(t.where, 120) for m, t in window.top.items() if m in meters},
        "cell": None,
        "crc": None,
        "length": None,
    }
    if own is not None:
        told.update(cell=own[0], crc=own[1], length=own[2])
    return told
