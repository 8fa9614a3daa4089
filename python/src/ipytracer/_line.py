"""The line to the tracer: one end of a pair of connected sockets that the tracer makes, and sends over a pair that is made here when a marker tells
the number of its other end. Both processes have that one; the line's own ends have one owner each, so that neither can keep the other's locked.

There is no path, no port and no name. A marker is a compile of nothing under a name that the tracer's probe reads; it takes a few microseconds,
whether or not anybody listens. Nothing here waits for a tracer that is not there, nothing raises, and a tracer that does not keep to the
protocol loses its line.
"""

import array
import json
import os
import select
import socket
import threading
import time

from . import _asking, _packets

AFTER_CELL = 0.150   # seconds that an answer after a cell may take
ASKED_FOR = 0.200    # seconds without a packet, where the user himself asked; and how long may be waited in vain in one cell
IN_ALL = 2.0         # seconds that an answer of many packets may take
_OFFERED_FOR = 0.050   # seconds that a tracer has to take the line over
_IMPATIENT = 0.005   # seconds, for a tracer that has not answered several times

_MOST_OPEN = 16      # requests without an answer
_MOST_TAKEN = 300    # packets at a time


def marker(text):
    """Say something to a tracer, if there is one: text is "cell", "ask", "line 5", "begin NAME" …"""
    compile("", "<ipytracer:%s>" % text, "exec")


class _Broken(Exception):
    """The other end has closed the line, or does not keep to the protocol."""


def _sockets(numbers):
    """The descriptors that have come, as sockets; one that is none is closed, with all others."""
    ends = []
    try:
        for n in numbers:
            ends.append(socket.socket(fileno=n))
    except OSError:
        for end in ends:
            end.close()
        for n in numbers[len(ends):]:
            os.close(n)
        raise _Broken from None
    return ends


class Request:
    """One request: what was asked, the packets that have come, and the answer once it is whole."""

    __slots__ = ("what", "parts", "size", "answer")

    def __init__(self, what):
        self.what, self.parts, self.size, self.answer = what, [], 0, None


