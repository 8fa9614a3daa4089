#!/usr/bin/env python3
"""A kernel that is in the middle of cells when it is attached to. See driver.py for the protocol with the caller and
the options.

The outer cell runs another one, which waits; then the process is said to be ready. Once the caller says go, the inner
cell takes 64 MiB of NumPy's and gives them back, the outer one 32, and two more cells run. Results are JSON lines
{name, source, status, execution_count}.
"""

import os
import sys
import time

import driver
from model import Cell
from run_kernel import Kernel

INNER = (
    "%time n = 1\nopen({begun!r}, 'w').close()\nwhile not os.path.exists({go!r}): time.sleep(0.01)\n"
    "x = np.ones(8 << 20); del x"
)
OUTER = (
    "\n%time import os, time; import numpy as np\ninner = get_ipython().run_cell({inner!r})\ny = np.ones(4 << 20)\n"
    "del y  # größer\nz = 1"
)


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    begun, go = (os.path.join(workspace.path, name) for name in ("begun", "go"))
    inner = INNER.format(begun=begun, go=go)
    kernel = Kernel(opts, workspace, versions)
    held.callback(kernel.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.write(out, dict({"name": "before"}, **kernel.run(Cell("before", "a = 1"), [])))
        source = OUTER.format(inner=inner)
        waiting = kernel.client.execute(source)
        end = time.monotonic() + 60
        while not os.path.exists(begun):
            if time.monotonic() > end:
                raise driver.Failure("the cell did not begin")
            time.sleep(0.01)
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        open(go, "w").close()
        count = kernel._until_idle(waiting)
        driver.write(
            out,
            {
                "name": "outer",
                "source": source,
                "execution_count": count,
                "status": kernel._reply(waiting)["content"]["status"],
            },
        )
        driver.write(out, {"name": "inner", "source": inner})
        for name, cell in (("after", "b = np.ones(2 << 20)"), ("last", "c = 1")):
            driver.write(out, dict({"name": name}, **kernel.run(Cell(name, cell), [])))
    driver.say({"done": True, "cells": 5}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
