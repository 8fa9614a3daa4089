#!/usr/bin/env python3
"""Two kernels at once, each with a notebook, whose cells have the same numbers. See driver.py for the protocol with the
caller and the options; what it says when it is ready has the second kernel's pid in "others".

The first kernel has its notebook's path in its environment, as a Jupyter server puts it there; the second in a
variable, as VS Code does. Results are JSON lines {name, kernel, source, status, execution_count}."""

import sys

import driver
from model import Cell
from run_kernel import Kernel

CELLS = [
    (0, "first", "import numpy as np\na = np.ones(40_000_001, dtype=np.uint8)"),
    (1, "first", "import numpy as np\nb = np.ones(30_000_001, dtype=np.uint8)"),
    (1, "second", "def make(n):\n    return np.ones(n, dtype=np.uint8)\nc = make(20_000_001)\nlen(make(60_000_001))"),
    (
        0,
        "second",
        (
            "def make(n):\n    return np.ones(n, dtype=np.uint8)\nd = [make(10_000_001) for _ in range(2)]\n"
            "len(make(70_000_001))"
        ),
    ),
]


def run(held, opts):
    kernels = []
    for path in ("/home/ada/work/train.ipynb", None):
        workspace = driver.Workspace(opts)
        held.callback(workspace.remove)
        versions = workspace.probe()
        workspace.env.pop("JPY_SESSION_NAME", None)
        if path:
            workspace.env["JPY_SESSION_NAME"] = path
        kernels.append(Kernel(opts, workspace, versions))
        held.callback(kernels[-1].close)
    kernels[1].run(
        Cell(
            "silent",
            "__vsc_ipynb_file__ = '/home/ada/work/eda.ipynb'",
            request={"silent": True, "store_history": False},
        ),
        [],
    )
    with driver.create(opts.out) as out:
        driver.write(out, {"session": {"pid": kernels[0].pid}})
        driver.say({"pid": kernels[0].pid, "others": [kernels[1].pid], "ready": True}, opts)
        for kernel, name, source in CELLS:
            result = kernels[kernel].run(Cell(name, source), [])
            if result["status"] != "ok":
                raise driver.Failure("%r: %s" % (source, result.get("error")))
            driver.write(out, dict({"name": name, "kernel": kernels[kernel].pid}, **result))
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
