#!/usr/bin/env python3
"""Runs `tracer agent` beside kernels of another user that map files made to take memory of whoever reads them, in a
process id namespace of its own: the agent's memory stays near the usual, another kernel's figures are right, and the
agent ends when it is asked to.

    unshare --pid --fork --mount-proc --kill-child run_agent_hostile.py TRACER FOLDER
"""

import json
import os
import signal
import sys
import tempfile
import time

from run_agent import Agent, holds, until
from run_agent_confined import kernel_of_another_user

MIB = 1 << 20
MOST = 128 * MIB    # above the usual
LONGEST = 30        # seconds, to end, on a busy machine
MAP = """
import mmap, os
kept = []
for folder, _, names in sorted(os.walk(%r)):
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as f:
            size = min(os.fstat(f.fileno()).st_size, 64 << 10)  # less than a huge page, which would count
            kept.append(mmap.mmap(f.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
"""
NEEDS = """
def kib(key):
    with open("/proc/self/status") as f:
        return int(next(line for line in f if line.startswith(key)).split()[1])
before = kib("VmRSS"); x = bytearray(%d << 20); del x; print(kib("VmHWM") - before << 10)
"""


def highest(pid):
    """Returns the most memory that a process and those that it has started have had."""
    with open("/proc/%d/status" % pid) as f:
        most = sum(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return most + sum(highest(int(child)) for child in f.read().split())


def answer(kernel, code):
    """Runs a cell."""
    kernel.stdin.write(json.dumps({"code": code}) + "\n")
    kernel.stdin.flush()
    return json.loads(kernel.stdout.readline())


def has_need(agent, kernel, mib):
    """Runs a cell of a known need in a kernel that is followed, the highest so far, and compares with Linux's peak.
    What a look makes resident (pages of files, 64 KiB each) is in both."""
    slot = until("it is followed", lambda: agent.slot(kernel.number))
    shown = answer(kernel, NEEDS % mib)["outputs"][0]
    need = until("a need of %d MiB is seen" % mib, lambda: max(
        0, agent.value("ipytracer_kernel_highest_bytes", kernel=slot) - (mib - 1) * MIB)) + (mib - 1) * MIB
    holds("it is right", abs(need - int(shown)) < MIB, need, shown)


def main(tracer, hostile):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        agent = Agent(tracer, folder)
        own = kernel_of_another_user(folder)
        has_need(agent, own, 77)
        usual = highest(agent.process.pid)
        stranger = kernel_of_another_user(folder)
        answer(stranger, MAP % hostile)
        has_need(agent, stranger, 77)
        most = highest(agent.process.pid)
        holds("%d MiB, usually %d" % (most / MIB, usual / MIB), most <= usual + MOST)
        stranger.stdin.close()
        stranger.wait()
        has_need(agent, own, 88)
        began = time.monotonic()
        agent.process.send_signal(signal.SIGTERM)
        status = agent.process.wait()
        took = time.monotonic() - began
        holds("it ends after %.1f s" % took, status == 0 and took <= LONGEST, status, agent.said())
        own.stdin.close()
        own.wait()
    print("all holds")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
