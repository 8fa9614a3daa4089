"""Windows and lines as the tracer's JSON has them (docs/windows.md, docs/allocations.md): the very names and numbers."""

from collections import namedtuple


class Figure(namedtuple("Figure", "start peak end consumed peaked exact bound")):
    """One meter in one window, in bytes: at the window's start, the most at any instant, at its end; consumed = end - start,
    peaked = peak - max(start, end). exact says whether that is to the byte; bound by how many bytes it can be off, None if nobody can say."""

    __slots__ = ()

    @property
    def need(self):
        """What the window needed on top of what was there: peak - start, in bytes."""
        return self.peak - self.start


Child = namedtuple("Child", "pid command meters")
Child.__doc__ = "Another process of the same tree within a window; meters: {id: Figure}."

Top = namedtuple("Top", "at_peak where line execution")
Top.__doc__ = """The line of code that had most of a meter at the window's peak: bytes then, where in words, its line, the execution of its cell
(0: no cell's)."""

Frame = namedtuple("Frame", "function file line execution")
Frame.__doc__ = "One call of a stack; execution is None where it is no cell's code."

Line = namedtuple("Line", "meter at_peak allocated freed net count where stack")
Line.__doc__ = """Who allocated in a window: bytes of a meter at the window's peak, bytes allocated and freed, what is left of that, the number of
allocations, where in words, and the calls, innermost first."""

_NAMES = ("id", "parent", "kind", "pid", "kernel", "execution", "execution_count", "silent", "name", "line", "source", "source_truncated", "status", "error",
          "note", "start_ns", "duration_ns", "cpu_ns", "counters", "lost_statements", "lost_markers", "children_unlisted")


class Window:
    """A stretch of time that was measured: a cell, a statement, an experiment, the session.

    It has the members of a window in the tracer's JSON as attributes: id, parent, kind, pid, kernel, execution, execution_count, silent, name, line, source,
    source_truncated, status, error, note, start_ns, duration_ns, cpu_ns (nanoseconds), None where the JSON has none; counters, a dict of what was
    counted, -1 where that is not known, None unless the session counts (--counters); meters and tree, which are {meter id: Figure}, tree with the
    child processes; children; and top, {meter id: Top}.
    """

    __slots__ = ("_data", "meters", "tree", "children", "top")

    def __init__(self, data, meters, tree, children, top):
        self._data, self.meters, self.tree, self.children, self.top = data, meters, tree, children, top

    def __getattr__(self, name):
        if name in _NAMES:
            return self._data.get(name)
        raise AttributeError("a window has no %r" % name)

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(_NAMES))

    def __eq__(self, other):
        return isinstance(other, Window) and self._data == other._data

    __hash__ = None

    def to_dict(self):
        """The window as the tracer's JSON has it, a new dict of the same names and numbers."""
        return {k: _copied(v) for k, v in self._data.items() if k != "top"}

    @property
    def label(self):
        """What people call it: "In[3]", an experiment's name, "line 7"."""
        if self.kind == "experiment":
            return self.name
        if self.kind == "statement":
            return "line %d" % self.line if self.line else self.name or "-"
        if self.kind == "session":
            return "session"
        if self.silent:
            return "(silent)"
        return "-" if self.execution_count is None else "In[%d]" % self.execution_count

    def figures(self):
        """{meter id: Figure} of the process and its children together, its own where it has none."""
        return dict(self.meters, **self.tree)

    def __repr__(self):
        from . import _text
        return "<%s>" % _text.compact(self)


def _copied(value):
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


class _Table(list):
    """A list that pandas can have."""

    _columns = ()

    def _rows(self):
        return [dict(zip(self._columns, row)) for row in self]

    def to_dataframe(self):
        """The list as a pandas.DataFrame, a row each, with integers that stay integers (Int64 where some are missing). Needs pandas."""
        import pandas
        rows = self._rows()
        names = list(dict.fromkeys(name for row in rows for name in row)) or list(self._columns)
        columns = {}
        for name in names:
            values = [row.get(name) for row in rows]
            known = [v for v in values if v is not None]
            whole = known and all(type(v) is int for v in known)
            dtype = ("int64" if len(known) == len(values) else "Int64") if whole else "bool" if _all_bool(values) else object
            columns[name] = pandas.Series(values, dtype=dtype)
        return pandas.DataFrame(columns, columns=names)


def _all_bool(values):
    return bool(values) and all(type(v) is bool for v in values)


class Windows(_Table):
    """A list of windows, in the order in which they began. lost is how many more there were that the tracer does not tell."""

    lost = 0
    slower = ""      # what slows this process down more than tracing does elsewhere, in a sentence; "" for nothing
    _columns = ("id", "parent", "kind", "pid", "execution", "execution_count", "silent", "name", "line", "status", "start_ns", "duration_ns", "cpu_ns",
                "source")

    def _rows(self):
        rows = []
        for w in self:
            row = {name: getattr(w, name) for name in self._columns}
            for meter, figure in w.meters.items():
                row.update(("%s.%s" % (meter, k), v) for k, v in dict(figure._asdict(), need=figure.need).items())
            rows.append(row)
        return rows


class Lines(_Table):
    """A list of who allocated in a window: the most at its peak first."""

    _columns = Line._fields
