"""Notebooks as text, and what their cells say of themselves.

    # %%                      begins a cell; what stands before the first one says what the notebook is about
    …  # raises               the cell ends with an error
    …  # makes: BYTES         this line makes an array of that size, and it lives until the line that
    …  # frees: BYTES
    …  # leaks KIND: BYTES    an audit must find it, made by this line: kinds are those of `tracer audit`, several by |

`makes torch:` and `frees torch:` are about tensors. The markers are comments of the cells, so they are in their sources
too. Files of Jupyter's own (.ipynb) are read as well; they say nothing of themselves."""

import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))

_MARKER = re.compile(r"#\s(raises|makes|frees|leaks)(?:\s([\w|-]+))?(?::\s(\d+))?\s*$")
_FUNCTION = re.compile(r"def (\w+)")


class Cell:
    request = {}    # nothing special, see testdata/workloads/cells.py

    def __init__(self, name, source, known=True):
        self.name, self.source = name, source
        self.markers = [dict(m, cell=name) for m in markers(source)] if known else []
        self.status = None if not known else "error" if any(m["says"] == "raises" for m in self.markers) else "ok"


def markers(source):
    """What the lines say: {says, of, bytes, line, function}, where function is the one the line is in."""
    function = "<module>"
    for number, line in enumerate(source.split("\n"), 1):
        named = _FUNCTION.match(line.strip())
        if named:
            function = named[1]
        elif line[:1].strip():
            function = "<module>"
        found = _MARKER.search(line)
        if found:
            yield {
                "says": found[1],
                "of": found[2] or "",
                "bytes": int(found[3] or 0),
                "line": number,
                "function": function,
            }


def names():
    """The notebooks that are here."""
    return sorted(os.path.basename(path)[:-len(".ipy")] for path in glob.glob(os.path.join(HERE, "*.ipy")))


def read(name):
    """The cells of a notebook that is here, or of a file."""
    path = name if os.sep in name else os.path.join(HERE, name + ".ipy")
    base = os.path.splitext(os.path.basename(path))[0]
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".ipynb"):
        sources = jupyter_sources(json.loads(text))
    else:
        sources = [part.strip("\n") for part in re.split(r"^# %%.*\n", text, flags=re.M)[1:]]
    return [
        Cell("%s %d" % (base, i), source, known=path.endswith(".ipy"))
        for i, source in enumerate(sources, 1)
        if source.strip()
    ]


def jupyter_sources(book):
    """The code cells of a notebook of format 4, or of 3 with its worksheets."""
    cells = book["cells"] if "cells" in book else [c for sheet in book.get("worksheets", []) for c in sheet["cells"]]
    for cell in cells:
        if cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            yield source if isinstance(source, str) else "".join(source)
