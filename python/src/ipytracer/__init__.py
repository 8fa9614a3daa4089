"""The notebook companion of ipytracer: the exact figures of a tracer outside, under each cell and in Python.

    %load_ext ipytracer

It measures nothing itself and needs no rights: root attaches from a terminal, with sudo tracer attach PID. Without a tracer every call returns at
once. Sizes are bytes everywhere, times nanoseconds; meters are named as in the tracer's reports: "cpu.resident", "cpu.numpy",
"gpu.0.driver" …
"""

from ._api import attached, cells, last, lines
from ._experiment import Experiment, Result, experiment, start
from ._release import release_traceback, seed
from ._window import Child, Figure, Frame, Line, Lines, Top, Window, Windows

__version__ = "0.1.0"

__all__ = ["Child", "Experiment", "Figure", "Frame", "Line", "Lines", "Result", "Top", "Window", "Windows", "attached", "cells", "experiment", "last",
           "lines", "release_traceback", "seed", "start"]


def load_ipython_extension(shell):
    """What %load_ext ipytracer calls."""
    from . import _shell
    _shell.load(shell)


def unload_ipython_extension(shell):
    """What %unload_ext ipytracer calls."""
    from . import _shell
    _shell.unload(shell)
