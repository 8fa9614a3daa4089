#!/usr/bin/env python3
"""Runs the cells in a shell of this process with the companion and no tracer, and compares what it says of itself
with the truth.

    run_alone.py FOLDER [--counts]     FOLDER is for the log of marks

One line for each figure that is wrong, then one line of JSON: how many figures of each meter were compared, by how
their bound is given ("exact", "bounded", "at least"), and how many were wrong. Exit status 1 if any was.

A figure is right if the truth lies within its bound: the peak at a mark, and the rise and the rest of the whole cell.
"""

import collections
import contextlib
import importlib.util
import io
import json
import os
import sys

folder = sys.argv[1]
LOG = os.environ["IPYTRACER_TRUTH_LOG"] = os.path.join(folder, "marks")
os.environ["IPYTHONDIR"] = os.path.join(folder, "ipython")
if "--counts" in sys.argv:
    os.environ["IPYTRACER_COUNTS"] = "1"

import cells  # noqa: E402
import truth  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from marks import read_log  # noqa: E402
from traitlets.config import Config  # noqa: E402

_MARKED = {"cpu.mapped": "mapped", "cpu.resident": "resident"}
_ENDING = ("exit", "quit")     # cells that end the shell


def usable(cell):
    """Whether a cell can run without a driver beside it."""
    return not (cell["request"].keys() - {"silent", "store_history"}) and not any(
        word + "(" in cell["source"] for word in _ENDING)


class Judge:
    def __init__(self):
        self.compared = collections.defaultdict(collections.Counter)
        self.wrong = []

    def range(self, cell, meter, figure, what, value, least, most):
        """Compares a quantity with [least, most]: with its bound it has to reach into that range."""
        kind = "exact" if figure.exact else "bounded" if figure.bound is not None else "at least"
        self.compared[meter][kind] += 1
        off = figure.bound or 0
        if figure.bound is None:           # only too low, where it rests on a peak
            right = value <= most + (1 << 20) if what != "kept" else True
        else:
            right = value <= most + off and value + off >= least
        if not right:
            self.wrong.append("%s: %s of %s is %d (%s, %s), and has to be from %d to %d"
                              % (cell["name"], what, meter, value, kind, figure.bound, least, most))

    def cell(self, cell, window, marks):
        for meter, expected in cell["meters"].items():
            figure = window.meters.get(meter)
            if figure is None:
                continue
            if "rise" in expected:
                self.range(cell, meter, figure, "rise", figure.need, *expected["rise"])
            if "kept" in expected:
                self.range(cell, meter, figure, "kept", figure.consumed, *expected["kept"])
            found = [m for m in marks if m["label"] == expected.get("mark") and m["pid"] == os.getpid()]
            if found:
                top = max(m[_MARKED[meter]] for m in found)
                self.range(cell, meter, figure, "peak", figure.peak, top, top + expected["above"] + 64 * 4096)


def main():
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    sys.path.insert(0, truth.here(""))
    judge, seen = Judge(), 0
    answers = truth.machine()
    every = cells.expectations("terminal", have=lambda name: importlib.util.find_spec(name), answers=answers)["cells"]
    todo = [c for c in every if usable(c)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        shell.run_cell("%load_ext ipytracer", store_history=True)
    import ipytracer
    last = 0
    for cell in todo:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            shell.run_cell(cell["source"], store_history=True)
        marks = read_log(LOG, seen)
        seen += len(marks)
        windows = ipytracer.cells(last)
        if not windows:
            judge.wrong.append("%s: there is no window" % cell["name"])
            continue
        last = windows[-1].id
        judge.cell(cell, windows[-1], marks)
    for line in judge.wrong:
        print(line)
    report = ipytracer.report()
    print(json.dumps({
        "cells": len(todo), "wrong": len(judge.wrong), "figures": judge.compared, "uid": os.getuid(),
        "sources": {m["id"]: m["source"] for m in report["meters"]}, "complete": report["certificate"]["complete"],
    }))
    return 1 if judge.wrong else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)         # threads of cells may wait for ever
