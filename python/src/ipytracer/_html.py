"""The same texts as HTML for notebooks: readable without styles, nothing that runs, no ids, everything escaped.

JupyterLab's sanitiser keeps these elements and layout styles also where a notebook is not trusted. It drops the
colours, and those of the page apply. No colour says anything that the text does not say.
"""

from __future__ import annotations

import re
from html import escape

from . import _text, _words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._found import Entries
    from ._packets import Hello
    from ._window import Window

_BOX = ' style="font-size:small;padding:2px 0;color:var(--jp-content-font-color1, var(--vscode-foreground, inherit))"'
_DIM = ' style="opacity:0.75"'
_KEPT = ' style="white-space:nowrap"'
_TEXT = ' style="text-align:left;padding:1px 8px"'
_NUMBER = ' style="text-align:right;padding:1px 8px;white-space:nowrap"'


def _part(part: _text.Part) -> str:
    name = "<span%s>%s</span> " % (_DIM, escape(part.name)) if part.name else ""
    note = " (%s)" % escape(part.note) if part.note else ""
    return "<span%s>%s<b>%s</b>%s</span>" % (_KEPT, name, escape(part.value), note)


def line(window: Window, hello: Hello | None = None, parts: list[_text.Part] | None = None) -> str:
    """Return the line under a cell. parts: other Parts than those of a cell that has ended."""
    pieces = [_part(p) for p in (_text.parts(window) if parts is None else parts)]
    limit = _text.bar(window, hello)
    if limit:
        percent = max(0, min(100, round(limit.share * 100)))
        pieces.append('<span%s><meter min="0" max="100" high="90" value="%d">%s</meter> %s</span>' %
                      (_KEPT, percent, _text.blocks(limit.share), escape(limit.text)))
    return "<div%s><b>%s</b>&nbsp; %s</div>" % (_BOX, escape(_words.safe(window.label, 60)), " · ".join(pieces))


_SHOWN = 9     # rows, or findings; with a heading, a summary of the others and a sentence these are 12 lines


def table(t: _text.Table) -> str:
    """Return a Table of _text.py as HTML: its first rows, and the others below a summary that opens."""
    more = len(t.rows) - _SHOWN
    if more < 2:     # the summary would take the line
        return _table(t)
    rest = _table(t._replace(rows=t.rows[_SHOWN:]))
    return _table(t._replace(rows=t.rows[:_SHOWN])) + folded("… %d more" % more, rest)


def _table(t: _text.Table) -> str:
    kinds = [_TEXT if i == 0 or h.endswith("…") else _NUMBER for i, h in enumerate(t.head)]
    head = "".join("<th%s>%s</th>" % (kind, escape(h.rstrip("…"))) for kind, h in zip(kinds, t.head))
    rows = "".join(
        "<tr>%s</tr>" % "".join("<td%s>%s</td>" % (kind, escape(c)) for kind, c in zip(kinds, row)) for row in t.rows
    )
    return "<table%s><thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (_BOX, head, rows)


def entries(of: Entries) -> str:
    """Return Entries of _found.py as HTML: for each a line with the code to type, which opens."""
    out = []
    for i, one in enumerate(of.entries):
        rows = "".join(
            "<tr><td%s><span%s>%s</span></td><td%s>%s</td></tr>"
            % (_TEXT, _DIM, escape(name), _TEXT, _typed(name, text))
            for name, text in one.rows
        )
        code = next((text for name, text in one.rows if name == "type"), "")
        out.append(
            "<details><summary>%d. <b>%s</b>&nbsp; %s&nbsp; %s</summary><table%s><tbody>%s</tbody></table></details>"
            % (i + 1, escape(one.title), escape(one.size), code and _typed("type", code), _BOX, rows)
        )
    if len(out) > _SHOWN + 1:
        out[_SHOWN:] = [folded("… %d more" % (len(out) - _SHOWN), "".join(out[_SHOWN:]))]
    rest = "".join("<p%s>%s</p>" % (_DIM, escape(text)) for text in of.rest)
    if len(of.rest) > 1:
        rest = folded("what else to know: %d" % len(of.rest), rest)
    return "<div%s><p>%s</p>%s%s</div>" % (_BOX, escape(of.head), "".join(out), rest)


def _typed(name: str, text: str) -> str:
    return "<code>%s</code>" % escape(text) if name in ("type", "") else escape(text)


def noted(inside: str, note: str) -> str:
    """Return HTML with a sentence behind it."""
    return inside + ("<p%s>%s</p>" % (_DIM, escape(note)) if note else "")


def folded(summary: str, inside: str) -> str:
    """Return a summary that opens and closes the content below it; closed at first."""
    return "<details><summary>%s</summary>%s</details>" % (escape(summary), inside)


def advice(says: str) -> str:
    """Return the text of `tracer advise` as HTML: its first lines, and a line for each piece of advice that opens."""
    first, pieces = _pieces(says)
    out = ["<pre>%s</pre>" % escape("\n".join(first))]
    out += [
        "<details><summary>%s</summary><pre>%s</pre></details>" % (escape(head), escape("\n".join(rest)))
        for head, *rest in pieces
    ]
    if len(out) > _SHOWN + 1:
        out[_SHOWN:] = [folded("… %d more" % (len(out) - _SHOWN), "".join(out[_SHOWN:]))]
    return "<div%s>%s</div>" % (_BOX, "".join(out))


_PIECE = re.compile(r"\d+  ")


def _pieces(says: str) -> tuple[list[str], list[list[str]]]:
    """Return the lines before the first piece of advice, and those of each piece."""
    first: list[str] = []
    pieces: list[list[str]] = []
    for line in says.rstrip("\n").split("\n"):
        text = _words.safe(line, 1000)
        if _PIECE.match(line):
            pieces.append([text])
        elif pieces:
            pieces[-1].append(text)
        elif text.strip():
            first.append(text)
    return first, pieces


def unfolded(summary: str, inside: str) -> str:
    """Return a summary that opens and closes the content below it; open at first."""
    return "<details open><summary>%s</summary>%s</details>" % (escape(summary), inside)
