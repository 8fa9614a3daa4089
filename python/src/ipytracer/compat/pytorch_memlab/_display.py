"""The display of line profiles, as text and as HTML."""

from __future__ import annotations

import inspect
from html import escape

from ..._words import safe
from ._sizes import readable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Function(Protocol):
        """The parts of a profiled function that are shown."""

        func: Any
        name: str
        lines: dict[int, dict[str, tuple[int, str]]]
        unmeasured: set[int]

_NOTHING = "No data collected"
_MOST_CODE = 200     # characters of a line of code
_COLORS = ("#4878d0", "#ee854a", "#6acc64", "#d65f5f", "#956cb4")


class Records:
    """The lines of some functions with their figures. A ≥ or ≈ stands before those that are not exact."""

    def __init__(self, functions: list[Function], columns: tuple[str, ...]) -> None:
        self._functions, self._columns = functions, columns

    def _rows(self, function: Function) -> Iterator[tuple[int, str, list[tuple[int | None, str]]]]:
        """Yield (line, code, [(bytes or None, text)]) of each line of a function."""
        try:
            lines, first = inspect.getsourcelines(function.func)
        except (OSError, TypeError):
            first, lines = min(function.lines), [""] * (max(function.lines) - min(function.lines) + 1)
        for number, code in enumerate(lines, first):
            row = function.lines.get(number, {})
            cells = []
            for column in self._columns:
                value, mark = row.get(column, (None, ""))
                if number in function.unmeasured:
                    mark = "≥"
                cells.append((value, mark + readable_size(value) if value is not None else mark and "?"))
            yield number, safe(code.rstrip().expandtabs(), _MOST_CODE), cells

    def __repr__(self) -> str:
        if not self._functions:
            return _NOTHING + "\n"
        return "\n\n".join("## %s\n\n%s\n" % (safe(f.name, 100), self._table(f)) for f in self._functions)

    def _table(self, function: Function) -> str:
        rows = [[*(text for _, text in cells), str(number), code] for number, code, cells in self._rows(function)]
        heads = [
            [column.split(".")[i] for column in self._columns] + (["line", "code"] if i == 0 else ["", ""])
            for i in range(3)
        ]
        widths = [max(len(row[i]) for row in heads + rows) for i in range(len(self._columns) + 1)]
        return "\n".join(
            (" ".join(text.rjust(width) for text, width in zip(row, widths)) + "  " + row[-1]).rstrip()
            for row in heads + rows
        )

    def _repr_html_(self) -> str:
        if not self._functions:
            return "<p>%s</p>" % _NOTHING
        return "\n".join(
            "<h3><code>%s</code></h3>\n%s" % (escape(safe(f.name, 100)), self._html(f)) for f in self._functions
        )

    def _html(self, function: Function) -> str:
        rows = list(self._rows(function))
        most = [max((cells[i][0] or 0 for _, _, cells in rows), default=0) for i in range(len(self._columns))]
        head = "".join('<th style="text-align:left">%s</th>' % escape(c) for c in (*self._columns, "line", "code"))
        body = []
        for number, code, cells in rows:
            bars = "".join(
                _bar(value, text, most[i], _COLORS[i % len(_COLORS)]) for i, (value, text) in enumerate(cells)
            )
            body.append(
                '<tr>%s<td>%d</td><td style="text-align:left;white-space:pre;font-family:monospace">%s</td></tr>'
                % (bars, number, escape(code))
            )
        return "<table><tr>%s</tr>%s</table>" % (head, "".join(body))


def _bar(value: int | None, text: str, most: int, color: str) -> str:
    share = 100 * value // most if value and most > 0 else 0
    style = ";background:linear-gradient(90deg,%s %d%%,transparent %d%%)" % (color, share, share) if share > 0 else ""
    return '<td style="text-align:right%s">%s</td>' % (style, escape(text))
