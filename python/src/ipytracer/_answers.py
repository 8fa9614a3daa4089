"""The kernel's answers to JupyterLab's extension about lines, variables and memory that stays behind."""

from __future__ import annotations

import time

from . import _api, _found, _silence, _text, _words
from ._looked import Audit, Looking, Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._looked import Verdict
    from ._types import Data

_MOST_ITEMS = 200     # entries of an answer
_MOST_ENTRIES = 30    # verdicts
LONGEST = 300         # characters of a text


def _told(table: _text.Table, executions: list[int], note: str = "") -> Data:
    """Return a Table of _text.py as an answer. executions: the execution of each row's cell, 0 for none."""
    return {
        "table": {
            "head": list(table.head),
            "rows": [[_words.safe(c, LONGEST) for c in row] for row in table.rows[:_MOST_ITEMS]],
            "executions": executions[:_MOST_ITEMS],
            "note": note,
        }
    }


def _lines(data: Data) -> Data:
    number = data.get("window")
    if type(number) is not int:
        raise ValueError("no window")
    found, answered = _api.find_lines(number)
    if not answered:
        return {"error": _silence.words()}
    return _told(_text.lines(found), [next((f.execution for f in line.stack if f.execution), 0) for line in found])


def _vars(data: Data) -> Data:
    found = _look("vars", data)
    if not isinstance(found, Variables):
        answer: Data = found
        return answer
    _, note = _found.variables(found)
    rows = [
        {
            "name": _found.name(v),
            "alone": _found.alone(v),
            "bytes": v.bytes,
            "reaches": v.reaches,
            "device": v.device,
            "exact": v.exact,
            "type": _words.safe(v.type, 60),
            "shaped": _words.safe(v.shaped, 60),
            "made": _found.made(v),
            "execution": v.execution,
        }
        for v in found[:_MOST_ITEMS]
    ]
    more = found.unlisted and "… and %s, with %s together" % (
        _words.plural(found.unlisted, "more name"),
        _words.size(found.unlisted_bytes),
    )
    return {"variables": {"rows": rows, "notes": [said for said in (more, note) if said]}}


def _audit(data: Data) -> Data:
    found = _look("audit", data)
    if not isinstance(found, Audit):
        answer: Data = found
        return answer
    of = _found.audit(found, _MOST_ENTRIES)
    entries = [
        {"title": e.title, "size": e.size, "rows": [list(row) for row in e.rows], "execution": _cell_of(v)}
        for e, v in zip(of.entries, found)
    ]
    return {"audit": {"head": of.head, "entries": entries, "rest": of.rest}}


def _cell_of(verdict: Verdict) -> int:
    """Return the execution of the cell to change, else of the last cell that the verdict comes from, else 0."""
    return verdict.change.execution if verdict.change else verdict.executions[-1] if verdict.executions else 0


def _look(what: str, data: Data) -> Any:
    """Return the result of a look, or the answer that there is none yet: the kernel never waits for a look."""
    number = data.get("look", 0)
    if type(number) is not int or not 0 <= number < 2**53:
        raise ValueError("no such look")
    found = _api.ask_look(what, number, what in _silent)
    if isinstance(found, Looking):
        _silent.pop(what, None)
        return {"looking": found.look, "wait_ns": found.wait_ns}
    if found is _api.UNANSWERED and _is_late(what):
        return {"looking": number, "wait_ns": 0}
    _silent.pop(what, None)
    return {"error": _words.safe(found, LONGEST)} if isinstance(found, str) else found


_silent: dict[str, tuple[float, float]] = {}     # of each look: the first and the last time without an answer
_ASKS_AGAIN = 5.0      # seconds: after a longer pause the silence counts anew


def _is_late(what: str) -> bool:
    """Note that the tracer did not answer a look in time. Report whether the page should ask again: a busy tracer may
    still answer, but not one that has been silent too long."""
    now = time.monotonic()
    first, last = _silent.get(what, (now, now))
    if now - last > _ASKS_AGAIN:
        first = now
    _silent[what] = first, now
    return now - first < _api.SILENT_FOR


ANSWERS = {"audit": _audit, "lines": _lines, "vars": _vars}
