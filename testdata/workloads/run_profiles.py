#!/usr/bin/env python3
"""Runs `tracer agent` with profiles beside a kernel, in a process id namespace of its own, and compares what it pushes
and what can be pulled with the report of `tracer attach` on the same cells. It prints a line for each comparison, and
ends with status 1 where one fails.

    unshare --pid --fork --mount-proc --kill-child run_profiles.py TRACER
"""

import base64
import collections
import gzip
import http.server
import json
import os
import signal
import sys
import tempfile
import threading
import urllib.error

from run_agent import Agent, Attached, holds, until
from run_notebook import Notebook

CELLS = (
    "import numpy as np\ndef double(x):\n    return x * 2",
    "x = np.ones(1_000_001)\ny = double(x)",
    "z = np.concatenate([x, y, double(x)])\ndel y",
    "kept = [np.zeros(2_000 + i) for i in range(100)]",
    "1 / 0",
    "del z",
)
TOKEN = "Bearer tok3n"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Returns the fields of a message of protocol buffers: lists of values by number."""
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        out[key >> 3].append(value)
    return out


def packed(values):
    """Returns the numbers of a repeated field: few of them are fields of their own."""
    out = []
    for one in values:
        if isinstance(one, int):
            out.append(one)
            continue
        at = 0
        while at < len(one):
            value, at = varint(one, at)
            out.append(value)
    return out


class Profile:
    """A profile in pprof's format: samples as (stack, values by type, labels), innermost call first."""

    def __init__(self, raw):
        p = fields(gzip.decompress(raw))
        texts = [t.decode() for t in p[6]]
        types = [texts[fields(t)[1][0]] for t in p[1]]
        functions = {f[1][0]: (texts[f[2][0]], texts[f[4][0]] if f[4] else "") for f in map(fields, p[5])}
        lines = {}
        for at in map(fields, p[4]):
            line = fields(at[4][0])
            lines[at[1][0]] = functions[line[1][0]] + (line[2][0] if line[2] else 0,)
        self.samples = []
        for s in map(fields, p[2]):
            labels = {texts[la[1][0]]: texts[la[2][0]] for la in map(fields, s[3])}
            self.samples.append(([lines[n] for n in packed(s[1])], dict(zip(types, packed(s[2]))), labels))
        self.types = types

    def sum(self, kind):
        return sum(values.get(kind, 0) for _, values, _ in self.samples)


