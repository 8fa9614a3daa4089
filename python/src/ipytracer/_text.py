"""Windows in words, as data and as plain text: the line under a cell, and tables.

A line is a list of Part: the text, and its meaning in words. _html.py makes the same for notebooks.
"""

from __future__ import annotations

import re

from . import _words
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ._packets import Hello
    from ._window import Figure, Line, Top, Window


class Part(NamedTuple):
    name: str
    value: str
    note: str


class Table(NamedTuple):
    head: list[str]
    rows: list[list[str]]


class Bar(NamedTuple):
    share: float
    text: str


_WORTH = 64 << 10     # bytes: a smaller need is not worth mentioning beside the rest
_WORTH_A_LINE = 1 << 20   # the same for memory that is mentioned only for its line
_FULL = 0.9           # of a limit
_MOST_NOTE = 100      # characters
_STATEMENT = re.compile(r"^.*<(?:memit|mlrun)> line \d+(?: › |$)")    # the calls above a magic's own code


def place(top: Top, window: Window) -> str:
    """Return the place of a Top, for a line under its own cell: "line 2 › ones"."""
    where = top.where
    if where.startswith("(") and where.endswith(")"):    # "(no Python code, or not known)"
        where = where[1:-1]
    if top.execution == window.execution:
        where = re.sub(r"^In\[\d+\] ", "", where)
    where = _STATEMENT.sub("", where)
    return _words.safe(where, _MOST_NOTE)


def parts(window: Window) -> list[Part]:
    """Return the line under a cell, as Parts: a GPU's first where the cell needed more of that than of the machine's
    memory."""
    own = window.meters.get("cpu.resident")
    beside = list(_beside(window, own))
    out = _gpus_first(window, own, beside)
    if own is not None:
        out += [
            Part("resident need" if out else "need", _words.shown(own, "need"), ""),
            Part("consumed", _words.shown(own, "consumed"), ""),
            Part("peaked", _words.shown(own, "peaked"), ""),
            Part("total", _words.shown(own, "end"), ""),
        ]
    out += [p for p in beside if p not in out]
    if window.children:
        together = window.figures().get("cpu.resident")
        if together is not None:
            n = len(window.children) + (window.children_unlisted or 0)
            out.append(Part("tree", _words.shown(together, "peak"), _words.plural(n, "child")))
    out.append(Part("", _words.duration(window.duration_ns), ""))
    if window.status != "ok":
        out.append(Part("", window.status, _words.safe(window.error or "", 60)))
    return out


def _gpus_first(window: Window, own: Figure | None, beside: list[Part]) -> list[Part]:
    """Return the Parts of GPUs, where a cell needed more of one than of the machine's memory; else nothing."""
    gpus = {_words.meter_name(m): f.need for m, f in window.meters.items() if m.startswith("gpu.")}
    found = [p for p in beside if p.name in gpus]
    most = max((gpus[p.name] for p in found), default=0)
    return found if most >= _WORTH_A_LINE and (own is None or most > own.need) else []


def _beside(window: Window, own: Figure | None) -> Iterator[Part]:
    """Yield Parts of the meters beside resident memory."""
    for meter in _words.in_order(window.meters):
        figure = window.meters[meter]
        top = window.top.get(meter)
        note = place(top, window) if top and top.at_peak >= _WORTH else ""
        if meter.startswith("gpu."):
            if meter.endswith((".driver", ".active")) and figure.peak:
                yield Part(
                    _words.meter_name(meter),
                    _words.shown(figure, "need"),
                    "total %s%s" % (_words.shown(figure, "end"), note and ", " + note),
                )
        elif meter == "cpu.mapped":
            if (
                note
                and top
                and top.execution
                and own is not None
                and own.need >= _WORTH_A_LINE
                and not _explained(window, own)
            ):
                yield Part("mapped", _words.shown(figure, "need"), note)
        elif (
            meter != "cpu.resident"
            and not _words.is_part(meter)
            and (figure.need >= _WORTH or not figure.exact and figure.need)
        ):
            yield Part(_words.meter_name(meter), _words.shown(figure, "need"), note)


def _explained(window: Window, own: Figure) -> bool:
    """Report whether most of the need was for arrays and tensors."""
    return sum(f.need for m, f in window.meters.items() if m in ("cpu.numpy", "cpu.torch")) * 2 >= own.need


def bar(window: Window, hello: Hello | None) -> Bar | None:
    """Return the window's peak as a share of the limit on its process's memory: a Bar, None where no limit is known."""
    if hello is None or not hello.limit:
        return None
    meter = "cpu.mapped" if "rlimit" in hello.limit_of.lower() else "cpu.resident"
    # Without children, the tree contains more than the process and its children: that of a kernel with a traced server
    # contains the server.
    figure = (window.figures() if window.children else window.meters).get(meter)
    if figure is None or figure.peak < 0:
        return None
    share = figure.peak / hello.limit
    percent = "<1" if 0 < share < 0.01 else str(int(min(share, 1e6) * 100))
    text = "%s%s %% of %s" % (_words.mark(figure.exact, figure.bound, "peak"), percent, _words.size(hello.limit))
    if hello.limit_of:
        text += " (%s)" % _words.safe(_words.limit_name(hello.limit_of), 40)
    return Bar(share, ("! " if share >= _FULL else "") + text)


