#!/usr/bin/env python3
"""Cells that end in every way, right after one another, in an ipykernel. See driver.py for the protocol with the caller
and the options.

Results are JSON lines {name, source, status, execution_count, …}; the status is what the kernel replied.
"""

import sys

import driver
from run_kernel import run_cells

CELLS = [
    ("first", "import asyncio, sys, time"),
    ("raises", "int('twelve')"),
    ("syntax", "x = = 3"),
    ("another syntax", "y = = 4"),
    ("indent", "if 1:\nx"),
    ("ok", "x = 1"),
    ("kept", "e = ValueError('kept')\nraise e"),
    ("kept again", "raise e"),
    ("kept a third time", "raise e"),
    ("caught", "try:\n    raise e\nexcept ValueError:\n    pass"),
    ("one statement of two", "x = 2\n1 / 0\nx = 3"),
    ("out of place", "return 1"),
    ("line magic", "%run /does/not/exist.py"),
    ("no such magic", "%nosuchmagic"),
    ("cell magic", "%%capture\n1 / 0"),
    ("shown by a magic", "%%time\n1 / 0"),
    ("after the magic", "x = 3"),
    ("shows", "get_ipython().run_cell('1 / 0');"),
    ("shows a syntax error", "get_ipython().run_cell('1 /');\nx = 4"),
    ("interrupts", "raise KeyboardInterrupt"),
    ("interrupted", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"),
    ("ok after it", "x = 5"),
    ("exits", "sys.exit(3)"),
    ("awaits", "await asyncio.sleep(0)\nx = 6"),
    (
        "raises in an await",
        "async def fails():\n    await asyncio.sleep(0)\n    raise ValueError('awaited')\nawait fails()",
    ),
    ("raises behind an await", "await asyncio.sleep(0)\n1 / 0"),
    ("syntax with an await", "await x y"),
    ("awaits well", "await asyncio.sleep(0)"),
    ("interrupts in an await", "await asyncio.sleep(0); raise KeyboardInterrupt"),
    ("last", "x = 7"),
]


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run_cells(held, opts, CELLS)))