class Engine(http.server.BaseHTTPRequestHandler):
    """What Pyroscope does with a push, as far as it concerns a test."""

    profiles = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for series in body["series"]:
            labels = {la["name"]: la["value"] for la in series["labels"]}
            for sample in series["samples"]:
                Engine.profiles.append((labels, Profile(base64.b64decode(sample["rawProfile"])),
                                        self.path, self.headers["Authorization"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


def is_cell(profile):
    return any("span_id" in labels for _, _, labels in profile.samples)


def of_cells():
    """Returns the profiles of cells, by the span ids, in the order they came."""
    return [p for _, p, _, _ in Engine.profiles if is_cell(p)]


def innermost(stack):
    return stack[0][2] if stack and stack[0][0][:1] != "[" else None


def same_cells(window, line, profile, name):
    """The allocations of a cell are those of the report, to the byte."""
    for meter, figure in window["meters"].items():
        kind = meter + ".cell_peak_space"
        if kind in profile.types:
            holds("%s: %s adds up to the peak" % (name, meter), profile.sum(kind) == figure["peak"],
                  profile.sum(kind), figure)
    want = sorted((a["allocated"], a["at_peak"], line(a))
                  for a in window.get("allocations", ())
                  if a["meter"] == "cpu.numpy" and (a["allocated"] or a["at_peak"]))
    got = sorted((values["cpu.numpy.cell_alloc_space"], values["cpu.numpy.cell_peak_space"], innermost(stack) or 0)
                 for stack, values, _ in profile.samples
                 if "cpu.numpy.cell_peak_space" in values and (innermost(stack) or stack[0][0] == "[no Python frame]")
                 and (values["cpu.numpy.cell_alloc_space"] or values["cpu.numpy.cell_peak_space"]))
    holds("%s: %d stacks of arrays are those of the report" % (name, len(want)), got == want, got, want)


def intervals():
    return [p for _, p, _, _ in Engine.profiles if not is_cell(p)]


def many_stacks(agent, n):
    """Two cells, each with more stacks than half of a kernel's room, and a while between them: those of the first are
    forgotten, so those of the second have room, and the kernel half sends them."""
    for _ in range(2):
        before = len(intervals())
        n.run({"code": "exec('a = np.ones(10_000)\\n' * 5_000)"})
        until("three intervals follow", lambda before=before: len(intervals()) >= before + 3)
        lines = {tuple(stack) for p in intervals()[before:] for stack, values, _ in p.samples
                 if values.get("cpu.numpy.alloc_space") and innermost(stack)}
        holds("its stacks are known", len(lines) > 1_000, len(lines))
    missing = [values for p in intervals() for stack, values, _ in p.samples if stack[0][0] == "[not kept]"]
    holds("each has had room", not missing, missing[:3], agent.said())


def main():
    tracer = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        headers = os.path.join(folder, "headers")
        with open(headers, "w") as f:
            f.write("Authorization: %s\n" % TOKEN)
        n = Notebook()     # its own first cell is not the agent's
        agent = Agent(tracer, folder, "budget: off\nprofiles:\n  url: http://127.0.0.1:%d\n  every: 10s\n"
                      "  headers_file: %s\n  pull: true\n" % (server.server_address[1], headers))
        slot = until("the kernel is found", lambda: agent.slot(n.pid))
        attached = Attached(tracer, n.pid, folder)
        before = len(of_cells())
        for cell in CELLS:
            n.run({"code": cell})
        until("the profiles of the cells came", lambda: len(of_cells()) - before >= len(CELLS))
        cells = attached.cells()
        with open(attached.report) as f:
            report = json.load(f)

        def line(allocation):
            """Returns the line of an allocation's innermost call, 0 for none."""
            calls = report["stacks"][allocation["stack"]]["frames"]
            return report["frames"][calls[0]]["line"] if calls else 0

        holds("%d cells in the report" % len(CELLS), len(cells) == len(CELLS), len(cells))
        for window, profile in zip(cells, of_cells()[before:]):
            same_cells(window, line, profile, "In[%d]" % window["execution_count"])
        spans = {labels["span_id"] for p in of_cells() for _, _, labels in p.samples}
        holds("each cell has a span id of its own", len(spans) == len(of_cells()), spans)

        held = cells[-1]["meters"]["cpu.numpy"]["end"]
        until("an interval begins after them", lambda: intervals()[-1].sum("cpu.numpy.inuse_space") == held)
        allocated = sum(p.sum("cpu.numpy.alloc_space") for p in intervals())
        want = sum(a["allocated"] for w in cells for a in w.get("allocations", ()) if a["meter"] == "cpu.numpy")
        holds("arrays allocated in all intervals", allocated == want, allocated, want)

        labels, _, path, token = Engine.profiles[-1]
        holds("labels are those of a kernel's series", labels["kernel"] == slot and labels["__delta__"] == "false"
              and "cell" not in labels and len(labels) < 12, labels)
        holds("it is pushed where Pyroscope takes it", path == "/push.v1.PusherService/Push" and token == TOKEN, path)
        holds("what was sent is counted",
              agent.value("ipytracer_export_sent_total", engine="pyroscope") <= len(Engine.profiles))
        holds("nothing was dropped", agent.value("ipytracer_export_dropped_total", engine="pyroscope") == 0)

        raw = agent.raw("/debug/pprof/kernel/" + slot)
        holds("the interval can be pulled", Profile(raw).sum("cpu.numpy.inuse_space") == held)
        try:
            agent.raw("/debug/pprof/kernel/63")
            holds("another number has none", False)
        except urllib.error.HTTPError as e:
            holds("another number has none", e.code == 404, e.code)
        many_stacks(agent, n)
        holds("nothing was lost", agent.value("ipytracer_lost_total", reason="change ring full") == 0)
        holds("no token is in the log", "tok3n" not in agent.said())
        print("the agent has %.0f MiB" % (agent.value("process_resident_memory_bytes") / (1 << 20)))
        agent.process.send_signal(signal.SIGINT)
        holds("it ends well", agent.process.wait(60) == 0, agent.said())
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and the kernel with it


if __name__ == "__main__":
    main()
