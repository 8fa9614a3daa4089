"""Asking a running `tracer serve` for a session of this process: one packet each way, within a fifth of a second.

The server belongs to root. It learns from the Linux kernel which process asks; the request does not say it.
docs/serve.md has the protocol.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATH = "/run/ipytracer/serve.sock"
PATIENCE = 0.200         # seconds, in all
_MOST = 4096             # bytes of an answer


THERE, CLOSED, NONE = "there", "closed", "none"


class NoServer(Exception):
    """No server answers at the socket, or its owner is the wrong user."""


class Slow(Exception):
    """A server is there, and does not answer in time."""


def path() -> str:
    """Return the server's socket: IPYTRACER_SERVE, for containers that have it elsewhere, or its usual place."""
    return os.environ.get("IPYTRACER_SERVE") or PATH


def look() -> str:
    """Report whether a server of root's listens: THERE; CLOSED, where this user may not reach it; or NONE. It asks
    nothing, and waits for nothing."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.setblocking(False)
            failed = line.connect_ex(path())
            if failed in (0, errno.EAGAIN):      # connected; or the queue before us is full
                return THERE if failed or _owner(line) == 0 else NONE
    except (OSError, ValueError):
        return NONE
    return CLOSED if failed in (errno.EACCES, errno.EPERM) and _is_roots(os.path.dirname(path())) else NONE


def _is_roots(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid == 0 and stat.S_ISDIR(found.st_mode)


def _owner(line: socket.socket) -> int:
    """Return the user at the other end."""
    uid: int
    _, uid, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return uid


def _connect(line: socket.socket, until: float) -> None:
    """Connect. The queue in front of the server may be full for a moment, or be kept full by somebody: then try again
    until that time."""
    while True:
        try:
            return line.connect(path())
        except BlockingIOError:
            if time.monotonic() >= until:
                raise socket.timeout from None
            time.sleep(0.002)


def ask(what: str) -> dict[str, Any]:
    """Ask the server to "start" or "stop" a session of this process. Return the answer as a dict. Raise NoServer where
    there is none, Slow where it takes too long."""
    until = time.monotonic() + PATIENCE
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(PATIENCE)
            _connect(line, until)
            if _owner(line) != 0:
                raise NoServer("it is not root's")
            line.send(json.dumps({"ask": what}).encode())
            line.settimeout(max(0.001, until - time.monotonic()))
            answer = json.loads(line.recv(_MOST + 1))
    except socket.timeout:
        raise Slow from None
    except (OSError, ValueError) as e:
        raise NoServer(str(e)) from None
    if not isinstance(answer, dict) or answer.get("serve") != "ipytracer/serve/v1":
        raise NoServer("it speaks another language")
    return answer


def sentence(what: str, listens: bool, todo: str) -> str:
    """Return a sentence about "start" or "stop". listens: a tracer does already; todo: the alternative where no server
    runs."""
    return outcome(what, listens, todo)[1]


def outcome(what: str, listens: bool, todo: str) -> tuple[bool, str]:
    """Return (whether the server does as asked, or a tracer listens already; a sentence about it)."""
    if what == "start" and listens:
        return True, "a tracer listens already"
    try:
        answer = ask(what)
    except NoServer:
        if what == "start":
            return False, "no 'tracer serve' runs here; " + todo
        return False, "no 'tracer serve' runs here; a session that was started in a terminal ends there, with Ctrl-C"
    except Slow:
        return False, "'tracer serve' did not answer within %g s; try again in a moment" % PATIENCE
    said = answer.get("error") if isinstance(answer.get("error"), str) else ""
    last = answer.get("last") if isinstance(answer.get("last"), str) else ""
    if answer.get("ok") is not True:
        return False, said or last or "the server refuses"
    report = answer.get("report") if isinstance(answer.get("report"), str) else ""
    if what == "stop":
        return True, "the session ends" + ("; its report will be in " + report if report else "")
    begins = "a session was begun already" if answer.get("runs") is True else "a session begins"
    text = (
        begins
        + "; figures come under the cells in a few seconds"
        + (", and its report, when it ends, will be in " + report if report else "")
    )
    return True, text + " (the one before ended: %s)" % last if last else text
