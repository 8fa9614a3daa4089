#!/usr/bin/env python3
"""Runs the cells of tensors.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell {name, source, status, execution_count, noted, truth, …}, where noted are the
cell's [meter, [[function, line], …], allocated, freed], innermost call first, and truth is what cpu.torch must be; a peak of -1
stands for one that nobody knows. --stand-ins is for a PyTorch for CUDA without NVIDIA's libraries."""

import json
import os
import shutil
import sys

import driver
from tensors import CELLS
from run_kernel import Kernel


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    log = workspace.env["IPYTRACER_NOTES"] = os.path.join(workspace.path, "notes.json")
    if opts.stand_ins:
        standins = workspace.env["LD_LIBRARY_PATH"] = os.path.join(workspace.path, "lib")
        shutil.copytree(opts.stand_ins, standins, symlinks=True)
    kernel = Kernel(opts, workspace, versions)
    held.callback(kernel.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        results = []
        for cell in CELLS:
            result = dict({"name": cell.name}, **kernel.run(cell, []))
            if result["status"] != "ok":
                raise driver.Failure("cell %s: %s" % (cell.name, result.get("error")))
            results.append(result)
        try:
            with open(log) as f:
                noted, told = json.load(f)
        except OSError as e:
            raise driver.Failure("no notes: %s" % e)
        for cell, result in zip(CELLS, results):
            if cell not in (CELLS[0], CELLS[-1]):
                calls = cell.source.count("line(") + cell.source.count("_noted.append(")
                result["noted"], noted = noted[:calls], noted[calls:]
                result["truth"] = {"cpu.torch": told.pop(0)}
            driver.write(out, result)
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--stand-ins", metavar="DIR", help="where testdata/gpu/pytorch/stubs.py has put them")
    opts = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
