"""A server that traces every kernel (`tracer serve --auto`): the companion says to it, once in a process, that it is
there, and the first cell waits for the tracer.

Nothing is asked where no server is, and a server that is not for that says so and does nothing. IPYTRACER_AUTO=off
keeps a process out of it.
"""

from __future__ import annotations

import os
import time

from . import _serve, _starter, _words
from ._line import LINE

VARIABLE = "IPYTRACER_AUTO"
PATIENCE = 5.0       # seconds that the first cell waits for a session that has begun, once in a process
_TRY = 0.050         # seconds between two offers

_asked: list[int] = []          # the process that has said that it is there
_awaited: list[int] = []        # the process of which the session is still waited for
_refused: list[str] = []        # why the server does not trace this one, in its words


def begin() -> None:
    """Say to a server that this process is there, unless it is traced already or will be. Nothing is waited for but the
    server's answer."""
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
    """As a cell begins: where a server has just begun a session, wait until that listens, once and for PATIENCE at
    most."""
    if _awaited != [os.getpid()]:
        return
    del _awaited[:]
    end = time.monotonic() + PATIENCE
    while not LINE.look(cell=True, patience=_TRY) and time.monotonic() < end:
        pass


def said() -> str:
    """What to say of it in the place of that no tracer listens: a sentence, "" for nothing."""
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
