"""Markers of messages between a notebook and its workers, for `tracer merge`: from the times at which both ends mark a
message it learns how far two machines' clocks are apart.

The notebook's question for figures is the message to the workers, and each answer the one back. The tracer keeps every
name of a marker, so most questions are not marked.
"""

from __future__ import annotations

import re
import secrets
import time

from ._line import marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

NAME = "dask:clock"
_INTERVAL = 60.0         # seconds between two marked questions
_MOST_ANSWERS = 300      # of a question
_IN_ONE = 6              # messages in a marker: a name has fewer than 160 bytes
_ID = re.compile(r"[0-9a-f]{16}\Z")


def new() -> str:
    """Return the id of a message."""
    return secrets.token_hex(8)


def is_id(text: object) -> bool:
    """Report whether a text is an id as new() makes them. It may come from anybody."""
    return isinstance(text, str) and _ID.match(text) is not None


def arrived(messages: Iterable[str]) -> None:
    """Mark that messages have arrived."""
    name = NAME + "".join("@got:" + message for message in messages)
    marker("begin " + name)
    marker("end " + name)


class Clock:
    """The marks at the notebook's end, for one client."""

    def __init__(self) -> None:
        self._due = 0.0                        # as time.monotonic(); 0: now
        self._marked: frozenset[str] = frozenset()     # the workers with a tracer at the last marked question

    def asks(self) -> str:
        """Mark that a question is about to be sent. Return its id, "" for a question without a mark."""
        if self._due and time.monotonic() < self._due:
            return ""
        self._due = time.monotonic() + _INTERVAL
        message = new()
        name = "%s@sent:%s" % (NAME, message)
        marker("begin " + name)
        marker("end " + name)
        return message

    def hears(self, question: str, answers: Iterable[tuple[str, Any]]) -> None:
        """Mark that the answers to a question have arrived: (worker, what it answered). The next question is marked
        if a tracer listens to a worker that had none at the last marked one."""
        answers = [(worker, data) for worker, data in answers if isinstance(data, dict)]
        if question:
            found = [data["sent"] for _, data in answers if is_id(data.get("sent"))][:_MOST_ANSWERS]
            for i in range(0, len(found), _IN_ONE):
                arrived(found[i:i + _IN_ONE])
        listen = frozenset(worker for worker, data in answers if data.get("listens") is True)
        if question:
            self._marked = listen
        elif listen - self._marked:
            self._due = 0.0


class Answer:
    """The marks at a worker's end, around the work that an answer takes. A question without a valid id has none."""

    def __init__(self, question: object) -> None:
        self.sent = new() if is_id(question) else ""
        self._name = "%s@got:%s@sent:%s" % (NAME, question, self.sent)
        if self.sent:
            marker("begin " + self._name)

    def leaves(self) -> str:
        """Mark that the answer is about to be sent. Return its id, "" if it has no mark."""
        if self.sent:
            marker("end " + self._name)
        return self.sent
