#!/usr/bin/env python3
"""Runs the notebooks of leaks.py, healthy.py, followed.py or tensor_leaks.py in a fresh ipykernel. See driver.py for
the protocol with the caller and the options.

--cells leaks, healthy, followed, crowd, joblib, tensors or healthy_tensors says which. Results are JSON lines:
{"session": …}, one for each run of a cell {name, source, status, execution_count, …}, and at the end {"name": "expect",
"expect": […]}: what an audit must find.
"""

import sys

import driver
import followed
import healthy
import leaks
import notebooks
import tensor_leaks
from run_kernel import started

LISTS = {
    "leaks": (leaks.IMPORTS, leaks.LEAKS),
    "healthy": (leaks.IMPORTS, healthy.HEALTHY),
    "followed": (leaks.IMPORTS, followed.FOLLOWED),
    "crowd": (leaks.IMPORTS, leaks.CROWD),
    "joblib": (leaks.IMPORTS, leaks.JOBLIB),
    "tensors": (tensor_leaks.IMPORTS, tensor_leaks.LEAKS),
    "healthy_tensors": (tensor_leaks.IMPORTS, tensor_leaks.HEALTHY),
}


def run(held, opts):
    kernel, _ = started(held, opts)
    imports, books = LISTS[opts.cells or "leaks"]
    return notebooks.run(opts, kernel, {"pid": kernel.pid}, imports, books)


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
