#!/usr/bin/env python3
"""Runs `tracer agent` beside kernels that come, run cells and end, in a process id namespace of its own, and compares
what it tells Prometheus and a receiver of OpenTelemetry's spans with the reports of `tracer attach` on the same
kernels. It prints a line for each comparison, and ends with status 1 where one fails.

    unshare --pid --fork --mount-proc --kill-child run_agent.py TRACER
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from otlp_receiver import Receiver
from run_notebook import Notebook

PATIENCE = 120      # seconds
SERIES = re.compile(r"^(\w+)(?:{(.*)})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SIZES = (5_000_000, 11_000_000)
CELLS = ("import numpy as np", "x = np.ones(%d)", "y = x + 1; del y", "1 / 0", "del x")


def holds(what, so, *found):
    print(("ok: " if so else "FAILED: ") + what, *([] if so else found), flush=True)
    if not so:
        sys.exit(1)


def until(what, do):
    """Returns the first result of do that counts as true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = do()
        if found:
            return found
        time.sleep(0.1)
    holds(what, False)


class Agent:
    def __init__(self, tracer, folder, config="refresh: 1s\nlook: 200ms\nper_user: 3\n", listen="127.0.0.1:0"):
        self.config, ready = os.path.join(folder, "agent.yaml"), os.path.join(folder, "ready")
        self.log = os.path.join(folder, "agent.log")
        self.configure(config)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command(tracer, listen, ready), stderr=log)
        until("the agent is ready", lambda: os.path.exists(ready))
        with open(ready) as f:
            self.address = f.read().strip()

    def command(self, tracer, listen, ready):
        return [tracer, "agent", "--config", self.config, "--listen", listen, "--ready-file", ready]

    def configure(self, text):
        with open(self.config, "w") as f:
            f.write(text + "deaths: {off: true}\nversion: 1\n")

    def said(self):
        with open(self.log) as f:
            return f.read()

    def get(self, path):
        return self.raw(path).decode()

    def raw(self, path):
        with urllib.request.urlopen("http://%s%s" % (self.address, path), timeout=60) as answer:
            return answer.read()

    def series(self, name):
        """Returns the series of a name: labels and value of each."""
        found = []
        for line in self.get("/metrics").splitlines():
            match = SERIES.match(line)
            if match and match[1] == name:
                found.append((dict(LABEL.findall(match[2] or "")), float(match[3])))
        return found

    def slot(self, pid):
        """Returns the label of a kernel, None if it is not traced."""
        for labels, _ in self.series("ipytracer_kernel_info"):
            if labels["pid"] == str(pid):
                return labels["kernel"]
        return None

    def value(self, name, **labels):
        """Returns the sum of the series with some labels."""
        return sum(v for has, v in self.series(name) if all(has.get(k) == want for k, want in labels.items()))


