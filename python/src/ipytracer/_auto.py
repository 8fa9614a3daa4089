"""A server that traces every kernel (`tracer serve --auto`): once in a process, the companion announces the process to
it, and the first cell waits for the tracer.

Where there is no server, nothing is asked. A server without --auto answers so and does nothing. IPYTRACER_AUTO=off
excludes a process.
"""

from __future__ import annotations

import os
import time

from . import _serve, _starter, _words
from ._line import LINE

VARIABLE = "IPYTRACER_AUTO"
PATIENCE = 5.0       # seconds that the first cell waits for a session that has begun, once in a process
_TRY = 0.050         # seconds between two offers

_asked: list[int] = []          # the pid of the process that has announced itself
_awaited: list[int] = []        # the pid of the process that still waits for its session
_refused: list[str] = []        # the server's reason not to trace this process


def begin() -> None:
    """Announce this process to a server, unless it is traced already or will be. This waits only for the server's
    answer."""
    if (
        _asked == [os.getpid()]
        or LINE.listens()
        or os.environ.get(VARIABLE, "").lower() in ("off", "0", "no")
        or _starter.runs()
    ):
        return
    if _serve.look() != _serve.THERE:
        return
    _asked[:] = [os.getpid()]
    try:
        answer = _serve.ask("auto")
    except (_serve.NoServer, _serve.Slow):
        return
    if answer.get("auto") is not True:
        return
    if answer.get("ok") is True:
        _awaited[:] = [os.getpid()]
    elif isinstance(answer.get("error"), str):
        _refused[:] = [answer["error"]]


def wait() -> None:
    """Wait, as a cell begins, until a session that a server has just begun listens: once, and for PATIENCE at most."""
    if _awaited != [os.getpid()]:
        return
    del _awaited[:]
    end = time.monotonic() + PATIENCE
    while not LINE.look(cell=True, patience=_TRY) and time.monotonic() < end:
        pass


def said() -> str:
    """Return a sentence to show in place of the one that no tracer listens; "" for nothing."""
    if _awaited == [os.getpid()]:
        return (
            "ipytracer: this machine's 'tracer serve' traces each kernel, and a session begins; "
            "the next cell waits for it"
        )
    if _refused:
        return "ipytracer: this machine's 'tracer serve' traces each kernel, but not this one: " + _words.safe(
            _refused.pop(), 400
        )
    return ""
