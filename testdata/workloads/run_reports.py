#!/usr/bin/env python3
"""Runs the cells of a file of testdata/reports in a fresh ipykernel. See driver.py for the protocol with the caller and
the options; then the caller types what a report says.

--cells says which file, without its ending. Results are as those of run_leaks.py.
"""

import os
import re
import sys

import driver
import notebooks
from notebooks import Notebook, Step
from run_kernel import started

REPORTS = os.path.join(driver.HERE, os.pardir, "reports")


def steps(text):
    """The cells of a file, in order: (source, times, pause)."""
    for head, source in re.findall(r"^# %%([^\n]*)\n(.*?)(?=^# %%|\Z)", text, re.MULTILINE | re.DOTALL):
        times = re.search(r"\bx(\d+)", head)
        pause = re.search(r"\bidle=(\d+)", head)
        yield source.strip("\n"), int(times[1]) if times else 1, float(pause[1]) if pause else 0


def run(held, opts):
    with open(os.path.join(REPORTS, opts.cells + ".ipy")) as file:
        book = [Step(source, times, pause=pause) for source, times, pause in steps(file.read())]
    kernel, _ = started(held, opts)
    return notebooks.run(opts, kernel, {"pid": kernel.pid}, Step("pass"), [Notebook(opts.cells, book)])


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
