#!/usr/bin/env python3
"""A kernel whose cells and children ask for 2 GiB, which a limit on their mapped memory refuses them. See driver.py for
the protocol with the caller and the options.

Results are JSON lines {name, source, status, execution_count, …}; the status is what the kernel replied. Cells assert
what else must hold.
"""

import sys

import driver
from run_kernel import run_cells

ASKS = '''
import sys
def asks():
    try:
        bytearray(2 << 30)
    except MemoryError:
        return "refused"
    return "given"
if __name__ == "__main__":
    sys.stdin.readline()
    print(asks(), flush=True)
'''

CELLS = [
    (
        "forked before",
        "import os, subprocess, sys\nimport numpy as np\nexec(" + repr(ASKS.replace("__main__", "")) + ")\n"
        "def child():\n    return subprocess.Popen([sys.executable, '-c', "
        + repr(ASKS)
        + "], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "older = child()\nkept = list(range(1000))",
    ),
    ("one step too far", "before = 1\nfar = np.ones(1 << 28)"),
    ("without NumPy", "bytearray(2 << 30)"),
    ("grows", "grown = []\nwhile True:\n    grown.append(b'x' * (1 << 20))"),
    (
        "goes on",
        "assert len(kept) == 1000 and before == 1 and len(grown) > 500\ngrown.clear()\nsmaller = np.ones(1 << 20)",
    ),
    ("older child", "told = older.communicate(b'go')[0]\nassert told == b'refused\\n', told"),
    ("executed child", "told = child().communicate(b'go')[0]\nassert told == b'refused\\n', told"),
    (
        "forked child",
        (
            "pid = os.fork()\nif pid == 0:\n    os._exit(7 if asks() == 'refused' else 1)\n"
            "_, status = os.waitpid(pid, 0)\nassert status >> 8 == 7, status"
        ),
    ),
]


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run_cells(held, opts, CELLS, before=1)))
