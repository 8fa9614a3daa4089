"""Waits until threads that have ended are gone.

Up to Python 3.12 Thread.join returns when the thread has no more to do with Python. It has its stack yet, 8 MiB that
the C library keeps for the next thread or unmaps; on a busy machine for long enough to do so in the next cell.
IPython's prompt starts and joins a thread each time (prompt_toolkit's patch_stdout): it begins in the window of the
cell before it and is joined right before the next cell. If the stack of the last one is not free when it begins, that
cell maps 8 MiB more.
"""

import os
import time


def wait(pid, but=None, seconds=5):
    """Until all threads of a process sleep, but for one that may be left out; one that computes for long is waited for
    so long."""
    end = time.monotonic() + seconds
    while _moving(pid, but) and time.monotonic() < end:
        time.sleep(0.001)


def _moving(pid, but):
    """Does a thread run, or wait for a CPU, a lock of the kernel or a disk? One that ends does until it is gone."""
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return False
    for tid in threads:
        try:
            with open("/proc/%d/task/%s/stat" % (pid, tid)) as f:
                state = f.read().rpartition(")")[2].split()[0]
        except OSError:
            continue        # it is gone
        if state != "S" and int(tid) != but:
            return True
    return False


def register(shell):
    """From now on each cell of this shell waits for what came before it, before its window begins."""
    shell.events.register("pre_run_cell", lambda info: wait(os.getpid(), but=os.getpid()))
