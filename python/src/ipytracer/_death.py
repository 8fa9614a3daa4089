"""The report of the last kernel of this notebook, where that one was killed and an agent (`tracer agent`) has seen it.

A third pair of sockets is offered to the agent, like those of a Line. An agent that has a report takes it over, sends
one packet, and closes. Nothing is asked, and nothing waits for an agent that is not there.
"""

from __future__ import annotations

import os
import time

from . import _packets, _words
from ._ends import Broken, Ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._values import Packet

VARIABLE = "IPYTRACER_DEATHS"
_OFFERS = 100    # times that the pair is offered: an agent finds a kernel within seconds
_EVERY = 0.200   # seconds from one offer to the next, at least
_LONGEST = 600   # characters of a sentence


class Death(Ends):
    """The offer, until a report has come or it was made often enough."""

    def __init__(self) -> None:
        super().__init__(" last")
        self._left = 0 if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no") else _OFFERS
        self._next = 0.0        # when it may be offered again, as time.monotonic()
        self._pid = os.getpid()
        self.need: int | None = None      # what the report's cell needed, in bytes

    def _clear(self) -> None:
        """Forget nothing: there is no state about an agent."""

    def offer(self) -> None:
        """Offer the pair, as a cell begins or the extension is loaded."""
        now = time.monotonic()
        if not self._left or self._pid != os.getpid() or now < self._next:
            return
        self._left, self._next = self._left - 1, now + _EVERY
        try:
            self._make()
        except OSError:
            self.close()
            return
        if self._theirs is not None and self._left:
            compile("", self._marker, "exec", 0, True)
        else:
            self.close()

    def said(self) -> str:
        """Return the sentence of a report that has come, once; "" if none has. This does not wait."""
        if self._ours is None or self._pid != os.getpid():
            return ""
        try:
            if not self._readable(0):
                return ""
            if self._theirs is not None:
                self._take_over()
                if not self._readable(0):
                    return ""
            if self._identity(self._ours) != self._made[0]:
                raise Broken
            n = self._ours.recv_into(self._buffer)
            packet = _packets.decode(self._buffer[:n]) if 0 < n <= _packets.MOST_BYTES else None
            said = _packets.death(packet) if packet is not None else ""
            self.need = _need(packet)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, Broken):
            said = ""
        self.close()
        return _words.safe(said, _LONGEST)

    def close(self) -> None:
        """Give the offer up for good."""
        self._left = 0
        if self._pid == os.getpid():
            self._drop()


def _need(packet: Packet | None) -> int | None:
    try:
        return None if packet is None else _packets.death_need(packet)
    except (ValueError, KeyError, TypeError):
        return None
