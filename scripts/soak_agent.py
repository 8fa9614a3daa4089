#!/usr/bin/env python3
"""Soak: one agent beside IPython shells that come, run cells, flood it with experiments, fork, and are killed.

    unshare --pid --fork --mount-proc --kill-child soak_agent.py TRACER TIME [SEED]          TIME: 90s, 2m, 1h

A shell begins when the agent traces it. Every five seconds the agent's memory and descriptors are read. At the end
each cell that a shell has noted is compared with the agent's counters: there is one for each, and at most one more for
each shell, which was open when the shell was killed. It fails if a cell is missing without a loss that the agent
counts, if the median of the agent's memory in the last quarter of the time is by more than SLACK above that of the
second, if it is ever above LIMIT, or if descriptors stay open once all shells have ended.
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from statistics import median

from soak import SHELL, occupied

SHELLS = 6
SLACK = 24 << 20      # bytes: garbage
DESCRIPTORS = 16      # more than before the first shell
LIMIT = 256 << 20     # bytes
WAITS = "sys.stdin.readline()\nwhile True:\n"
INFO = re.compile(r'^ipytracer_kernel_info\{[^\n]*?pid="(\d+)"', re.M)
CELLS = re.compile(r"^ipytracer_cells_total\{[^\n]*\} (\S+)$", re.M)
LOST = re.compile(r'^ipytracer_lost_total\{reason="([^"]*)"\} (\S+)$', re.M)


class Shell:
    """An IPython shell that notes its cells, and runs none before it is released."""

    def __init__(self, folder, number, seed):
        self.note, self.released = os.path.join(folder, "%d.cells" % number), False
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(folder, "shell.py"), self.note, str(seed + number)],
            stdin=subprocess.PIPE,
            env=dict(os.environ, IPYTHONDIR=os.path.join(folder, "ipython")),
        )

    def release(self):
        self.released = True
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Soak:
    def __init__(self, tracer, folder, seed):
        self.folder, self.seed, self.choose = folder, seed, random.Random(seed)
        self.shells, self.born, self.samples = [], 0, []
        with open(os.path.join(folder, "shell.py"), "w") as f:
            f.write(SHELL.replace("while True:\n", WAITS))
        config, ready = os.path.join(folder, "agent.yaml"), os.path.join(folder, "ready")
        with open(config, "w") as f:
            f.write("version: 1\nrefresh: 1s\nlook: 200ms\nper_user: 64\n")
        self.log = os.path.join(folder, "log")
        with open(self.log, "w") as log:
            self.agent = subprocess.Popen(
                [tracer, "agent", "--config", config, "--listen", "127.0.0.1:0", "--ready-file", ready], stderr=log
            )
        while not os.path.exists(ready):
            self.alive()
            time.sleep(0.05)
        with open(ready) as f:
            self.address = f.read().strip()
        self.empty = occupied(self.agent.pid)

    def alive(self):
        if self.agent.poll() is not None:
            with open(self.log) as f:
                sys.exit("the agent has ended with status %d: %s" % (self.agent.returncode, f.read()))

    def metrics(self):
        with urllib.request.urlopen("http://%s/metrics" % self.address, timeout=60) as answer:
            return answer.read().decode()

    def turn(self):
        """Starts, releases and kills shells."""
        while len(self.shells) < SHELLS:
            self.born += 1
            self.shells.append(Shell(self.folder, self.born, self.seed))
        traced = {int(pid) for pid in INFO.findall(self.metrics())}
        for shell in self.shells:
            if not shell.released and shell.process.pid in traced:
                shell.release()
        if self.choose.random() < 0.3:
            running = [s for s in self.shells if s.released]
            if running:
                shell = self.choose.choice(running)
                self.shells.remove(shell)
                shell.end()

    def run(self, seconds):
        end, sampled = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            self.alive()
            self.turn()
            if time.monotonic() - sampled > min(5, seconds / 40):
                sampled = time.monotonic()
                self.samples.append(occupied(self.agent.pid))
            time.sleep(1)
        for shell in self.shells:
            shell.end()

    def counted(self, least):
        """Returns the cells that the agent has counted, once they are all there, and what it has lost."""
        end = time.monotonic() + 60
        while True:
            text = self.metrics()
            cells = int(sum(float(n) for n in CELLS.findall(text)))
            lost = {reason: float(n) for reason, n in LOST.findall(text) if float(n)}
            if cells >= least and "\nipytracer_kernels 0\n" in text or time.monotonic() > end:
                return cells, lost
            time.sleep(0.5)

    def judge(self):
        noted = 0
        for number in range(1, self.born + 1):
            note = os.path.join(self.folder, "%d.cells" % number)
            if os.path.exists(note):
                with open(note) as f:
                    noted += len(f.readlines())
        cells, lost = self.counted(noted)
        end = time.monotonic() + 30      # the numbers of kernels that have ended rest for some seconds
        while occupied(self.agent.pid)[1] > self.empty[1] + DESCRIPTORS and time.monotonic() < end:
            time.sleep(0.5)
        quarter = len(self.samples) // 4
        warm, last = self.samples[quarter], occupied(self.agent.pid)
        memory = [s[0] for s in self.samples]
        second, fourth = median(memory[quarter:2 * quarter]), median(memory[-quarter:])
        print("%d shells, %d cells noted, %d counted; lost: %s" % (self.born, noted, cells, lost or "nothing"))
        print(
            "agent: %.1f MiB in the second quarter of the time and %.1f MiB in the last (medians), %.1f MiB at most, "
            "%.1f MiB in the end; %d descriptors at first, %d after a quarter, %d when all shells have ended"
            % (second / 2**20, fourth / 2**20, max(memory) / 2**20, last[0] / 2**20,
               self.empty[1], warm[1], last[1])
        )
        failed = []
        if not noted <= cells <= noted + self.born and not lost:
            failed.append("cells are missing, or counted twice")
        if fourth > second + SLACK or max(memory) > LIMIT:
            failed.append("the agent's memory grows")
        if last[1] > self.empty[1] + DESCRIPTORS:
            failed.append("descriptors grow")
        if noted < 10:
            failed.append("hardly anything ran")
        self.agent.send_signal(signal.SIGINT)
        if self.agent.wait(60) != 0:
            failed.append("the agent ended with status %d" % self.agent.returncode)
        for f in failed:
            print("FAILED: " + f)
        return 1 if failed else 0


def main():
    tracer = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2][:-1]) * {"s": 1, "m": 60, "h": 3600}[sys.argv[2][-1]]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print("seed %d" % seed, flush=True)
    with tempfile.TemporaryDirectory(prefix="ipytracer-soak-") as folder:
        soak = Soak(tracer, folder, seed)
        soak.run(seconds)
        status = soak.judge()
    return status


if __name__ == "__main__":
    sys.exit(main())
