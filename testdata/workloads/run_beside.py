#!/usr/bin/env python3
"""Runs `tracer agent` beside a user whose processes are costly to look at, in a process id namespace of its own. Prints
for kernels of another user how long after its interpreter's start each is followed, and ends with status 1 where one
has not been followed before its first cell within SECONDS, or where `tracer kernels` does not list it.

    unshare --pid --fork --mount-proc --kill-child run_beside.py TRACER SECONDS TRIES [copies N | claims N | odd N]

`copies N` are sleeping copies of the interpreter, each a file of its own; `claims N` have a kernel's arguments besides.
`odd N` are processes that map an executable
file named python-x with symbols of long names, each a file of its own, and whose name the last N/4 have removed.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from run_agent import Agent, holds, until

ATTACKER, USER = 61111, 61112
MAPS = """
import mmap, os, sys, time
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
if sys.argv[2:]:
    os.remove(sys.argv[1])
print("mapped", flush=True)
time.sleep(3600)
"""


def odd(path, symbols=2_000, names=16 << 20):
    """Writes an ELF file with symbols that share one long name."""
    parts, dyn = 4, 64 + 64 * 4
    texts = b"\0.dynsym\0.dynstr\0"
    at = dyn + 24 * (symbols + 1)
    strings = at + len(texts) + 15 & ~15

    def section(name, kind, offset, size, link=0, entry=0):
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, link, 0, 1, entry)

    with open(path, "wb") as f:
        f.write(b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8) +
                struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, parts, 1))
        f.write(section(0, 0, 0, 0) + section(0, 3, at, len(texts)) +
                section(1, 11, dyn, 24 * (symbols + 1), 3, 24) + section(9, 3, strings, names) + bytes(24))
        for i in range(symbols):
            f.write(struct.pack("<IBBHQQ", 1 + i % 1000, 0x12, 0, 1, 0x1000 + i, 1))
        f.write(texts)
        f.seek(strings)
        f.write(b"P" * (names - 1) + b"\0")


def as_user(uid, *command, **more):
    return subprocess.Popen(["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", *command], **more)


def attack(kind, n, folder):
    """Has n processes of the attacker run."""
    script = os.path.join(folder, "sleeps.py" if kind == "copies" else "ipykernel_launcher.py")
    with open(script, "w") as f:
        f.write("import time; time.sleep(3600)")
    for i in range(n):
        if kind != "odd":
            name = os.path.join(folder, "python3.%d" % i)
            shutil.copy(os.path.realpath(sys.executable), name)
            os.chmod(name, 0o755)
            as_user(ATTACKER, name, "-S", script)
            continue
        place = os.path.join(folder, str(i))
        os.mkdir(place)
        name = os.path.join(place, "python-x")
        odd(name)
        os.chown(place, ATTACKER, ATTACKER)
        removed = ["removed"] if i >= n * 3 // 4 else []
        as_user(ATTACKER, "/usr/bin/env", "-i", sys.executable, "-S", "-c", MAPS, name, *removed,
                stdout=subprocess.DEVNULL)


def age(pid):
    """Returns how long ago a process began, in seconds."""
    with open("/proc/%d/stat" % pid) as f:
        ticks = int(f.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / 100


def kernel_of(user):
    """Returns the pid of a user's kernel, None for none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid) as f:
                if os.stat("/proc/" + pid).st_uid == user and "ipykernel_launcher" in f.read():
                    return int(pid)
        except OSError:
            continue
    return None


def one(agent, tracer, folder):
    """Returns how long after its interpreter's start a kernel is followed, and how long `tracer kernels` takes."""
    notebook = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_notebook.py")
    n = as_user(USER, sys.executable, notebook, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=dict(os.environ, HOME=folder, PYTHONDONTWRITEBYTECODE="1"))
    pid, seen = None, None
    for _ in range(100_000):
        pid = pid or kernel_of(USER)
        if pid and agent.slot(pid) is not None:
            seen = age(pid)
            break
        time.sleep(0.01)
    holds("it is followed", seen is not None)
    holds("the kernel has its pid", json.loads(n.stdout.readline())["pid"] == pid)
    user = {"user": str(USER)}
    before = agent.value("ipytracer_cells_total", **user)
    n.stdin.write(json.dumps({"code": "x = bytearray(50 << 20)"}) + "\n")
    n.stdin.flush()
    n.stdout.readline()
    until("its first cell is counted", lambda: agent.value("ipytracer_cells_total", **user) > before)
    began = time.monotonic()
    listed = subprocess.run([tracer, "kernels", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    took = time.monotonic() - began
    holds("tracer kernels lists it", any(k["pid"] == pid and k["ipython"] for k in json.loads(listed)), listed)
    n.stdin.close()
    n.wait()
    until("it is gone", lambda: agent.slot(pid) is None)
    return seen, took


def main():
    tracer, most, tries = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        home = os.path.join(folder, "home")
        os.mkdir(home)
        os.chown(home, USER, USER)
        agent = Agent(tracer, folder, config="refresh: 1s\n")
        if sys.argv[4:]:
            attack(sys.argv[4], int(sys.argv[5]), folder)
            time.sleep(1)
        all = []
        for _ in range(tries):
            try:
                seen, took = one(agent, tracer, home)
            except BaseException:
                print(agent.said(), agent.process.poll())
                raise
            all.append(seen)
            print("followed after %.2f s, tracer kernels took %.2f s, load %.1f" % (seen, took, os.getloadavg()[0]),
                  flush=True)
        holds("each within %g s" % most, max(all) <= most, all)
        holds("none ran a cell before, on a machine that is not too busy",
              most > 3 or agent.value("ipytracer_kernels_missed_total") == 0)
        agent.process.terminate()
        holds("the agent ends well", agent.process.wait(60) == 0, agent.said())
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every process with it


if __name__ == "__main__":
    main()
