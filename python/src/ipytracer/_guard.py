"""%tracer guard: a cell that needed more memory than is free now is not run, or only after a question.

The decision is made before the cell is compiled, and so before it belongs to any window. IPython is then given a
transformer that rejects the cell. For a cell that fits, IPython is as it was.
"""

from __future__ import annotations

import atexit
import builtins
import os
import re
import threading
import time

from . import _asking, _history, _key, _lastcell, _needed, _room, _words
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._line import Line
    from ._types import Data, Shell
    from ._window import Window

VARIABLE = "IPYTRACER_GUARD"
MODES = ("off", "ask", "error")
_ANYWAY = re.compile(r"%%tracer[ \t]+run[ \t]*\n")
_GPU = re.compile(r"gpu\.(\d+)\.driver")
_LEAST = 16 << 20          # bytes: a cell that needed less is run in any case
_SAVED_EVERY = 2.0         # seconds
_MOST_SOURCES = 200        # cells in one question of the extension
_MOST_CHARACTERS = 256 << 10    # of their sources
_MOST_WAITING = 1000       # cells without figures so far


class Judged(NamedTuple):
    """What a cell needed the last time, of the meter with the least room for it, and that room: None where it is not
    known."""

    need: int
    meter: str
    least: bool
    other: bool
    died: bool
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
    return Judged(found.need[meter], meter, found.least, found.other, found.died, room)


def words(j: Judged) -> str:
    """Return a judgement in words: "needed 31.20 GiB the last time, 12.40 GiB are free (container)"."""
    of = "" if j.meter == "cpu.resident" else " of %s memory" % _words.meter_name(j.meter)
    gpu = _GPU.fullmatch(j.meter)
    of = " on GPU " + gpu.group(1) if gpu else of
    said = "needed %s%s%s the last time" % ("at least " if j.least else "", _words.size(j.need), of)
    said += ", when the kernel died" if j.died else ""
    said += " (with other data)" if j.other else ""
    return said + (", %s are free (%s)" % (_words.size(j.room.free), j.room.of) if j.room is not None else "")


