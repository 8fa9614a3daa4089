"""Windows and lines as in the tracer's JSON (docs/windows.md, docs/allocations.md): the same names and numbers."""

from __future__ import annotations

from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Figure(NamedTuple):
    """One meter in one window, in bytes: at the window's start, the most at any instant, at its end; consumed = end -
    start, peaked = peak - max(start, end). exact: whether that is to the byte. bound: the most bytes by which it can be
    off, None if that is not known."""

    start: int
    peak: int
    end: int
    consumed: int
    peaked: int
    exact: bool
    bound: int | None

    @property
    def need(self) -> int:
        """Return the memory that the window needed on top of its start: peak - start, in bytes."""
        return self.peak - self.start


class Child(NamedTuple):
    """Another process of the same tree within a window; meters: {id: Figure}."""

    pid: int
    command: str
    meters: dict[str, Figure]


class Top(NamedTuple):
    """The line of code that had most of a meter at the window's peak: its bytes then, where in words, its line, the
    execution of its cell (0: no cell's)."""

    at_peak: int
    where: str
    line: int
    execution: int


class Frame(NamedTuple):
    """One call of a stack; execution is None where the code is no cell's."""

    function: str
    file: str
    line: int
    execution: int | None


class Line(NamedTuple):
    """A line of code that allocated in a window: bytes of a meter at the window's peak, bytes allocated and freed,
    their difference, the number of allocations, where in words, and the calls, innermost first."""

    meter: str
    at_peak: int
    allocated: int
    freed: int
    net: int
    count: int  # type: ignore[assignment]
    where: str
    stack: tuple[Frame, ...]


_NAMES = (
    "id",
    "parent",
    "kind",
    "pid",
    "kernel",
    "execution",
    "execution_count",
    "silent",
    "name",
    "line",
    "source",
    "source_truncated",
    "status",
    "error",
    "note",
    "start_ns",
    "duration_ns",
    "cpu_ns",
    "counters",
    "lost_statements",
    "lost_markers",
    "children_unlisted",
)


class Window:
    """A stretch of time that was measured: a cell, a statement, an experiment, the session.

    Its attributes are the members of a window in the tracer's JSON: id, parent, kind, pid, kernel, execution,
    execution_count, silent, name, line, source, source_truncated, status, error, note, start_ns, duration_ns, cpu_ns
    (nanoseconds), None where the JSON has none; counters, a dict of counts, -1 where one is not known, None unless the
    session counts (--counters); meters and tree, which are {meter id: Figure}, tree with the child processes; children;
    and top, {meter id: Top}.
    """

    __slots__ = ("_data", "meters", "tree", "children", "top")

    id: int
    parent: int
    kind: str
    pid: int
    kernel: str | None
    execution: int
    execution_count: int | None
    silent: bool
    name: str
    line: int
    source: str
    source_truncated: bool
    status: str
    error: str | None
    note: str | None
    start_ns: int
    duration_ns: int
    cpu_ns: int
    counters: dict[str, int] | None
    lost_statements: int | None
    lost_markers: int | None
    children_unlisted: int | None

    def __init__(
        self,
        data: dict[str, Any],
        meters: dict[str, Figure],
        tree: dict[str, Figure],
        children: tuple[Child, ...],
        top: dict[str, Top],
    ) -> None:
        self._data, self.meters, self.tree, self.children, self.top = data, meters, tree, children, top

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES:
            return self._data.get(name)
        raise AttributeError("a window has no %r" % name)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)) | set(_NAMES))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Window) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return the window as in the tracer's JSON, a new dict of the same names and numbers."""
        return {k: _copied(v) for k, v in self._data.items() if k != "top"}

    @property
    def label(self) -> str:
        """Return the window's name for people: "In[3]", an experiment's name, "line 7"."""
        if self.kind == "experiment":
            return self.name
        if self.kind == "statement":
            return "line %d" % self.line if self.line else self.name or "-"
        if self.kind == "session":
            return "session"
        if self.silent:
            return "(silent)"
        return "-" if self.execution_count is None else "In[%d]" % self.execution_count

    def figures(self) -> dict[str, Figure]:
        """Return {meter id: Figure} of the process and its children together, its own where it has none."""
        return dict(self.meters, **self.tree)

    def __repr__(self) -> str:
        from . import _text
        return "<%s>" % _text.compact(self)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


class _Table:
    """A base class of lists that pandas can read."""

    _columns: tuple[str, ...] = ()

    def _rows(self: Any) -> list[dict[str, Any]]:
        return [dict(zip(self._columns, row)) for row in self]

    def to_dataframe(self) -> Any:
        """Return the list as a pandas.DataFrame, one row each, with integers that stay integers (Int64 where some are
        missing). Needs pandas."""
        import pandas
        rows = self._rows()
        names = list(dict.fromkeys(name for row in rows for name in row)) or list(self._columns)
        columns = {}
        for name in names:
            values = [row.get(name) for row in rows]
            known = [v for v in values if v is not None]
            whole = known and all(type(v) is int for v in known)
            dtype = (
                ("int64" if len(known) == len(values) else "Int64")
                if whole
                else "bool"
                if _all_bool(values)
                else object
            )
            columns[name] = pandas.Series(values, dtype=dtype)
        return pandas.DataFrame(columns, columns=names)


def _all_bool(values: list[Any]) -> bool:
    return bool(values) and all(type(v) is bool for v in values)


class Windows(_Table, list[Window]):
    """A list of windows, in the order in which they began. lost: the number of further windows that the tracer does not
    report."""

    lost = 0
    free: dict[str, int] | None = None    # bytes that are free on each GPU ("gpu.0"), None where that is not known
    slower = ""      # a sentence on why tracing slows this process more than others; "" for nothing
    storm = False    # there were too many small arrays for the tracer's overhead budget
    _columns = (
        "id",
        "parent",
        "kind",
        "pid",
        "execution",
        "execution_count",
        "silent",
        "name",
        "line",
        "status",
        "start_ns",
        "duration_ns",
        "cpu_ns",
        "source",
    )

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for w in self:
            row = {name: getattr(w, name) for name in self._columns}
            for meter, figure in w.meters.items():
                row.update(("%s.%s" % (meter, k), v) for k, v in dict(figure._asdict(), need=figure.need).items())
            rows.append(row)
        return rows


class Lines(_Table, list[Line]):
    """A list of the lines that allocated in a window: the most at its peak first."""

    _columns = Line._fields


def outermost(answers: Iterable[Iterable[Window]]) -> list[Window]:
    """Return the cells that users see, of lists of windows: neither within another of them, nor silent."""
    windows = [w for answer in answers for w in answer if w.kind == "cell"]
    known = {w.id for w in windows}
    return [w for w in windows if w.parent not in known and not w.silent]