class Line:
    """One process's line. Any thread may use it; none is kept longer than the waits above."""

    def __init__(self, use=""):
        self._use = use         # what stands behind the number in the marker
        self._lock = threading.Lock()
        self._buffer = None
        self._ours = self._theirs = None
        self._at_home = True    # False in a forked child that has run no cell
        self.older = False      # a tracer has answered that does not know how to make a line of its own
        self.said = False       # whether the user knows that no tracer listens, or that one did
        self._clear()
        os.register_at_fork(after_in_child=self._forked)

    def _clear(self):
        self.hello = None       # _packets.Hello while a tracer listens
        self.newest = None      # the last cell that the tracer told of, and that did not only ask about others
        self.late = []          # Windows that were asked for after cells, and came too late to be waited for
        self._pid = os.getpid()
        self._offered = 0.0     # when their end's number was told last, as time.monotonic()
        self._ticked = False    # the tracer has said that a cell runs
        self._next = 1
        self._open = {}         # request id: Request
        self._missed = 0        # answers in a row that did not come in time
        self._vain = 0.0        # seconds that were waited for them since a cell began

    # ---- the pair

    def _make(self):
        """A new pair to offer, unless there is one, or a line."""
        if self._ours is not None:
            return
        self._clear()
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self._made = self._identity(self._ours), self._identity(self._theirs)
        # With its inode: a tracer that hears of it late finds another file under that number, perhaps a second line's.
        self._marker = "<ipytracer:line %d%s %d>" % (self._theirs.fileno(), self._use, self._made[1][1])
        if self._buffer is None:
            self._buffer, self._one = memoryview(bytearray(_packets.MOST_BYTES + 1)), bytearray(1)

    @staticmethod
    def _identity(end):
        seen = os.fstat(end.fileno())
        return seen.st_dev, seen.st_ino

    def _drop(self, ours=True):
        """No line any more. An end whose number means another file by now is forgotten, not closed. ours: it is this process's, and whoever waits
        at it is to know."""
        for end, made in ((self._ours, 0), (self._theirs, 1)):
            if end is None:
                continue
            try:
                if self._identity(end) == self._made[made]:
                    if ours and not made:
                        end.shutdown(socket.SHUT_RDWR)
                    end.close()
                else:
                    end.detach()
            except OSError:
                end.detach()
        self._ours = self._theirs = None
        self._clear()

    def _forked(self):
        """In a child that was forked: the line is its parent's."""
        self._lock = threading.Lock()
        self._at_home = False
        self._drop(ours=False)

    def look(self, cell=False, patience=0):
        """Say whether a tracer listens, without waiting: take in what has come, and offer the line while there is none.

        cell: a cell is about to run. Only then does a forked child make a line of its own. patience: seconds that a tracer has to answer the offer;
        only for what would say that there is none.
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
            except (OSError, _Broken):
                self._drop()
            return self.hello is not None
        finally:
            self._lock.release()

    def _offer(self):
        """Tell the number of their end; not while the tracer may be about to take it over."""
        now = time.monotonic()
        if now - self._offered >= _OFFERED_FOR:
            self._offered = now
            compile("", self._marker, "exec")

    def listens(self):
        """Say whether a tracer listened when the line was looked at last. It is no look of its own."""
        return self.hello is not None and self._pid == os.getpid()

    def is_home(self):
        """Say whether this process may have a line: not a forked child that has run no cell. It is no look of its own."""
        return self._at_home and self._pid == os.getpid()

    def close(self):
        """Give the line up, as at the end of the extension."""
        if self._lock.acquire(timeout=ASKED_FOR):
            try:
                self._drop()
            finally:
                self._lock.release()

    # ---- packets

    def _packet(self, deadline):
        """The next packet, waiting until the deadline (a time.monotonic(); 0: not at all); None if there is none by then."""
        try:
            self._ours.recv_into(self._one, 1, socket.MSG_PEEK)
        except BlockingIOError:
            rest = deadline - time.monotonic() if deadline else 0
            if rest <= 0 or not self._readable(rest):
                return None
        if self._identity(self._ours) != self._made[0]:   # closed by somebody else, and the number means another socket now
            raise _Broken
        n = self._ours.recv_into(self._buffer)
        if not 0 < n <= _packets.MOST_BYTES:
            raise _Broken
        try:
            return _packets.decode(self._buffer[:n]), n
        except ValueError:
            raise _Broken from None

    def _fetch(self, deadline):
        """Take the end that a tracer has made and sent, waiting until the deadline: that is the line, and the pair was only for that. False: there is none
        by then."""
        try:
            self._ours.recv_into(self._one, 1, socket.MSG_PEEK)
        except BlockingIOError:
            rest = deadline - time.monotonic() if deadline else 0
            if rest <= 0 or not self._readable(rest):
                return False
        if self._identity(self._ours) != self._made[0]:
            raise _Broken
        data, control, flags, _ = self._ours.recvmsg(_packets.MOST_REQUEST, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        self.older, ends = False, []
        for level, kind, numbers in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                ends.extend(_sockets(array.array("i", numbers[:len(numbers) // 4 * 4])))
        try:
            packet = _packets.decode(data)
            self.older = "hello" in packet
            if packet.get("line") != _packets.PROTOCOL or flags & socket.MSG_CTRUNC or len(ends) != 1:
                raise _Broken
            end = ends[0]
            if (end.family, end.type) != (socket.AF_UNIX, socket.SOCK_SEQPACKET):
                raise _Broken
            end.setblocking(False)
            pair = self._ours, self._theirs
            self._made = self._identity(end), None
            self._ours, self._theirs = ends.pop(), None
            for one in pair:
                one.close()
            return True
        except ValueError:
            raise _Broken from None
        finally:
            for end in ends:
                end.close()

    def _readable(self, seconds):
        waiting = select.poll()
        waiting.register(self._ours, select.POLLIN)
        return waiting.poll(seconds * 1000)

    def _take(self, deadline):
        """Take in one packet; the Request it belongs to, None if there was no packet, False if it was the greeting."""
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
            if "hello" in packet:    # once more
                return False
            if "tick" in packet:
                self._ticked = True
                return False
            return self._part(packet, size)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _Broken from None

    def _part(self, packet, size):
        """A packet of an answer."""
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

    def _take_all(self, deadline, wanted=None, most=None):
        """Take in what comes until the wanted request is answered, at most until the deadline; with most it moves on with each packet of the answer,
        up to that. With none wanted: what lies there."""
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
            elif wanted.answer is not None:
                break
            elif most:
                deadline = min(most, time.monotonic() + ASKED_FOR)

    def wait(self):
        """Wait until the tracer says that a cell runs long, however long that takes; False: the line has ended. For a thread that nobody waits for."""
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
                except (OSError, _Broken):
                    self._drop()
                    return False
                ticked, self._ticked = self._ticked, False
            if ticked:
                return True

    # ---- questions

    @property
    def unanswered(self):
        """How many requests in a row have had no answer in time."""
        return self._missed

    def ask(self, what, patience=None, most=None, patient=False, **more):
        """Ask the tracer, and wait for the answer at most that many seconds, ASKED_FOR where None; most: in all, while packets of it keep coming.
        patient: also of a tracer that has not answered several times.

        The answer is what _packets.READERS makes of it, or a sentence (str) of the tracer's that says why it has none, or None: no tracer listens, or it
        did not answer in time.
        """
        start, patience = time.monotonic(), ASKED_FOR if patience is None else patience
        if not self._lock.acquire(timeout=patience):
            return None
        try:
            if not self.listens():
                return None
            self._take_all(0)     # an answer that is late ends the impatience
            patience = patience if patient else self._patience(patience)
            before = next((r for r in self._open.values() if r.what == what == "cell"), None)
            if before is not None and not self._remind(before, start, patience) or len(self._open) >= _MOST_OPEN and not self._remind(None, start, patience):
                return None
            return self._ask(what, start, patience, most, more)
        except (OSError, _Broken):
            self._drop()
            return None
        finally:
            self._lock.release()

    def _patience(self, wanted):
        """How long an answer is waited for: a tracer that has not answered in this cell is not waited for again and again. Who asks for more patience than
        a cell may take has it."""
        if self._missed > 1:
            return _IMPATIENT
        return wanted if wanted > ASKED_FOR else max(_IMPATIENT, min(wanted, ASKED_FOR - self._vain))

    def _remind(self, request, start, patience):
        """Ask for nothing new while that lies unanswered, but once more for that: the tracer may not have seen that it was asked. Whether it has answered by
        now; with no request, whether it has answered any.

        One question for cells is answered with all that are over by then. So a tracer that comes back has one to answer, not one of each cell.
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

    def _ask(self, what, start, patience, most, more):
        number, self._next = self._next, self._next + 1
        data = json.dumps(dict(more, id=number, ask=what)).encode()
        if len(data) > _packets.MOST_REQUEST:
            return None
        if self._identity(self._ours) != self._made[0]:
            raise _Broken
        try:
            self._ours.send(data, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            self._missed += 1
            return None
        request = self._open[number] = Request(what)
        marker("ask")
        self._take_all(start + patience, request, start + most if most else None)
        if request.answer is None:
            self._missed += 1
            self._vain += time.monotonic() - start
        return request.answer


LINE = Line()   # this process's
