"""Runs thirty cells in three kernels, with `tracer attach` on each, beside an agent. The figures of the attached
tracers' recordings, as `tracer report` prints them, are those that engines are compared with.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/workloads"))

from jupyter_client.blocking.client import BlockingKernelClient
from run_agent import holds, until
from run_notebook import Notebook

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(%d << 20)'])"
ARRAYS = [
    "import numpy as np",
    "x = np.ones(5_000_003)",
    "y = x + 1; del y",
    "1 / 0",
    "del x",
    CHILD % 48,
    "z = [np.arange(300_007) for _ in range(20)]",
    "z = None",
    {"code": "b = bytearray(33 << 20); print('begun', flush=True)\nwhile True: pass", "interrupt_at": "begun"},
    "del b",
]
TEXTS = [
    "words = ['word %d' % i for i in range(200_000)]",
    "text = ' '.join(words)",
    "len(text)",
    "del words",
    "nothing",
    "counts = {}\nfor c in text: counts[c] = counts.get(c, 0) + 1",
    "raise MemoryError",
    "data = text.encode() * 7",
    "del data, text",
    "pass",
]
# The kernel ends within its last cell.
KILLED = [
    "import threading",
    "m = bytearray(64 << 20)",
    "def work(n):\n    return bytearray(n << 20)",
    "ts = [threading.Thread(target=work, args=(n,)) for n in (9, 17)]\nfor t in ts: t.start()\nfor t in ts: t.join()",
    "m += bytes(1 << 20)",
    "del m",
    CHILD % 16,
    "import mmap; a = mmap.mmap(-1, 21 << 20); a.write(b'x' * (13 << 20)); None",
    "a.close()",
    "import os, signal; last = bytearray(27 << 20); os.kill(os.getpid(), signal.SIGKILL)",
]
ALL = (ARRAYS, TEXTS, KILLED)
COUNT = sum(map(len, ALL))


def member(group):
    """Makes this process a member of a control group of memory, and with it those that it starts."""
    with open(os.path.join(group, "cgroup.procs"), "w") as f:
        f.write("0")


def own_group():
    """Returns the folder of this process's control group of memory."""
    with open("/proc/self/cgroup") as f:
        lines = [line.rstrip("\n").split(":", 2) for line in f]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            return "/sys/fs/cgroup/memory" + path
    return "/sys/fs/cgroup" + lines[0][2]


def inside(group):
    """Returns a notebook with a kernel in a control group."""
    home = own_group()
    member(group)
    notebook = Notebook()
    member(home)
    return notebook


class Elsewhere(Notebook):
    """A notebook with a kernel that something else has started: a file for connections, interrupt(), and pid, where
    the kernel itself sees another number."""

    def __init__(self, kernel):
        self.manager, self.folder = self, tempfile.TemporaryDirectory()
        self.kernel = kernel
        self._connect()
        self.pid = getattr(kernel, "pid", self.pid)

    def client(self):
        client = BlockingKernelClient(connection_file=self.kernel.file)
        client.load_connection_file()
        return client

    def interrupt_kernel(self):
        self.kernel.interrupt()

    def _wait(self):
        until("the kernel answers", self._answers)

    def _answers(self):
        try:
            self.client.wait_for_ready(timeout=60)
            return True
        except RuntimeError:      # it takes a kernel that begins for dead
            return False


class Attached:
    """A kernel with `tracer attach` on it, which records."""

    def __init__(self, tracer, folder, notebook):
        self.tracer, self.notebook = tracer, notebook
        self.pid = self.notebook.pid
        self.recording = os.path.join(folder, "%d.arrows" % self.pid)
        ready = os.path.join(folder, "%d.ready" % self.pid)
        self.process = subprocess.Popen(
            [tracer, "attach", "--quiet", "--format", "json", "--record", self.recording, "-o", os.devnull,
             "--ready-file", ready, str(self.pid)]
        )
        until("attached to %d" % self.pid, lambda: os.path.exists(ready))

    def run(self, cell):
        cell = cell if isinstance(cell, dict) else {"code": cell}
        if "SIGKILL" not in cell["code"]:
            self.notebook.run(cell)
            return
        client = self.notebook.client
        client.shell_channel.send(client.session.msg(
            "execute_request",
            {"code": cell["code"], "silent": False, "store_history": True, "user_expressions": {},
             "allow_stdin": False, "stop_on_error": False},
        ))
        until("the kernel ends", lambda: self.notebook.manager.provisioner.process.poll() is not None)

    def windows(self):
        """Ends the tracer. Returns the cells of the report of its recording."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        report = subprocess.run(
            [self.tracer, "report", self.recording, "--format", "json"], stdout=subprocess.PIPE, check=True
        ).stdout
        return [w for w in json.loads(report)["windows"] if w["kind"] == "cell"]


class Session:
    """Thirty cells: what engines had after each, and what the reports have."""

    def __init__(self, kernels):
        """Begins three kernels. Some are made by functions that engines have."""
        self.notebooks = [make() for make in (kernels + [Notebook] * len(ALL))[:len(ALL)]]

    def attach(self, tracer, agent, folder):
        """Waits for an agent that has begun after the kernels, so that none of their own first cells counts."""
        self.agent = agent
        self.kernels = [Attached(tracer, folder, notebook) for notebook in self.notebooks]
        for k in self.kernels:
            k.slot = until("kernel %d is found" % k.pid, lambda k=k: agent.slot(k.pid))

    def run(self, after):
        """Runs all cells, one kernel after the other by turns, and calls after(n) after the n-th."""
        order = [(k, cell) for row in zip(*ALL) for k, cell in zip(self.kernels, row)]
        for n, (kernel, cell) in enumerate(order, 1):
            kernel.run(cell)
            after(n)
        windows = {k: k.windows() for k in self.kernels}
        for k, cells in zip(self.kernels, ALL):
            holds("%d cells in the report of %d" % (len(cells), k.pid), len(windows[k]) == len(cells), len(windows[k]))
        position = dict.fromkeys(self.kernels, 0)
        self.cells = []
        for kernel, _ in order:
            self.cells.append((kernel, windows[kernel][position[kernel]]))
            position[kernel] += 1
        self.spans = {}      # ids of the spans of cells, by their places above, once an engine has them


def need(window):
    """Returns a cell's need of resident memory: its peak, less what there was at its start."""
    figures = window.get("tree", window["meters"])["cpu.resident"]
    return max(0, figures["peak"] - figures["start"])