class Attached:
    """`tracer attach` on a kernel, or on several processes."""

    def __init__(self, tracer, pid, folder, *more):
        self.report, ready = os.path.join(folder, "%d.json" % pid), os.path.join(folder, "%d.ready" % pid)
        self.process = subprocess.Popen(
            [tracer, "attach", "--quiet", "--format", "json", "-o", self.report, "--ready-file", ready,
             *map(str, (pid, *more))]
        )
        until("attached to %d" % pid, lambda: os.path.exists(ready))

    def cells(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        with open(self.report) as f:
            return [w for w in json.load(f)["windows"] if w["kind"] == "cell"]


def needs(cells):
    return [max(0, w.get("tree", w["meters"])["cpu.resident"]["peak"] -
                w.get("tree", w["meters"])["cpu.resident"]["start"]) for w in cells]


def receives(folder):
    """Returns a receiver of spans, and the section of the configuration for it."""
    receiver, headers = Receiver(), os.path.join(folder, "headers")
    with open(headers, "w") as f:
        f.write("Authorization: Bearer secret\n")
    return receiver, "otlp:\n  endpoint: %s\n  headers_file: %s\n  source: true\n" % (
        receiver.address, headers)


def same_spans(receiver, pid, cells, began):
    """Compares the spans of a kernel, which ran cells since then, with the windows of its report."""
    until("a span for each cell", lambda: len(receiver.of(pid, "cell")) == len(cells))
    spans = receiver.of(pid, "cell")
    for span, w in zip(spans, cells):
        want = {"ipytracer.execution_count": w["execution_count"], "ipytracer.status": w["status"],
                "ipytracer.need": needs([w])[0], "ipytracer.children": len(w["children"]),
                "ipytracer.source": w["source"], "ipytracer.source_truncated": False}
        for prefix, meters in ("ipytracer.", w["meters"]), ("ipytracer.tree.", w.get("tree", {})):
            for meter, f in meters.items():
                want.update((prefix + meter + "." + key, f[key]) for key in ("start", "peak", "end", "exact"))
                if not f["exact"] and f["bound"] is not None:
                    want[prefix + meter + ".bound"] = f["bound"]
        if "error" in w:
            want["error.type"] = w["error"]
        has = {k: v for k, v in span["attributes"].items() if k != "ipytracer.cpu_ns"}
        holds("In[%s]: %d figures of the span are the report's, to the byte" % (w["execution_count"], len(want)),
              has == want, has, want)
        holds("and it lies where the cell ran", began < span["start"] < span["end"] < time.time_ns(), began, span)
        holds("and it failed if the cell did", (span["status"]["code"] == [2]) == (w["status"] == "error"), span)
    holds("one trace, without parents", len({s["trace"] for s in spans}) == 1 and
          not any(s["parent"] for s in spans), spans)
    holds("the receiver got the token", all(h.get("Authorization") == "Bearer secret" for h in receiver.headers))


def same_figures(agent, notebooks, receiver, tracer, folder):
    """Two kernels run cells, with a second tracer on each."""
    for n in notebooks:
        until("kernel %d is found" % n.pid, lambda n=n: agent.slot(n.pid))
    attached = [Attached(tracer, n.pid, folder) for n in notebooks]
    before, began = agent.value("ipytracer_cells_total"), time.time_ns()
    for n, size in zip(notebooks, SIZES):
        for cell in CELLS:
            n.run({"code": cell.replace("%d", str(size))})
    total = len(CELLS) * len(SIZES)
    until("all cells are counted", lambda: agent.value("ipytracer_cells_total") - before == total)
    all_needs = []
    for n, a in zip(notebooks, attached):
        cells = a.cells()
        holds("%d cells in the report" % len(CELLS), len(cells) == len(CELLS), len(cells))
        highest = agent.value("ipytracer_kernel_highest_bytes", kernel=agent.slot(n.pid))
        holds("the highest need is the report's", highest == max(needs(cells)), highest, needs(cells))
        all_needs += needs(cells)
        same_spans(receiver, n.pid, cells, began)
    holds("cells by outcome", agent.value("ipytracer_cells_total", outcome="error") == len(SIZES))
    holds("the sum of needs is the reports', to the byte",
          agent.value("ipytracer_cell_need_bytes_sum") == sum(all_needs),
          agent.value("ipytracer_cell_need_bytes_sum"), sum(all_needs))
    now = agent.value("ipytracer_kernel_resident_bytes", kernel=agent.slot(notebooks[0].pid))
    with open("/proc/%d/status" % notebooks[0].pid) as f:
        status = dict(line.split(":", 1) for line in f)
    resident = int(status["VmRSS"].split()[0]) << 10
    holds("resident memory now is the kernel's", abs(now - resident) < 8 << 20, now, resident)


def comes_and_goes(agent, receiver, notebooks):
    """A kernel is killed, others come: numbers are used again, and a user has no more than its share."""
    slots = {agent.slot(n.pid) for n in notebooks}
    os.kill(notebooks[0].pid, signal.SIGKILL)
    until("its death is counted", lambda: agent.value("ipytracer_kernel_deaths_total", cause="sigkill") == 1)
    ends = until("its end has a span", lambda: receiver.of(notebooks[0].pid, "kernel end"))
    holds("with the signal", ends[0]["attributes"]["ipytracer.ending.signal"] == "SIGKILL", ends)
    until("it is gone", lambda: agent.slot(notebooks[0].pid) is None)
    time.sleep(3)      # its number rests
    more = [Notebook() for _ in range(3)]
    until("two more are traced", lambda: agent.value("ipytracer_kernels") == 3)
    until("a number is used again",
          lambda: slots < {labels["kernel"] for labels, _ in agent.series("ipytracer_kernel_info")})
    until("one more is refused", lambda: agent.value("ipytracer_kernels_refused_total") > 0)
    holds("no more of a user than per_user", agent.value("ipytracer_kernels") == 3, agent.value("ipytracer_kernels"))
    n = next(n for n in more if agent.slot(n.pid))
    n.run({"code": "x = bytearray(77 << 20)"})
    highest = until("its cell, the first of a number used again that is as large",
                    lambda: max(
                        0, agent.value("ipytracer_kernel_highest_bytes", kernel=agent.slot(n.pid)) - (77 << 20)))
    holds("its figures are the new kernel's own", highest < 2 << 20, highest)
    return more


def dies_in_a_cell(receiver, n):
    n.client.execute("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    span = until("the end of a kernel is an event of its cell",
                 lambda: [s for s in receiver.of(n.pid, "cell") if "kernel end" in s["events"]])[0]
    holds("with the signal", span["events"]["kernel end"]["ipytracer.ending.signal"] == "SIGKILL", span)
    holds("the cell has failed", span["status"]["code"] == [2], span)
    holds("there is no other span for it", not receiver.of(n.pid, "kernel end"), receiver.spans)
    holds("its span has no name of a user", "user.name" not in span["resource"], span)


def few_rights(agent):
    """It has given up every capability that it does not need."""
    with open("/proc/%d/status" % agent.process.pid) as f:
        status = dict(line.split(":", 1) for line in f)
    has = {n for n in range(64) if int(status["CapPrm"], 16) >> n & 1}
    # DAC_READ_SEARCH, SETGID, SETUID, SYS_PTRACE, SYS_ADMIN before Linux 6.10, PERFMON, BPF, CHECKPOINT_RESTORE
    allowed = {2, 6, 7, 19, 21, 38, 39, 40}
    holds("it has few rights", has and has <= allowed and status["NoNewPrivs"].strip() == "1", has)


def born_and_gone(agent):
    """A kernel that ends before it can be traced is counted. So are those of other tests, in other namespaces, with
    numbers that nobody has in this one."""
    before = agent.value("ipytracer_kernels_missed_total")
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "ipykernel_launcher.py"), "w").close()
        subprocess.run([sys.executable, "-m", "ipykernel_launcher"], cwd=folder, check=True)
    until("a kernel that was born and gone is counted", lambda: agent.value("ipytracer_kernels_missed_total") > before)


