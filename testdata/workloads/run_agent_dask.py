#!/usr/bin/env python3
"""Runs Dask on two nodes with an agent each: a notebook with its scheduler on one, `dask worker` on the other. Nodes
are process id namespaces, as an agent traces every process that it sees. Each task's span has the figures of the report
of `tracer attach` on the same worker, and is a child of the span of the cell that submitted it. It prints a line for
each comparison, and ends with status 1 where one fails. The package ipytracer is importable.

    run_agent_dask.py TRACER
"""

import collections
import json
import os
import signal
import subprocess
import sys
import tempfile

from otlp_receiver import Receiver
from run_agent import Agent, Attached, holds, needs, until
from run_notebook import Notebook

WORKERS = 2
NODE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, os.path.abspath(__file__)]

SCHEDULER = """
from distributed import Client, LocalCluster
cluster = LocalCluster(n_workers=0, dashboard_address=None, host=%r)
client = Client(cluster)
with open(%r, "w") as f: f.write(cluster.scheduler_address + "\\n")
"""
JOINED = """
client.wait_for_workers(%d)
import ipytracer.dask
ipytracer.dask.install(client)
while ipytracer.dask.report(client).silent: pass     # the agent listens to all workers
"""
TASKS = """
import numpy as np
def fills(n):
    return np.ones(n << 20, dtype=np.uint8)[-1]
def fails(n):
    block = np.ones(n << 20, dtype=np.uint8)
    raise RuntimeError(len(block))
_ = client.gather(client.map(fills, range(3, 13)))
"""
MORE = "_ = client.gather(client.map(fails, [20, 21]), errors='skip')"
PIDS = "import json, os; print(json.dumps(sorted(client.run(os.getpid).values())))"
REPORT = """
found = ipytracer.dask.report(client, "In[%d]")
import json
print(json.dumps({"line": repr(found).split("\\n")[0], "missing": found.missing, "together": found.together,
                  "tasks": [[t.prefix, t.count, t.window.to_dict()] for t in found.tasks]}))
"""


def configuration(address):
    return "refresh: 1s\nlook: 200ms\notlp: {endpoint: %s, insecure: true}\n" % address


def experiments(attached):
    """Ends a tracer, and returns the experiments of its report, by process."""
    attached.process.send_signal(signal.SIGINT)
    attached.process.wait()
    found = collections.defaultdict(list)
    with open(attached.report) as f:
        for w in json.load(f)["windows"]:
            if w["kind"] == "experiment":
                found[w["pid"]].append(w)
    return found


def worker_node(tracer, folder):
    """The node of the workers: it reads what to do from standard input, a line for each step."""
    agent = Agent(tracer, folder, configuration(json.loads(sys.stdin.readline())))
    with open(os.path.join(folder, "address")) as f:
        address = f.read().strip()
    subprocess.Popen(
        ["/usr/bin/python3", "-m", "distributed.cli.dask_worker", address, "--nworkers", str(WORKERS), "--nthreads",
         "1", "--no-dashboard", "--local-directory", folder], stdout=subprocess.DEVNULL, cwd=folder,
        env=dict(os.environ, DASK_DISTRIBUTED__LOGGING__DISTRIBUTED="critical"),
    )
    found = until("the workers' process is found", lambda: agent.series("ipytracer_kernel_info"))
    print(json.dumps(found[0][0]), flush=True)
    pids = json.loads(sys.stdin.readline())
    attached = Attached(tracer, pids[0], folder, *pids[1:])
    print("attached", flush=True)
    sys.stdin.readline()
    windows = experiments(attached)
    tasks = sum(is_task(w["name"]) for all_of in windows.values() for w in all_of)
    until("all tasks are counted", lambda: agent.value("ipytracer_tasks_total") >= tasks)
    found = {
        "windows": windows, "ok": agent.value("ipytracer_tasks_total", outcome="ok"),
        "needs": agent.value("ipytracer_task_need_bytes_sum"), "unseen": agent.value("ipytracer_tasks_unseen_total"),
        "cells": agent.value("ipytracer_cells_total"), "traced": agent.value("ipytracer_kernels"),
    }
    agent.process.send_signal(signal.SIGINT)
    agent.process.wait(60)
    found["said"] = agent.said()
    print(json.dumps(found), flush=True)
    os._exit(0)      # the namespace ends, and every worker with it


def is_task(name):
    return name.startswith(("dask:fills ", "dask:fails "))


class Node:
    """The workers' node, as the notebook's talks to it."""

    def __init__(self, writes):
        self.to = os.fdopen(writes, "w")

    def says(self):
        while True:
            line = sys.stdin.readline()
            if not line:
                holds("the workers' node goes on", False)
            if line.startswith("FAILED"):
                holds("on the workers' node: " + line, False)
            if not line.startswith("ok: "):
                return line

    def hears(self, what):
        self.to.write(json.dumps(what) + "\n")
        self.to.flush()


