"""The extension in one IPython shell: its work before and after each cell.

Written for the callbacks of IPython 7 to 9: pre_run_cell(info) and post_run_cell(result). result.info is the argument
of pre_run_cell, and result is None where run_cell itself was broken off.
"""

from __future__ import annotations

import logging
import os
import sys
import threading

from . import _auto, _behind, _counts, _death, _guard, _lab, _live, _show, _silence, _source, _way, _words
from ._inside import INSIDE
from ._line import AFTER_CELL, LINE, marker
from ._way import of
from ._window import outermost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any

    from ._line import Line
    from ._types import Shell
    _Callback = Callable[["Companion", Any], None]

_log = logging.getLogger("ipytracer")
# seconds that a tracer has to say hello where the extension is loaded first
_TO_ANSWER = 0.050
_MOST_SHOWN = 3                               # cells below one cell: its own, and those with late figures


def quiet(function: _Callback) -> _Callback:
    """Return a callback that never disturbs the cell: its exceptions go to the log of the module logging, at the level
    DEBUG."""
    def call(self: Companion, argument: Any = None) -> None:
        try:
            function(self, argument)
        except Exception:
            _log.debug("%s", function.__name__, exc_info=True)
    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    return call


class Companion:
    """The state of a shell with the extension: whether and how figures are shown, and the cells that run."""

    def __init__(self, shell: Shell, line: Line = LINE) -> None:
        self.shell, self.line = shell, line
        self.on, self.full = True, False
        self.once: bool | None = None                  # how this one cell is shown: True for full, False for compact
        self.chosen = False               # whether the user has chosen how they are shown
        self.guard = _guard.Guard(shell, line)
        self.lab = _lab.Lab(shell, line, {"needed": self.guard.needed})
        self.live = _live.Live(shell, self)
        self.death = _death.Death()
        self._listened = False
        self._pid = os.getpid()
        self._report = ""                 # the path for the report of the tracer that listens
        self.slower = ""                  # the tracer's last reason why the notebook is slower
        self.silence = _silence.Silence()
        # the In[N] with figures that are to be shown, and have not come yet
        self._wanted: list[int | None] = []
        # .cells: the ExecutionInfo of each cell that runs in the thread, the outermost first
        self._running = threading.local()

    @property
    def lines(self) -> bool:
        """Report whether figures are displayed under cells. JupyterLab's extension shows them already, and displays are
        saved: so not there, unless the user has asked for them."""
        return self.on and (self.chosen or not self.lab.listens)

    def _cells(self) -> list[Any]:
        try:
            cells: list[Any] = self._running.cells
        except AttributeError:
            cells = self._running.cells = []
        return cells

    # ---- hooks

    def register(self) -> None:
        """Register the hooks before and after a cell."""
        events = self.shell.events
        events.register("pre_run_cell", self.before)
        events.register("post_run_cell", self.after)
        events.register("post_execute", self._be_last)
        self.lab.register()
        self.live.consoles.register()
        self._after = events.callbacks["post_run_cell"][-1]   # IPython 7 may wrap it

    def unregister(self) -> None:
        """Leave the shell as it was."""
        self.shell.events.unregister("pre_run_cell", self.before)
        self.shell.events.unregister("post_run_cell", self.after)
        self.shell.events.unregister("post_execute", self._be_last)
        self.guard.unregister()
        self.lab.unregister()
        self.live.consoles.unregister()

    def _be_last(self) -> None:
        """Move our hook behind all others: figures that other hooks draw belong to the cell. IPython calls this after
        the cell's code, when the code may have registered hooks, and before the first hook of post_run_cell."""
        callbacks = self.shell.events.callbacks["post_run_cell"]
        if callbacks[-1] is not self._after and self._after in callbacks:
            callbacks.remove(self._after)
            callbacks.append(self._after)

    @quiet
    def before(self, info: Any) -> None:
        """Offer the line, as a cell begins."""
        cells = self._cells()
        if cells and not _runs(cells[0]):
            del cells[:]         # they were given up, without a callback
        cells.append(info)
        if len(cells) == 1:
            self.once = None
            self.live.begin()
            self.lab.begins(info)
            _auto.wait()
            self._last()
            self.death.offer()
            if self._look(cell=True):
                self.live.watch()
            else:
                INSIDE.cell_begins(info, self.shell.execution_count if getattr(info, "store_history", True) else None)
            self.guard.begins(info)      # last: it may ask the user

    @quiet
    def after(self, result: Any) -> None:
        """Ask for the figures of the cell that has ended, and show them."""
        cells, info = self._cells(), getattr(result, "info", None)
        known = [i for i, c in enumerate(cells) if c is info] or ([len(cells) - 1] if result is None and cells else [])
        if known:
            del cells[known[0]:]
        if cells:
            return               # a cell within another one: its figures are in the outer one's answer
        shown, key = self.live.finish(), self.guard.ends()
        self._last()
        outside = self._look()
        if not outside:
            error = getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
            INSIDE.cell_ends(info, getattr(result, "execution_count", None), error)
        if outside or INSIDE.measures():
            shows = (self.lines or self.once is not None) and not _only_asks(getattr(info, "raw_cell", None))
            wanted = shows or self.lab.listens or self.guard.wants
            if known and info is not None and info.store_history and wanted:
                self.guard.ran(key, result.execution_count)
                self.lab.ran(info, result.execution_count)
                self._show(result.execution_count, shown, shows)
        if not outside and not self.line.said:      # as the cell that loaded the extension ends
            self.line.said = True
            unheard = _way.inside() if INSIDE.measures() else _way.unheard(" yet")
            _show.publish(self.shell, _show.sentence(_auto.said() or unheard))
        if self.on:
            for call in _behind.CALLS:
                call(self.shell)

    def _last(self) -> None:
        """Show the report of the notebook's last kernel, if one has come."""
        said = self.death.said()
        if said:
            self.guard.died(self.death.need)
            _show.publish(self.shell, _show.sentence("ipytracer: " + said))

    def _look(self, cell: bool = False) -> bool:
        """Report whether a tracer listens. If one has ended, show that, once."""
        if self._pid != os.getpid():     # a forked child runs cells: the tracer that listened was its parent's
            self._pid, self._listened = os.getpid(), False
        listens = self.line.look(cell)
        if self._listened and not listens:
            left = "; its report: " + _words.safe(self._report, 300) if self._report else ""
            _show.publish(
                self.shell, _show.sentence("ipytracer: the tracer has ended%s; to go on, %s" % (left, _way.todo()))
            )
        if self._listened is not listens:
            self.silence.reset()
            self.lab.state()
        self._listened = listens
        self._report = self.line.hello.report if listens and self.line.hello is not None else ""
        self.slower = self.slower if listens else ""
        _source.take_over(listens)
        if not listens:
            self.guard.hears(None)
        self.line.said = self.line.said or listens
        return listens

    def _show(self, count: int, shown: str | None, shows: bool) -> None:
        """Ask for the figures of cell In[count], and show them. shown: the id of the display that has shown the cell as
        running, which now shows the result. shows: the line under the cell is wanted."""
        outside = self.line.listens()
        if outside:
            marker("cell")
        self.silence.asks(count)
        told = self.line.ask("cell", AFTER_CELL) if outside else INSIDE.ask("cell")
        late, self.line.late = self.line.late, []
        answered = isinstance(told, list)
        answers = late + ([told] if answered else [])
        if shows:
            self._wanted = (self._wanted + [count])[-_MOST_SHOWN:]
        full = self.full if self.once is None else self.once
        for answer in answers:
            self._slows(answer.slower, shows)
            if _source.counts_in_storm(answer.storm):
                _show.publish(self.shell, _show.sentence("ipytracer: " + _counts.STORM))
            self.guard.hears(answer.free)
        for window in outermost(answers):
            self.guard.told(window)
            self.lab.told(window)
            wanted = window.execution_count in self._wanted
            own_unshown = window.execution_count == count and not shows
            self.silence.told(window.execution_count, wanted or own_unshown)
            if wanted:
                self._wanted.remove(window.execution_count)
                own = shown if window.execution_count == count else None
                _show.publish(
                    self.shell, (_show.full if full else _show.compact)(window, _source.hello()), own, own is not None
                )
        self._silent(answered, sum(a.lost for a in answers), shows)

    def _silent(self, answered: bool, lost: int, shows: bool) -> None:
        """Show which figures are missing because the tracer does not answer in time."""
        before = self.silence.since
        said = self.silence.asked(answered, lost)
        if said and (shows or self.lines):
            _show.publish(self.shell, _show.sentence("ipytracer: " + said))
        if before is not self.silence.since:
            self.lab.silent(self.silence.now())

    def _slows(self, why: str, shows: bool) -> None:
        """Take in the reason why the notebook is slower, and show it once for each tracer."""
        said, self.slower = self.slower, why
        if why and not said and shows:
            _show.publish(self.shell, _show.sentence("ipytracer: slower: " + why))