def _unusable(place: _history.Place, why: Exception) -> str:
    return "ipytracer: the history %s is not used: %s" % (_words.safe(place.path, 200), _words.safe(str(why), 100))


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
        self._place: _history.Place | None = None             # of the history, where one is kept
        self._unsaved: set[str] = set()                       # codes of cells that are not in it yet
        self._saved = float("-inf")                           # as time.monotonic()
        self._pid = os.getpid()
        self._last = _lastcell.LastCell()
        self._free: dict[str, int] = {}                       # on each GPU ("gpu.0") after the last cell, in bytes
        self._cached: dict[str, int] = {}                     # there, in PyTorch's cache without tensors

    @property
    def wants(self) -> bool:
        """Report whether figures are to be asked for, though none are shown."""
        return self.mode != "off" or self._place is not None

    # ---- history

    def load(self) -> str:
        """Take in the history in the user's state folder, if there is one. Return a sentence if it cannot be used, ""
        for nothing."""
        home = _history.place("home")
        if not os.path.lexists(home.path):
            return ""
        try:
            self._remember(home)
        except _history.Unusable as e:
            return _unusable(home, e)
        return ""

    def _remember(self, place: _history.Place) -> None:
        """Keep a history in a place from now on, with the cells of this session."""
        found = _history.read(place.path)
        self._unsaved.update(self.needs.runs)
        if found is not None:
            found.take(self.needs)
            self.needs = found
        if self._place is None:
            atexit.register(self._end)
        before, self._place = self._place, place
        try:
            if found is None or self._unsaved:
                self._write()
        except _history.Unusable:
            self._place = before
            raise
        self._last.open(place)
        self._take_death()

    def died(self, need: int | None) -> None:
        """Take in the report of the death of the notebook's last kernel: what the cell needed that ran, in bytes."""
        self._last.died(need)
        self._take_death()

    def _take_death(self) -> None:
        found = self._last.take() if self._place is not None else None
        if found is not None:
            key, need = found
            self.needs.add(key, _needed.Run({"cpu.resident": need}, True, key.data, int(time.time()), True))
            self._unsaved.add(key.code)
            self.save()

    def save(self) -> None:
        """Write what is new. A history that cannot be written is not kept any more."""
        if self._place is not None and self._unsaved and self._pid == os.getpid():
            try:
                self._write()
            except _history.Unusable:
                self._place = None

    def _write(self) -> None:
        if self._place is not None:
            _history.write(self._place.path, self.needs, self._unsaved)
            self._unsaved.clear()
            self._saved = time.monotonic()

    def _forget(self) -> str:
        """Delete the histories of both places, and forget all cells."""
        deleted = []
        places = ([self._place] if self._place is not None else []) + [_history.place(n) for n in ("here", "home")]
        for place in places:
            try:
                deleted += [place.path] if _history.delete(place.path) else []
            except _history.Unusable as e:
                return _unusable(place, e)
        self._last.close()
        self._place, self.needs = None, _needed.Needs()
        self._unsaved.clear()
        names = " and ".join(_words.safe(path, 200) for path in deleted)
        return "ipytracer: the guard knows no cells any more" + ("; deleted: " + names if names else "")

    # ---- cells

    def begins(self, info: Any) -> None:
        """Take in that a cell is about to run, and decide whether it does."""
        self._open()
        source = getattr(info, "raw_cell", None)
        if not isinstance(source, str) or not (self._line.listens() or self.wants) or _asking.only(source):
            self._last.mark(None)
            return
        self._now = self._key_of(source)
        self._last.mark(self._now)
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

    def hears(self, free: dict[str, int] | None) -> None:
        """Take in how much is free on each GPU, None where the tracer does not know."""
        self._free = free if free is not None else {}

    def _rooms(self) -> list[_room.Room]:
        """Return the room now; on GPUs that after the last cell, with PyTorch's cache as far as it has no tensors."""
        return _room.rooms() + [
            _room.Room(gpu + ".driver", free + self._cached.get(gpu, 0), "after the last cell")
            for gpu, free in self._free.items()
        ]

    def told(self, window: Window) -> None:
        """Take in the figures of a cell."""
        ends = {meter: figure.end for meter, figure in window.figures().items()}
        self._cached = {meter[:-len(".reserved")]: max(0, end - ends.get(meter[:-len("reserved")] + "active", end))
                        for meter, end in ends.items() if meter.endswith(".reserved")}
        key = self._waiting.pop(window.execution_count, None)
        if key is not None:
            self.needs.add(key, _needed.run_of(window, key.data, int(time.time())))
            if self._place is not None:
                self._unsaved.add(key.code)
                if time.monotonic() >= self._saved + _SAVED_EVERY:
                    self.save()

    def unregister(self) -> None:
        """Leave the shell as it was."""
        self._open()
        self._end()
        atexit.unregister(self._end)

    def _end(self) -> None:
        """Take in that the session ends well."""
        self.save()
        if self._pid == os.getpid():
            self._last.close()

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
        return None if found is None else judged(found, self._rooms())

    def needed(self, data: Data) -> Data:
        """Answer the extension's question about cells that may be run next: for each of the sources a sentence, and
        whether the cell fits; None where nothing is known, or where the sources before it were too many or too long."""
        sources = data.get("sources")
        sources = sources if isinstance(sources, list) else []
        if not len(self.needs):
            return {"needed": [None for _ in sources[:_MOST_SOURCES]]}
        rooms, left = self._rooms(), _MOST_CHARACTERS
        told: list[Data | None] = []
        for source in sources[:_MOST_SOURCES]:
            left -= len(source) if isinstance(source, str) else 0
            known = isinstance(source, str) and left >= 0 and not _asking.only(source)
            found = self.needs.find(self._key_of(source)) if known else None
            j = judged(found, rooms) if found is not None else None
            told.append(None if j is None else {"says": words(j), "need": j.need, "fits": j.fits})
        return {"needed": told}

    def state(self) -> str:
        """Return the state in a sentence."""
        doing = {"off": "off", "ask": "on: it asks before a cell runs that needs more than is free",
                 "error": "on: a cell that needs more than is free does not run"}[self.mode]
        known = "it knows what %s needed" % _words.plural(len(self.needs), "cell")
        if self._place is None:
            return "ipytracer: the guard is %s; %s in this session; no history is kept" % (doing, known)
        path = _words.safe(self._place.path, 200)
        return "ipytracer: the guard is %s; %s; the history is %s" % (doing, known, path)

    def carry_out(self, word: str) -> str:
        """Carry out a word of %tracer guard. Return a sentence, or raise ValueError with the words that there are."""
        word = "ask" if word == "on" else word
        if word in MODES:
            self.mode = word
        elif word in ("remember here", "remember home"):
            place = _history.place(word.split()[1])
            try:
                self._remember(place)
            except _history.Unusable as e:
                return _unusable(place, e)
        elif word == "forget":
            return self._forget()
        elif word:
            raise ValueError("on, ask, error, off, remember here, remember home, forget")
        return self.state()
