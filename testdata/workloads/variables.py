"""Cells that make variables of known size, before the tracer comes and while it is there. The first are those of
testdata/cpython/variables.py, which says of each what has to be found. What a variable of the session gives back when it is
deleted is measured on another of the same making."""

import os
import textwrap


class Cell:
    request = {}

    def __init__(self, name, source, status="ok"):
        self.name, self.source, self.status = name, textwrap.dedent(source).strip() + "\n", status


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpython", "variables.py")) as _f:
    _known = _f.read().split("\nif __name__ ==")[0]

BEFORE = [
    Cell("known", _known),
    Cell("early", "import numpy as np\nearly = np.ones(3_000_000)\nlong_ago = [float(i) for i in range(200_000)]"),
]

CELLS = [
    Cell("measure", """
        import ctypes, gc
        trim = ctypes.CDLL(None).malloc_trim
        dropped = {}
        def resident():
            gc.collect(); trim(0)
            with open("/proc/self/status") as f:
                return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))
        def measured(name, make):
            gone = make()
            before = resident()
            del gone
            dropped[name] = before - resident()
            return make()
        """),
    Cell("array", "fresh_array = measured('fresh_array', lambda: np.ones((1000, 5000)))"),
    Cell("list", "fresh_list = measured('fresh_list', lambda: [str(i) * 5 for i in range(400_000)])"),
    Cell("dict", "fresh_dict = measured('fresh_dict', lambda: {i: [float(i)] for i in range(200_000)})"),
    Cell("text", "fresh_text = measured('fresh_text', lambda: 'x' * 30_000_000)"),
    Cell("objects", """
        class Row:
            def __init__(self, i):
                self.number, self.name, self.values = i + 1000, 'row %d' % i, (i + 0.5, i - 0.5)
        fresh_rows = measured('fresh_rows', lambda: [Row(i) for i in range(100_000)])
        """),
    Cell("lines", "a = 1\nsecond_line = np.zeros(2_500_000)\nsecond_line += 1"),
    Cell("shown", "np.full(1_500_000, 2.0)"),
    Cell("kept", "both = np.full(1_250_000, 3.0)\nboth"),
    Cell("frame", """
        try:
            import pandas as pd
            fresh_frame = measured('fresh_frame', lambda: pd.DataFrame({'a': np.arange(800_000.0), 'b': np.arange(800_000)}))
        except ImportError:
            pass
        """),
    Cell("module", """
        import sys, types
        library = types.ModuleType('library')
        sys.modules['library'] = library
        library.cache = {'x': np.ones(1_000_000)}
        del library
        """),
    Cell("failing", "def step(n):\n    batch = np.ones(1_100_000)\n    return 1 / n\nstep(0)", "error"),
    Cell("say", """
        import json, os
        with open(os.path.join(os.path.dirname(os.environ["IPYTRACER_TRUTH_LOG"]), "variables.json"), "w") as f:
            json.dump({"wanted": wanted, "dropped": dropped}, f)
        """),
]
