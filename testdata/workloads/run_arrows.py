#!/usr/bin/env python3
"""Runs the cells of arrows.py in a fresh ipykernel. See driver.py for the protocol with the caller and the options; the
results are as run_tensors.py has them, with what cpu.arrow must be."""

import sys

import driver
from arrows import CELLS
from run_tensors import run_told

if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run_told(held, opts, CELLS, "cpu.arrow")))
