"""The line to the tracer: one end of a pair of connected sockets. The tracer makes the pair, and sends this end over
another pair, which is made here; a marker gives the tracer the number of that pair's other end. Both processes have
that one; the line's own ends have one owner each, so that neither can keep the other's locked.

There is no path, no port and no name. A marker is a compile of nothing under a name that the tracer's probe reads; it
takes a few microseconds, with or without a tracer. Nothing here waits for a tracer that is not there, nothing raises,
and a tracer that breaks the protocol loses its line.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time

from . import _asking, _packets
from ._ends import Broken, Ends, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._values import Packet
    from ._window import Window

AFTER_CELL = 0.150   # seconds that an answer after a cell may take
ASKED_FOR = 0.200    # seconds without a packet after a user's question; also the most that one cell waits in vain
IN_ALL = 2.0         # seconds that an answer of many packets may take
_OFFERED_FOR = 0.050   # seconds that a tracer has to take the line over
_IMPATIENT = 0.005   # seconds, for a tracer that has not answered several times

_MOST_OPEN = 16      # requests without an answer
_MOST_TAKEN = 300    # packets at a time


def marker(text: str) -> None:
    """Send text to a tracer, if there is one: "cell", "ask", "line 5", "begin NAME" …"""
    compile("", "<ipytracer:%s>" % text, "exec", 0, True)


class Line(Ends):
    """One process's line. Any thread may use it; none waits longer than the constants above."""

    def __init__(self, use: str = "") -> None:
        super().__init__(use)
        self._lock = threading.Lock()
        self._at_home = True    # False in a forked child that has run no cell
        self.said = False       # the user knows that no tracer listens, or that one did
        self._clear()
        os.register_at_fork(after_in_child=self._forked)

    def _clear(self) -> None:
        self.hello: _packets.Hello | None = None       # set while a tracer listens
        # the last cell in an answer of the tracer that did not only ask about others
        self.newest: Window | None = None
        self.late: list[Any] = []          # Windows that were asked for after cells, and came too late to be waited for
        self._tardy: Request | None = None      # the last other request whose answer came too late
        self._pid = os.getpid()
        self._offered = 0.0     # when the number of their end was last sent, as time.monotonic()
        self._ticked = False    # the tracer has said that a cell runs
        self._next = 1
        self._open: dict[int, Request] = {}         # request id: Request
        self._missed = 0        # answers in a row that did not come in time
        self._vain = 0.0        # seconds of waiting for them since a cell began

    def _forked(self) -> None:
        """Reset the line in a forked child: it belongs to the parent."""
        self._lock = threading.Lock()
        self._at_home = False
        self._drop(ours=False)

    def look(self, cell: bool = False, patience: float = 0) -> bool:
        """Report whether a tracer listens: take in received packets, and offer the line while there is none. It waits
        only for patience.

        cell: a cell is about to run. Only then does a forked child make a line of its own. patience: seconds that a
        tracer has to answer the offer; only for callers that would say that there is none.
        """
        if not (self._lock.acquire(False) or self._lock.acquire(timeout=ASKED_FOR)):
            return self.hello is not None
        try:
            if self._pid != os.getpid():
                self._at_home = False
                self._drop(ours=False)
            if cell:
                self._at_home, self._vain = True, 0.0
            if not self._at_home:
                return False
            try:
                self._make()
                if self._theirs is not None:
                    self._offer()
                self._take_all(time.monotonic() + patience if patience and self.hello is None else 0)
            except (OSError, Broken):
                self._drop()
            return self.hello is not None
        finally:
            self._lock.release()

    def _offer(self) -> None:
        """Send the number of their end, except while the tracer may be about to take it over."""
        now = time.monotonic()
        if now - self._offered >= _OFFERED_FOR:
            self._offered = now
            compile("", self._marker, "exec", 0, True)

    def listens(self) -> bool:
        """Report whether a tracer listened at the last look. This does not look itself."""
        return self.hello is not None and self._pid == os.getpid()

    def is_home(self) -> bool:
        """Report whether this process may have a line: not a forked child that has run no cell. This does not look."""
        return self._at_home and self._pid == os.getpid()

    def close(self) -> None:
        """Give the line up, as the extension does when it is unloaded."""
        if self._lock.acquire(timeout=ASKED_FOR):
            try:
                self._drop()
            finally:
                self._lock.release()

    # ---- packets

    def _packet(self, deadline: float) -> tuple[Packet, int] | None:
        """Return the next packet, waiting until the deadline (a time.monotonic(); 0: not at all); None if there is none
        by then."""
        try:
            self._ours.recv_into(self._one, 1, socket.MSG_PEEK)
        except BlockingIOError:
            rest = deadline - time.monotonic() if deadline else 0
            if rest <= 0 or not self._readable(rest):
                return None
        # closed by other code, and the number means another socket now
        if self._identity(self._ours) != self._made[0]:
            raise Broken
        n = self._receive()
        if not 0 < n <= _packets.MOST_BYTES:
            raise Broken
        try:
            return _packets.decode(self._buffer[:n]), n
        except ValueError:
            raise Broken from None

    def _fetch(self, deadline: float) -> bool:
        """Receive the end that a tracer has made and sent, waiting until the deadline: it becomes the line, and the
        pair has served its purpose. Return False if there is none by then."""
        try:
            self._ours.recv_into(self._one, 1, socket.MSG_PEEK)
        except BlockingIOError:
            rest = deadline - time.monotonic() if deadline else 0
            if rest <= 0 or not self._readable(rest):
                return False
        if self._identity(self._ours) != self._made[0]:
            raise Broken
        self._take_over()
        return True

    def _take(self, deadline: float) -> Request | Literal[False] | None:
        """Take in one packet. Return its Request, None if there was no packet, False if it was the greeting."""
        if self._theirs is not None and not self._fetch(deadline):
            return None
        got = self._packet(deadline)
        if got is None:
            return None
        packet, size = got
        try:
            if self.hello is None:
                self.hello = _packets.hello(packet)
                return False
            if "hello" in packet:    # a second greeting
                return False
            if "tick" in packet:
                self._ticked = True
                return False
            return self._part(packet, size)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Broken from None

    def _part(self, packet: Packet, size: int) -> Request:
        """Take in a packet of an answer."""
        number = _packets.integer(packet["id"])
        request = self._open.get(number)
        if request is None:
            raise ValueError("an answer to nothing")
        request.parts.append(packet)
        request.size += size
        if packet.get("more") is True:
            if len(request.parts) >= _packets.MOST_PACKETS:
                raise ValueError("an answer without end")
            return request
        del self._open[number]
        self._missed, self._vain = 0, 0.0
        if "error" in packet:
            request.answer = _packets.text(packet["error"])[:500]
        else:
            request.answer = _packets.READERS[request.what](_packets.merged(request.parts))
        request.parts = []
        if request.what == "cell" and isinstance(request.answer, list):
            for window in request.answer:
                if window.kind == "cell" and not window.silent and not _asking.asks(window):
                    self.newest = window
        return request

    def _take_all(self, deadline: float, wanted: Request | None = None, most: float | None = None) -> None:
        """Take in packets until the wanted request is answered, at most until the deadline. With most, each packet of
        the answer moves the deadline, up to most. With none wanted: take in the packets that are there."""
        for _ in range(_MOST_TAKEN):
            request = self._take(deadline)
            if request is None:
                break
            if not request:
                deadline = deadline if wanted is not None else 0
                continue
            if request is not wanted:
                if request.what == "cell" and isinstance(request.answer, list):
                    self.late = (self.late + [request.answer])[-3:]
                elif request.answer is not None:
                    self._tardy = request
            elif wanted.answer is not None:
                break
            elif most:
                deadline = min(most, time.monotonic() + ASKED_FOR)

    def wait(self) -> bool:
        """Wait until the tracer says that a cell runs long, however long that takes. Return False if the line has
        ended. For a thread that no other code waits for."""
        while True:
            ours = self._ours
            if ours is None or not self.listens():
                return False
            if not self._ticked:     # it may have come with the greeting, or with an answer
                waiting = select.poll()
                waiting.register(ours, select.POLLIN)
                waiting.poll()
            with self._lock:
                if self._ours is not ours:
                    return False
                try:
                    self._take_all(0)
                except (OSError, Broken):
                    self._drop()
                    return False
                ticked, self._ticked = self._ticked, False
            if ticked:
                return True

    # ---- questions

    @property
    def unanswered(self) -> int:
        """Return the number of requests in a row without an answer in time."""
        return self._missed

    def ask(
        self, what: str, patience: float | None = None, most: float | None = None, patient: bool = False,
        again: bool = False, **more: Any
    ) -> Any:
        """Ask the tracer, and wait for the answer at most that many seconds, ASKED_FOR where None. most: the limit in
        all, while packets of the answer keep coming. patient: wait also for a tracer that has not answered several
        times; while its question has no answer, it is repeated, not asked anew. again: an answer to an equal question
        that came too late will do.

        The answer is the result of its function in _packets.READERS, or a sentence (str) of the tracer that says why it
        has none, or None: no tracer listens, or it did not answer in time.
        """
        start, patience = time.monotonic(), ASKED_FOR if patience is None else patience
        if not self._lock.acquire(timeout=patience):
            return None
        try:
            if not self.listens():
                return None
            self._take_all(0)     # a late answer ends the impatience
            late, same = None, None
            if patient:
                late, self._tardy = self._tardy, None
                same = next((r for r in self._open.values() if (r.what, r.more) == (what, more)), None)
            if again and late is not None and (late.what, late.more) == (what, more):
                return late.answer
            patience = patience if patient else self._patience(patience)
            before = next((r for r in self._open.values() if r.what == what == "cell"), None)
            if same is None and (
                before is not None
                and not self._remind(before, start, patience)
                or len(self._open) >= _MOST_OPEN
                and not self._remind(None, start, patience)
            ):
                return None
            request = same or self._send(what, more)
            if request is None:
                return None
            marker("ask")
            self._take_all(start + patience, request, start + most if most else None)
            if request.answer is None:
                self._missed += 1
                self._vain += time.monotonic() - start
            return request.answer
        except (OSError, Broken):
            self._drop()
            return None
        finally:
            self._lock.release()

    def _patience(self, wanted: float) -> float:
        """Return how long to wait for an answer. A tracer that has not answered in this cell is not waited for again
        and again. A caller that asks for more patience than a cell may take gets it."""
        if self._missed > 1:
            return _IMPATIENT
        return wanted if wanted > ASKED_FOR else max(_IMPATIENT, min(wanted, ASKED_FOR - self._vain))

    def _remind(self, request: Request | None, start: float, patience: float) -> bool:
        """Repeat an unanswered request instead of a new one: the tracer may not have seen it. Return whether the tracer
        has answered it by now; with no request, whether it has answered any.

        The answer to one question for cells has all that have ended by then. So a tracer that comes back has one
        question to answer, not one for each cell.
        """
        marker("ask")
        self._take_all(start + patience if request is not None else 0, request)
        if len(self._open) >= _MOST_OPEN or request is not None and request.answer is None:
            self._missed += 1
            self._vain += time.monotonic() - start
            return False
        if request is not None and isinstance(request.answer, list):
            self.late = (self.late + [request.answer])[-3:]
        return True

    def _send(self, what: str, more: dict[str, Any]) -> Request | None:
        """Send a question. Return its request, None where that has no room."""
        number, self._next = self._next, self._next + 1
        data = json.dumps(dict(more, id=number, ask=what)).encode()
        if len(data) > _packets.MOST_REQUEST:
            return None
        if self._identity(self._ours) != self._made[0]:
            raise Broken
        try:
            self._ours.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            self._missed += 1
            return None
        self._open[number] = Request(what, more)
        return self._open[number]


LINE = Line()   # that of this process
