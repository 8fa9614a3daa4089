"""The notebook companion of ipytracer: shows the exact figures of an outside tracer under each cell and in Python.

    %load_ext ipytracer

It needs no rights: root attaches from a terminal, with sudo tracer attach PID. Without a tracer the figures are those
that this process reads itself, with their bounds, and every call returns at once. Sizes are always in bytes, times in
nanoseconds; meters have the names of the tracer's reports: "cpu.resident", "cpu.numpy", "gpu.0.driver" …
"""

from __future__ import annotations

from ._api import attached, audit, cells, last, lines
from ._api import vars as vars
from ._experiment import Experiment, Result, experiment, start
from ._inside_report import report
from ._looked import Audit, Growth, NotJudged, Place, Variable, Variables, Verdict
from ._needed import NotEnoughMemory
from ._release import release_traceback, seed
from ._window import Child, Figure, Frame, Line, Lines, Top, Window, Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Shell

__version__ = "0.1.0"

# vars exists as well, but is not listed: import * would hide the builtin of that name
__all__ = [
    "Audit",
    "Child",
    "Experiment",
    "Figure",
    "Frame",
    "Growth",
    "Line",
    "Lines",
    "NotEnoughMemory",
    "NotJudged",
    "Place",
    "Result",
    "Top",
    "Variable",
    "Variables",
    "Verdict",
    "Window",
    "Windows",
    "attached",
    "audit",
    "cells",
    "experiment",
    "last",
    "lines",
    "release_traceback",
    "report",
    "seed",
    "start",
]


def load_ipython_extension(shell: Shell) -> None:
    """Load the extension: %load_ext ipytracer calls this."""
    from . import _shell
    _shell.load(shell)


def unload_ipython_extension(shell: Shell) -> None:
    """Unload the extension: %unload_ext ipytracer calls this."""
    from . import _shell
    _shell.unload(shell)
