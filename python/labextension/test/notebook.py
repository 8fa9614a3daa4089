"""Writes the notebook of the test: cells of known memory, one that fails, one that runs long."""

import json
import os
import sys

CELLS = [
    ("load", "%load_ext ipytracer"),
    ("numpy", "import numpy as np"),
    ("grow", "kept = np.ones(16 << 20)\nprint('grown')"),
    ("spike", "(np.ones(32 << 20) * 2).sum()"),
    ("fails", "lost = np.ones(8 << 20)\nlost.no_such_thing"),
    (
        "long",
        "import os, time\nparts = [np.ones(1 << 20) for _ in range(24)]\nwhile not os.path.exists('GO'):\n"
        "    time.sleep(0.1)",
    ),
    ("again", "for i in range(3):\n    kept = np.ones((16 + i) << 20)"),
    ("small", "x = 1"),
]


def cell(name, source):
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"tags": ["raises-exception"]} if name == "fails" else {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def main(path, extra):
    """extra: cells behind these that nobody needs, so that the notebook is longer than a window. The long cell waits
    for a file."""
    cells = [
        cell(name, source.replace("GO", "/mnt/notebooks/" + os.path.basename(path) + ".go")) for name, source in CELLS
    ]
    cells.insert(1, {"cell_type": "markdown", "id": "words", "metadata": {}, "source": "# Figures at cells"})
    cells += [cell("more%d" % i, "y%d = %d" % (i, i)) for i in range(extra)]
    with open(path, "w") as f:
        json.dump(
            {
                "cells": cells,
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
                "nbformat": 4,
                "nbformat_minor": 5,
            },
            f,
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
