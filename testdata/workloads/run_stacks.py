#!/usr/bin/env python3
"""Runs the cells of stacks.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, …}, and at the end
{"name": "stacks", "stacks": [[size, [[function, file, line], …]], …]}: who called, innermost first, when that many
bytes of a NumPy array were allocated.
"""

import os
import sys

import driver
from run_kernel import all_ran, noted
from stacks import CELLS


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_STACKS"] = os.path.join(workspace.path, "stacks.json")
    with all_ran(held, opts, workspace, versions, CELLS) as (out, results):
        for result in results:
            driver.write(out, result)
        driver.write(out, {"name": "stacks", "stacks": noted(log)})
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
