"""Results of a look in words: variables as a Table of _text.py, verdicts as Entries. _html.py makes the same for
notebooks."""

from __future__ import annotations

from keyword import iskeyword

from . import _words
from ._named import NamedTuple
from ._text import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._looked import Audit, Check, Freeing, Place, Variable, Variables, Verdict


class Entry(NamedTuple):
    title: str
    size: str
    rows: list[tuple[str, str]]


class Entries(NamedTuple):
    head: str
    entries: list[Entry]
    rest: list[str]


_MOST_NAME = 60      # characters
_MOST_SAID = 600
_MOST_NOT_JUDGED = 4
_MOST_ENTRIES = 20
_MOST_CODE = 4000    # no code is as long: it is never cut
_LEAST_SMALL = 1 << 20    # bytes of small objects that are worth mentioning
_LEAST_ALONE = 64 << 10    # bytes for a row: of the variable alone, or reached by a variable without bytes of its own
_LEAST_SHARED = 1 << 20
_MOST_ALSO = 8       # other names in the tracer's answer: there may be more


def alone(v: Variable) -> str:
    """Return the size that would be freed with a variable: "1.00 MiB", "shared" if nothing."""
    if not v.bytes and not v.device and v.reaches:
        return "shared"
    return _sized(v.bytes, 0, v.exact or not v.bytes)


def name(v: Variable) -> str:
    """Return a variable's name, with two of its other names."""
    also = ", ".join(v.also[:2]) + (", …" if len(v.also) > 2 else "")
    view = ", a view: %s of %s" % (_words.size(v.view_bytes), _words.size(v.base_bytes)) if v.base_bytes else ""
    return _words.safe(v.name + (" = " + also if also else ""), _MOST_NAME) + view


# types that always copy into memory of their own
_COPIES = {"numpy.ndarray": "%s = %s.copy()", "memoryview": "%s = bytes(%s)"}


def copied(v: Variable) -> str:
    """Return code that puts a copy in the place of a view. It is "" where the audit has to say how: in all places of
    the view, or how else to make it."""
    names = (v.name,) + v.also
    unsure = len(v.also) >= _MOST_ALSO or v.dtype == "object"
    if (
        not v.base_bytes
        or v.kind != "variable"
        or v.type not in _COPIES
        or unsure
        or not all(n.isidentifier() and not iskeyword(n) for n in names)
    ):
        return ""
    return _COPIES[v.type] % (" = ".join(names), v.name)


def made(v: Variable) -> str:
    """Return the line that made a variable's largest piece."""
    return _words.safe(v.where, 100) if v.where else "before the attach" if v.before else ""


def _worth(found: Variables) -> list[Variable]:
    return [v for v in found if v.bytes + v.device >= _LEAST_ALONE or v.reaches >= _LEAST_SHARED]


def _sized(bytes: int, device: int, exact: bool = True) -> str:
    parts = [_words.size(bytes)] if bytes or not device else []
    return ("" if exact else "≥ ") + " + ".join(parts + (["%s GPU" % _words.size(device)] if device else []))


def predicted(f: Freeing) -> str:
    """Return the size that an entry frees: "183.11 MiB", with the part in small objects."""
    small = (
        ", %s of it small objects" % _words.size(f.small)
        if f.small >= _LEAST_SMALL and 20 * f.small >= f.predicted
        else ""
    )
    return _sized(f.predicted, f.predicted_device, f.exact) + small


def checked(found: Check) -> tuple[Table, str]:
    """Return a check of freed memory as a Table, and a sentence about it, or ""."""
    rows = [
        [
            _sized(c.predicted, c.predicted_device, c.exact),
            _sized(c.came_back, c.came_back_device),
            _words.safe(c.type, _MOST_CODE),
        ]
        for c in found
    ]
    note = _words.safe(found.why, _MOST_SAID) if found.why else ""
    if any(c.came_back < c.predicted and c.came_back_device <= c.predicted_device for c in found):
        note = (
            note + "; " if note else ""
        ) + "what did not come back is there still: nobody typed its code, or something holds it since"
    return Table(["predicted", "came back", "type…"], rows), note


