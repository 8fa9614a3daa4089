#!/usr/bin/env python3
"""Runs cells that keep memory in ways that take more than one name to let go of, in a fresh ipykernel. See driver.py
for the protocol with the caller and the options; then the caller types what a report says frees it.

--cells says which notebook of BOOKS. Results are as those of run_leaks.py.
"""

import sys

import driver
import notebooks
from notebooks import Notebook, Step
from run_kernel import started

IMPORTS = Step("""
    import gc, sys
    import numpy as np
    def block(mebibytes):
        return np.ones(mebibytes << 20, dtype=np.uint8)
    """)

BOOKS = {
    # Names, a view of the same array and an output that shows another.
    "outputs": [
        Step("arr = block(96)\ntop = arr[:10]"),
        Step("arr[:1000]"),
        Step("plain = block(40)"),
        Step("block(24)"),
    ],
    # Two names and two outputs of one object.
    "aliases": [
        Step("one = block(64)\ntwo = one"),
        Step("two"),
        Step("two"),
        Step("later = 1\nlater"),
    ],
    # The frames of a call that failed, and what IPython made to show it.
    "traceback": [
        Step("""
            def fit(kept):
                batch = block(80)
                raise ValueError(kept[0])
            base = block(48)
            view = base[1000:]
            fit(view)
            """, fails=True),
    ],
    "traceback_later": [
        Step("def fit():\n    batch = block(80)\n    raise ValueError('no')\nfit()", fails=True),
        Step("x = 1"),
        Step("x"),
    ],
    # Cycles: one that a name leads to, and one that waits for the collector.
    "cycles": [
        Step("""
            gc.disable()
            class Node:
                pass
            def ring(mebibytes):
                first, second = Node(), Node()
                first.next, second.next = second, first
                second.data = block(mebibytes)
                return first
            """),
        Step("node = ring(56)"),
        Step("_garbage = ring(32)\ndel _garbage"),
    ],
    # An array that is a view of the bytes it was unpickled from, which no name has.
    "unpickled": [
        Step("import pickle\nmine = np.ones(40 << 17)\nagain = pickle.loads(pickle.dumps(mine))\nagain.base[:1]"),
    ],
    # Memory of libraries in C and C++ behind their objects: pixels, an image that a figure was drawn into, tables of
    # hashes.
    "images": [
        Step("from PIL import Image\nimages = [Image.new('RGB', (2000, 2000), (1, 2, 3)) for i in range(6)]"),
        Step("small = [one.resize((1000, 1000)) for one in images]"),
    ],
    "canvases": [
        Step("""
            from matplotlib.figure import Figure
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            pages = []
            for i in range(5):
                figure = Figure(figsize=(20, 20), dpi=150)
                canvas = FigureCanvasAgg(figure)
                figure.subplots().plot([1, 2, 3])
                canvas.draw()
                pages.append(figure)
            """),
    ],
    "hashes": [
        Step("import pandas as pd\ns = pd.Series(1, index=np.random.permutation(2_000_000))"),
        Step("s.loc[5]"),
    ],
    # A report must not promise this memory: a module has it as well.
    "elsewhere": [
        Step("import colorsys\nmine = block(64)\ncolorsys.cache = mine"),
        Step("free = block(33)"),
    ],
    # Memory that goes although the names stay: caches, attributes of a class and of modules.
    "places": [
        Step("""
            import functools, os
            @functools.lru_cache(maxsize=None)
            def load(n):
                return block(n)
            class Model:
                kept = {}
                def __init__(self, n):
                    self.data = block(n)
                @functools.lru_cache(maxsize=8)
                def total(self, power):
                    return int(self.data[0]) ** power
            for name in ("imported_here", "imported_there"):
                with open(name + ".py", "w") as f:
                    print("import numpy\\narr = numpy.ones(%d << 20, dtype='u1')\\ncache = {}" %
                          (38 if name == "imported_here" else 46), file=f)
            sys.path.insert(0, os.getcwd())
            """),
        Step("for n in (30, 12): load(n);"),
        Step("for n in (20, 10): Model(n).total(2);"),
        Step("Model.kept['k'] = block(34)\nalso = Model.kept"),
        Step("import imported_here\nimported_here.cache[1] = block(26)"),
        Step("import imported_there\ndel imported_there"),
    ],
    "odd_names": [
        Step("globals()['my data'] = block(34)"),
        Step("größe = block(36)"),
        Step("globals()['class'] = block(38)"),
    ],
    "texts": [
        Step("names = ['item %d of many' % i for i in range(600_000)]"),
        Step("index = {name: i for i, name in enumerate(names)}"),
    ],
    # Two million texts in a frame, which a list has as well: more than a report looks at one by one.
    "many_texts": [
        Step(
            "import pandas as pd\nskus = ['sku-%08d' % i for i in range(2_000_000)]\n"
            "df = pd.DataFrame({'sku': skus, 'n': range(2_000_000)})"
        ),
        Step("plain = block(40)"),
    ],
    # Arrays in malloc's heap: once one of 30 MiB was freed, malloc maps no smaller ones one by one.
    "heap": [
        Step("t = block(30)\ndel t"),
        Step("parts = [block(24) for _ in range(8)]\npin = bytearray(200_000)"),
    ],
    # Some are mapped one by one, others lie in the heap with small blocks between them.
    "between": [
        Step("t = block(30)"),
        Step("gone = block(20)\ndel gone\na = [block(1) for _ in range(15)]\npins = []"),
        Step("b, c = [], []\nfor i in range(15):\n"
             "    b.append(block(1)); pins.append(bytes(3000)); c.append(block(1))"),
    ],
    # Objects of Python's pools.
    "floats": [
        Step("numbers = [float(i) for i in range(5_000_000)]"),
        Step("pairs = {i: str(i) for i in range(10**6, 10**6 + 200_000)}"),
    ],
    # Views of an array of objects have none of these for themselves.
    "views": [
        Step("texts = np.array(['text %09d' % i for i in range(1_000_000)], dtype=object)"),
        Step("column, table = texts[:], texts.reshape(-1, 1000)"),
    ],
    # Memory that nobody has written to.
    "empty": [
        Step("blank = np.empty(1 << 28, dtype=np.uint8)\nblank[:32 << 20] = 1"),
    ],
    "frames": [
        Step(
            "import pandas as pd\ndf = pd.DataFrame({'a': np.arange(8_000_000), 'b': np.ones(8_000_000), "
            "'sku': ['x%d' % (i % 1000) for i in range(8_000_000)]})"
        ),
        Step("top = df.head(5)"),
        Step("top"),
        Step("merged = df[['a', 'b']]"),
    ],
}


def run(held, opts):
    kernel, _ = started(held, opts)
    return notebooks.run(opts, kernel, {"pid": kernel.pid}, IMPORTS, [Notebook(opts.cells, BOOKS[opts.cells])])


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
