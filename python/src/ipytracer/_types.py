"""Names of types, for type checkers only: nothing imports this where it runs."""

from __future__ import annotations

from typing import Any, Protocol

from ._line import Line
from ._silence import Silence
from ._window import Figure, Window

Bundle = dict[str, str]      # what is displayed: {MIME type: text}
Data = dict[str, Any]        # a JSON object
Figures = dict[str, Figure]  # by the id of the meter
Shell = Any                  # IPython's InteractiveShell: IPython 7 has no types
Tensor = Any                 # PyTorch's, which need not be there


class Lab(Protocol):
    """What the rest of the package needs of _lab.Lab."""

    @property
    def listens(self) -> bool:
        """Whether an extension wants figures."""

    def running(self, window: Window) -> None:
        """Take in how a cell that runs still is doing."""


class Live(Protocol):
    """What the rest of the package needs of _live.Live."""

    least: float | None

    def now(self) -> Bundle | None:
        """Show how the cell is doing that runs."""


class Settings(Protocol):
    """What judges and summaries need of pytest_plugin.Settings."""

    asked: bool
    strict: bool
    hidden: bool
    on_increase: bool
    fail_over: int | None
    tolerance: int
    stacks: int
    most: int


class Companion(Protocol):
    """What the rest of the package needs of _shell.Companion."""

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
        """The extensions of JupyterLab that listen."""

    @property
    def live(self) -> Live:
        """What is shown of the cell that runs."""

    @property
    def lines(self) -> bool:
        """Whether figures are displayed under cells."""
