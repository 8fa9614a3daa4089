"""The permitted content of a tracer's packets. Anything else raises ValueError: the line is closed then, and nothing is
shown.

The other end is a tracer that root started. Even so, its data can at most be refused here: sizes, counts, types and
numbers are bounded before anything is made of them.
"""

from __future__ import annotations

from ._findings import advise, audit, check, variables
from ._named import NamedTuple
from ._values import boolean, decode, integer, list_of, meter, object_of, or_none, stack, text
from ._window import Child, Figure, Line, Lines, Top, Window, Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._values import Packet

__all__ = [
    "Certificate",
    "Hello",
    "MOST_BYTES",
    "MOST_PACKETS",
    "MOST_REQUEST",
    "PROTOCOL",
    "READERS",
    "advise",
    "audit",
    "certificate",
    "check",
    "death",
    "death_need",
    "decode",
    "hello",
    "integer",
    "lines",
    "merged",
    "text",
    "variables",
    "window",
    "windows",
]

PROTOCOL = "ipytracer/line/v2"
MOST_BYTES = 65536         # of an answer's packet
MOST_REQUEST = 4096        # bytes of a request
MOST_PACKETS = 256         # of one answer

_MOST_METERS = 1024
_LONGEST_PATH = 4096
_KINDS = ("session", "experiment", "cell", "statement")
_STATUSES = ("ok", "error", "interrupted", "incomplete")


class Hello(NamedTuple):
    """The tracer at the other end: its version, this process's pid as the tracer sees it, the limit of this process's
    memory (bytes, or None), the owner of that limit ("container", "machine", "rlimit" …), and the path of the file for
    its report, "" where this process must not know it."""

    tracer: str
    pid: int
    limit: int | None
    limit_of: str
    report: str = ""


class Certificate(NamedTuple):
    """Whether nothing was lost, refused or guessed so far, and sentences about each exception."""

    complete: bool
    problems: tuple[str, ...]


def hello(packet: Packet) -> Hello:
    """Return the first packet of a tracer, as Hello."""
    if packet.get("hello") != PROTOCOL:
        raise ValueError("another protocol")
    return Hello(
        text(packet["tracer"])[:100],
        integer(packet["pid"], 1),
        or_none(integer, packet.get("limit"), least=1),
        text(packet.get("limit_of") or "")[:100],
        text(packet.get("report") or "")[:_LONGEST_PATH],
    )


def death(packet: Packet) -> str:
    """Return the sentence about the death of a kernel."""
    return text(object_of(packet["death"])["says"])


def death_need(packet: Packet) -> int | None:
    """Return what the cell needed in which a kernel died, in bytes, None where no cell ran."""
    cell = object_of(object_of(packet["death"]).get("report", {})).get("cell")
    return None if cell is None else integer(object_of(cell)["need"], 0)


def _figures(value: Any) -> dict[str, Figure]:
    if len(object_of(value)) > _MOST_METERS:
        raise ValueError("too many meters")
    return {meter(m): _figure(f) for m, f in value.items()}


def _figure(f: Any) -> Figure:
    return Figure(
        start=integer(f["start"]),
        peak=integer(f["peak"]),
        end=integer(f["end"]),
        consumed=integer(f["consumed"]),
        peaked=integer(f["peaked"]),
        exact=boolean(f["exact"]),
        bound=or_none(integer, f["bound"], least=0),
    )


def _top(value: Any) -> dict[str, Top]:
    return {meter(m): Top(integer(t["at_peak"]), text(t["where"]), integer(t["line"], 0), integer(t["execution"], 0))
            for m, t in object_of(value).items()}


_CHECKS: dict[str, Callable[[Any], object]] = {
    "id": lambda v: integer(v, 1),
    "parent": lambda v: integer(v, 0),
    "pid": lambda v: integer(v, 1),
    "execution": lambda v: integer(v, 0),
    "execution_count": lambda v: or_none(integer, v, least=0),
    "silent": boolean,
    "name": text,
    "line": lambda v: integer(v, 0),
    "source": text,
    "source_truncated": boolean,
    "start_ns": integer,
    "duration_ns": lambda v: integer(v, 0),
    "cpu_ns": lambda v: integer(v, -1),
}


_COUNTERS = (
    "minor_faults",
    "major_faults",
    "waits",
    "preemptions",
    "instructions",
    "cycles",
    "cache_references",
    "cache_misses",
)


def window(value: Any) -> Window:
    """Return a window of JSON, as Window."""
    object_of(value)
    for name in _COUNTERS if "counters" in value else ():
        integer(object_of(value["counters"])[name], -1)
    for key, valid in _CHECKS.items():
        valid(value[key])
    if value["kind"] not in _KINDS or value["status"] not in _STATUSES:
        raise ValueError("no such kind or status")
    for key in ("error", "note"):
        text(value.get(key, ""))
    for key in ("lost_statements", "lost_markers", "children_unlisted"):
        integer(value.get(key, 1), 1)
    children = tuple(
        Child(integer(c["pid"], 1), text(c["command"]), _figures(c["meters"])) for c in list_of(value["children"])
    )
    return Window(
        value, _figures(value["meters"]), _figures(value.get("tree", {})), children, _top(value.get("top", {}))
    )


def windows(answer: Packet) -> Windows:
    """Return the windows of an answer, as Windows; none where it has no such member."""
    found = Windows(window(w) for w in list_of(answer.get("windows", [])))
    found.lost = integer(answer.get("lost", 0), 0)
    found.slower = text(answer.get("slower", ""))[:500]
    found.storm = boolean(answer.get("storm", False))
    if "free_on_gpus" in answer:
        found.free = {"gpu.%d" % int(n): integer(b, 0) for n, b in object_of(answer["free_on_gpus"]).items()}
    return found


def lines(answer: Packet) -> Lines:
    """Return the lines of an answer, as Lines; none where it has no such member."""
    return Lines(_line(line) for line in list_of(answer.get("lines", [])))


def _line(line: Any) -> Line:
    return Line(
        meter=meter(line["meter"]),
        at_peak=integer(line["at_peak"]),
        allocated=integer(line["allocated"]),
        freed=integer(line["freed"]),
        net=integer(line["net"]),
        count=integer(line["count"]),
        where=text(line["where"]),
        stack=stack(line["stack"]),
    )


def certificate(answer: Packet) -> Certificate:
    """Return the certificate of an answer."""
    return Certificate(boolean(answer["complete"]), tuple(text(p) for p in list_of(answer["problems"])))


def counts(answer: Packet) -> bool:
    """Return whether a page to count in has come with the answer."""
    return boolean(answer["counts"])


# The function that reads the answer, by the question.
READERS = {
    "cell": windows,
    "cells": windows,
    "running": windows,
    "experiment": windows,
    "experiments": windows,
    "lines": lines,
    "vars": variables,
    "audit": audit,
    "advise": advise,
    "check": check,
    "certificate": certificate,
    "counts": counts,
    "tensors": counts,
}


def merged(parts: list[Packet]) -> Packet:
    """Return one answer made of its packets: lists are joined, and of other members the last packet's value holds."""
    whole: Packet = {}
    for part in parts:
        for key, value in part.items():
            if type(value) is list and type(whole.get(key)) is list:
                whole[key] = whole[key] + value
            else:
                whole[key] = value
    return whole