def reloads(agent, otlp):
    agent.configure("per_user: many\n")
    agent.process.send_signal(signal.SIGHUP)
    until("a wrong configuration is reported by line", lambda: "agent.yaml:1: " in agent.said())
    holds("and changes nothing", any(labels["user"] for labels, _ in agent.series("ipytracer_kernel_info")))
    for what, make in ("empty", lambda path: open(path, "w").close()), ("a pipe", os.mkfifo):
        os.remove(agent.config)
        make(agent.config)
        refused = agent.said().count("the configuration stays as it is") + 1
        agent.process.send_signal(signal.SIGHUP)
        until("a configuration that is %s is reported" % what,
              lambda n=refused: agent.said().count("the configuration stays as it is") >= n)
        holds("and changes nothing", agent.value("ipytracer_kernels") == 3)
    os.remove(agent.config)
    agent.configure("refresh: 1s\nlook: 200ms\nper_user: 8\nusers: false\n" + otlp)
    agent.process.send_signal(signal.SIGHUP)
    until("names of users are off",
          lambda: not any(labels["user"] for labels, _ in agent.series("ipytracer_kernel_info")))
    until("the other kernel is traced as well", lambda: agent.value("ipytracer_kernels") == 4)


def strangers(agent):
    """Connections that send nothing, or never end their request, keep no one from the figures for long."""
    host, port = agent.address.split(":")
    held = []
    for i in range(80):
        s = socket.create_connection((host, int(port)))
        if i % 2:
            s.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ")
        held.append(s)
    began = time.monotonic()
    holds("beside 80 silent connections it answers", "ipytracer_kernels" in agent.get("/metrics"))
    print("after %.1f s" % (time.monotonic() - began))
    for path in ("/", "/metrics/../etc/passwd", "/debug/pprof/"):
        try:
            agent.get(path)
            holds("%s is no page" % path, False)
        except urllib.error.HTTPError as e:
            holds("%s is no page" % path, e.code == 404, e.code)
    for s in held:
        s.close()


def main():
    tracer = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        receiver, otlp = receives(folder)
        notebooks = [Notebook() for _ in SIZES]     # their own first cells are no agent's
        agent = Agent(tracer, folder, "refresh: 1s\nlook: 200ms\nper_user: 3\n" + otlp)
        same_figures(agent, notebooks, receiver, tracer, folder)
        notebooks += comes_and_goes(agent, receiver, notebooks)
        few_rights(agent)
        born_and_gone(agent)
        reloads(agent, otlp)
        dies_in_a_cell(receiver, notebooks[-1])
        strangers(agent)
        holds("it is well", agent.get("/healthz") == agent.get("/readyz") == "ok\n")
        holds("nothing was lost", agent.value("ipytracer_lost_total", reason="change ring full") == 0)
        holds("every span was sent", agent.value("ipytracer_export_dropped_total") == 0)
        agent.process.send_signal(signal.SIGINT)
        holds("it ends well", agent.process.wait(60) == 0, agent.said())
        holds("no token is in the log", "secret" not in agent.said(), agent.said())
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every kernel with it


if __name__ == "__main__":
    main()
