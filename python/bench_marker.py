#!/usr/bin/env python3
"""What a cell costs where no tracer is attached: one look before it, which offers the line by a marker and sees whether
anybody has said hello; and the readings that this process makes of itself as a cell begins and ends.

    /usr/bin/python3 python/bench_marker.py
"""

import os
import sys
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from ipytracer._inside import Inside  # noqa: E402
from ipytracer._line import LINE, marker  # noqa: E402

TIMES = 20_000


def offer():
    LINE._offered = 0.0     # else the marker is left out for a while
    LINE.look(cell=True)


def cell(inside):
    info = object()
    inside.cell_begins(info, 1)
    inside.cell_ends(info)


def main():
    offer()
    inside = Inside()
    inside.on = True
    for what, call in (("one marker", lambda: marker("cell")), ("a marker and a look for hello", offer)):
        best = min(timeit.repeat(call, number=TIMES, repeat=7)) / TIMES
        print("%-30s %6.2f µs" % (what, best * 1e6))
    best = min(timeit.repeat(lambda: cell(inside), number=1000, repeat=7)) / 1000
    print("%-30s %6.2f µs" % ("the readings of a cell", best * 1e6))


if __name__ == "__main__":
    main()
