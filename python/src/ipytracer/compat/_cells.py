"""Cells as the compatible modules need them: hooks before and after a cell, and its Window, for IPython 7 to 9.

Where the companion is loaded, its hook stays behind these, so that both show the same figures of a cell.
"""

from __future__ import annotations

import time

from .. import _api, _source, _way
from .._inside import INSIDE
from .._line import LINE
from .._named import NamedTuple
from .._window import outermost
from . import _figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Shell
    from .._window import Window


class Cell(NamedTuple):
    """A cell that has run: its In[N], its Window (None without a tracer's answer), the duration of its code (seconds),
    and whether it ran within another cell."""

    count: int  # type: ignore[assignment]
    window: Window | None
    seconds: float
    nested: bool


def shell() -> Shell:
    """Return the IPython shell of this process. Raise RuntimeError where there is none."""
    from IPython import get_ipython
    found = get_ipython()
    if found is None:
        raise RuntimeError("this works in IPython only: there is no shell in this process")
    return found


def _count(of: Shell, info: Any) -> int | None:
    """Return the In[N] of a cell that begins, None where it gets none."""
    return of.execution_count if getattr(info, "store_history", True) else None


class _Running:
    """A cell that runs."""

    def __init__(self, info: Any, stretch: _figures.Stretch | None = None) -> None:
        self.info, self.stretch, self.began = info, stretch, time.perf_counter()


class Cells:
    """Calls before() and after(Cell) around each cell, between start() and stop().

    settle() is called after a cell before it is measured: its effects are in the cell's figures. name: the name of a
    stretch, an experiment of the report. A stretch stands for the rest of a cell in which start() was called. Where
    there is a settle(), it also stands for a cell within another one (as by %%capture): the window of such a cell ends
    with its result, before settle() could run.
    """

    def __init__(
        self,
        name: str,
        after: Callable[[Cell], object],
        before: Callable[[], object] | None = None,
        settle: Callable[[], object] | None = None,
    ) -> None:
        self.name, self._told, self._before, self._settle = name, after, before, settle
        self.shell = shell()
        self.on = False
        self._running: list[_Running] = []
        self._last = 0          # the highest known id of a cell

    def start(self) -> None:
        """Begin, with the rest of the cell that runs."""
        if self.on:
            return
        self.on = True
        _figures.listens()
        events = self.shell.events
        events.register("pre_run_cell", self._pre)
        events.register("post_run_cell", self._post)
        self._after = events.callbacks["post_run_cell"][-1]   # IPython 7 may wrap it
        self._running = [_Running(None, _figures.Stretch(self.name))]
        if self._before is not None:
            self._before()

    def stop(self, tell: bool = True) -> None:
        """End. tell: call after() for the part of this cell that has run."""
        if not self.on:
            return
        for event, callback in (("pre_run_cell", self._pre), ("post_run_cell", self._post)):
            try:
                self.shell.events.unregister(event, callback)
            except ValueError:
                pass             # the user has reset the shell's hooks
        if tell and self._running:
            self._finish(self._running.pop(), over=False)
        self._give_up(self._running)
        self.on, self._running = False, []

    def _be_late(self) -> None:
        """Move our hook behind all others but the companion's: figures that other hooks draw belong to the cell."""
        callbacks = self.shell.events.callbacks["post_run_cell"]
        if self._after not in callbacks:
            return
        companion = _way.of(self.shell)
        last = getattr(companion, "_after", None)
        callbacks.remove(self._after)
        callbacks.insert(callbacks.index(last) if last in callbacks else len(callbacks), self._after)

    def _pre(self, info: Any = None) -> None:
        if not self.on:
            return
        if not self._running:
            self._be_late()
        if not LINE.look(cell=True):
            INSIDE.cell_begins(info, _count(self.shell, info))
        within = bool(self._running) and self._settle is not None
        self._running.append(_Running(info, _figures.Stretch(self.name) if within else None))
        if self._before is not None:
            self._before()

    def _post(self, result: Any = None) -> None:
        if not self.on:
            return
        info = getattr(result, "info", None)
        known = [i for i, cell in enumerate(self._running) if info is not None and cell.info is info]
        if not known:
            # The cell that start() was called in, or, where IPython passes no info about cells, the innermost.
            known = [0] if self._running and (self._running[0].stretch is not None or info is None) else []
            if not known:
                return           # a blank cell, without a hook at its begin
        cell, missed = self._running[known[0]], self._running[known[0] + 1:]
        del self._running[known[0]:]
        self._give_up(missed)
        self._finish(cell, over=True)

    @staticmethod
    def _give_up(cells: list[_Running]) -> None:
        """End the stretches of cells without an end."""
        for cell in reversed(cells):
            if cell.stretch is not None:
                cell.stretch.end(tell=False)

    def _finish(self, cell: _Running, over: bool) -> None:
        seconds = time.perf_counter() - cell.began
        if self._settle is not None:
            self._settle()
        count = len(self.shell.user_ns.get("In", ())) - 1
        if not _figures.listens():
            window = None
            if cell.stretch is not None:
                cell.stretch.end(tell=False)
        elif cell.stretch is not None:
            window = cell.stretch.end()
        else:
            window = self._over(count) if over else self._inside()
        if window is not None and not self._running:       # a cell within another one has a higher id than that
            self._last = max(self._last, window.id)
        self._told(Cell(count, window, seconds, bool(self._running)))

    @staticmethod
    def _inside() -> Window | None:
        """Return the Window of the running cell, up to now."""
        found = [w for w in _figures.running() if w.kind == "cell"]
        return found[-1] if found else None

    def _over(self, count: int) -> Window | None:
        """Return the Window of the cell that has ended. A cell within another one ends with its result, any other where
        we mark its end."""
        if self._running:
            outer = self._inside()
            found = [w for w in _api.cells(outer.id) if w.parent == outer.id] if outer is not None else []
        else:
            if not self._last:
                self._last = max([w.id for w in _figures.running() if w.kind == "cell"], default=1) - 1
            _source.mark("cell")
            INSIDE.cell_ends(count=count)
            found = [w for w in outermost([_api.cells(self._last)]) if w.execution_count in (None, count)]
        return found[-1] if found else None
