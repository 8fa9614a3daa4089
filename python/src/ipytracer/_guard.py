"""%tracer guard: a cell that needed more memory than is free now is not run, or only after a question.

The decision is made before the cell is compiled, and so before it belongs to any window. IPython is then given a
transformer that rejects the cell. For a cell that fits, IPython is as it was.
"""

from __future__ import annotations

import builtins
import os
import re
import threading
import time

from . import _asking, _key, _needed, _room, _words
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._line import Line
    from ._types import Shell
    from ._window import Window

VARIABLE = "IPYTRACER_GUARD"
MODES = ("off", "ask", "error")
_ANYWAY = re.compile(r"%%tracer[ \t]+run[ \t]*\n")
_LEAST = 16 << 20          # bytes: a cell that needed less is run in any case
_MOST_WAITING = 1000       # cells without figures so far


class Judged(NamedTuple):
    """What a cell needed the last time, of the meter with the least room for it, and that room: None where it is not
    known."""

    need: int
    meter: str
    least: bool
    other: bool
    room: _room.Room | None

    @property
    def fits(self) -> bool:
        """Report whether as much is free, with a twentieth to spare."""
        return self.room is None or self.need < _LEAST or self.need + self.need // 20 <= self.room.free


def judged(found: _needed.Found, rooms: list[_room.Room]) -> Judged | None:
    """Return the tightest of a cell's needs, None where there is none."""
    rooms = [r for r in rooms if r.meter in found.need]
    room = min(rooms, key=lambda r: r.free - found.need[r.meter], default=None)
    meter = room.meter if room is not None else "cpu.resident"
    if meter not in found.need:
        return None
    return Judged(found.need[meter], meter, found.least, found.other, room)


def words(j: Judged) -> str:
    """Return a judgement in words: "needed 31.20 GiB the last time, 12.40 GiB are free (container)"."""
    of = "" if j.meter == "cpu.resident" else " of %s memory" % _words.meter_name(j.meter)
    said = "needed %s%s%s the last time" % ("at least " if j.least else "", _words.size(j.need), of)
    said += " (with other data)" if j.other else ""
    return said + (", %s are free (%s)" % (_words.size(j.room.free), j.room.of) if j.room is not None else "")


class _Gate:
    """An AST transformer that rejects the next cell of one thread, with a sentence."""

    def __init__(self, sentence: str) -> None:
        self._sentence, self._thread = sentence, threading.get_ident()

    def visit(self, node: Any) -> Any:
        """Reject the cell."""
        if self._thread != threading.get_ident():
            return node
        from IPython.core.error import InputRejected
        rejected = type("NotEnoughMemory", (_needed.NotEnoughMemory, InputRejected), {"__module__": "ipytracer"})
        raise rejected(self._sentence)


class Guard:
    """The guard of a shell. All methods are for the thread that runs cells."""

    def __init__(self, shell: Shell, line: Line) -> None:
        self._shell, self._line = shell, line
        said = os.environ.get(VARIABLE, "")
        self.mode = said if said in MODES else "off"
        self.needs = _needed.Needs()
        self._now: _key.Key | None = None                     # of the cell that runs
        self._waiting: dict[int | None, _key.Key] = {}        # by In[N]: cells that have ended, and have no figures yet
        self._gate: _Gate | None = None

    # ---- cells

    def begins(self, info: Any) -> None:
        """Take in that a cell is about to run, and decide whether it does."""
        self._open()
        source = getattr(info, "raw_cell", None)
        if not isinstance(source, str) or not (self._line.listens() or self.mode != "off") or _asking.only(source):
            return
        self._now = self._key_of(source)
        if self.mode == "off" or _ANYWAY.match(source):
            return
        found = self.judge(self._now)
        if found is not None and not found.fits and not self._agreed(found):
            self._now, self._gate = None, _Gate(
                "in this state the cell %s; it has not run. Free memory, or begin the cell with the line %%%%tracer run"
                % words(found)
            )
            self._shell.ast_transformers.insert(0, self._gate)

    def ends(self) -> _key.Key | None:
        """Take in that the cell has ended. Return its key, None where it has none, or has not run."""
        key = self._now
        self._open()
        return key

    def ran(self, key: _key.Key | None, count: int) -> None:
        """Take in that figures of In[count], the cell with that key, will come."""
        if key is not None:
            self._waiting[count] = key
            while len(self._waiting) > _MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]

    def told(self, window: Window) -> None:
        """Take in the figures of a cell."""
        key = self._waiting.pop(window.execution_count, None)
        if key is not None:
            self.needs.add(key, _needed.run_of(window, key.data, int(time.time())))

    def unregister(self) -> None:
        """Leave the shell as it was."""
        self._open()

    def _open(self) -> None:
        gate, self._now, self._gate = self._gate, None, None
        if gate is not None and gate in self._shell.ast_transformers:
            self._shell.ast_transformers.remove(gate)

    def _key_of(self, source: str) -> _key.Key | None:
        return _key.key(source, self._shell.user_ns)

    def _agreed(self, found: Judged) -> bool:
        """Ask whether the cell runs all the same. A front end that cannot ask has not agreed."""
        if self.mode != "ask":
            return False
        try:
            said = builtins.input("In this state the cell %s. Run it? [y/N] " % words(found))
        except (Exception, KeyboardInterrupt):     # no front end that can ask; interrupted
            return False
        return isinstance(said, str) and said.strip().lower() in ("y", "yes")

    # ---- questions

    def judge(self, key: _key.Key | None) -> Judged | None:
        """Return whether a cell fits, None where it is not known."""
        found = self.needs.find(key)
        return None if found is None else judged(found, _room.rooms())

    def judge_source(self, source: str) -> Judged | None:
        """Return whether a cell with that text fits, None where it is not known."""
        return self.judge(self._key_of(source)) if len(self.needs) else None

    def state(self) -> str:
        """Return the state in a sentence."""
        doing = {"off": "off", "ask": "on: it asks before a cell runs that needs more than is free",
                 "error": "on: a cell that needs more than is free does not run"}[self.mode]
        known = "it knows what %s needed" % _words.plural(len(self.needs), "cell")
        return "ipytracer: the guard is %s; %s in this session; no history is kept" % (doing, known)

    def carry_out(self, word: str) -> str:
        """Carry out a word of %tracer guard. Return a sentence, or raise ValueError with the words that there are."""
        word = "ask" if word == "on" else word
        if word in MODES:
            self.mode = word
        elif word:
            raise ValueError("on, ask, error, off")
        return self.state()
