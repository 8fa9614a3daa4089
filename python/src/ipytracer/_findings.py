"""The results of a look in a tracer's packets: variables, verdicts, and checks of freed memory."""

from __future__ import annotations

from ._looked import (
    Advice,
    Audit,
    Check,
    Checked,
    Freeing,
    Growth,
    Looking,
    NotJudged,
    Place,
    Variable,
    Variables,
    Verdict,
)
from ._values import boolean, integer, integers, list_of, meter, object_of, or_none, stack, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ._values import Packet

    _Looked = TypeVar("_Looked", Variables, Audit, Check)


def _looking(answer: Packet) -> Looking | None:
    """Return Looking, or None if the look has ended."""
    if answer.get("looking") is not True:
        return None
    return Looking(integer(answer["look"], 1), integer(answer["wait_ns"], 0))


def _look(found: _Looked, answer: Packet) -> _Looked:
    found.why, found.took_ns = text(answer.get("why", ""))[:2000], integer(answer.get("took_ns", 0), 0)
    return found


def _variable(v: Any) -> Variable:
    object_of(v)
    return Variable(
        name=text(v["name"]),
        type=text(v.get("type", "")),
        bytes=integer(v.get("bytes", 0), 0),
        reaches=integer(v.get("reaches", 0), 0),
        device=integer(v.get("device", 0), 0),
        exact=boolean(v["exact"]),
        also=tuple(text(name) for name in list_of(v.get("also", []))),
        kind=text(v["kind"]),
        shape=integers(v.get("shape", [])),
        dtype=text(v.get("dtype", "")),
        length=or_none(integer, v.get("length"), least=0),
        shaped=text(v["shaped"]),
        where=text(v["where"]),
        before=boolean(v.get("before", False)),
        execution=integer(v.get("execution", 0), 0),
        execution_count=or_none(integer, v.get("execution_count"), least=0),
        line=integer(v.get("line", 0), 0),
        stack=stack(v["stack"]),
        view_bytes=integer(v.get("view_bytes", 0), 0),
        base_bytes=integer(v.get("base_bytes", 0), 0),
    )


def _freeing(v: Any) -> Freeing:
    object_of(v)
    return Freeing(
        text(v["type"]),
        integer(v["predicted"], 0),
        integer(v.get("predicted_device", 0), 0),
        boolean(v["exact"]),
        integer(v.get("small", 0), 0),
        tuple(text(name) for name in list_of(v["names"])),
        integer(v.get("shared", 0), 0),
    )


def _to_free(answer: Packet) -> tuple[Freeing, ...]:
    return tuple(_freeing(v) for v in list_of(answer.get("to_free", [])))


def check(answer: Packet) -> Check | Looking:
    """Return the check of an answer, as Check, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(
        Check(
            Checked(
                text(object_of(v)["type"]),
                integer(v["predicted"], 0),
                integer(v.get("predicted_device", 0), 0),
                boolean(v["exact"]),
                integer(v["came_back"], 0),
                integer(v.get("came_back_device", 0), 0),
            )
            for v in list_of(answer.get("checked", []))
        ),
        answer,
    )
    found.to_free = _to_free(answer)
    return found


def variables(answer: Packet) -> Variables | Looking:
    """Return the variables of an answer, as Variables, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(Variables(_variable(v) for v in list_of(answer.get("variables", []))), answer)
    found.to_free = _to_free(answer)
    names = answer.get("names")
    if names is not None:
        found.unlisted, found.unlisted_bytes = integer(object_of(names)["unlisted"], 0), integer(names["bytes"], 0)
        found.objects, found.complete = integer(names["objects"], 0), boolean(names["complete"])
    return found


def _fields(value: Any, of: Any, least: int = -2**63) -> Any:
    return of(*(integer(object_of(value)[k], least) for k in of._fields))


def _verdict(v: Any) -> Verdict:
    object_of(v)
    change, growth = v.get("change"), v.get("growth")
    return Verdict(
        text(v["kind"]),
        text(v["title"]),
        meter(v["meter"]),
        integer(v["bytes"], 0),
        integer(v["count"], 0),
        integers(v["executions"]),
        integers(v["execution_counts"]),
        text(v["runs"]),
        text(v["where"]),
        text(v.get("holder", "")),
        boolean(v.get("probable", False)),
        text(v["evidence"]),
        text(v["advice"]),
        text(v.get("fix", "")),
        or_none(_fields, change, of=Place, least=0),
        or_none(_fields, growth, of=Growth),
        integer(v["age_ns"], 0),
        text(v.get("command", "")),
        integers(v.get("pids", []), 1),
        stack(v["stack"]),
    )


def audit(answer: Packet) -> Audit | Looking:
    """Return the verdicts of an answer, as Audit, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(Audit(_verdict(v) for v in list_of(answer.get("verdicts", []))), answer)
    found.to_free = _to_free(answer)
    of = answer.get("audited")
    if of is not None:
        left_out = integer(object_of(of).get("not_judged_unlisted", 0), 0)
        found.complete, found.all_clear = boolean(of["complete"]) and not left_out, text(of["all_clear"])[:2000]
        found.least, found.cells, found.unlisted = (
            integer(of["least"], 0),
            integer(of["cells"], 0),
            integer(of["unlisted"], 0),
        )
        found.not_judged = tuple(
            NotJudged(text(n["reason"]), text(n["meter"]), or_none(integer, n["bytes"]), text(n["says"])[:2000])
            for n in list_of(of["not_judged"])
        )
    if answer.get("cut") is True:
        found.unlisted += 1
    return found


def advise(answer: Packet) -> Advice | Looking:
    """Return the advice of an answer, as Advice, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    return Advice(text(answer.get("advice", "")), text(answer.get("why", ""))[:2000], integer(answer["took_ns"], 0))