def variables(found: Variables, most: int = 20) -> tuple[Table, str]:
    """Return the largest variables as a Table, and a sentence about it, or "". Variables of few bytes have no row while
    there are larger ones."""
    large = _worth(found)
    shown = (large or list(found))[:most]
    gpu = any(v.device for v in shown)
    rows = [
        [name(v), alone(v), _words.size(v.reaches) if v.reaches > v.bytes else ""]
        + ([_words.size(v.device) if v.device else ""] if gpu else [])
        + [_words.safe(v.type, 40), _words.safe(v.shaped, 40), made(v)]
        for v in shown
    ]
    left_out, count = [v for v in found if not any(v is s for s in shown)], found.unlisted + len(found) - len(shown)
    if count:
        together = found.unlisted_bytes + sum(v.bytes for v in left_out)
        rows.append(
            ["… and %s, with %s together" % (_words.plural(count, "more name"), _words.size(together))]
            + [""] * (6 if gpu else 5)
        )
    note = _words.safe(found.why, _MOST_SAID) if found.why else ""
    if found and not found.complete:
        note = (note + "; " if note else "") + "≥ marks a lower bound: there was no time to look at all objects"
    views = [v for v in shown if v.base_bytes]
    if views:
        code = [copied(v) for v in views]
        known = "to free what only views hold: " + " · ".join(_words.safe(c, _MOST_CODE) for c in code if c)
        asked = "%tracer audit says how to replace " + ("the other views" if any(code) else "the views")
        note = "; ".join(([note] if note else []) + ([known] if any(code) else []) + ([asked] if not all(code) else []))
    if found.to_free:
        free = " · ".join("%s (%s)" % (_words.safe(f.type, _MOST_CODE), predicted(f)) for f in found.to_free[:4])
        note = (note + "; " if note else "") + "to free it: " + free
    return Table(["name", "alone", "reaches"] + (["GPU"] if gpu else []) + ["type…", "shape…", "made by…"], rows), note


_UNITS = {"child-alive": "process", "idle-pool": "process", "fragmentation": "time"}


def _counted(v: Verdict) -> str:
    unit = _UNITS.get(v.kind, "block")
    return "%s %s" % (format(v.count, ","), unit if v.count == 1 else unit + ("es" if unit == "process" else "s"))


def _place(p: Place) -> str:
    return (
        "In[%d]" % p.execution_count + (" line %d" % p.line if p.line else "")
        if p.execution_count
        else "a cell without a number"
    )


def entry(v: Verdict) -> Entry:
    """Return a verdict as an Entry: the text of `tracer audit` about it."""
    size = _words.size(v.bytes) + (
        "" if v.kind in ("child-alive", "idle-pool") else " of " + _words.meter_name(v.meter)
    )
    rows = [
        ("line", v.where),
        ("cells", v.runs),
        ("count", "%s, the oldest %s old" % (_counted(v), _words.duration(v.age_ns))),
        ("why", v.evidence),
        ("try", v.advice),
        ("change", _place(v.change) if v.change else ""),
    ]
    rows += [("type" if i == 0 else "", line) for i, line in enumerate(v.fix.split("\n")[:10]) if v.fix]
    return Entry(
        _words.safe(v.title, 100),
        size,
        [(n, _words.safe(text, _MOST_CODE if n in ("type", "") else _MOST_SAID)) for n, text in rows if text],
    )


def freeing(f: Freeing) -> Entry:
    """Return the code that frees memory held by name, as an Entry."""
    return Entry(
        "to free " + _words.safe(", ".join(f.names) or "what waits for the garbage collector", 100),
        predicted(f),
        [("type", _words.safe(f.type, _MOST_CODE))],
    )


def audit(found: Audit, most: int = _MOST_ENTRIES) -> Entries:
    """Return the memory that stays behind, as Entries."""
    rest = []
    more = found.unlisted + max(0, len(found) - most)
    if more:
        rest.append("… and %s; sudo tracer audit PID lists all of them" % _words.plural(more, "more verdict"))
    if found.not_judged:
        rest += ["not judged: " + _words.safe(n.says, _MOST_SAID) for n in found.not_judged[:_MOST_NOT_JUDGED]]
        if len(found.not_judged) > _MOST_NOT_JUDGED:
            rest.append(
                "not judged: %d more; ipytracer.audit().not_judged has all" % (len(found.not_judged) - _MOST_NOT_JUDGED)
            )
    if found.why:
        rest.append(_words.safe(found.why, _MOST_SAID))
    if found:
        total: dict[str, int] = {}
        for v in found:
            if v.kind not in ("child-alive", "idle-pool", "waits-for-collector"):
                total[v.meter] = total.get(v.meter, 0) + v.bytes
        sums = ", ".join("%s of %s" % (_words.size(total[m]), _words.meter_name(m)) for m in _words.in_order(total))
        head = "%s%s" % (
            _words.plural(len(found) + found.unlisted, "finding"),
            ": " + sums + " stays behind" if sums else "",
        )
    else:
        head = _words.safe(found.all_clear, _MOST_SAID) or "nothing could be audited"
    return Entries(head, [entry(v) for v in found[:most]] + [freeing(f) for f in found.to_free], rest)


def text(of: Entries) -> str:
    """Return Entries as text."""
    out = [of.head]
    for i, one in enumerate(of.entries):
        out += ["", "%2d  %s   %s" % (i + 1, one.title, one.size)]
        out += ["    %-8s%s" % row for row in one.rows]
    return "\n".join(out + ([""] if of.entries and of.rest else []) + of.rest)
