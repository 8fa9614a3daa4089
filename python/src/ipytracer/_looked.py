"""The results of a look at a process's objects: its variables, and the memory that stays behind. The names and numbers
are those of the tracer's JSON (docs/variables.md, docs/audit.md)."""

from __future__ import annotations

from ._named import NamedTuple
from ._window import Frame, _Table


class Looking(NamedTuple):
    """A look that has not ended: its number, and the nanoseconds until it may begin."""

    look: int
    wait_ns: int


class Variable(NamedTuple):
    """A name. bytes: freed with it (nothing else holds them), device of these on GPUs. reaches: all that it leads to, 0
    where that was not added up. exact: False where bytes are the least. also: other names of the same object. kind:
    "variable", "output", "traceback", "thread" or "module". shape, dtype and length; shaped has them in words. where:
    the line that made its largest piece, "" if that is not known, with execution, execution_count and line of the cell
    and the stack, innermost first. before: that piece was there when the session began. view_bytes: the part that it
    uses of base_bytes, memory that only views hold; both 0 where it is no such view."""

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

    unlisted: the number of further names, with unlisted_bytes together; objects: bytes of all Python objects; complete:
    whether all objects were looked at; why: a sentence about missing results, or the reason that there are none;
    took_ns: the duration of the look.
    """

    _columns = Variable._fields
    unlisted, unlisted_bytes, objects, took_ns = 0, 0, 0, 0
    complete, why = False, ""
    to_free: tuple[Freeing, ...] = ()


class Freeing(NamedTuple):
    """Code that frees memory. type: one line for a cell. predicted: the bytes of blocks that go (predicted_device: on
    GPUs), small of these in small blocks, which Python or malloc may keep for later. exact: False where they are the
    least. names: the variables it releases. shared: the memory that several of them hold together."""

    type: str
    predicted: int
    predicted_device: int
    exact: bool
    small: int
    names: tuple[str, ...]
    shared: int


class Checked(NamedTuple):
    """The memory that code was predicted to free, and the memory that has gone since."""

    type: str
    predicted: int
    predicted_device: int
    exact: bool
    came_back: int
    came_back_device: int


class Check(_Table, list[Checked]):
    """A list of Checked. to_free: code that frees memory now; why: a sentence about missing results, or the reason that
    there are none; took_ns: the duration of the look."""

    _columns = Checked._fields
    why, took_ns = "", 0
    to_free: tuple[Freeing, ...] = ()


class Advice(NamedTuple):
    """Advice as text, in several lines. why: a sentence that says why there is none; took_ns: the duration of the
    look."""

    says: str
    why: str
    took_ns: int


class Place(NamedTuple):
    """A line of a run of a cell; 0 where it is not known."""

    execution: int
    execution_count: int
    line: int


class Growth(NamedTuple):
    """The memory that each of so many runs of a cell left behind: bytes, and their bounds with 95 % confidence."""

    runs: int
    slope: int
    low: int
    high: int


class Verdict(NamedTuple):
    """Memory that stays behind: its kind, and title in words; bytes of a meter in count blocks; the runs of cells it
    comes from, and runs in words. where: the line that made it, "" if that is not known, and the stack, innermost
    first. holder: the way to the largest block; probable: it may be another. evidence, advice. fix: code for a cell
    that frees it, "" where none does. change: the Place to change, or None. growth or None. age_ns of the oldest block.
    command and pids of processes that still run."""

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
    """Memory that could not be judged: meter, "" for all; bytes at most, None if that is not known; says: a sentence
    with all of it."""

    reason: str
    meter: str
    bytes: int | None
    says: str


class Audit(_Table, list[Verdict]):
    """A list of Verdict, most bytes first.

    complete: whether everything was judged; only then is an empty list an all-clear. not_judged: the rest, as
    NotJudged; all_clear: a sentence on the meaning of a list without verdicts; least: the smallest bytes of a verdict;
    cells that have run; unlisted: verdicts that are left out; why: a sentence about missing results, or the reason that
    there are none; took_ns: the duration of the look.
    """

    _columns = Verdict._fields
    complete, all_clear, why = False, "", ""
    least, cells, unlisted, took_ns = 0, 0, 0, 0
    not_judged: tuple[NotJudged, ...] = ()
    to_free: tuple[Freeing, ...] = ()
