#!/usr/bin/env python3
"""Runs the cells of variables.py in a fresh ipykernel, some of them before it says that it is ready. See driver.py for
the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell, and at the end {"name": "variables", "wanted": {name: what
has to be found}, "dropped": {name: bytes that the process gave back when one like it was deleted}}.
"""

import json
import os
import sys

import driver
from run_kernel import started
from variables import BEFORE, CELLS


def run_cell(kernel, cell):
    result = dict({"name": cell.name, "expected": cell.status}, **kernel.run(cell, []))
    if result["status"] != cell.status:
        raise driver.Failure("cell %s: %s" % (cell.name, result.get("error")))
    return result


def run(held, opts):
    kernel, versions = started(held, opts)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        for cell in BEFORE:
            run_cell(kernel, cell)
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for cell in CELLS:
            driver.write(out, run_cell(kernel, cell))
        with open(os.path.join(kernel.workspace.path, "variables.json")) as f:
            driver.write(out, dict({"name": "variables"}, **json.load(f)))
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
