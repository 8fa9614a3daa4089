"""Asking a running `tracer serve` for a session of this very process: one packet there, one back, at most a fifth of a second.

The server, which is root's, learns from the Linux kernel who asks; nothing of the request says it. docs/serve.md has the protocol.
"""

import json
import os
import socket
import struct
import time

PATH = "/run/ipytracer/serve.sock"
PATIENCE = 0.200         # seconds, in all
_MOST = 4096             # bytes of an answer


class NoServer(Exception):
    """Nobody answers at the socket, or not who should."""


def path():
    """Where the server is: IPYTRACER_SERVE, for containers that have it elsewhere, or its usual place."""
    return os.environ.get("IPYTRACER_SERVE") or PATH


def ask(what):
    """Ask the server to "start" or "stop" a session of this process. The answer as a dict; NoServer where there is none."""
    until = time.monotonic() + PATIENCE
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(PATIENCE)
            line.connect(path())
            _, uid, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
            if uid != 0:
                raise NoServer("it is not root's")
            line.send(json.dumps({"ask": what}).encode())
            line.settimeout(max(0.001, until - time.monotonic()))
            answer = json.loads(line.recv(_MOST + 1))
    except (OSError, ValueError) as e:
        raise NoServer(str(e)) from None
    if not isinstance(answer, dict) or answer.get("serve") != "ipytracer/serve/v1":
        raise NoServer("it speaks another language")
    return answer


def sentence(what, listens, command):
    """What to say of "start" or "stop". listens: a tracer does already; command: what to type in a terminal."""
    if what == "start" and listens:
        return "a tracer listens already"
    try:
        answer = ask(what)
    except NoServer:
        if what == "start":
            return "no 'tracer serve' runs here; in a terminal, type: " + command
        return "no 'tracer serve' runs here; a session that was started in a terminal ends there, with Ctrl-C"
    said = answer.get("error") if isinstance(answer.get("error"), str) else ""
    last = answer.get("last") if isinstance(answer.get("last"), str) else ""
    if answer.get("ok") is not True:
        return said or last or "the server refuses"
    if what == "stop":
        return "the session ends"
    begins = "a session was begun already" if answer.get("runs") is True else "a session begins"
    text = begins + "; figures come under the cells in a few seconds"
    return text + " (the one before ended: %s)" % last if last else text
