#!/usr/bin/python3
"""Fails unless a report of the cells in cells.py has their exact figures: judge.py REPORT.json."""
import json
import mmap
import sys

BLOCK = (1 << 26) + mmap.PAGESIZE  # 64 MiB, and the page that the headers of the object and of its block take beyond it
WANT = {"x = 1": 0, "x = b'x' * (1 << 26)": BLOCK, "y = x[1:]": BLOCK, "del x, y": -2 * BLOCK}


def main(path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    certificate = report["certificate"]
    if not certificate["complete"] or certificate["boundaries_lost"]:
        sys.exit(f"judge.py: the report is not complete: {certificate}")
    windows = [window for window in report["windows"] if window["kind"] == "cell"]
    cells = {window["source"].strip(): window["meters"]["cpu.mapped"] for window in windows}
    if set(cells) != set(WANT):
        sys.exit(f"judge.py: the cells are {sorted(cells)}")
    for source, want in WANT.items():
        is_ = cells[source]
        if not is_["exact"] or is_["consumed"] != want:
            sys.exit(f"judge.py: {source} has {is_}, want {want} bytes, exact")


if __name__ == "__main__":
    main(sys.argv[1])
