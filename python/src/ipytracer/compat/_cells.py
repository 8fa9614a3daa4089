"""Cells as the compatible modules need them: before one, after one, and its Window, for IPython 7 to 9.

Where the companion is loaded, its hook stays behind these, so that both show the same figures of a cell.
"""

from __future__ import annotations

import time

from .. import _api, _way
from .._line import LINE, marker
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
    """A cell that has run: its In[N], its Window (None without a tracer's answer), how long its code took (seconds),
    and whether it ran within another one."""

    count: int  # type: ignore[assignment]
    window: Window | None
    seconds: float
    nested: bool


def shell() -> Shell:
    """The IPython shell of this process. Raises RuntimeError where there is none."""
    from IPython import get_ipython
    found = get_ipython()
    if found is None:
        raise RuntimeError("this works in IPython only: there is no shell in this process")
    return found


class _Running:
    """A cell that runs."""

    def __init__(self, info: Any, stretch: _figures.Stretch | None = None) -> None:
        self.info, self.stretch, self.began = info, stretch, time.perf_counter()


class Cells:
    """Calls before() and after(Cell) around each cell, between start() and stop().

    settle() is called after a cell before it is measured: what it does is in the cell's figures. name: of the stretch,
    an experiment of the report, that stands for the rest of a cell in which start() was called, and, where there is a
    settle(), for a cell within another one (as by %%capture): its own window ends where it has its result, before
    anything could be settled.
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
        self._last = 0          # the highest id of a cell that is known

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
        """End. tell: after() is called for what has run of this cell."""
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
        """Figures that other hooks draw belong to the cell, so ours comes behind them; but the companion's stays
        last."""
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
        LINE.look(cell=True)
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
            # The cell that start() was called in, or, of an IPython that says nothing of cells, the innermost.
            known = [0] if self._running and (self._running[0].stretch is not None or info is None) else []
            if not known:
                return           # a blank cell, of which nobody has said that it begins
        cell, missed = self._running[known[0]], self._running[known[0] + 1:]
        del self._running[known[0]:]
        self._give_up(missed)
        self._finish(cell, over=True)

    @staticmethod
    def _give_up(cells: list[_Running]) -> None:
        """End what stands for cells of which no end was seen."""
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
        if window is not None and not self._running:       # one within another has a higher id than that
            self._last = max(self._last, window.id)
        self._told(Cell(count, window, seconds, bool(self._running)))

    @staticmethod
    def _inside() -> Window | None:
        """The Window of the cell that runs, up to now."""
        found = [w for w in _figures.running() if w.kind == "cell"]
        return found[-1] if found else None

    def _over(self, count: int) -> Window | None:
        """The Window of the cell that is over. One within another is over where it has its result, any other where we
        say so."""
        if self._running:
            outer = self._inside()
            found = [w for w in _api.cells(outer.id) if w.parent == outer.id] if outer is not None else []
        else:
            if not self._last:
                self._last = max([w.id for w in _figures.running() if w.kind == "cell"], default=1) - 1
            marker("cell")
            found = [w for w in outermost([_api.cells(self._last)]) if w.execution_count in (None, count)]
        return found[-1] if found else None
