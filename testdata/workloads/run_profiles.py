#!/usr/bin/env python3
"""Runs `tracer agent` with profiles beside a kernel, in a process id namespace of its own, and compares what can be
pulled with the report of `tracer attach` on the same cells. It prints a line for each comparison, and ends with status
1 where one fails.

    unshare --pid --fork --mount-proc --kill-child run_profiles.py TRACER
"""

import collections
import gzip
import json
import os
import signal
import sys
import tempfile
import threading
import time
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
PATH = "/debug/pprof/kernel/"


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


class Puller:
    """Pulls the profiles of a kernel again and again, and keeps each interval once."""

    def __init__(self, agent, slot):
        self.agent, self.path, self.intervals, self.last = agent, PATH + slot, [], b""
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                raw = self.agent.raw(self.path)
                if raw != self.last:
                    self.last = raw
                    self.intervals.append(Profile(raw))
            except urllib.error.HTTPError as e:      # nothing is held, or there is no interval yet
                if e.code != 404:
                    raise
            time.sleep(0.5)


def innermost(stack):
    return stack[0][2] if stack and stack[0][0][:1] != "[" else 0


def by_line(pairs):
    """Returns the sums of bytes by the line that allocated them."""
    sums = collections.Counter()
    for line, allocated in pairs:
        if allocated:
            sums[line] += allocated
    return sums


def many_stacks(agent, n, puller):
    """Two cells, each with more stacks than half of a kernel's room, and a while between them: those of the first are
    forgotten, so those of the second have room, and the kernel half sends them."""
    for _ in range(2):
        before = len(puller.intervals)
        n.run({"code": "exec('a = np.ones(10_000)\\n' * 5_000)"})
        until("three intervals follow", lambda before=before: len(puller.intervals) >= before + 3)
        lines = {tuple(stack) for p in puller.intervals[before:] for stack, values, _ in p.samples
                 if values.get("cpu.numpy.alloc_space") and innermost(stack)}
        holds("its stacks are known", len(lines) > 1_000, len(lines))
    missing = [values for p in puller.intervals for stack, values, _ in p.samples if stack[0][0] == "[not kept]"]
    holds("each has had room", not missing, missing[:3], agent.said())


def main():
    tracer = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        n = Notebook()     # its own first cell is not the agent's
        agent = Agent(tracer, folder, "budget: off\nprofiles:\n  every: 10s\n  pull: true\n")
        slot = until("the kernel is found", lambda: agent.slot(n.pid))
        puller = Puller(agent, slot)
        attached = Attached(tracer, n.pid, folder)
        for cell in CELLS:
            n.run({"code": cell})
        cells = attached.cells()
        with open(attached.report) as f:
            report = json.load(f)

        def line(allocation):
            """Returns the line of an allocation's innermost call, 0 for none."""
            calls = report["stacks"][allocation["stack"]]["frames"]
            return report["frames"][calls[0]]["line"] if calls else 0

        holds("%d cells in the report" % len(CELLS), len(cells) == len(CELLS), len(cells))
        held = cells[-1]["meters"]["cpu.numpy"]["end"]
        before = len(puller.intervals)
        until("an interval begins after them", lambda: len(puller.intervals) > before + 1
              and puller.intervals[-1].sum("cpu.numpy.inuse_space") == held)
        made = [a for w in cells for a in w.get("allocations", ()) if a["meter"] == "cpu.numpy"]
        allocated = sum(p.sum("cpu.numpy.alloc_space") for p in puller.intervals)
        want = sum(a["allocated"] for a in made)
        holds("arrays allocated in all intervals", allocated == want, allocated, want)
        got = by_line((innermost(stack), values.get("cpu.numpy.alloc_space", 0))
                      for p in puller.intervals for stack, values, _ in p.samples)
        want = by_line((line(a), a["allocated"]) for a in made)
        holds("%d lines that allocated arrays are those of the report" % len(want), got == want and len(want) > 2,
              got, want)
        holds("a profile has no labels", not any(labels for p in puller.intervals for _, _, labels in p.samples))
        pulled = len(puller.intervals)
        until("what was pulled is counted", lambda: agent.value("ipytracer_export_sent_total", engine="pull") >= pulled)
        holds("nothing was dropped", agent.value("ipytracer_export_dropped_total", engine="pull") == 0)
        try:
            agent.raw(PATH + "63")
            holds("another number has none", False)
        except urllib.error.HTTPError as e:
            holds("another number has none", e.code == 404, e.code)
        many_stacks(agent, n, puller)
        holds("nothing was lost", agent.value("ipytracer_lost_total", reason="change ring full") == 0)
        print("the agent has %.0f MiB" % (agent.value("process_resident_memory_bytes") / (1 << 20)))
        agent.process.send_signal(signal.SIGINT)
        holds("it ends well", agent.process.wait(60) == 0, agent.said())
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and the kernel with it


if __name__ == "__main__":
    main()
