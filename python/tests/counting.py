"""Programs of their own that count NumPy's arrays: the allocator of a process cannot be taken back."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SOURCES = os.path.join(ROOT, "python", "src")
_HEAD = """
import gc, sys, threading
from ipytracer import _counts, _counts_facts
from ipytracer._counts import COUNTS
from ipytracer._counts_facts import Unable
"""
_built = []


def sources():
    """Return a folder with the package and its counting library, built from the sources as they are. Skip the test
    where there is no such NumPy, or no C compiler."""
    try:
        numpy = importlib.metadata.version("numpy")
    except importlib.metadata.PackageNotFoundError:
        raise unittest.SkipTest("no NumPy") from None
    if tuple(int(n) for n in numpy.split(".")[:2]) < (1, 22):
        raise unittest.SkipTest("NumPy before 1.22")
    if shutil.which("gcc") is None:
        raise unittest.SkipTest("no C compiler")
    if not _built:
        folder = tempfile.TemporaryDirectory()
        _built.append(folder)
        shutil.copytree(os.path.join(_SOURCES, "ipytracer"), os.path.join(folder.name, "ipytracer"),
                        ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        subprocess.run([os.path.join(ROOT, "scripts", "counts.sh"), os.path.join(folder.name, "ipytracer", "counts")],
                       check=True)
    return _built[0].name


def run(code, **environment):
    """Run a program that may use COUNTS. Return its output; it has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + code], env=dict(os.environ, PYTHONPATH=sources(), **environment),
        capture_output=True, text=True, timeout=120, check=False,
    )
    if done.returncode:
        raise AssertionError("status %d: %s%s" % (done.returncode, done.stdout, done.stderr[-4000:]))
    return done.stdout
