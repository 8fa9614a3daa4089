#!/usr/bin/env python3
"""Runs cells that make data frames of every layout in a fresh ipykernel, and one that fails, before the tracer comes
(FAILS_BEFORE=1) or while it is there. See driver.py for the protocol with the caller and the options.

Results are JSON lines: {"session": …}, one for each cell, and at the end {"name": "columns", "columns": {frame:
{column: [bytes, least]}}, "failed": In[N]}: bytes as allocators round them, each object once, and without rounding and
the collector's heads.
"""

import json
import os
import sys
import textwrap

import driver
from run_kernel import started

FAILING = (
    "import numpy as np\nheld = np.ones(3_000_000)\ndef step(x):\n    batch = x * 2\n    raise ValueError('no')\n"
    "step(held)"
)

CELLS = ["""
    import json, os, sys
    import numpy as np, pandas as pd
    n = 120_000
    texts = ['sku-%08d' % i for i in range(n)]
    """, """
    plain = pd.DataFrame({'sku': ['item-%08d' % i for i in range(n)],
                          'city': [['Paris', 'London', 'Rome'][i % 3] for i in range(n)],
                          'note': ['\\xe9%d' % i * 3 for i in range(n)], 'price': np.random.rand(n),
                          'count': np.arange(n, dtype='int32'),
                          'none': [None] * n, 'tuples': [(i, 'x') for i in range(n)]})
    """, """
    parts = pd.DataFrame({'a': np.arange(n * 1.0)})
    for i in range(12):
        parts['b%d' % i] = np.arange(n, dtype='int64') + i
    parts['shared'] = texts
    parts['again'] = texts
    parts[7] = 1.5
    """, """
    extended = pd.DataFrame({'when': pd.date_range('2020', periods=n, freq='s'),
                             'kind': pd.Categorical([['a', 'b'][i % 2] for i in range(n)]),
                             'Int32': pd.array(range(n), dtype='Int32'),
                             'boolean': pd.array([True, False] * (n // 2), dtype='boolean'),
                             'string': pd.array(['text-%d' % i for i in range(n)], dtype='string[python]')})
    try:
        extended['arrow'] = extended['string'].astype('string[pyarrow]')
    except ImportError:
        pass
    """, """
    numbered = pd.DataFrame(np.random.rand(n, 5))
    backwards = plain[['price', 'sku', 'city']].copy()[['city', 'price', 'sku']]
    """, """
    twice = pd.DataFrame({'x': ['first-%d' % i for i in range(n)], 'y': np.arange(n)})
    twice.columns = ['same', 'same']
    """]

SAY = """
    def columns_of(frame):
        said, usage, alone = {}, frame.memory_usage(deep=True, index=False), frame.memory_usage(index=False)
        for i, name in enumerate(frame.columns):
            values = frame.iloc[:, i].array
            boxed = hasattr(values, '_ndarray') and values._ndarray.dtype == object
            of = np.asarray(values) if boxed or getattr(values, 'dtype', None) == object else ()
            once = {id(x): x for x in of if x is not None}.values()
            # What pandas counts of each object depends on its version.
            column = int((alone if len(of) else usage).iloc[i])
            said.setdefault(str(name), []).append([column + sum(-(-sys.getsizeof(x) // 16) * 16 for x in once),
                                                   column + sum(x.__sizeof__() for x in once)])
        return said
    with open(os.path.join(os.path.dirname(os.environ["IPYTRACER_TRUTH_LOG"]), "columns.json"), "w") as f:
        json.dump({name: columns_of(globals()[name])
                   for name in ('plain', 'parts', 'extended', 'numbered', 'backwards', 'twice')}, f)
    """


def run_cell(kernel, source, status="ok"):
    result = dict({"name": source.split("\n")[0], "expected": status}, **kernel.run(Cell(source, status), []))
    if result["status"] != status:
        raise driver.Failure("a cell: %s" % result.get("error"))
    return result


class Cell:
    request = {}

    def __init__(self, source, status):
        self.name, self.source, self.status = "cell", textwrap.dedent(source).strip() + "\n", status


def run(held, opts):
    kernel, versions = started(held, opts)
    before, failed = bool(os.environ.get("FAILS_BEFORE")), 0
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        if before:
            failed = run_cell(kernel, FAILING, "error")["execution_count"]
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for source in CELLS:
            driver.write(out, run_cell(kernel, source))
        if not before:
            result = run_cell(kernel, FAILING, "error")
            failed = result["execution_count"]
            driver.write(out, result)
        driver.write(out, run_cell(kernel, SAY))
        with open(os.path.join(kernel.workspace.path, "columns.json")) as f:
            driver.write(out, {"name": "columns", "columns": json.load(f), "failed": failed})
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
