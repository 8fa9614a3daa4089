#!/usr/bin/env python3
"""Cells whose inline figures take far more than their code, in an ipykernel. See driver.py for the protocol with the
caller and the options.

A canvas of 5200 x 5000 pixels has 104 MB; it is drawn, and made a PNG of, when the code of the cell is over. Results
are JSON lines {name, source, status, execution_count, draws, after}: draws is what drawing takes at least, after what
/proc says.
"""

import sys

import driver
from model import Cell
from run_kernel import started

CANVAS = 5200 * 5000 * 4

CELLS = [
    ("inline", "%matplotlib inline\nimport matplotlib.pyplot as plt, numpy as np, gc", 0),
    ("small", "_ = plt.plot([1, 2, 3])", 0),
    ("large", "fig = plt.figure(figsize=(52, 50), dpi=100)\n_ = plt.plot([1, 2, 3])", CANVAS),
    ("gone", "del fig\n_ = gc.collect()", 0),
    ("image", "_ = plt.figure(figsize=(52, 50), dpi=100)\nax = plt.axes()\n_ = ax.imshow(np.zeros((50, 50)))", CANVAS),
    ("silent", "plt.figure(figsize=(52, 50), dpi=100);\nplt.plot([3, 1]);", CANVAS),
    ("nothing", "x = 1", 0),
]


def run(held, opts):
    kernel, versions = started(held, opts)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for name, source, draws in CELLS:
            with open("/proc/%d/clear_refs" % kernel.pid, "w") as f:
                f.write("5")
            result = kernel.run(Cell(name, source, statements=[]), [])
            if result["status"] != "ok":
                raise driver.Failure("cell %s: %s" % (name, result.get("error")))
            driver.write(out, dict({"name": name, "draws": draws}, after=driver.sizes(kernel.pid, True), **result))
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
