#!/usr/bin/env python3
"""A script that runs cells itself, with InteractiveShell.run_cell: no front end. See driver.py for the protocol with
the caller and the options.

Results are JSON lines {name, source, status, execution_count}; the status is what run_cell returned.
"""

import json
import sys

import driver

CELLS = [
    ("imports", "import asyncio"),
    ("plain", "x = 1"),
    ("awaits", "await asyncio.sleep(0)"),
    ("behind an await", "y = 2"),
    ("long behind it", "z = bytes(100_000)"),
    ("raises", "1 / 0"),
    ("awaits first", "await asyncio.sleep(0); x = 3"),
    ("awaits again", "await asyncio.sleep(0)"),
    ("the same text", "await asyncio.sleep(0)"),
    ("raises behind awaits", "int('twelve')"),
    ("compiles", "tree = get_ipython().compile.ast_parse('a = 1', '<its own>')"),
    ("runs a cell", "get_ipython().run_cell('inner = 4');"),
    ("awaits no more", "%autoawait off"),
    ("plain without a loop", "z = bytes(100_000)"),
    ("raises without a loop", "1 / 0"),
    ("cannot await", "await asyncio.sleep(0)"),
    ("awaits from now on", "%autoawait on"),
    ("awaits once more", "await asyncio.sleep(0)"),
    ("last", "x = 5"),
]

# Only where they are asked for.
LIMITED = [
    ("beyond a limit", "x = 1\nbytearray(2 << 30)"),
    ("goes on", "assert x == 1"),
]

SCRIPT = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
history = "IPYTRACER_NO_HISTORY" not in os.environ      # in a file, which takes SQLite
shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": history}}))
sys.stdout, out = sys.stderr, sys.stdout        # what cells print is not the protocol's
print("ready", file=out, flush=True)
for line in sys.stdin:
    count = shell.execution_count
    result = shell.run_cell(json.loads(line), store_history=True)
    print(json.dumps({"status": "ok" if result.success else "error", "execution_count": count}), file=out, flush=True)
"""


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    cells = [cell for cell in CELLS + LIMITED if cell[0] in opts.cells.split(",")] if opts.cells else CELLS
    script = driver.script(held, workspace, SCRIPT)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=script.pid)})
        driver.say({"pid": script.pid, "ready": True}, opts)
        for name, source in cells:
            script.stdin.write(json.dumps(source) + "\n")
            script.stdin.flush()
            driver.write(out, dict({"name": name, "source": source}, **json.loads(script.stdout.readline())))
    driver.say({"done": True, "cells": len(cells)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
