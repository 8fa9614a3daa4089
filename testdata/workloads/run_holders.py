#!/usr/bin/env python3
"""Runs the cells of holders.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, expected, execution_count, …}, and at
the end {"name": "holders", "holders": {size: [kind, path, function]}}: who holds the array of that many bytes.
"""

import sys

import driver
from holders import CELLS, HOLDERS
from run_kernel import started


def run(held, opts):
    kernel, versions = started(held, opts)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for cell in CELLS:
            result = dict({"name": cell.name, "expected": cell.status}, **kernel.run(cell, []))
            if result["status"] != cell.status:
                raise driver.Failure("cell %s: %s" % (cell.name, result.get("error")))
            driver.write(out, result)
        driver.write(out, {"name": "holders", "holders": HOLDERS})
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
