#!/usr/bin/env python3
"""What the guard costs before a cell: the key of a cell of 20 lines, and reading what is free.

    /usr/bin/python3 python/bench_guard.py
"""

import os
import sys
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from ipytracer import _key, _room  # noqa: E402

TIMES = 500
CELL = """\
import numpy as np
def scaled(x, n=3):
    y = np.ones(x.shape)
    for i in range(n):
        y += x * i
    return y
result = []
for k in range(10):
    value = scaled(data[k], n=k)
    if value.mean() > 0.5:
        result.append(value)
    else:
        print("skipped %d" % k)
sums = {k: v.sum() for k, v in enumerate(result)}
print(sums, len(result), sum(sums.values()))
frame["new"] = frame.apply(lambda row: row.a + row.b, axis=1)
grouped = frame.groupby("a").agg({"b": "mean", "c": ["sum", "max"]})
best = max(sums, key=lambda k: sums[k])
print("best: %d" % best)
%time scaled(data[best])
"""


def main():
    plain = CELL.rpartition("%time")[0]
    names = {"data": [1, 2, 3]}

    def new(source):
        _key._remembered.cache_clear()
        _key.key(source, names)

    for what, call in (
        ("the key of a cell", lambda: new(plain)),
        ("of one with a magic", lambda: new(CELL)),
        ("of one that has run before", lambda: _key.key(plain, names)),
        ("what is free", _room.rooms),
    ):
        best = min(timeit.repeat(call, number=TIMES, repeat=5)) / TIMES
        print("%-30s %5.2f ms" % (what, best * 1e3))


if __name__ == "__main__":
    main()
