#!/usr/bin/env python3
"""A script whose threads run cells at the same time, each with InteractiveShell.run_cell: truly so where there is no
GIL. See driver.py for the protocol with the caller and the options.

Each cell waits for the others before it takes anything, and gives its memory back when every other has its own: all of
it is there at once, in every window. Results are JSON lines {name, source, status, size}: what the cell takes.
"""

import json
import sys

import driver

THREADS = 3
MiB = 1 << 20

CELL = """\
together.wait()
def take{i}():
    for _ in range(5_000): len("")
    return C.malloc({size})
block{i} = take{i}(); there[{i}] = True
while not all(there): pass
left.wait(); C.free(block{i})"""

SCRIPT = """
import json, sys, threading
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
sys.stdout, out = sys.stderr, sys.stdout        # what cells print is not the protocol's
print("ready", file=out, flush=True)
sources = json.loads(sys.stdin.readline())
ended = [None] * len(sources)
shell.run_cell("import ctypes; C = ctypes.CDLL(None); C.malloc.restype, C.malloc.argtypes, C.free.argtypes = "
               "ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]")
shell.user_ns.update(there=[False] * len(sources), together=threading.Barrier(len(sources)),
                     left=threading.Barrier(len(sources)))
# Otherwise each thread puts names into builtins and takes them out: without a GIL that is a KeyError now and then.
# Threads count the level up and down at the same time.
shell.builtin_trap.__enter__()
shell.builtin_trap._nested_level += 100
def run(i):
    ended[i] = shell.run_cell(sources[i], store_history=False)
threads = [threading.Thread(target=run, args=(i,)) for i in range(len(sources))]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(json.dumps(["ok" if e.success else "error" for e in ended]), file=out, flush=True)
sys.stdin.readline()
"""


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    script = driver.script(held, workspace, SCRIPT)
    cells = [(i, (i + 2) * 32 * MiB) for i in range(THREADS)]     # the C library maps each such block
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=script.pid)})
        driver.say({"pid": script.pid, "ready": True}, opts)
        sources = [CELL.format(i=i, size=size) for i, size in cells]
        script.stdin.write(json.dumps(sources) + "\n")
        script.stdin.flush()
        for (i, size), source, status in zip(cells, sources, json.loads(script.stdout.readline())):
            driver.write(out, {"name": str(i), "source": source, "status": status, "size": size})
    driver.say({"done": True, "cells": len(cells)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
