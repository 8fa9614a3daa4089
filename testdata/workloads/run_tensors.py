#!/usr/bin/env python3
"""Runs the cells of tensors.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, noted, truth, …},
where noted are the cell's [meter, [[function, line], …], allocated, freed], innermost call first, and truth is what
cpu.torch must be; a peak of -1 stands for one that nobody knows. --stand-ins is for a PyTorch for CUDA without NVIDIA's
libraries."""

import os
import shutil
import sys

import driver
from run_kernel import all_ran, noted
from tensors import CELLS


def run_told(held, opts, cells, meter, prepare=lambda workspace: None):
    """Runs cells of which each but the first and the last says what a meter must be."""
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_NOTES"] = os.path.join(workspace.path, "notes.json")
    prepare(workspace)
    with all_ran(held, opts, workspace, versions, cells) as (out, results):
        notes, told, *dropped = noted(log)
        for cell, result in zip(cells, results):
            if cell not in (cells[0], cells[-1]):
                calls = cell.source.count("line(") + cell.source.count("_noted.append(")
                result["noted"], notes = notes[:calls], notes[calls:]
                result["truth"] = {meter: told.pop(0)}
            elif cell is cells[-1] and dropped:
                result["dropped"] = dropped[0]
            driver.write(out, result)
    return 0


def run(held, opts):
    def with_stand_ins(workspace):
        if opts.stand_ins:
            standins = workspace.env["LD_LIBRARY_PATH"] = os.path.join(workspace.path, "lib")
            shutil.copytree(opts.stand_ins, standins, symlinks=True)
    return run_told(held, opts, CELLS, "cpu.torch", with_stand_ins)


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--stand-ins", metavar="DIR", help="where testdata/gpu/pytorch/stubs.py has put them")
    opts = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
