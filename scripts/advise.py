#!/usr/bin/env python3
"""Follows advice, and measures what it saved: on notebooks of testdata/advice, or any others.

    advise.py [--tracer FILE] [--jobs N] [--check] [--json] NOTEBOOK|FOLDER…

Each notebook runs in a fresh kernel under `tracer attach --record`. `tracer advise` answers from the recording. The
edits of the first advice are made in a copy, which runs in another fresh kernel, also recorded. There is a line for
each notebook: the advice, its saving, and the measured saving, which is the highest value of the judged meter over all
cells, of the notebook less that of the copy. Outputs that differ are listed, addresses and pictures' metadata apart.

The first lines of a notebook of testdata/advice name the advice that must come first (see README.md there). --check
fails if it does not, or if the measured saving is more than 5 % (and 2 MiB) away. Needs root, and ipykernel.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import copy
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTDATA = os.path.join(os.path.dirname(HERE), "testdata")
sys.path[:0] = [os.path.join(TESTDATA, "workloads"), os.path.join(TESTDATA, "notebooks")]

import driver  # noqa: E402
import notebook_text  # noqa: E402
from advise_outputs import differing, joined, said  # noqa: E402
from run_kernel import Kernel  # noqa: E402

NEAR = 0.05       # of the predicted saving
SLACK = 2 << 20   # bytes that two runs of one notebook may differ by

Wanted = collections.namedtuple("Wanted", "kind names cell line meter")
_WANTED = re.compile(r"#\s*advice:\s*(\S+)(?:\s+-\s+-|\s+(\S+)\s+In\[(\d+)\]\s+line\s+(\d+))?(?:\s+meter=(\S+))?\s*$")


def wanted(text):
    """The advice that must come first, by the lines in front of the first cell; None if they name none."""
    for line in text.split("# %%")[0].split("\n"):
        found = _WANTED.match(line)
        if found:
            kind, names, cell, line, meter = found.groups()
            names = [] if names in (None, "-") else names.split(",")
            return Wanted(kind, names, int(cell or 0), int(line or 0), meter or "")
    return None


def patched(source, edits):
    """The source of a cell with edits of its lines. They must not overlap."""
    lines = source.split("\n")
    for edit in sorted(edits, key=lambda e: (e["start_line"], e["end_line"]), reverse=True):
        start, end = edit["start_line"], edit["end_line"]
        if not 1 <= start <= end + 1 <= len(lines) + 1:
            raise ValueError("lines %d to %d of a cell of %d" % (start, end, len(lines)))
        lines[start - 1:end] = [] if edit.get("delete") else edit["text"].split("\n")
    return "\n".join(lines)


def follow(cells, edits):
    """The cells with edits, which name them by In[N]: in a fresh kernel N counts the cells that ran."""
    cells = [copy.copy(cell) for cell in cells]
    by_cell = collections.defaultdict(list)
    for edit in edits:
        by_cell[edit["execution_count"] or edit["execution"]].append(edit)
    for number, some in by_cell.items():
        cell = cells[number - 1]
        cell.source = patched(cell.source, some)
    return cells


class Listener(Kernel):
    """A kernel of which the outputs are kept, as lists of texts."""

    def run_cell(self, cell):
        message = self.client.execute(cell.source, allow_stdin=False, stop_on_error=False)
        outputs, end = [], time.monotonic() + self.opts.timeout
        while True:
            if time.monotonic() > end:
                raise driver.Failure("%s: not done after %g s" % (cell.name, self.opts.timeout))
            with contextlib.suppress(Exception):
                got = self.client.get_iopub_msg(timeout=0.5)
                if got["parent_header"].get("msg_id") == message:
                    if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                        break
                    outputs += said(got["msg_type"], got["content"])
                continue
            self._alive()
        return self._reply(message)["content"]["status"], joined(outputs)


class Run:
    """A run of cells in a fresh kernel under the tracer."""

    flags = ()   # of tracer attach

    def __init__(self, opts, cells, folder, name):
        self.opts = opts
        self.recording = os.path.join(opts.keep or folder, name + ".arrows")
        self.outputs, self.seconds = [], 0.0
        with contextlib.ExitStack() as held:
            kernel = self.start(held)
            self.prepare(kernel)
            tracer = self.attach(held, kernel.pid, folder, name)
            begun = time.monotonic()
            for cell in cells:
                status, outputs = kernel.run_cell(cell)
                self.outputs.append(outputs + [("status", status)])
            self.seconds = time.monotonic() - begun
            tracer.send_signal(signal.SIGINT)
            said_last = tracer.communicate(timeout=opts.timeout)[1]
            if tracer.returncode not in (0, 130):
                raise driver.Failure("tracer attach: status %d: %s" % (tracer.returncode, said_last[-500:]))

    def start(self, held):
        """A fresh kernel that ends with what holds it."""
        place = driver.options("").parse_args(["--out", os.devnull, "--timeout", str(self.opts.timeout)])
        workspace = driver.Workspace(place)
        held.callback(workspace.remove)
        kernel = Listener(place, workspace, workspace.probe())
        held.callback(kernel.close)
        return kernel

    def prepare(self, kernel):
        if self.opts.folder:
            kernel.client.execute_interactive("import os; os.chdir(%r); del os" % self.opts.folder, silent=True,
                                              store_history=False, timeout=self.opts.timeout)

    def attach(self, held, pid, folder, name):
        ready = os.path.join(folder, name + ".ready")
        tracer = subprocess.Popen([self.opts.tracer, "attach", "--quiet", "--format", "json", "--ready-file", ready,
                                   "--record", self.recording, *self.flags, str(pid)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        held.callback(end, tracer)
        while not os.path.exists(ready):
            if tracer.poll() is not None:
                raise driver.Failure("tracer attach: %s" % tracer.communicate()[1].strip()[-500:])
            time.sleep(0.01)
        return tracer

    def highest(self, meter):
        """The highest value of a meter over the cells, with children."""
        report = self.ask("report", "--format", "json", self.recording)
        return max((peak(w, meter) for w in report["windows"] if w["kind"] == "cell"), default=0)

    def refused(self):
        """The largest request that PyTorch refused, by cell."""
        report = self.ask("report", "--format", "json", self.recording)
        return {w["execution"]: r["asked"] for w in report["windows"] if w["kind"] == "cell"
                for r in w.get("refused", []) if r["meter"].endswith(".active")}

    def advice(self, meter):
        return self.ask("advise", "--format", "json", *(["--by", meter] if meter else []), self.recording)

    def ask(self, command, *args):
        ran = subprocess.run([self.opts.tracer, command, "--quiet", *args], capture_output=True, text=True)
        if ran.returncode:
            raise driver.Failure("tracer %s: %s" % (command, ran.stderr.strip()[-500:]))
        return json.loads(ran.stdout)


def peak(window, meter):
    figure = (window.get("tree") or {}).get(meter) or window["meters"].get(meter) or {"peak": 0}
    return figure["peak"]


def end(process):
    process.kill()
    process.wait()


def matches(item, want):
    return (item["kind"] == want.kind and (item.get("names") or []) == want.names and
            item["at"]["execution_count"] == want.cell and item["at"]["line"] == want.line)


def result(opts, path):
    """What came out for one notebook."""
    out = {"notebook": path, "wanted": None, "faults": [], "advice": None, "measured": None, "differs": []}
    with tempfile.TemporaryDirectory(prefix="advise-") as folder:
        cells = notebook_text.read(os.path.abspath(path))
        if path.endswith(".ipy"):
            with open(path, encoding="utf-8") as f:
                out["wanted"] = wanted(f.read())
        first = opts.run(opts, cells, folder, name_of(path))
        advice = first.advice(out["wanted"].meter if out["wanted"] else "")
        out.update(meter=advice["meter"], peak=advice["peak"], seconds=round(first.seconds, 2),
                   others=[brief(item) for item in advice["items"][1:]])
        item = advice["items"][opts.advice - 1] if len(advice["items"]) >= opts.advice else None
        judge(out, item)
        if item:
            out["advice"] = dict(brief(item), title=item["title"], diff=item.get("diff", ""), changes=item["changes"])
            if item["edits"] and not opts.once:
                compare(opts, out, cells, item, first, folder)
    return out


def name_of(path):
    """The name of a notebook's recording."""
    return os.path.splitext(os.path.basename(path))[0]


