#!/usr/bin/env python3
"""Soak of a server: honest notebooks of one user beside hostile ones of another user.

    soak_serve.py TRACER TIME [SEED]          TIME: 90s, 2m, 1h

Ten notebooks run cells that take some MiB, restart their kernels, and begin and end sessions by `%tracer start` and
`stop`. Meanwhile another user sends the server descriptors that take hours to close, connections that say nothing or
never read, invalid requests and other users' descriptors. That user also has kernels traced which misuse their lines,
stop their own sessions (SIGSTOP), or end at once. At the end the server gets SIGTERM.

It fails if a figure under a cell is wrong, if a notebook has none for long, if the server's threads, descriptors or
memory grow beyond bounds, or if it does not end, or leaves a process behind. Needs root, ipykernel and jupyter_client.
Nothing it starts outlives it.
"""
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from soak_hostile import ATTACK

HERE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
HONEST, NOTEBOOKS = 65534, 10
HOSTILE = 65532
THREADS, DESCRIPTORS, GROWN = 100, 1024, 64 << 20   # of the server: what docs/security-trials.md allows, with room
UNSHOWN = 60     # seconds without a figure after a notebook asked for a session; it asks again every second
ENDS = 20        # seconds after SIGTERM; it takes less than 3 on an idle machine
OWN = 4 << 20    # bytes that a kernel takes for itself beside a cell's, at most

LIBC = ctypes.CDLL(None)


def die_too():
    LIBC.prctl(1, signal.SIGKILL)


