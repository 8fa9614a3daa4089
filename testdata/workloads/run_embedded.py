#!/usr/bin/env python3
"""An IPython that a script starts, typed into a pseudo terminal: a cell, then exit(), and the script goes on and takes
64 MiB. See driver.py for the protocol."""

import sys

import driver
from model import Cell
from run_terminal import Terminal

SCRIPT = """
import sys, IPython, numpy as np
IPython.start_ipython(argv=sys.argv[1:])
block = np.ones(8 << 20)
"""


class Embedded(Terminal):
    program = ["-c", SCRIPT]


def run(held, opts):
    opts.simple_prompt = False
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    terminal = Embedded(opts, workspace, versions)
    held.callback(terminal.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=terminal.pid)})
        driver.say({"pid": terminal.pid, "ready": True}, opts)
        driver.write(
            out, dict({"name": "first"}, **terminal.run(Cell("first", "import numpy as np; x = np.ones(1 << 20)"), []))
        )
        terminal.seen = b""
        terminal._type(b"\x1b[200~exit()\x1b[201~")
        terminal.settle(0.1)
        terminal._type(b"\r")
        try:
            terminal.settle(20)
        except driver.Failure:
            pass    # it has ended
        terminal.process.wait(20)
    driver.say({"done": True, "cells": 2}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