def compare(opts, out, cells, item, first, folder):
    edited = {edit["execution_count"] or edit["execution"] for edit in item["edits"]}
    steady = opts.run(opts, cells, folder, name_of(out["notebook"]) + "-again").outputs if opts.twice else first.outputs
    then = opts.run(opts, follow(cells, item["edits"]), folder, name_of(out["notebook"]) + "-changed")
    out["measured"] = first.highest(out["meter"]) - then.highest(out["meter"])
    out["then_seconds"] = round(then.seconds, 2)
    unsteady = set(differing(first.outputs, steady, edited))
    out["differs"] = [one for one in differing(first.outputs, then.outputs, edited) if one not in unsteady]
    before, behind = first.refused(), then.refused()
    served = ["In[%d]" % one for one in before if before[one] > behind.get(one, 0)]
    failed = ["In[%d]" % i for i, (a, b) in enumerate(zip(first.outputs, then.outputs), 1) if a[-1] != b[-1]]
    if served:   # the code behind the request ran only once
        out["differs"] = []
    if set(failed) - set(served):
        out["faults"].append("ends differently: %s" % ", ".join(failed))
    off = abs(out["measured"] - item["saves"])
    if out["wanted"] and off > max(SLACK, NEAR * item["saves"]):
        out["faults"].append("saves %s, said %s" % (size(out["measured"]), size(item["saves"])))
    if not out["wanted"] and out["measured"] < item["saves"] / 2 - SLACK:
        out["faults"].append("saves %s, said %s" % (size(out["measured"]), size(item["saves"])))
    if out["differs"] and (out["wanted"] or not item["changes"]):
        out["faults"].append("other outputs: %s" % ", ".join(out["differs"]))