def _only_asks(source: object) -> bool:
    """Report whether a cell has nothing but %tracer lines: figures of its own would be in the way."""
    lines = [line.split()[0] for line in source.split("\n") if line.strip()] if isinstance(source, str) else []
    return bool(lines) and all(first == "%tracer" for first in lines)


def _frames() -> Iterator[FrameType]:
    """Yield the frames of cells that have called this."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "run_cell_async":
            yield frame
        frame = frame.f_back


def _runs(info: Any) -> bool:
    """Report whether the cell with that ExecutionInfo is one of those that have called this."""
    return any(frame.f_locals.get("info") is info for frame in _frames())


def load(shell: Shell) -> None:
    """Load the extension. Loading it twice changes nothing."""
    # In a cell the user learns whether there is a tracer: that is worth one wait. No other code waits for a tracer that
    # is not there.
    LINE.look(cell=True, patience=0 if LINE.said or not any(_frames()) else _TO_ANSWER)
    if of(shell) is not None:
        return
    _auto.begin()
    from . import _magic
    companion = Companion(shell)
    setattr(shell, _way.COMPANION, companion)
    companion.register()
    unusable = companion.guard.load()
    if unusable:
        _show.publish(shell, _show.sentence(unusable))
    companion.death.offer()
    _magic.register(shell)
    if os.environ.get(_counts.VARIABLE, "").lower() in ("1", "on", "yes"):
        _source.take_over(LINE.listens())
        _show.publish(shell, _show.sentence("ipytracer: " + INSIDE.count("on")))
    if not LINE.listens():
        INSIDE.begin()


def unload(shell: Shell) -> None:
    """Unload the extension, and give the line up."""
    companion: Any = of(shell)
    if companion is None:
        return
    from . import _magic
    companion.unregister()
    _magic.unregister(shell)
    delattr(shell, _way.COMPANION)
    companion.live.close()
    companion.death.close()
    companion.line.close()
    INSIDE.end()
