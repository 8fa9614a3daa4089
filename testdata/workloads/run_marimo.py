#!/usr/bin/env python3
"""Cells of marimo with memory that is known, run by marimo.py, a stand-in. See driver.py for the protocol with the
caller and the options.

Results are JSON lines {name, source, status, marks}; name is the cell's ID, status the name of the exception that ended
it, or "ok".
"""

import json
import os
import shutil
import subprocess
import sys

import driver

SAME = 'T.gil.spike(b"top", 40 * T.MiB)'

# ID, text, whether marimo runs it without a loop.
CELLS = [
    ("setup", "import asyncio\nimport truth as T", False),
    ("Hbol", 'T.gil.spike(b"top", 64 * T.MiB)', False),
    ("MJUe", 'x = 1\nT.gil.spike(b"top", 32 * T.MiB);', False),
    ("Hbol", 'T.gil.spike(b"top", 64 * T.MiB)', False),
    ("Hbol", 'T.gil.spike(b"top", 56 * T.MiB)  # edited', False),
    ("vblA", 'T.gil.spike(b"top", 48 * T.MiB)\n1 / 0\ny = 1', False),
    ("bkHC", 'T.gil.spike(b"top", 36 * T.MiB)\n[][1]', False),
    ("lEQa", 'await asyncio.sleep(0.01)\nT.gil.spike(b"top", 44 * T.MiB)\nz = 1', False),
    ("PKri", 'T.gil.spike(b"top", 52 * T.MiB)\nawait asyncio.sleep(0.01)', False),
    ("Xref", 'await asyncio.sleep(0.01)\nT.gil.spike(b"top", 34 * T.MiB)\nint("x")\nz = 2', False),
    ("SFPL", 'T.gil.spike(b"top", 38 * T.MiB)\nawait asyncio.wait_for(asyncio.sleep(9), 0.01)', False),
    ("SFPL", 'T.gil.spike(b"top", 38 * T.MiB)\nawait asyncio.wait_for(asyncio.sleep(9), 0.01)', False),
    ("BYtC", SAME, False),
    ("RGSE", SAME, False),
    ("Kclp", "x", False),
    ("emfo", 'T.gil.spike(b"top", 42 * T.MiB)', True),
    ("emfo", 'T.gil.spike(b"top", 42 * T.MiB)', True),
    ("Hstk", 'T.gil.spike(b"top", 46 * T.MiB)\n1 / 0\nz = 3', True),
    ("nWHF", 'T.gil.spike(b"top", 33 * T.MiB)\nraise MarimoStopError\nz = 4', False),
    ("iLit", 'T.gil.spike(b"top", 35 * T.MiB)\nraise MarimoInterrupt\nz = 5', False),
    ("ZHCJ", 'T.gil.spike(b"top", 37 * T.MiB)\nawait embed("ROlb", "inner = 1")\nz = 6', False),
    ("ROlb", "inner = 2", False),
    ("qnkX", 'text = "äöü ☃"  # 日本\nT.gil.spike(b"top", 39 * T.MiB)', False),
    ("TqIu", "\n\ndef make(n):\n    return bytearray(n)\n\nkept = make(100_000_000)", False),
    ("Vxnm", "del kept", False),
    ("bLkP", "left = bytearray(50_000_000)", False),
]


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    program = shutil.copy(os.path.join(driver.HERE, "marimo.py"), workspace.path)
    server = subprocess.Popen(
        workspace.command(program, "edit"), env=workspace.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    held.callback(driver.end_process, server)
    held.callback(server.stdin.close)
    pid = json.loads(server.stdout.readline())["pid"]
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=pid)})
        driver.say({"pid": pid, "ready": True}, opts)
        for name, source, sync in CELLS:
            server.stdin.write(json.dumps({"id": name, "code": source, "sync": sync}) + "\n")
            server.stdin.flush()
            result = json.loads(server.stdout.readline())
            driver.write(out, dict({"name": name, "source": source, "marks": workspace.new_marks()}, **result))
    driver.say({"done": True, "cells": len(CELLS)}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
