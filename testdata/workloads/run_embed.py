#!/usr/bin/env python3
"""IPython.embed(), typed into a pseudo terminal: a script that opens two shells and takes 64 MiB between them; with
--in-cell a terminal IPython whose cell opens one, is back from it, and opens another that is not left. See driver.py
for the protocol with the caller and the options.

Results are JSON lines {name, source, status, execution_count, embedded}; the status is what was painted, the count that
of the shell it was typed into.
"""

import sys

import driver
from model import Cell
from run_terminal import Terminal

DEFINED = """def work():
    block = np.ones(1 << 20)
    IPython.embed()
    return block"""

SCRIPT = "import IPython, numpy as np\n" + DEFINED + """

work()
block = np.ones(8 << 20)
work()
"""

LEAVE = "exit"
IN_SCRIPT = [
    "x = 1",
    "np.sum(block)\ny = np.ones(1 << 20)",
    "1 / 0",
    LEAVE,
    "z = np.ones(1 << 21)",
    "int('twelve')",
    "w = 2",
]
IN_CELL = [
    "import IPython, numpy as np",
    DEFINED,
    "kept = work()",
    "x = np.ones(1 << 20)",
    "1 / 0",
    LEAVE,
    "y = 3",
    "kept = work()",
    "z = 4",
]


class Script(Terminal):
    program = ["-c", SCRIPT]


def one(terminal, source):
    """Types a cell. One that brings up the prompt of another shell has no status, and its count is what the first
    prompt said."""
    count = terminal.count
    if source != LEAVE:
        result = dict(terminal.run(Cell("", source, statements=[]), []), execution_count=count)
        return result if terminal.count in (count, count + 1) else dict(result, status=None)
    terminal.seen = b""
    terminal._type(b"\x1b[200~exit\x1b[201~")
    terminal.settle(0.1)
    terminal._type(b"\r")
    terminal.count = terminal._prompt(terminal.opts.timeout)
    return {"source": source, "status": "ok", "execution_count": count}


def run(held, opts):
    opts.simple_prompt = False
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    terminal = (Terminal if opts.in_cell else Script)(opts, workspace, versions)
    held.callback(terminal.close)
    cells, depth = IN_CELL if opts.in_cell else IN_SCRIPT, 0 if opts.in_cell else 1
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=terminal.pid)})
        driver.say({"pid": terminal.pid, "ready": True}, opts)
        for source in cells:
            driver.write(out, dict({"name": source, "embedded": depth > 0}, **one(terminal, source)))
            depth += source == "kept = work()"
            depth -= source == LEAVE and opts.in_cell
    driver.say({"done": True, "cells": len(cells)}, opts)
    return 0


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--in-cell", action="store_true", help="in a cell of a terminal IPython")
    args = parser.parse_args()
    sys.exit(driver.guarded(lambda held: run(held, args)))
