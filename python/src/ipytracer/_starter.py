"""The tracer that started this process, as `tracer run` does: it will listen, so its first answer is worth waiting for.

It leaves its process id and start time in the environment, which every process below it inherits. They count only if an
ancestor has that id and began at that very time. So a tracer that has ended, or an invented value, makes no process
wait.
"""

from __future__ import annotations

import os
import time

from ._line import LINE

VARIABLE = "IPYTRACER_STARTED_BY"    # "PID START": START as in field 22 of /proc/PID/stat
PATIENCE = 10.0      # seconds, once in a process: the tracer has to find Python's functions first
_TRY = 0.050         # seconds between two offers
_MOST_ANCESTORS = 64

_waited: list[int] = []         # the pid of the process that has waited, so that it does so once


def _status(pid: int) -> tuple[int, int] | None:
    """Return (parent, start time) of a process by /proc, None where there is none. The process's name before them may
    contain anything."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            fields = f.read(4096).rpartition(b")")[2].split()
        return int(fields[1]), int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def runs() -> bool:
    """Report whether the tracer that started this process, or an ancestor of it, runs."""
    try:
        wanted, start = (int(n) for n in os.environ.get(VARIABLE, "").split())
    except ValueError:
        return False
    pid = os.getpid()
    for _ in range(_MOST_ANCESTORS):
        status = _status(pid)
        if status is None:
            return False
        pid = status[0]
        if pid <= 0:
            return False
        if pid == wanted:
            found = _status(pid)
            return found is not None and found[1] == start
    return False


def listens(cell: bool = False) -> bool:
    """Report whether a tracer listens. If the one that started this process does not yet, wait for PATIENCE at most,
    once, and only while it runs.

    cell: as in Line.look(). A forked child that has run no cell has no line, and does not wait.
    """
    if LINE.look(cell=cell):
        return True
    if _waited == [os.getpid()] or not LINE.is_home() or not runs():
        return False
    _waited[:] = [os.getpid()]
    end = time.monotonic() + PATIENCE
    while not LINE.look(cell=cell, patience=_TRY):
        if time.monotonic() >= end or not runs():
            return False
    return True
