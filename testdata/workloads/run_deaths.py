#!/usr/bin/env python3
"""Runs `tracer agent` beside kernels that are killed, in a process id namespace of its own. The companions of the next
kernels say why, each once, to nobody else, with the figures of the agent's own report.

    unshare --pid --fork --mount-proc --kill-child run_deaths.py TRACER CGROUP LIMIT
"""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import urllib.request

from run_agent import holds, until
from run_notebook import Notebook

UNITS = ("B", "KiB", "MiB", "GiB")
LOAD = "%load_ext ipytracer"
LEFT = "print(get_ipython()._ipytracer_companion.death._left)"
HUNGRY = "x = []\nfor i in range(100):\n    x.append(bytearray(20 << 20))"
LAST = "ipytracer: the last kernel of this notebook was "


def size(n):
    """Returns a size as sentences have it."""
    unit = next(i for i in (3, 2, 1) if n >= 1 << 10 * i)
    hundredths = (n * 100 + (1 << 10 * unit) // 2) >> 10 * unit
    return "%d.%02d %s" % (hundredths // 100, hundredths % 100, UNITS[unit])


class Agent:
    def __init__(self, tracer, folder):
        self.tracer, self.folder = tracer, os.path.join(folder, "reports")
        self.socket, self.log = os.path.join(folder, "run", "deaths.sock"), os.path.join(folder, "agent.log")
        self.config = os.path.join(folder, "agent.yaml")
        with open(self.config, "w") as f:
            f.write("version: 1\nlook: 200ms\ndeaths:\n  folder: %s\n  socket: %s\n" % (self.folder, self.socket))
        self.start()

    def start(self):
        ready = self.config + ".ready"
        if os.path.exists(ready):
            os.remove(ready)
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.tracer, "agent", "-v", "--config", self.config, "--listen", "127.0.0.1:0", "--ready-file", ready],
                stderr=log
            )
        until("the agent is ready", lambda: os.path.exists(ready))
        with open(ready) as f:
            self.address = f.read().strip()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        holds("the agent ends well", self.process.wait(60) == 0)

    def asked(self, *more, user=None):
        """Returns the answer to `tracer deaths`."""
        become = [] if user is None else ["setpriv", "--reuid=%d" % user, "--clear-groups"]
        done = subprocess.run(
            become + [self.tracer, "deaths", "--socket", self.socket, *more], stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()

    def reports(self, **more):
        return json.loads(self.asked("--format", "json", **more))

    def cells(self):
        """Returns how many cells have ended."""
        with urllib.request.urlopen("http://%s/metrics" % self.address, timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("ipytracer_cells_total"))

    def said(self):
        with open(self.log) as f:
            return f.read()


def kernel(name):
    """Returns a kernel of a notebook with a name."""
    os.environ["JPY_SESSION_NAME"] = name
    return Notebook()


def first_cells(n, agent):
    """Runs cells until the agent counts them and the companion has asked it twice more. Returns the sentences about the
    last kernel that were shown below them."""
    shown, _ = n.run({"code": LOAD})

    def left():
        more, _ = n.run({"code": LEFT})
        shown.extend(more)
        return next(int(text) for text in more if text.strip().isdigit())

    counted = agent.cells()
    until("the agent counts cells", lambda: left() >= 0 and agent.cells() >= counted + 2)
    before = left()
    until("the companion asks", lambda: left() <= max(0, before - 2))
    shown.extend(n.run({"code": "pass"})[0])
    return [text for text in shown if LAST in text]


def die(n, code):
    """Runs a cell in which a kernel ends."""
    message = n.client.session.msg("execute_request", {
        "code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
        "stop_on_error": False,
    })
    n.client.shell_channel.send(message)
    until("kernel %d has ended" % n.pid, lambda: not n.manager.is_alive())


def enter(group):
    with open(os.path.join(group, "cgroup.procs"), "w") as f:
        f.write(str(os.getpid()))


def oom(agent, group, limit):
    enter(group)      # with the kernel, so that it is there before it is traced
    n = kernel("ada/big.ipynb")
    enter(os.path.dirname(group))
    holds("a first kernel hears of no other", first_cells(n, agent) == [])
    die(n, HUNGRY)
    report = until("its report", agent.reports)[0]
    files = [os.path.join(agent.folder, name) for name in os.listdir(agent.folder)]
    until("it is a file", lambda: [f for f in os.listdir(agent.folder) if f.endswith(".json")])
    files = [os.path.join(agent.folder, name) for name in os.listdir(agent.folder)]
    mode = os.lstat(files[0])
    holds("one file, of mode 0600", len(files) == 1 and stat.S_IMODE(mode.st_mode) == 0o600, files)
    with open(files[0]) as f:
        holds("the file is the answer", json.load(f) == report, report)
    ending = report["ending"]
    holds("the cause, the cell, the line", report["cause"] == "out-of-memory" and ending["limit"]["bytes"] == limit and
          report["statement"]["line"] == 2 and ending["at"]["line"] == 2 and report["pid"] == n.pid and
          report["notebook"] == "ada/big.ipynb" and report["shown"] is False, report)
    holds("the line took what there was room for", limit / 2 < report["statement"]["need"] <= limit and
          report["statement"]["exact"], report)
    holds("the report has no source", "bytearray" not in json.dumps(report), report)
    says = "killed at %s of %s, in %s, line 2, which took %s (out of memory" % (
        size(max(ending["limit"]["used"], ending["limit"]["highest"])), size(limit), report["cell"]["name"],
        size(report["statement"]["need"]))
    holds("tracer deaths says it", "a kernel of ada/big.ipynb was " + says in agent.asked(), agent.asked(), says)
    return says


def told(agent, says):
    """Only the next kernel of that notebook, of that user, is told, once."""
    holds("a kernel of another notebook is not told", first_cells(kernel("ada/other.ipynb"), agent) == [])
    holds("another user is not", agent.reports(user=65534) == [])
    agent.end()
    agent.start()
    holds("another agent has the report", len(agent.reports()) == 1)
    n = kernel("ada/big.ipynb")
    lines = first_cells(n, agent)
    holds("the next kernel is told, once, with the figures of the report", len(lines) == 1 and LAST + says in lines[0],
          lines, says)
    print(lines[0])
    holds("the one after that is not", first_cells(kernel("ada/big.ipynb"), agent) == [])
    return n


def others(agent):
    """A crash is reported, too, and an ordinary end is not."""
    n = kernel("bob/crash.ipynb")
    first_cells(n, agent)
    die(n, "import os\nos.kill(os.getpid(), 11)")
    until("its report", lambda: [r for r in agent.reports() if r["cause"] == "SIGSEGV"])
    quiet = kernel("bob/quiet.ipynb")
    first_cells(quiet, agent)
    quiet.manager.shutdown_kernel()
    os.environ["IPYTRACER_DEATHS"] = "off"
    holds("a companion with reports off is not told", first_cells(kernel("bob/crash.ipynb"), agent) == [])
    del os.environ["IPYTRACER_DEATHS"]
    lines = first_cells(kernel("bob/crash.ipynb"), agent)
    holds("the crash is told", len(lines) == 1 and "was ended by SIGSEGV, in In[" in lines[0] and "line 2" in lines[0],
          lines)
    holds("an ordinary end leaves no report", len(agent.reports()) == 2, agent.reports())


def main():
    tracer, group, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        agent = Agent(tracer, folder)
        try:
            told(agent, oom(agent, group, limit))
            others(agent)
        except BaseException:
            print(agent.said())
            raise
        agent.end()
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every kernel with it


if __name__ == "__main__":
    main()
