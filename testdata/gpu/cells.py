"""The workload: cells with GPU memory that is known by construction.

    python3 cells.py [--json] [--cells a,b]

The fields of a cell: model.py. The session they belong to has 2 devices of 8 GiB.
"""

import argparse
import json
import sys

import model
from catalogue import all_cells

SCHEMA = "ipytracer/gpu-workloads/v1"
CELLS = all_cells()
ALWAYS = {"before", "import_libraries", "keep"}     # the others depend on these


def select(names=None):
    """The cells in order. Raises KeyError for an unknown name."""
    known = {cell.name for cell in CELLS}
    for name in names or ():
        if name not in known:
            raise KeyError(name)
    wanted = known if names is None else set(names) | ALWAYS
    size = 0
    while size != len(wanted):      # cells that a cell needs, and that free the memory it leaves
        size = len(wanted)
        for cell in CELLS:
            if cell.name in wanted or wanted.intersection(cell.needs):
                wanted.update([cell.name], cell.needs)
    return [cell for cell in CELLS if cell.name in wanted]


def expectations(names=None):
    """Returns the output of --json."""
    return {"schema": SCHEMA, "devices": model.DEVICES, "memory": model.MEMORY, "meters": model.METERS,
            "cells": [cell.as_json() for cell in select(names)]}


def main():
    parser = argparse.ArgumentParser(description="Print the cells and what is expected of them.")
    parser.add_argument("--json", action="store_true", help="everything, as JSON (default: the names)")
    parser.add_argument("--cells", help="only these, comma separated, and those that all count on")
    options = parser.parse_args()
    try:
        everything = expectations(options.cells.split(",") if options.cells else None)
    except KeyError as e:
        parser.error("no cell %s" % e)
    if options.json:
        json.dump(everything, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(cell["name"] for cell in everything["cells"]))


if __name__ == "__main__":
    main()
