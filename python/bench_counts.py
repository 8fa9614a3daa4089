#!/usr/bin/env python3
"""The price of counting NumPy's arrays in the process: the time of a call with NumPy's own allocator and with the
counting one, in turns, in one process, as ratios.

    python3 python/bench_counts.py [--turns N]     150 turns, the eighth percentile of each

Build the library first: scripts/counts.sh
"""

import argparse
import os
import sys
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

import numpy as np  # noqa: E402

from ipytracer._counts import COUNTS  # noqa: E402

_CALLS = ("np.empty(20)", "np.empty(200)", "np.empty(2000)", "np.ones(2000)", "np.zeros(2000)", "np.ones(50000)",
          "deep(50, 2000)")
_EACH = 5000       # calls a turn
_PERCENTILE = 8


def deep(depth, n):
    """An array that is made so many calls deep."""
    return deep(depth - 1, n) if depth else np.ones(n)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=150)
    turns = parser.parse_args().turns
    COUNTS.begin()
    names = {"np": np, "deep": deep}
    print("%-16s %10s %10s %8s" % ("call", "NumPy's", "counted", "ratio"))
    for call in _CALLS:
        times = {True: [], False: []}
        for _ in range(turns):
            for rests in (True, False):
                COUNTS.rests = rests
                COUNTS._give_back() if rests else COUNTS.arm()
                times[rests].append(timeit.timeit(call, globals=names, number=_EACH) / _EACH * 1e9)
        own, counted = (sorted(times[rests])[turns * _PERCENTILE // 100] for rests in (True, False))
        print("%-16s %7.0f ns %7.0f ns %8.3f" % (call, own, counted, counted / own))


if __name__ == "__main__":
    main()