class Notebook(threading.Thread):
    """An honest notebook: it runs cells until its end, and notes wrong figures."""

    def __init__(self, folder, serving, number, seed, end):
        super().__init__(daemon=True)
        self.choose, self.end, self.number = random.Random(seed + number), end, number
        self.wrong, self.cells, self.figures, self.late, self.restarts = [], 0, 0, 0.0, 0
        self.count, self.sizes = 1, {}   # In[N] of the last cell, and sizes by N: a figure may come below the next
        home = os.path.join(folder, "home%d" % number)
        os.mkdir(home)
        os.chown(home, HONEST, HONEST)
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "PYTHONPATH": os.path.join(folder, "packages"),
               "PYTHONDONTWRITEBYTECODE": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "LANG": "C.UTF-8",
               "IPYTRACER_SERVE": os.path.join(serving, "serve.sock")}
        self.process = subprocess.Popen([sys.executable, os.path.join(folder, "packages", "run_notebook.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, cwd=home, env=env, user=HONEST, group=HONEST, extra_groups=[],
                                        preexec_fn=die_too)

    def ask(self, what=None):
        if what is not None:
            self.count += 1
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("notebook %d has ended" % self.number)
        return "".join(json.loads(line).get("outputs", []))

    def run(self):
        try:
            self.ask()
            while time.time() < self.end:
                self.session()
        except Exception as e:
            self.wrong.append("notebook %d: %r" % (self.number, e))

    def session(self):
        self.ask("%load_ext ipytracer")
        self.begin()
        for _ in range(self.choose.randrange(5, 60)):
            if time.time() > self.end:
                return
            self.cell()
            time.sleep(self.choose.uniform(.1, 1))
        if self.choose.random() < .5:
            self.ask("%tracer stop")
        self.ask({"restart": True})
        self.restarts, self.count, self.sizes = self.restarts + 1, 1, {}   # In[1] is run_notebook.py's

    def begin(self):
        """Waits until it has a figure, which must be soon."""
        began = time.time()
        while time.time() < self.end:
            said = self.ask("%tracer start")
            if "need " in self.ask("pass"):
                self.late = max(self.late, time.time() - began)
                return
            if time.time() - began > UNSHOWN:
                self.wrong.append(
                    "notebook %d: no figure after %d s; %%tracer start says %r" % (self.number, UNSHOWN, said))
                return
            time.sleep(1)

    def cell(self):
        mib = self.choose.randrange(40, 200)   # above 32 MiB glibc never keeps freed memory
        self.sizes[self.count + 1] = mib << 20
        shown = self.ask("x = bytearray(%d << 20); del x" % mib)
        self.cells += 1
        for count, number, unit in re.findall(r"In\[([0-9]+)\]  need ([0-9.]+) (KiB|MiB|GiB)", shown):
            need = float(number) * {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
            took = self.sizes.pop(int(count), None)
            if took is None:   # of no such cell
                continue
            self.figures += 1
            if not took - (1 << 18) <= need <= took + OWN:
                self.wrong.append("notebook %d: In[%s] took %d MiB: %r" % (self.number, count, took >> 20, shown))


def status(pid, name):
    return int(open("/proc/%d/status" % pid).read().split(name + ":")[1].split()[0])


def descendants(pid):
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            for child in open("/proc/%d/task/%s/children" % (pid, task)).read().split():
                found += [int(child), *descendants(int(child))]
        except OSError:
            pass
    return found


def main():
    tracer, seconds = (
        os.path.abspath(sys.argv[1]),
        int(sys.argv[2][:-1]) * {"s": 1, "m": 60, "h": 3600}[sys.argv[2][-1]],
    )
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print("seed %d" % seed, flush=True)
    with tempfile.TemporaryDirectory(prefix="ipytracer-soak-") as folder:
        os.chmod(folder, 0o755)
        return soak(tracer, seconds, seed, folder)


def soak(tracer, seconds, seed, folder):
    packages, serving = os.path.join(folder, "packages"), os.path.join(folder, "serve")
    shutil.copytree(os.path.join(HERE, "python", "src", "ipytracer"), os.path.join(packages, "ipytracer"))
    shutil.copy(os.path.join(HERE, "testdata", "workloads", "run_notebook.py"), packages)
    subprocess.run(["chmod", "-R", "go+rX", packages], check=True)
    os.mkdir(serving, 0o755)
    log = os.path.join(folder, "log")
    server = subprocess.Popen(
        [tracer, "serve", "--folder", serving, "--per-user", str(NOTEBOOKS + 2), "--in-all", str(2 * NOTEBOOKS)],
        stdout=open(log, "w"),
        stderr=subprocess.STDOUT,
        preexec_fn=die_too,
    )
    while not os.path.exists(os.path.join(serving, "serve.sock")):
        if server.poll() is not None:
            sys.exit("the server has ended: " + open(log).read())
        time.sleep(.05)
    end = time.time() + seconds
    notebooks = [Notebook(folder, serving, n, seed, end) for n in range(NOTEBOOKS)]
    hostile = subprocess.Popen(
        [sys.executable, "-c", ATTACK, serving, str(seed), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        user=HOSTILE,
        group=HOSTILE,
        extra_groups=[],
        preexec_fn=die_too,
    )
    for n in notebooks:
        n.start()
    samples = []
    while time.time() < end:
        time.sleep(min(5, max(.5, seconds / 40)))
        if server.poll() is not None:
            sys.exit("the server has ended with status %d: %s" % (server.returncode, open(log).read()[-2000:]))
        samples.append(
            (
                status(server.pid, "VmRSS") << 10,
                status(server.pid, "Threads"),
                len(os.listdir("/proc/%d/fd" % server.pid)),
            )
        )
    attacks = hostile.communicate(timeout=300)[0]
    for n in notebooks:
        n.join(timeout=300)
    return judge(server, notebooks, hostile, attacks, samples, log)


def judge(server, notebooks, hostile, attacks, samples, log):
    left = descendants(server.pid)
    began = time.time()
    server.send_signal(signal.SIGTERM)
    failed = [w for n in notebooks for w in n.wrong]
    try:
        ended = server.wait(timeout=ENDS)
        took = time.time() - began
        if ended != 0:
            failed.append("the server ended with status %d" % ended)
    except subprocess.TimeoutExpired:
        took = ENDS
        failed.append("the server does not end within %d s of SIGTERM" % ENDS)
    time.sleep(1)
    still = [
        pid for pid in left if os.path.exists("/proc/%d" % pid) and "attach" in open("/proc/%d/cmdline" % pid).read()
    ]
    cells, figures = sum(n.cells for n in notebooks), sum(n.figures for n in notebooks)
    print("%d notebooks: %d cells, %d figures below them, %d restarts; the longest wait for a first figure %.1f s" % (
        len(notebooks), cells, figures, sum(n.restarts for n in notebooks), max(n.late for n in notebooks)))
    print("the hostile user: %s" % attacks.strip())
    first, most = samples[len(samples) // 4], [max(s[i] for s in samples) for i in range(3)]
    print(
        "the server: %.1f MiB after a quarter of the time, %.1f MiB at most; at most %d threads and %d descriptors; it "
        "ended %.1f s after SIGTERM"
        % (first[0] / 2**20, most[0] / 2**20, most[1], most[2], took)
    )
    if still:
        failed.append("sessions are left: %s" % still)
    if most[0] > first[0] + GROWN:
        failed.append("the server's memory grows")
    if most[1] > THREADS or most[2] > DESCRIPTORS:
        failed.append("the server has too many threads or descriptors")
    if hostile.returncode != 0 or not attacks.strip():
        failed.append("the attack is none: status %d" % hostile.returncode)
    if figures < cells * 3 // 4:
        failed.append("%d of %d cells have no figure" % (cells - figures, cells))
    for f in failed[:40]:
        print("FAILED: " + f)
    if failed:
        print(open(log).read()[-3000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