def blocks(share: float, width: int = 10) -> str:
    """Return a bar of block characters: "██▌░░░░░░░"."""
    eighths = round(min(max(share, 0), 1) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width, "░")


def _part_text(part: Part) -> str:
    text = part.name + " " + part.value if part.name else part.value
    return "%s (%s)" % (text, part.note) if part.note else text


def compact(window: Window, hello: Hello | None = None) -> str:
    """Return the line under a cell."""
    return _line(window, parts(window), hello)


def _line(window: Window, of: list[Part], hello: Hello | None) -> str:
    line = "%s  %s" % (_words.safe(window.label, 60), " · ".join(_part_text(p) for p in of))
    limit = bar(window, hello)
    return line + (" · %s %s" % (blocks(limit.share), limit.text) if limit else "")


def running_parts(window: Window) -> list[Part]:
    """Return the line of a cell that still runs, as Parts: the memory now and the most so far, of the machine and of
    each GPU."""
    out = [Part("runs", _words.duration(window.duration_ns), "")]
    for meter in _words.in_order(window.meters):
        if meter == "cpu.resident" or meter.startswith("gpu.") and meter.endswith((".driver", ".active")):
            f = window.meters[meter]
            if f.peak:
                out.append(
                    Part(
                        _words.meter_name(meter),
                        _words.shown(f, "end"),
                        "at most " + _words.shown(f, "peak"),
                    )
                )
    return out


def running(window: Window, hello: Hello | None = None) -> str:
    """Return the line of a cell that still runs."""
    return _line(window, running_parts(window), hello)


def meters(window: Window) -> Table:
    """Return every meter of a window, with the line that had most at its peak, as a Table."""
    rows = []
    for name, figures in (("", window.meters), ("tree ", window.tree)):
        for meter in _words.in_order(figures):
            f = figures[meter]
            top = window.top.get(meter) if not name else None
            sizes = [_words.shown(f, q) for q in ("start", "peak", "end", "consumed", "peaked", "need")]
            rows.append([name + _words.meter_name(meter), *sizes, place(top, window) if top else ""])
    return Table(["meter", "start", "peak", "end", "consumed", "peaked", "need", "line at the peak…"], rows)


def cells(windows: Iterable[Window], most: int = 20) -> Table:
    """Return cells by their need, the most first, at most so many, as a Table."""
    found = [w for w in windows if "cpu.resident" in w.meters]
    found.sort(key=lambda w: -w.meters["cpu.resident"].need)
    rows = []
    for w in found[:most]:
        f, top = w.meters["cpu.resident"], w.meters.get("cpu.numpy")
        status = "" if w.status == "ok" else w.status + " · "
        rows.append(
            [
                _words.safe(w.label, 20),
                _words.shown(f, "need"),
                _words.shown(f, "consumed"),
                _words.shown(f, "end"),
                _words.shown(top, "need") if top else "–",
                _words.duration(w.duration_ns),
                status + _words.safe(" ⏎ ".join(w.source.split("\n")), 50),
            ]
        )
    if len(found) > most:
        rows.append(["… and %s" % _words.plural(len(found) - most, "more cell")] + [""] * 6)
    return Table(["cell", "need", "consumed", "total", "numpy", "time", "source…"], rows)


def allocation(of: Line, quantity: str, where: str) -> str:
    """Return a line that allocated, in short: its meter, a size ("at_peak", "net") and its place."""
    return "%s %s  %s" % (_words.meter_name(of.meter), _words.size(getattr(of, quantity)), where)


def lines(found: Sequence[Line], most: int = 20) -> Table:
    """Return the lines that allocated in a window, as a Table."""
    rows = [
        [
            _words.meter_name(line.meter),
            _words.size(line.at_peak),
            _words.size(line.allocated),
            _words.size(line.net),
            format(line.count, ","),
            _words.safe(line.where, _MOST_NOTE),
        ]
        for line in found[:most]
    ]
    if len(found) > most:
        rows.append(["… and %s" % _words.plural(len(found) - most, "more line")] + [""] * 5)
    return Table(["meter", "at peak", "allocated", "net", "times", "who…"], rows)


def table(t: Table) -> str:
    """Return a Table as text."""
    head = [h.rstrip("…") for h in t.head]
    left = [i == 0 or h.endswith("…") for i, h in enumerate(t.head)]
    every = [head] + [row for row in t.rows if any(row[1:])]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]

    def line(row: list[str]) -> str:
        return "  ".join(c.ljust(n) if to_left else c.rjust(n) for c, n, to_left in zip(row, widths, left)).rstrip()
    return "\n".join(line(row) if row is head or any(row[1:]) else row[0] for row in [head] + t.rows)
