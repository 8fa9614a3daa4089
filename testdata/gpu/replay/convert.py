#!/usr/bin/env python3
"""Makes the recordings in data/ from the captures: python3 convert.py DIRECTORY. README.md lists the kept
and the dropped parts."""

import gzip
import json
import os
import re
import sys

import oracle
import recordings

_CELL = re.compile(r"<ipython-input-(\d+)-")
_PYTHON = ("PyEval_EvalCode", "Py_CompileStringObject")


def cell_of(file):
    found = _CELL.match(file)
    return int(found.group(1)) if found else None


def read_capture(path):
    with gzip.open(path, "rt") as f:
        for line in f:
            row = json.loads(line)
            row["library"], row["function"] = row["fn"].split(":", 1)
            yield row


def cells_of(path):
    """[{source, opened, ended, raised, thread}]: a cell opens at the first compile of its file (a traceback compiles it
    again) and ends at the last return of PyEval_EvalCode of a code object with its file name."""
    cells, stacks = {}, {}
    for row in read_capture(path):
        if row["function"] == "Py_CompileStringObject":
            number = cell_of(row["file"])
            if number and number not in cells:
                cells[number] = {"source": row["source"], "opened": row["ns"], "thread": row["tid"]}
        elif row["function"] == "PyEval_EvalCode":
            stack = stacks.setdefault(row["tid"], [])
            if row["ev"] == "call":
                stack.append(cell_of(row["file"]))
            else:
                number = stack.pop()
                if number:
                    cells[number].update(ended=row["ns"], raised=row["ret"] == 0)
    if sorted(cells) != list(range(1, len(cells) + 1)):
        raise ValueError("%s: cells %s" % (path, sorted(cells)))
    return [cells[number] for number in sorted(cells)]


def step_at(ns, cells):
    """Returns the running cell; between two cells the later one, after the last N + 1."""
    for number, cell in enumerate(cells, 1):
        if ns <= cell["ended"]:
            return number
    return len(cells) + 1


def convert(name, directory):
    """The text of the recording."""
    path = os.path.join(directory, name + ".jsonl.gz")
    cells = cells_of(path)
    functions, threads, libraries, rows = [], [cells[0]["thread"]], set(), []
    for row in read_capture(path):
        if row["function"] in _PYTHON:
            continue
        if row["tid"] not in threads:
            threads.append(row["tid"])
        if row["function"] not in functions:
            functions.append(row["function"])
        libraries.add(row["library"])
        event = [step_at(row["ns"], cells), threads.index(row["tid"])]
        if row["ev"] == "call":
            event += [functions.index(row["function"]), [int(argument, 16) for argument in row["args"]]]
            event += [row["prop"]] if "prop" in row else []
        else:
            event += [row["ret"], int(row["out0"], 16)]
        rows.append(event)
    header = {
        "recording": name,
        "libraries": sorted(libraries),
        "functions": functions,
        "threads": len(threads),
        "truth_from": None,
        "cells": [{"source": cell["source"], "raised": cell["raised"], "truth": None} for cell in cells],
    }
    add_truth(header, rows, os.path.join(directory, name + ".truth.json"))
    return recordings.text_of(header, rows)


def add_truth(header, rows, path):
    if os.path.exists(path):
        with open(path) as f:
            kept = json.load(f)
        for cell, source in zip(header["cells"], kept["cells"]):
            # The capture cuts long sources off.
            if not (source + "\n").startswith(cell["source"]):
                raise ValueError("%s has other cells: %r" % (path, source))
            cell["source"] = source
        figures = kept["truth_after_cell_allocated_max_reserved_max"]
        if not figures:
            return
        header["truth_from"] = "PyTorch"
    else:
        # active as reported; reserved as mapped: the two agree at every report, and mappings also show what empty_cache
        # does.
        recording = recordings.Recording(header, rows)
        active, (mapped, _) = oracle.report_windows(recording), oracle.driver_windows(recording)
        figures = [
            [active[i]["active"].end, active[i]["active"].peak, mapped[i]["mapped"].end, mapped[i]["mapped"].peak]
            for i in range(1, len(header["cells"]) + 1)
        ]
        header["truth_from"] = "reports and mappings"
        for cell in header["cells"]:
            cell["source"] = cell["source"].rstrip("\n")
    if len(figures) != len(header["cells"]):
        raise ValueError("%s: truth of %d cells, %d recorded" % (path, len(figures), len(header["cells"])))
    for cell, row in zip(header["cells"], figures):
        cell["truth"] = row


def main():
    if len(sys.argv) != 2:
        print("usage: convert.py DIRECTORY_OF_CAPTURES", file=sys.stderr)
        return 2
    for name in recordings.CAPTURED:
        recordings.write(name, convert(name, sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