def same_tasks(receiver, windows):
    """Compares the spans of tasks with the windows of the workers' reports, and returns the spans by cell."""
    want = [(int(pid), w) for pid, all_of in windows.items() for w in all_of if is_task(w["name"])]
    spans = until("a span for each task",
                  lambda: (lambda s: s if len(s) >= len(want) else None)(
                      [s for s in list(receiver.spans) if s["name"] == "dask task"]))
    holds("%d tasks, a span for each" % len(want), len(spans) == len(want), len(spans))
    of = collections.defaultdict(list)
    for span in sorted(spans, key=lambda s: s["start"]):
        of[span["attributes"]["ipytracer.task.pid"]].append(span)
    figures, cells = 0, collections.defaultdict(list)
    for pid, w in want:
        span = of[pid].pop(0)
        has, name = span["attributes"], w["name"][len("dask:"):].split(" ", 1)
        expected = {"ipytracer.task.prefix": name[0], "ipytracer.task.cell": name[1], "ipytracer.status": w["status"],
                    "ipytracer.need": needs([w])[0], "ipytracer.cpu_ns": has.get("ipytracer.cpu_ns")}
        for meter, f in w["meters"].items():
            expected.update(("ipytracer.%s.%s" % (meter, key), f[key]) for key in ("start", "peak", "end", "exact"))
            figures += 3
        wrong = {k: (has.get(k), v) for k, v in expected.items() if has.get(k) != v}
        holds("the span of %s has the report's figures" % w["name"], not wrong, wrong)
        cells[name[1]].append(span)
    print("ok: %d figures of %d tasks are the reports', to the byte" % (figures, len(want)), flush=True)
    return cells


def notebook_node(tracer, folder, other, writes, receiver=None, host="127.0.0.1"):
    """The node of the notebook, which compares."""
    receiver, node = receiver or Receiver(), Node(int(writes))
    agent = Agent(tracer, folder, configuration(receiver.address))
    notebook = Notebook()
    until("the kernel is found", lambda: agent.slot(notebook.pid))
    notebook.run({"code": SCHEDULER % (host, os.path.join(other, "address"))})
    node.hears(receiver.address)
    info = json.loads(node.says())
    holds("its front end is a worker's", info["frontend"] == "dask worker" and not info["ipython"], info)
    notebook.run({"code": JOINED % WORKERS})
    pids = json.loads(notebook.run({"code": PIDS})[0][0])
    holds("%d workers below one process, which is traced" % WORKERS,
          len(pids) == WORKERS and info["pid"] not in map(str, pids), pids, info)
    node.hears(pids)
    node.says()
    notebook.run({"code": TASKS})
    notebook.run({"code": MORE})
    count = int(notebook.run({"code": "print(get_ipython().execution_count)"})[0][0])
    report = json.loads(notebook.run({"code": REPORT % (count - 2)})[0][0])
    node.hears("end")
    found = json.loads(node.says())
    check(agent, receiver, notebook, report, found, count)
    holds("the agent has ended well", "panic" not in found["said"], found["said"])
    print("all holds", flush=True)
    os._exit(0)


def run(node, connect=None):
    """Runs both nodes with a command, and returns the status of the notebook's. connect gets the pids of both."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        reads, writes = os.pipe()
        workers = subprocess.Popen(node + ["workers", other], stdin=reads, stdout=subprocess.PIPE)
        os.close(reads)
        notebook = subprocess.Popen(
            node + ["notebook", folder, other, str(writes)], stdin=workers.stdout, pass_fds=[writes]
        )
        if connect:
            connect(notebook.pid, workers.pid)
        status = notebook.wait()
        workers.kill()       # and with it its namespace
        workers.wait()
    return status


def main():
    if not sys.argv[2:]:
        sys.exit(run(NODE + sys.argv[1:]))
    {"workers": worker_node, "notebook": notebook_node}[sys.argv[2]](sys.argv[1], *sys.argv[3:])


def check(agent, receiver, notebook, report, found, count):
    cells = same_tasks(receiver, found["windows"])
    tasks = [w for all_of in found["windows"].values() for w in all_of if is_task(w["name"])]
    holds("all tasks are counted, once", found["ok"] == len(tasks) and found["cells"] == 0 and found["traced"] == 1,
          found["ok"], len(tasks))
    holds("the sum of needs is the reports', to the byte", found["needs"] == sum(needs(tasks)), found["needs"])
    holds("none was unseen", found["unseen"] == 0)
    holds("the notebook's line: " + report["line"], report["line"].startswith("dask on %d workers: highest " % WORKERS)
          and " together at most " in report["line"] and not report["missing"] and report["together"], report)
    by_name = {(w["name"], w["start_ns"], w["duration_ns"]): w for w in tasks}
    peaks = {w["meters"]["cpu.resident"]["peak"] for w in by_name.values()}
    holds("its figures are the reports'", all(t[2]["meters"]["cpu.resident"]["peak"] in peaks
                                              for t in report["tasks"]) and report["tasks"], report)
    for cell, back in ("In[%d]" % (count - 2), 2), ("In[%d]" % (count - 1), 1):
        parent, = until("the span of %s" % cell, lambda n=count - back: [
            s for s in receiver.of(notebook.pid, "cell") if s["attributes"].get("ipytracer.execution_count") == n])
        holds("%d tasks of %s are children of its span, in its trace" % (len(cells[cell]), cell), cells[cell] and all(
            s["parent"] == parent["id"] and s["trace"] == parent["trace"] for s in cells[cell]), parent, cells[cell])
        holds("and lie in it", all(parent["start"] < s["start"] <= s["end"] < parent["end"] for s in cells[cell]))


if __name__ == "__main__":
    main()
