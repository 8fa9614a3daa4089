"""A program that calls itself marimo and runs code as if it were cells, to attack whoever looks: file names, IDs, texts
and objects that marimo does not have, cells that begin and never end, and very many of them. It is executed under the
name marimo.py.

Says {"pid"}, waits for a line, attacks, says {"cells": how many named cells were run}.
"""

import json
import linecache
import os
import sys
import threading

MANY = int(os.environ.get("MARIMO_CELLS", 100_000))
GiB = 1 << 30


class CellImpl:
    def __init__(self, code):
        self.code = code


class Slots:
    __slots__ = ("code",)


class Text(str):
    pass


def compiled(name, text="1 + 1", mode="exec", **options):
    return compile(text, "", mode, **options).replace(co_filename=name)


def named(cell_id):
    return "/tmp/marimo_1/__marimo__cell_%s_.py" % cell_id


def run(code, cell=None):
    """A function like marimo's, with a CellImpl among its variables."""
    exec(code, {})
    return eval(code, {})


def nested(depth):
    if depth:
        exec(compiled(named("deep%d" % depth), "nested(%d)" % (depth - 1)), {"nested": nested})


def awaits(cell_id):
    import ast

    return eval(compiled(named(cell_id), "await x", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})


def names():
    yield from ("\x1b[31mred\x1b[0m", "a\nb\rc\td", "\x00\x01\x02", "_", "__marimo__cell_", "é" * 60, "..", "%s%n")
    yield from ("a" * 120, "a" * 149, "a" * 150, "a" * 200, "a" * 100_000, "\u202egnp", "日本", "\U0001f600", "'\"`")


def texts():
    codes = ["x" * GiB, "日" * (1 << 27), None, b"bytes", Text("sub"), 5, "\x1b]0;title\x07" * 1000, ""]
    objects = [CellImpl(code) for code in codes]
    crowded = CellImpl("crowded")
    crowded.__dict__.update(("a%d" % i, i) for i in range(100_000))
    slots = type("CellImpl", (Slots,), {})()
    slots.code = "slots"
    return objects + [crowded, slots, type("CellImpl", (), {})(), CellImpl]


def attack():
    count = 0
    for cell_id in names():
        run(compiled(named(cell_id)))
        count += 1
    for i, cell in enumerate(texts()):
        run(compiled(named("text%d" % i)), cell)
    linecache.cache.update((named("cached%d" % i), (1, None, ["x" * 1000], "")) for i in range(100_000))
    run(compiled(named("cached1")))
    nested(50)
    kept = [awaits("await%d" % i) for i in range(200)]
    while kept:
        kept.pop(len(kept) // 2).close()
    threads = [threading.Thread(target=run, args=(compiled(named("thread%d" % i)),)) for i in range(200)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    one = compiled("")
    for i in range(MANY):
        run(one.replace(co_filename=named("many%d" % i)))
    exec(compiled(named("forks"), "import os\nif os.fork() == 0: os._exit(0)\nos.wait()"), {})
    return count


if __name__ == "__main__":
    print(json.dumps({"pid": os.getpid()}), flush=True)
    sys.stdin.readline()
    print(json.dumps({"cells": attack()}), flush=True)
    sys.stdin.readline()
    exec(compiled(named("exits"), "import os\nos._exit(0)"), {})
