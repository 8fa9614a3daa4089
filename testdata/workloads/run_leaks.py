#!/usr/bin/env python3
"""Runs the notebooks of leaks.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

--cells leaks, healthy or followed says which. Results are JSON lines: {"session": …}, one for each run of a cell {name, source, status,
execution_count, …}, and at the end {"name": "expect", "expect": […]}: what an audit must find.
"""

import sys

import driver
import leaks
import notebooks
from run_kernel import Kernel

LISTS = {"leaks": leaks.LEAKS, "healthy": leaks.HEALTHY, "followed": leaks.FOLLOWED}


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    kernel = Kernel(opts, workspace, workspace.probe())
    held.callback(kernel.close)
    return notebooks.run(opts, kernel, {"pid": kernel.pid}, leaks.IMPORTS, LISTS[opts.cells or "leaks"])


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
