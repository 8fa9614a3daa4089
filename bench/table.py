"""The result: rows with a limit and a verdict, as text and as JSON."""

import dataclasses

from estimate import Estimate, verdict


@dataclasses.dataclass
class Row:
    """One figure. limit is its maximum, or None if it is only reported."""

    section: str
    name: str
    unit: str
    found: Estimate
    limit: float = None
    note: str = ""

    def verdict(self):
        return verdict(self.found, self.limit)

    def as_dict(self):
        return dict(dataclasses.asdict(self), verdict=self.verdict())


@dataclasses.dataclass
class Skipped:
    """A measurement that is not possible here, and why."""

    section: str
    why: str

    def as_dict(self):
        return dataclasses.asdict(self)


@dataclasses.dataclass
class Remark:
    """A conclusion from the rows above it."""

    section: str
    text: str

    def as_dict(self):
        return dataclasses.asdict(self)


def number(x):
    """Three significant digits, without exponents."""
    if x == 0:
        return "0"
    size = abs(x)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3
    return f"{x:.{digits}f}"


_HEAD = ("", "figure", "95 % interval", "middle half", "n", "limit", "verdict")


def _cells(row):
    e = row.found
    single = e.count == 1
    return (row.name, f"{number(e.value)} {row.unit}".strip(), "" if single else f"{number(e.low)} … {number(e.high)}",
            "" if single or e.q1 is None else f"{number(e.q1)} … {number(e.q3)}", str(e.count),
            "" if row.limit is None else f"≤ {number(row.limit)}", row.verdict())


def text(rows):
    """One table, a heading for each section in the order they first appear, notes below the rows they belong to."""
    order = {section: i for i, section in reversed(list(enumerate(r.section for r in rows)))}
    rows = sorted(rows, key=lambda r: order[r.section])
    cells = [_cells(r) for r in rows if isinstance(r, Row)]
    widths = [max(len(c[i]) for c in cells + [_HEAD]) for i in range(len(_HEAD))]
    lines, section = [_line(_HEAD, widths)], None
    for row in rows:
        if row.section != section:
            section = row.section
            lines += ["", section]
        if isinstance(row, Skipped):
            lines.append("  not measured: " + row.why)
            continue
        if isinstance(row, Remark):
            lines.append("  " + row.text)
            continue
        lines.append(_line(_cells(row), widths))
        if row.note:
            lines.append("    " + row.note)
    return "\n".join(lines) + "\n"


def _line(cells, widths):
    padded = [
        c.ljust(w) if i == 0 or i == len(cells) - 1 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))
    ]
    return ("  " + "  ".join(padded)).rstrip()
