"""Names of types, for type checkers only: nothing imports this where it runs."""

from __future__ import annotations

from typing import Any, Protocol

from ._line import Line
from ._silence import Silence
from ._window import Figure, Window

Bundle = dict[str, Any]      # a display: {MIME type: text, or an object of JSON}
Data = dict[str, Any]        # a JSON object
Figures = dict[str, Figure]  # by the id of the meter
Shell = Any                  # IPython's InteractiveShell: IPython 7 has no types
Tensor = Any                 # PyTorch's, which may be missing


class Lab(Protocol):
    """The part of _lab.Lab that the rest of the package needs."""

    @property
    def listens(self) -> bool:
        """Report whether an extension wants figures."""

    def running(self, window: Window) -> None:
        """Send the figures so far of a cell that still runs."""


class Live(Protocol):
    """The part of _live.Live that the rest of the package needs."""

    least: float | None

    def now(self) -> Bundle | None:
        """Show the figures of the running cell."""


class Guard(Protocol):
    """The part of _guard.Guard that the rest of the package needs."""

    mode: str

    def carry_out(self, word: str) -> str:
        """Carry out a word of %tracer guard. Return a sentence."""


class Settings(Protocol):
    """The part of pytest_plugin.Settings that judges and summaries need."""

    asked: bool
    strict: bool
    hidden: bool
    on_increase: bool
    fail_over: int | None
    tolerance: int
    stacks: int
    most: int


class Companion(Protocol):
    """The part of _shell.Companion that the rest of the package needs."""

    shell: Shell
    line: Line
    on: bool
    full: bool
    chosen: bool
    once: bool | None
    silence: Silence
    slower: str

    @property
    def lab(self) -> Lab:
        """Return the extensions of JupyterLab that listen."""

    @property
    def guard(self) -> Guard:
        """Return the guard before cells."""

    @property
    def live(self) -> Live:
        """Return the display of the running cell."""

    @property
    def lines(self) -> bool:
        """Report whether figures are displayed under cells."""
