"""Notebooks with figures in their cells go through the programs that people run notebooks with.

The figures are still there, and those of the JSON.

python3 notebook.py FOLDER VIEWERS: FOLDER has what `go run ./bench exports` writes, VIEWERS what
scripts/viewers.sh gets.
"""

import json
import os
import pathlib
import subprocess
import sys

import nbformat

folder, viewers = map(pathlib.Path, sys.argv[1:])
windows = [w for w in json.loads((folder / "cells.json").read_text())["windows"] if w["kind"] == "cell"]
environment = {
    **os.environ, "HOME": str(folder),
    "IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    "PYTHONPATH": str(viewers / "papermill-2.6.0"), "PYTHONWARNINGS": "ignore",
}


def run(*arguments):
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    return done.returncode, done.stdout + done.stderr


def figures(cell):
    return cell["metadata"].get("ipytracer")


def check(path, before, outputs):
    """Every cell's figures are those of the session, and the notebook is one.

    outputs says whether the tables under the cells are kept.
    """
    after = nbformat.read(path, 4)
    nbformat.validate(after)
    code = [c for c in after.cells if c.cell_type == "code" and "injected-parameters" not in c.metadata.get("tags", [])]
    assert len(code) == len(before), (path, len(code))
    for i, (was, cell) in enumerate(zip(before, code)):
        assert figures(cell) == figures(was), (path, i, figures(cell))
        assert "kept" in cell.metadata["tags"], path
        if i >= len(windows):
            assert figures(cell) is None, (path, i)
            continue
        has = figures(cell)
        assert has["schema"] == "ipytracer/cell/v1", (path, i, has)
        assert all(has[key] == windows[i][key] for key in ("execution", "status")), (path, i, has)
        for meter, figure in windows[i]["meters"].items():
            got = has["meters"][meter] if "meters" in has else has[meter]
            want = figure["peak"], figure["peak"] - figure["start"], figure["consumed"]
            assert (got["peak"], got["need"], got["consumed"]) == want, (path, i, meter, got)
        tables = [o for o in cell.outputs if "ipytracer" in o.get("metadata", {})]
        assert len(tables) == (1 if outputs else 0), (path, i, len(tables))


for name in ("ids", "plain"):
    original = folder / (name + ".ipynb")
    nbformat.validate(nbformat.read(original, 4))
    before = [c for c in nbformat.read(original, 4).cells if c.cell_type == "code"]
    check(original, before, True)

    status, said = run("nbconvert", "--to", "notebook", str(original), "--output", "converted.ipynb")
    assert status == 0, said
    check(folder / "converted.ipynb", before, True)

    if name == "ids":
        status, said = run("nbconvert", "--to", "html", str(original), "--output", "page.html")
        assert status == 0, said
        page = (folder / "page.html").read_text()
        assert "4.00 MiB" in page and "5.00 MiB" in page, "the figures are not on nbconvert's page"

    # What runs a notebook again takes its outputs away, and leaves what is in the cells' metadata.
    status, said = run("nbconvert", "--to", "notebook", "--execute", "--allow-errors", str(original),
                       "--output", "executed.ipynb")
    assert status == 0, said
    check(folder / "executed.ipynb", before, False)

    status, said = run("papermill", str(original), str(folder / "papermill.ipynb"))
    assert status != 0 and "ZeroDivisionError" in said, said  # as the cell does
    ran = nbformat.read(folder / "papermill.ipynb", 4)
    nbformat.validate(ran)
    kept = [c for c in ran.cells
            if c.cell_type == "code" and "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    assert [figures(c) for c in kept] == [figures(c) for c in before], "papermill has changed the figures"
    print(f"{name}: nbconvert and papermill keep the figures of {len(windows)} cells")
