"""The trace to which a cell's tasks belong: W3C's trace context, which workers name as the parent of their tasks.

An agent that traces this kernel sends a span for each cell, and must know its ids as well. So a marker has them, with a
key that is random and that workers do not learn: the ids are hashes of it. Who has seen a traceparent cannot make a
marker that gives a cell of his own the same ids.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time

from ._line import marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANNOTATION = "ipytracer_trace"     # of a task: the traceparent
NONE = "none"                      # in a marker: the tasks that begin now have none
_IDLE = 600.0                      # seconds without a cell that submits, after which another trace begins
_MOST_CELLS = 1000                 # of a trace
_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")


def is_context(text: Any) -> bool:
    """Report whether a text has the form of a traceparent. It may come from anybody."""
    return isinstance(text, str) and _TRACEPARENT.match(text) is not None


def ids(key: str, number: int) -> tuple[str, str]:
    """Return the ids of a trace and of a cell in it."""
    trace = hashlib.sha256(("ipytracer trace " + key).encode()).hexdigest()[:32]
    span = hashlib.sha256(("ipytracer span %s.%d" % (key, number)).encode()).hexdigest()[:16]
    return trace, span


class Traces:
    """The traces of this process's cells. Any thread may ask for the running one's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key = self._cell = self._context = ""
        self._number, self._last = 0, 0.0

    def of(self, cell: str) -> str:
        """Return the traceparent of the running cell. The first time in a cell, the marker is set."""
        with self._lock:
            now = time.monotonic()
            if cell == self._cell:
                self._last = now
                return self._context
            if not self._key or self._number >= _MOST_CELLS or now - self._last > _IDLE:
                self._key, self._number = secrets.token_hex(16), 0
            self._cell, self._last, self._number = cell, now, self._number + 1
            self._context = "00-%s-%s-01" % ids(self._key, self._number)
            name = "dask:submit %s.%d@sent:%s" % (self._key, self._number, self._context)
            marker("begin " + name)
            marker("end " + name)
            return self._context


TRACES = Traces()   # those of this process
