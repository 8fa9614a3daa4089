"""What a look at a process's objects has found: its variables, and what stays behind. The names and numbers are those
of the tracer's JSON (docs/variables.md, docs/audit.md)."""

from __future__ import annotations

from ._named import NamedTuple
from ._window import Frame, _Table


class Looking(NamedTuple):
    """The tracer looks still: the number of its look, and the nanoseconds until it may begin."""

    look: int
    wait_ns: int


class Variable(NamedTuple):
    """A name: bytes would be freed with it (what nothing else holds), device of these on GPUs; reaches is all that it
    leads to, 0 where that was not added up; exact: False where bytes are the least; also: other names of the same
    object; kind: "variable", "output", "traceback", "thread" or "module"; shape, dtype and length, and shaped in words;
    where: who made its largest piece, "" if that is not known, with execution, execution_count and line of the cell and
    the stack, innermost first; before: that piece was there when the session began; view_bytes: what it uses of memory
    of base_bytes that only views hold, both 0 where it is no such view."""

    name: str
    type: str
    bytes: int
    reaches: int
    device: int
    exact: bool
    also: tuple[str, ...]
    kind: str
    shape: tuple[int, ...]
    dtype: str
    length: int | None
    shaped: str
    where: str
    before: bool
    execution: int
    execution_count: int | None
    line: int
    stack: tuple[Frame, ...]
    view_bytes: int = 0
    base_bytes: int = 0


class Variables(_Table, list[Variable]):
    """A list of Variable, the largest first.

    unlisted: how many names more there are, with unlisted_bytes together; objects: bytes of all Python objects;
    complete: whether all objects were looked at; why: in a sentence what could not be found out, or why there is
    nothing; took_ns: how long the look took.
    """

    _columns = Variable._fields
    unlisted, unlisted_bytes, objects, took_ns = 0, 0, 0, 0
    complete, why = False, ""
    to_free: tuple[Freeing, ...] = ()


class Freeing(NamedTuple):
    """Code that frees memory: type is one line for a cell, predicted the bytes of blocks that go (predicted_device: on
    GPUs), small of these in small blocks, which Python or malloc may keep for later; exact: False where they are the
    least; names: the variables it lets go of; shared: what several of them hold together."""

    type: str
    predicted: int
    predicted_device: int
    exact: bool
    small: int
    names: tuple[str, ...]
    shared: int


class Checked(NamedTuple):
    """What was predicted to be freed by code, and what has gone since."""

    type: str
    predicted: int
    predicted_device: int
    exact: bool
    came_back: int
    came_back_device: int


class Check(_Table, list[Checked]):
    """A list of Checked. to_free: what can be freed now; why: in a sentence what could not be found out, or why there
    is nothing; took_ns: how long the look took."""

    _columns = Checked._fields
    why, took_ns = "", 0
    to_free: tuple[Freeing, ...] = ()


class Place(NamedTuple):
    """A line of a run of a cell; 0 where it is not known."""

    execution: int
    execution_count: int
    line: int


class Growth(NamedTuple):
    """What each of so many runs of a cell left behind: bytes, and between which bounds with 95 % confidence."""

    runs: int
    slope: int
    low: int
    high: int


class Verdict(NamedTuple):
    """Memory that stays behind: its kind, and title in words; bytes of a meter in count blocks; the runs of cells it
    comes from, and runs in words; where: who made it, "" if that is not known, and the stack, innermost first; holder:
    the way to the largest block, probable: it may be another; evidence, advice; fix: what to type into a cell to free
    it, "" where nothing does; change: the Place to change, or None; growth or None; age_ns of the oldest block; of
    processes that run still their command and pids."""

    kind: str
    title: str
    meter: str
    bytes: int
    count: int  # type: ignore[assignment]
    executions: tuple[int, ...]
    execution_counts: tuple[int, ...]
    runs: str
    where: str
    holder: str
    probable: bool
    evidence: str
    advice: str
    fix: str
    change: Place | None
    growth: Growth | None
    age_ns: int
    command: str
    pids: tuple[int, ...]
    stack: tuple[Frame, ...]


class NotJudged(NamedTuple):
    """What could not be judged: meter, "" for all; bytes at most, None if nobody can say; says: all of it in a
    sentence."""

    reason: str
    meter: str
    bytes: int | None
    says: str


class Audit(_Table, list[Verdict]):
    """A list of Verdict, most bytes first.

    complete: whether nothing was left unjudged, without which no list is an all-clear; not_judged: what was, as
    NotJudged; all_clear: in a sentence what it means that there is no verdict; least: bytes of a verdict at least;
    cells that have run; unlisted: verdicts that are left out; why: in a sentence what could not be found out, or why
    there is nothing; took_ns: how long the look took.
    """

    _columns = Verdict._fields
    complete, all_clear, why = False, "", ""
    least, cells, unlisted, took_ns = 0, 0, 0, 0
    not_judged: tuple[NotJudged, ...] = ()
    to_free: tuple[Freeing, ...] = ()
