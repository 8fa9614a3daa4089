"""The page of a user of JupyterHub: own kernels, heaviest cells, last death. It is HTML without a program, loads
nothing, and has everything escaped. A figure is shown for people; its title has the exact bytes."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from . import _words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._hub_answers import Cell, Death, Found, Kernel

EVERY = 15   # seconds from one load to the next
_STYLE = """
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; padding: 0 1rem; max-width: 72rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem 1.2rem .3rem 0; border-bottom: 1px solid #8885; vertical-align: top }
th { font-weight: normal; opacity: .7 }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.p { overflow-wrap: anywhere }
.d { opacity: .7 } .w { border-left: 4px solid #c60; padding-left: .7rem }
meter { width: 5rem }
"""
# A browser runs nothing of the page, loads nothing for it, and shows it in no other page.
POLICY = (
    "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    % base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
)


def page(user: str, found: Found) -> str:
    """Return the page of a user."""
    parts = [
        "<h1>Memory of %s</h1>" % _shown(user, 100),
        *_notes(found),
        "<h2>My kernels</h2>", _kernels(found.kernels),
        "<h2>My heaviest cells</h2>", _cells(found),
        "<h2>My last death</h2>", _deaths(found.deaths),
        '<p class="d">Memory is resident memory of a kernel with its children. A cell\'s need is its peak, less what '
        "there was at its start; ≈ and ≥ mark figures that are bounds. Point at a figure for its bytes. Paths of "
        "notebooks are as their kernels say. Times are UTC.</p>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="%d">'
        '<meta name="viewport" content="width=device-width"><title>My memory</title><style>%s</style></head><body>\n'
        "%s\n</body></html>\n" % (EVERY, _STYLE, "\n".join(parts))
    )


def _notes(found: Found) -> Iterable[str]:
    """Yield what is missing, if anything."""
    if not found.asked:
        yield '<p class="w">No agent was found. The administrator knows where they are.</p>'
    elif found.silent == found.asked:
        yield '<p class="w">%s.</p>' % (
            "The node did not answer" if found.asked == 1 else "None of %d nodes answered" % found.asked)
    elif found.silent:
        yield '<p class="w">%d of %d nodes did not answer: something may be missing.</p>' % (
            found.silent, found.asked)


def _shown(text: str, most: int = 200) -> str:
    return escape(_words.safe(text, most))


def _size(n: int, mark: str = "") -> str:
    """Return a size with its exact bytes as the title."""
    return '<span title="%s bytes">%s%s</span>' % (format(n, ","), mark, _words.size(n))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of HTML texts. A name that ends in # is that of a column of numbers, one that ends in … of long
    texts."""
    names = list(head)
    kinds = [' class="n"' if h.endswith("#") else ' class="p"' if h.endswith("…") else "" for h in names]
    top = "".join("<th%s>%s</th>" % (kind, escape(h.rstrip("#…"))) for kind, h in zip(kinds, names))
    body = "".join("<tr>%s</tr>" % "".join("<td%s>%s</td>" % pair for pair in zip(kinds, row)) for row in rows)
    return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>" % (top, body)


def _notebook(path: str) -> str:
    """Return the name of a notebook's file with the path as the title."""
    if not path:
        return '<span class="d">not known</span>'
    return '<span title="%s">%s</span>' % (_shown(path, 400), _shown(path.rsplit("/", 1)[-1] or path, 80))


def _of_limit(limit: tuple[str, int] | None, used: int) -> str:
    if limit is None:
        return '<span class="d">not known</span>'
    kind, most = limit
    percent = min(100, used * 100 // most) if most else 100
    return '<meter min="0" max="100" high="90" value="%d"></meter> %d %% of %s (%s)' % (
        percent, percent, _size(most), _shown(_words.limit_name(kind), 40))


def _kernels(kernels: tuple[Kernel, ...]) -> str:
    if not kernels:
        return "<p>No kernel of yours is traced now.</p>"
    return _table(["notebook…", "server", "node", "pid#", "memory now#", "limit", "highest need#", "GPU", "since"], [
        [
            _notebook(k.notebook),
            _shown(k.server, 60) or "default",
            _shown(k.node, 60),
            str(k.pid),
            _size(k.now),
            _of_limit(k.limit, k.now),
            _size(k.highest),
            "<br>".join("%d: %s" % (n, _size(held)) for n, held in k.gpus) or "–",
            k.joined[:16],
        ]
        for k in kernels
    ])


def _cells(found: Found) -> str:
    if not found.cells:
        return "<p>No cell of yours has ended since then: %s.</p>" % _since(found) if found.since[0] else "<p>None.</p>"
    return '<p class="d">Counted %s.</p>' % _since(found) + _table(
        ["cell", "notebook…", "node", "need#", "peak#", "took#", "ended", "began"], [_row(c) for c in found.cells])


def _since(found: Found) -> str:
    first, last = (t[:16] for t in found.since)
    return "since " + first if first == last else "since %s on some nodes, since %s on all" % (first, last)


def _row(c: Cell) -> list[str]:
    mark = _words.mark(c.exact, c.bound, "peak")
    off = "" if c.exact or c.bound is None else " ± " + _size(c.bound)
    return [
        _shown(c.name, 60),
        _notebook(c.notebook),
        _shown(c.node, 60),
        _size(c.need, mark) + off,
        _size(c.peak, mark),
        escape(_words.duration(c.duration_ns)),
        _shown(c.outcome, 40),
        c.began[:16],
    ]


def _deaths(deaths: tuple[Death, ...]) -> str:
    if not deaths:
        return "<p>No kernel of yours was killed that an agent still knows of.</p>"
    first = deaths[0]
    says = _shown(first.says, 700)
    says = "%s: %s" % (_notebook(first.notebook), says) if first.notebook else says[:1].upper() + says[1:]
    return "<p>%s.</p>" % says + _table(
        ["notebook…", "node", "pid#", "at", "in", "need#", "limit#", "used at most#"], [
            [
                _notebook(d.notebook),
                _shown(d.node, 60),
                str(d.pid),
                d.at,
                _shown(d.ran[0], 80) if d.ran else "no cell",
                _size(d.ran[1], _words.mark(d.ran[2])) if d.ran else "–",
                _size(d.limit[1]) if d.limit else "–",
                _size(d.used) if d.limit else "–",
            ]
            for d in deaths
        ])
