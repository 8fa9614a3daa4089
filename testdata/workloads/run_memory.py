#!/usr/bin/env python3
"""Runs the cells of memory.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, noted, …}, where noted
are the cell's [meter, [[function, line], …], allocated, freed], innermost call first."""

import os
import sys

import driver
from build import build_ask
from memory import CELLS
from run_kernel import all_ran, noted


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_NOTES"] = os.path.join(workspace.path, "notes.json")
    workspace.env["IPYTRACER_ASK_LIBRARY"] = build_ask(workspace.path)
    with all_ran(held, opts, workspace, versions, CELLS) as (out, results):
        notes = noted(log)
        for cell, result in zip(CELLS, results):
            calls = cell.source.count("\nnote(") + cell.source.count("\ncounted(")
            result["noted"], notes = notes[:calls], notes[calls:]
            driver.write(out, result)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
