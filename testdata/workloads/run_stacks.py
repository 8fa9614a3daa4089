#!/usr/bin/env python3
"""Runs the cells of stacks.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, …}, and at the end
{"name": "stacks", "stacks": [[size, [[function, file, line], …]], …]}: who called, innermost first, when that many bytes of
a NumPy array were allocated.
"""

import json
import os
import sys

import driver
from run_kernel import Kernel
from stacks import CELLS


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_STACKS"] = os.path.join(workspace.path, "stacks.json")
    kernel = Kernel(opts, workspace, versions)
    held.callback(kernel.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for cell in CELLS:
            result = dict({"name": cell.name}, **kernel.run(cell, []))
            if result["status"] != "ok":
                raise driver.Failure("cell %s: %s" % (cell.name, result.get("error")))
            driver.write(out, result)
        try:
            with open(log) as f:
                driver.write(out, {"name": "stacks", "stacks": json.load(f)})
        except OSError as e:
            raise driver.Failure("no stacks: %s" % e)
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
