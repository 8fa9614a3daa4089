"""The two ends of the line to the tracer, as sockets: the pair that is offered, and the end that a tracer sends for
it."""

from __future__ import annotations

import array
import os
import select
import socket
import sys

from . import _packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._values import Packet


class Broken(Exception):
    """The other end has closed the line, or does not keep to the protocol."""


def sockets(numbers: Sequence[int]) -> list[socket.socket]:
    """Return received descriptors as sockets. If one is not a socket, all of them are closed."""
    ends = []
    try:
        for n in numbers:
            ends.append(socket.socket(fileno=n))
    except OSError:
        for end in ends:
            end.close()
        for n in numbers[len(ends):]:
            os.close(n)
        raise Broken from None
    return ends


_LOST = slice(16, 24)     # the number of lost blocks in a page to count in: struct counts of counts/counts.h


def spoil(page: int) -> None:
    """Close the descriptor of a page in which nobody will count, and have the tracer find a lost block there: it no
    longer believes the page."""
    import mmap
    try:
        with mmap.mmap(page, mmap.PAGESIZE) as mapped:
            mapped[_LOST] = (1).to_bytes(8, sys.byteorder)
    except (OSError, ValueError):
        pass
    finally:
        os.close(page)


class Request:
    """One request: its question, the packets received so far, and the answer once it is complete."""

    __slots__ = ("what", "more", "parts", "size", "answer")

    def __init__(self, what: str, more: dict[str, Any] | None = None) -> None:
        self.what, self.more, self.size = what, more or {}, 0
        self.parts: list[Packet] = []
        self.answer: Any = None


class Ends:
    """The sockets of a line, and the identities of their files when they were made."""

    def __init__(self, use: str) -> None:
        self._use = use         # the text behind the number in the marker
        self._buffer: Any = None             # a memoryview, once there has been a line
        self._ours: Any = None               # sockets, while there are any
        self._theirs: Any = None
        self._made: tuple[Any, Any]          # the identities of both files
        self._descriptor: int | None = None      # that a tracer has sent
        self.older = False      # a tracer has answered that cannot make a line of its own

    def _clear(self) -> None:
        """Forget everything about a tracer."""
        raise NotImplementedError

    def _make(self) -> None:
        """Make a new pair to offer, unless there is one, or a line."""
        if self._ours is not None:
            return
        self._clear()
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self._made = self._identity(self._ours), self._identity(self._theirs)
        # The number may mean another file by the time that a tracer sees the marker, perhaps the end of a second line.
        # The inode tells them apart.
        self._marker = "<ipytracer:line %d%s %d>" % (self._theirs.fileno(), self._use, self._made[1][1])
        if self._buffer is None:
            self._buffer, self._one = memoryview(bytearray(_packets.MOST_BYTES + 1)), bytearray(1)

    @staticmethod
    def _identity(end: socket.socket) -> tuple[int, int]:
        seen = os.fstat(end.fileno())
        return seen.st_dev, seen.st_ino

    def _drop(self, ours: bool = True) -> None:
        """Drop the line. An end with a number that means another file by now is forgotten, not closed. ours: the line
        belongs to this process, so a thread that waits at it must notice."""
        page = self.take_descriptor()
        if page is not None:
            spoil(page) if ours else os.close(page)
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

    def _take_over(self) -> None:
        """Receive the end that a tracer has sent, and use it instead of the pair."""
        data, control, flags, _ = self._ours.recvmsg(
            _packets.MOST_REQUEST, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
        )
        self.older, ends = False, []
        for level, kind, numbers in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                ends.extend(sockets(array.array("i", numbers[:len(numbers) // 4 * 4])))
        try:
            packet = _packets.decode(data)
            self.older = "hello" in packet
            if packet.get("line") != _packets.PROTOCOL or flags & socket.MSG_CTRUNC or len(ends) != 1:
                raise Broken
            end = ends[0]
            if (end.family, end.type) != (socket.AF_UNIX, socket.SOCK_SEQPACKET):
                raise Broken
            end.setblocking(False)
            pair = self._ours, self._theirs
            self._made = self._identity(end), None
            self._ours, self._theirs = ends.pop(), None
            for one in pair:
                one.close()
        except ValueError:
            raise Broken from None
        finally:
            for end in ends:
                end.close()

    def _receive(self) -> int:
        """Receive the next packet into the buffer, and return its size. A descriptor that comes with it is kept, in
        place of an earlier one that nobody has taken."""
        size, control, _, _ = self._ours.recvmsg_into([self._buffer], socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        for level, kind, numbers in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                for number in array.array("i", numbers[:len(numbers) // 4 * 4]):
                    self._descriptor, unused = number, self._descriptor
                    if unused is not None:
                        os.close(unused)
        return int(size)

    def take_descriptor(self) -> int | None:
        """Return the descriptor that the tracer has sent, which the caller closes; None if there is none."""
        taken, self._descriptor = self._descriptor, None
        return taken

    def _readable(self, seconds: float) -> object:
        waiting = select.poll()
        waiting.register(self._ours, select.POLLIN)
        return waiting.poll(seconds * 1000)