def brief(item):
    return {"kind": item["kind"], "names": item.get("names") or [], "cell": item["at"]["execution_count"],
            "line": item["at"]["line"], "saves": item["saves"], "accuracy": item["accuracy"],
            "edits": len(item["edits"])}


def judge(out, item):
    """Notes faults of the first advice, given or not."""
    want = out["wanted"]
    if want is None:
        return
    if want.kind == "healthy":
        if item:
            out["faults"].append("advice for a healthy notebook")
    elif item is None:
        out["faults"].append("no advice")
    elif not matches(item, want):
        out["faults"].append("wanted %s %s In[%d] line %d" % (want.kind, ",".join(want.names) or "-", want.cell,
                                                              want.line))


def size(n):
    return "%.1f MiB" % (n / (1 << 20))


def line(out):
    """One notebook in one line."""
    parts = [os.path.basename(out["notebook"])]
    if out.get("peak") is not None:
        parts.append("peak %s" % size(out["peak"]))
    a = out["advice"]
    if a:
        parts.append("%s %s In[%s] line %d" % (a["kind"], ",".join(a["names"]) or "-", a["cell"], a["line"]))
        parts.append("says %s (%s)" % (size(a["saves"]), a["accuracy"]))
        if out["measured"] is None:
            parts.append("not tried")
        else:
            parts.append("measured %s" % size(out["measured"]))
        if out["measured"] is not None:
            parts.append("%.1f s, then %.1f s" % (out["seconds"], out["then_seconds"]))
        if out["differs"]:
            parts.append("other outputs: " + ", ".join(out["differs"]))
    else:
        parts.append("no advice")
    parts.append("ok" if not out["faults"] else "WRONG: " + "; ".join(out["faults"]))
    return " | ".join(parts)


def files(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from (os.path.join(path, name) for name in sorted(os.listdir(path))
                        if name.endswith((".ipy", ".ipynb")))
        else:
            yield path


def attempt(opts, path):
    try:
        return result(opts, path)
    except (driver.Failure, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as e:
        return {"notebook": path, "advice": None, "measured": None, "differs": [], "faults": [repr(e)]}


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="+", metavar="NOTEBOOK|FOLDER")
    parser.add_argument("--tracer", default=os.path.join(os.path.dirname(HERE), "bin", "tracer"), metavar="FILE")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many notebooks at once")
    parser.add_argument("--advice", type=int, default=1, metavar="N", help="follow this one instead of the first")
    parser.add_argument("--once", action="store_true", help="ask for advice, and do not follow it")
    parser.add_argument("--twice", action="store_true",
                        help="run each unchanged notebook twice: outputs that differ then do not count")
    parser.add_argument("--keep", metavar="DIR", help="keep the recordings there")
    parser.add_argument("--folder", metavar="DIR", help="the kernels' working directory")
    parser.add_argument("--timeout", type=float, default=180, metavar="S", help="for each cell")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a notebook is wrong")
    parser.add_argument("--json", action="store_true", help="a JSON object for each notebook")
    parser.add_argument("--verbose", action="store_true", help="with the advice and its diff")
    parser.set_defaults(run=Run)
    return parser


def main(opts):
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        for out in pool.map(lambda path: attempt(opts, path), list(files(opts.notebooks))):
            faults += bool(out["faults"])
            print(json.dumps(dict(out, line=line(out))) if opts.json else line(out), flush=True)
            if opts.verbose and out["advice"]:
                print("    %s\n%s" % (out["advice"]["title"], out["advice"]["diff"]), flush=True)
    return 1 if faults and opts.check else 0


if __name__ == "__main__":
    sys.exit(main(options().parse_args()))
