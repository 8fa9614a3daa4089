#!/usr/bin/env python3
"""Runs the notebooks of gpu_leaks.py in a fresh ipykernel with a real PyTorch, on the stand-ins. run_pytorch.py
describes how, and the options; --list selects leaks or healthy. The last result is {"name": "expect", "expect": […]}:
the verdicts that an audit must have."""

import sys

import run_pytorch  # also sets the path

# isort: split
import driver
import gpu_leaks
import notebooks


def run(held, opts):
    workspace, kernel, versions = run_pytorch.start(held, opts)
    books = {"leaks": gpu_leaks.LEAKS, "healthy": gpu_leaks.HEALTHY}[opts.list]
    return notebooks.run(opts, kernel, dict(versions, pid=kernel.pid), gpu_leaks.IMPORTS, books)


if __name__ == "__main__":
    parser = run_pytorch.parser()
    parser.add_argument("--list", choices=["leaks", "healthy"], default="leaks")
    opts = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
