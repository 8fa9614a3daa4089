"""The workload: cells whose memory is known by construction, and what a tracer must say about each.

    python3 cells.py --json [--front-end kernel|terminal] [--cells a,b]     the expectations, for tests in other
    languages

Every cell marks the truth itself where that can be done at the peak (truth.c does it between the last write and the
free), so a test compares the tracer's figure with a figure taken in the same process a moment before the memory went,
not with a guess.

One cell in the JSON:

    name, source              source with {placeholders} already filled in only by the drivers: their results carry what
    was sent front_ends, requires      where it can run; Python modules it needs needs                     cells that
    must have run before it (a selection brings them along) request                   silent, store_history (kernel
    only); interrupt_at: SIGINT once this mark was made;
                              wait_for: when the cell is over the driver says so (truth.is_over), and lets this mark
                              come before it goes on (work between cells)
    status                    ok | error | interrupted execution_count           In[N] when exactly the listed cells run
    in a fresh IPython; null when it takes none statements                line of each top-level statement of the cell,
    in order; `ran`: how many of them began nested                    windows of run_cell calls made by the cell itself,
    in order: source and execution_count (null) markers                   experiment markers in order: [["begin", "a"],
    ["end", "a"]] proof                     differences between two marks that hold in every run, front end and version:
                              {label, base, times, mapped|resident|anon|file|shmem: bytes or [least, most], child: true}
    meters                    cpu.mapped, cpu.resident, cpu.numpy of the cell's window, each with some of
                                mark        peak = this mark's value of the meter (mapped, resident), or up to `above`
                                bytes more rise        peak - start, [least, most] kept        end - start, [least,
                                most] why         why this is a range
    hooks                     the same for the row "display and hooks": what IPython's events take behind the cell's
    code yields                    gives up the GIL while it holds its memory: another Python thread may map an arena of
    objects (1 MiB) objects                   its memory is Python's own: figures are those of an interpreter that gives
    it back at once children                  marks made by child processes: {label, base, why}; their processes have
    their own windows or none

`machine` beside `cells`: what the machine answered, on which some of these figures depend (machine.h).
`experiments`: name, cells of begin and end (end null: never), and the [cell, mark] that is its peak.
All sizes in bytes.
"""

import argparse
import json
import sys

from catalogue import CELLS, EXPERIMENTS
from model import PAGE, Machine

SCHEMA = "ipytracer/workloads/v1"


def select(front_end="kernel", names=None, have=lambda module: True):
    """The cells that run in this front end, in order; the prelude and what others need always. Raises KeyError for a
    name nobody knows."""
    known = {cell.name for cell in CELLS}
    for name in names or ():
        if name not in known:
            raise KeyError(name)
    wanted = known if names is None else set(names) | {"prelude"}
    for cell in CELLS:
        if cell.name in wanted:
            wanted.update(cell.needs)
    return [cell for cell in CELLS
            if cell.name in wanted and front_end in cell.front_ends and all(have(module) for module in cell.requires)]


def expectations(front_end="kernel", names=None, have=lambda module: True, answers=None):
    """What --json prints, for a machine that gave these answers (truth.machine); none: for this one."""
    if answers is None:
        import truth

        answers = truth.machine()
    machine = Machine(answers)
    cells, count = [], 1
    for cell in select(front_end, names, have):
        cells.append(cell.as_json(count, machine))
        count += cell.counts
    present = {cell["name"] for cell in cells}
    experiments = [e for e in EXPERIMENTS if e["begin"] in present]
    return {"schema": SCHEMA, "front_end": front_end, "page": PAGE, "machine": answers, "cells": cells,
            "experiments": experiments}


def main():
    parser = argparse.ArgumentParser(description="Print the cells and what is expected of them.")
    parser.add_argument("--json", action="store_true", help="everything, as JSON (default: the names)")
    parser.add_argument("--front-end", choices=["kernel", "terminal"], default="kernel")
    parser.add_argument("--cells", help="only these, comma separated (and the prelude)")
    parser.add_argument("--without", default="", help="modules that are absent, comma separated (pandas)")
    parser.add_argument("--machine", type=json.loads, metavar="JSON",
                        help="what the machine that ran them answered: `machine` of results (default: ask this one)")
    options = parser.parse_args()
    absent = set(options.without.split(","))
    try:
        everything = expectations(options.front_end, options.cells.split(",") if options.cells else None,
                                  lambda module: module not in absent, options.machine)
    except KeyError as e:
        parser.error("no cell %s" % e)
    if options.json:
        json.dump(everything, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(cell["name"] for cell in everything["cells"]))


if __name__ == "__main__":
    main()
