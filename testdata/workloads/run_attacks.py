#!/usr/bin/env python3
"""Runs `tracer agent` beside an attacker, in a process id namespace of its own. Each try starts the agent anew, then
another user's kernel, and measures in seconds how long after its interpreter's start the kernel is followed, how long
`tracer kernels` takes, the slowest answer to GET /metrics, and the agent's end after SIGTERM. It ends with status 1
where a kernel is not followed before its first cell within SECONDS, the need of that cell is wrong, `tracer kernels`
does not list it, or the agent has taken 128 MiB more than without the attacker. The last lines have the median and the
highest of each.

    unshare --pid --fork --mount-proc --kill-child run_attacks.py TRACER SECONDS TRIES [ATTACK N]

    copies N        sleeping copies of the interpreter, each a file of its own
    claims N        these, with a kernel's arguments
    odd N           processes that map an executable file named python-x with symbols of long names, each a file of its
                    own; the last N/4 have removed its name
    silent N        kernels, by their arguments, with all files on file systems of their own (FUSE) that fall silent;
                    the environment has the program that serves such a file system as SERVES_FUSE
    files FOLDER    a kernel and two other processes that map all files below the folder, with PROT_EXEC
    idle N          N connections that are idle after a first request, and begin again when they are closed
    flood N         N threads that ask for /metrics
"""

import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

from run_agent import Agent, holds, until
from run_agent_hostile import MAP, highest

ATTACKER, USER = 61111, 61112
SERVERS = []        # of file systems: each ends with its input
MIB = 1 << 20
NEED = 50           # MiB, of a kernel's first cell
FIRST = 4           # MiB that a first cell may need besides
MOST = 128          # MiB above the usual
MAPS = """
import mmap, os, sys, time
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
if sys.argv[2:]:
    os.remove(sys.argv[1])
print("mapped", flush=True)
time.sleep(3600)
"""
CONNECTS = """
import socket, sys, time
host, port = sys.argv[1].split(":")
all = [None] * int(sys.argv[2])
while True:
    for i, s in enumerate(all):
        try:
            if s is None:
                all[i] = s = socket.create_connection((host, int(port)))
                s.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                s.setblocking(False)
            elif not s.recv(4096):
                all[i] = None
        except BlockingIOError:
            pass
        except OSError:
            all[i] = None
    time.sleep(0.05)
"""
ASKS = """
import sys, threading, urllib.request
def ask():
    while True:
        try:
            urllib.request.urlopen("http://%s/metrics" % sys.argv[1]).read()
        except OSError:
            pass
for _ in range(int(sys.argv[2])):
    threading.Thread(target=ask).start()
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


def setpriv(uid):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups"]


def as_user(uid, *command, **more):
    return subprocess.Popen([*setpriv(uid), *command], **more)


def silent(script, mount):
    """Starts a Python on a file system that is silent from then on. Its mount is in a namespace of its own."""
    os.mkdir(mount)
    server = subprocess.Popen(["unshare", "-m", os.environ["SERVES_FUSE"]], stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, env=dict(os.environ, IPYTRACER_TEST_FUSE="/:" + mount))
    holds("it is mounted", server.stdout.readline() == "mounted\n")
    python = subprocess.Popen(["nsenter", "-t", str(server.pid), "-m", "--", *setpriv(ATTACKER),
                               mount + "/usr/bin/python3", "-S", script], stdout=subprocess.PIPE, text=True, cwd="/")
    holds("it runs", python.stdout.readline() == "runs\n")
    server.send_signal(signal.SIGUSR1)
    holds("it is silent", server.stdout.readline() == "silent\n")
    return server


def attack(kind, n, folder):
    """Has processes of the attacker run, before any agent."""
    if kind == "files":
        for name in ("sleeps.py", "python-x.py", "ipykernel_launcher.py"):
            script = os.path.join(folder, name)
            with open(script, "w") as f:
                f.write(MAP % n + "\nimport time; time.sleep(3600)")
            as_user(ATTACKER, sys.executable, "-S", script)
        kernel = notebook(ATTACKER, folder)
        kernel.stdin.write(json.dumps({"code": MAP % n}) + "\n")
        kernel.stdin.flush()
        kernel.stdout.readline()
        kernel.stdout.readline()
        return
    script = os.path.join(folder, "sleeps.py" if kind == "copies" else "ipykernel_launcher.py")
    with open(script, "w") as f:
        f.write("import time; print('runs', flush=True); time.sleep(3600)")
    for i in range(int(n)):
        if kind == "silent":
            SERVERS.append(silent(script, os.path.join(folder, str(i))))
            continue
        if kind != "odd":
            name = os.path.join(folder, "python3.%d" % i)
            shutil.copy(os.path.realpath(sys.executable), name)
            os.chmod(name, 0o755)
            as_user(ATTACKER, name, "-S", script, stdout=subprocess.DEVNULL)
            continue
        place = os.path.join(folder, str(i))
        os.mkdir(place)
        name = os.path.join(place, "python-x")
        odd(name)
        os.chown(place, ATTACKER, ATTACKER)
        removed = ["removed"] if i >= int(n) * 3 // 4 else []
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


def notebook(uid, folder):
    """Starts a user's kernel: requests in, answers out."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_notebook.py")
    return as_user(uid, sys.executable, program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                   env=dict(os.environ, HOME=folder, TMPDIR=folder, PYTHONDONTWRITEBYTECODE="1",
                            PYDEVD_DISABLE_FILE_VALIDATION="1"))


