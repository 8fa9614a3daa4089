#!/usr/bin/env python3
"""Runs the cells of tensors.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, noted, truth, …}, where noted are the
cell's [meter, [[function, line], …], allocated, freed], innermost call first, and truth is what cpu.torch must be; a peak of -1
stands for one that nobody knows. --stand-ins is for a PyTorch for CUDA without NVIDIA's libraries."""

import os
import shutil
import sys

import driver
from tensors import CELLS
from run_kernel import all_ran, noted


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_NOTES"] = os.path.join(workspace.path, "notes.json")
    if opts.stand_ins:
        standins = workspace.env["LD_LIBRARY_PATH"] = os.path.join(workspace.path, "lib")
        shutil.copytree(opts.stand_ins, standins, symlinks=True)
    with all_ran(held, opts, workspace, versions, CELLS) as (out, results):
        notes, told = noted(log)
        for cell, result in zip(CELLS, results):
            if cell not in (CELLS[0], CELLS[-1]):
                calls = cell.source.count("line(") + cell.source.count("_noted.append(")
                result["noted"], notes = notes[:calls], notes[calls:]
                result["truth"] = {"cpu.torch": told.pop(0)}
            driver.write(out, result)
    return 0


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--stand-ins", metavar="DIR", help="where testdata/gpu/pytorch/stubs.py has put them")
    opts = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
