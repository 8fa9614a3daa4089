#!/usr/bin/env python3
"""Measures the cost of tracing, and judges whether each figure is within its limit.

Compared conditions always take turns in one run. Figures are medians of pairs, with the interval that holds the true
median with 95 % confidence. Needs root, gcc, and a Python with ipykernel, jupyter_client, NumPy and pandas.
docs/overhead.md explains the table.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time

import table
from measures import (
    agent,
    arrays,
    arrow,
    attach,
    audit,
    beside,
    budget,
    bystanders,
    cells,
    counted,
    ends,
    evals,
    faults,
    gpu,
    heap,
    heapruns,
    native,
    networks,
    notebooks,
    pytorch,
    sessions,
    split,
)
from settings import Settings
from tracing import Failure

MEASURES = {
    "cells": cells,
    "evals": evals,
    "sessions": sessions,
    "notebooks": notebooks,
    "counted": counted,
    "networks": networks,
    "split": split,
    "ends": ends,
    "faults": faults,
    "arrays": arrays,
    "arrow": arrow,
    "native": native,
    "heap": heap,
    "heapruns": heapruns,
    "bystanders": bystanders,
    "gpu": gpu,
    "pytorch": pytorch,
    "attach": attach,
    "agent": agent,
    "audit": audit,
    "budget": budget,
    "beside": beside,
}


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tracer", metavar="FILE", default=os.path.join(here, "..", "bin", "tracer"), help="the binary (bin/tracer)"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions: does it work, not how much it costs")
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=int,
        default=0,
        help="measure everything N times, not as often as is usual for each",
    )
    parser.add_argument(
        "--only", metavar="NAME", action="append", choices=MEASURES, help="only this: " + ", ".join(MEASURES)
    )
    parser.add_argument(
        "--notebooks",
        metavar="A,B",
        type=lambda names: tuple(names.split(",")),
        default=(),
        help=(
            "of the notebooks, only what these cost: names, or files of Jupyter's (all of testdata/notebooks, "
            "and the report of a long one)"
        ),
    )
    parser.add_argument("--path", metavar="DIR", type=lambda folder: (os.path.abspath(folder),), default=(),
                        help="where the kernels of notebooks import from first: another build of NumPy")
    parser.add_argument("--json", metavar="FILE", help="write the rows there as well")
    parser.add_argument(
        "--seeds", metavar="DIR", help="where CellLogger (ipyexperiments) and ipython_memory_usage can be imported from"
    )
    return parser.parse_args()


def machine():
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    return {
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load": float(load),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def run(settings, names):
    """Yields all rows. A measurement that fails yields a row with its error; the others go on."""
    for name in names:
        try:
            yield from MEASURES[name].measure(settings)
        except Failure as e:
            yield table.Skipped(name, str(e))


def main():
    options = arguments()
    if os.geteuid():
        print("bench: tracing needs root", file=sys.stderr)
        return 3
    settings = Settings(
        os.path.abspath(options.tracer),
        options.quick,
        options.seeds and os.path.abspath(options.seeds),
        os.environ.get("PYTHONS_DIR", Settings.pythons),
        options.notebooks,
        options.path,
        max(options.pairs, 0),
    )
    if not os.access(settings.tracer, os.X_OK):
        print(f"bench: {settings.tracer} is not there: go build -o bin/tracer ./cmd/tracer", file=sys.stderr)
        return 2
    for variable in [name for name in os.environ if name.startswith("SUDO_")]:
        del os.environ[variable]    # the tracer would take its files for the sudo user's
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))    # leave nothing behind
    os.nice(-15)    # the measured processes and the tracer inherit it: other work on this machine disturbs less
    about = machine()
    rows = list(run(settings, options.only or MEASURES))
    print("Kernel {kernel}, {cpus} CPUs, Python {python}, load {load} at the start\n".format(**about))
    print(table.text(rows), end="")
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"machine": about, "quick": settings.quick, "rows": [r.as_dict() for r in rows]}, f, indent=1)
    return int(any(isinstance(r, table.Skipped) and r.section in MEASURES for r in rows))


if __name__ == "__main__":
    sys.exit(main())