def one(agent, tracer, folder):
    """Returns how long after its interpreter's start a kernel is followed, and how long `tracer kernels` takes."""
    n = notebook(USER, folder)
    pid, seen = None, None
    for _ in range(100_000):
        pid = pid or kernel_of(USER)
        if pid and agent.slot(pid) is not None:
            seen = age(pid)
            break
        time.sleep(0.01)
    holds("it is followed", seen is not None)
    holds("the kernel has its pid", json.loads(n.stdout.readline())["pid"] == pid)
    user, slot = {"user": str(USER)}, agent.slot(pid)
    before = agent.value("ipytracer_cells_total", **user)
    n.stdin.write(json.dumps({"code": "x = bytearray(%d << 20)" % NEED}) + "\n")
    n.stdin.flush()
    n.stdout.readline()
    until("its cell is counted", lambda: agent.value("ipytracer_cells_total", **user) > before)

    def need():                 # the cell that asked for the pid may be the one that was counted
        highest = agent.value("ipytracer_kernel_highest_bytes", kernel=slot) / MIB
        return highest if highest >= NEED else 0

    needed = until("its need is seen", need)
    holds("its need is right", needed < NEED + FIRST, needed)
    began = time.monotonic()
    listed = subprocess.run([tracer, "kernels", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    took = time.monotonic() - began
    holds("tracer kernels lists it", any(k["pid"] == pid and k["ipython"] for k in json.loads(listed)), listed)
    n.stdin.close()
    n.wait()
    until("it is gone", lambda: agent.slot(pid) is None)
    return seen, took


class Scraper(threading.Thread):
    """Asks for the figures ten times a second, and keeps how long the slowest answer took."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.agent, self.slowest, self.ended = agent, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            began = time.monotonic()
            self.agent.get("/metrics")
            self.slowest = max(self.slowest, time.monotonic() - began)

    def end(self):
        self.ended.set()
        self.join()
        return self.slowest


def a_try(tracer, folder, home, connects=None, n=0):
    """Returns what a try has measured, by name: seconds, but for MiB."""
    agent = Agent(tracer, folder, config="refresh: 1s\n")
    os.remove(os.path.join(folder, "ready"))
    attacker = connects and as_user(ATTACKER, sys.executable, "-S", "-c", connects, agent.address, str(n))
    scraper = Scraper(agent)
    try:
        followed, listed = one(agent, tracer, home)
        measured = {"followed": followed, "kernels": listed, "metrics": scraper.end(),
                    "MiB": highest(agent.process.pid) / MIB}
        missed = agent.value("ipytracer_kernels_missed_total")
        began = time.monotonic()
        agent.process.terminate()
        holds("the agent ends well", agent.process.wait(60) == 0, agent.said())
        measured["ends"] = time.monotonic() - began
    except BaseException:
        print(agent.said(), agent.process.poll())
        raise
    finally:
        if attacker:
            attacker.kill()
            attacker.wait()
    return measured, missed


def main():
    tracer, most, tries, attacks = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    connects = {"idle": CONNECTS, "flood": ASKS}.get(attacks[0]) if attacks else None
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        homes = []
        for uid in (USER, ATTACKER):
            homes.append(os.path.join(folder, str(uid)))
            os.mkdir(homes[-1])
            os.chown(homes[-1], uid, uid)
        usual, _ = a_try(tracer, folder, homes[0])
        if attacks and not connects:
            attack(*attacks, homes[1])
            time.sleep(1)
        all = []
        for _ in range(tries):
            measured, missed = a_try(tracer, folder, homes[0], connects, *attacks[1:] if connects else ())
            all.append(measured)
            print(*("%s %.2f" % each for each in measured.items()), "load %.1f" % os.getloadavg()[0], flush=True)
            holds("followed in time", measured["followed"] <= most)
            holds("no cell ran before, on a machine that is not too busy", most > 3 or missed == 0)
        for name in usual:
            of = [measured[name] for measured in all]
            print("%s: %.2f, at most %.2f; %.2f without" % (name, statistics.median(of), max(of), usual[name]))
        holds("memory stays near the usual", max(measured["MiB"] for measured in all) <= usual["MiB"] + MOST)
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every process with it


if __name__ == "__main__":
    main()
