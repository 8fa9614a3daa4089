#!/usr/bin/env python3
"""What the line costs where no tracer is attached: one look before a cell, which offers the line by a marker and sees
whether anybody has said hello.

    /usr/bin/python3 python/bench_marker.py
"""

import os
import sys
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from ipytracer._line import LINE, marker  # noqa: E402

TIMES = 20_000


def offer():
    LINE._offered = 0.0     # else the marker is left out for a while
    LINE.look(cell=True)


def main():
    offer()
    for what, call in (("one marker", lambda: marker("cell")), ("a marker and a look for hello", offer)):
        best = min(timeit.repeat(call, number=TIMES, repeat=7)) / TIMES
        print("%-30s %5.2f µs" % (what, best * 1e6))


if __name__ == "__main__":
    main()
