#!/usr/bin/env python3
"""Cells whose functions allocate after the attach: the cells have run before it. See driver.py for the protocol with
the caller and the options.

Results are JSON lines {name, source, status, execution_count} of the cells after the attach. `use` calls a function of
In[3], which In[4] has word for word, and that calls one of In[2]; `silent` calls one that a cell without a number has
defined; `make`, word for word In[2], defines that anew, and `anew` calls it."""

import sys

import driver
from model import Cell
from run_kernel import Kernel
from run_terminal import Terminal

MAKE = "def make(n):\n    '''größer'''\n    return np.ones(n, dtype=np.uint8)"
AGAIN = "def again(n):\n    return make(n)"
SILENT = 'get_ipython().run_cell("def quiet(n):\\n    return np.zeros(n + 1, dtype=np.uint8)", store_history=False)'


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    session = (Terminal if opts.terminal else Kernel)(opts, workspace, versions)
    held.callback(session.close)
    # IPython takes blank lines in front of a cell away before it compiles it.
    make = MAKE if opts.terminal else "\n\n" + MAKE + "\n"
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=session.pid)})
        for name, source in (
            ("imports", "import numpy as np"),
            ("make", make),
            ("again", AGAIN),
            ("again", AGAIN),
            ("silent", SILENT),
        ):
            check(session.run(Cell(name, source, exact=True), []))
        driver.say({"pid": session.pid, "ready": True}, opts)
        for name, source in (
            ("use", "a = again(10_000_001)"),
            ("silent", "b = quiet(20_000_001)"),
            ("make", make),
            ("anew", "c = again(40_000_001)"),
        ):
            driver.write(out, dict({"name": name}, **check(session.run(Cell(name, source, exact=True), []))))
    driver.say({"done": True, "cells": 4}, opts)
    return 0


def check(result):
    if result["status"] != "ok":
        raise driver.Failure("%r: %s" % (result["source"], result.get("error")))
    return result


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--terminal", action="store_true", help="in a terminal; else in a kernel")
    parser.add_argument("--simple-prompt", action="store_true", help="as of IPython's")
    opts = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
