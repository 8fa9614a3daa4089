"""What a tracer's packets may hold. Whatever does not keep to it raises ValueError: the line is closed then, and nothing is shown.

The other end is a tracer that root started, and yet nothing that it sends can do more here than be refused: sizes, counts, types and numbers
are bounded before anything is made of them.
"""

import json
import re
from collections import namedtuple

from ._looked import Audit, Check, Checked, Freeing, Growth, Looking, NotJudged, Place, Variable, Variables, Verdict
from ._window import Child, Figure, Frame, Line, Lines, Top, Window, Windows

PROTOCOL = "ipytracer/line/v2"
MOST_BYTES = 65536         # of an answer's packet
MOST_REQUEST = 4096        # bytes of a request
MOST_PACKETS = 256         # of one answer

_MOST_METERS = 1024
_LONGEST_PATH = 4096
_METER = re.compile(r"[a-z0-9][a-z0-9._]{0,63}")
_KINDS = ("session", "experiment", "cell", "statement")
_STATUSES = ("ok", "error", "interrupted", "incomplete")

Hello = namedtuple("Hello", "tracer pid limit limit_of report", defaults=("",))
Hello.__doc__ = """Who is at the other end: its version, this process's pid as it sees it, what bounds this process's memory (bytes, or None),
whose limit that is ("container", "machine", "rlimit" …), and the path of the file that its report will be in, "" where that is nobody's business here."""

Certificate = namedtuple("Certificate", "complete problems")
Certificate.__doc__ = "Whether nothing was lost, refused or guessed so far, and in sentences what was."


def _int_of(digits):
    if len(digits) > 20:
        raise ValueError("a number of %d digits" % len(digits))
    return int(digits)


def _no_constant(name):
    raise ValueError("%s is no number" % name)


_decoder = json.JSONDecoder(parse_int=_int_of, parse_constant=_no_constant)


def decode(data):
    """The JSON object in a packet's bytes."""
    try:
        packet = _decoder.decode(bytes(data).decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    if type(packet) is not dict:
        raise ValueError("a packet is an object")
    return packet


def integer(value, least=-2**63):
    """value, if it is a 64-bit number of at least that."""
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError("no such number")
    return value


def text(value):
    """value, if it is text."""
    if type(value) is not str:
        raise ValueError("no text")
    return value


def _boolean(value):
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value


def _or_none(check, value, **more):
    return None if value is None else check(value, **more)


def _list(value):
    if type(value) is not list:
        raise ValueError("no list")
    return value


def _object(value):
    if type(value) is not dict:
        raise ValueError("no object")
    return value


def hello(packet):
    """The first packet of a tracer, as Hello."""
    if packet.get("hello") != PROTOCOL:
        raise ValueError("another protocol")
    return Hello(text(packet["tracer"])[:100], integer(packet["pid"], 1), _or_none(integer, packet.get("limit"), least=1),
                 text(packet.get("limit_of") or "")[:100], text(packet.get("report") or "")[:_LONGEST_PATH])


def _meter(name):
    if not _METER.fullmatch(text(name)):
        raise ValueError("no meter's id")
    return name


def _figures(value):
    if len(_object(value)) > _MOST_METERS:
        raise ValueError("too many meters")
    return {_meter(m): Figure(*(integer(f[k]) for k in ("start", "peak", "end", "consumed", "peaked")), _boolean(f["exact"]),
                              _or_none(integer, f["bound"], least=0)) for m, f in value.items()}


def _top(value):
    return {_meter(m): Top(integer(t["at_peak"]), text(t["where"]), integer(t["line"], 0), integer(t["execution"], 0))
            for m, t in _object(value).items()}


_CHECKS = {
    "id": lambda v: integer(v, 1), "parent": lambda v: integer(v, 0), "pid": lambda v: integer(v, 1), "execution": lambda v: integer(v, 0),
    "execution_count": lambda v: _or_none(integer, v, least=0), "silent": _boolean, "name": text, "line": lambda v: integer(v, 0), "source": text,
    "source_truncated": _boolean, "start_ns": integer, "duration_ns": lambda v: integer(v, 0), "cpu_ns": lambda v: integer(v, -1),
}


_COUNTERS = ("minor_faults", "major_faults", "waits", "preemptions", "instructions", "cycles", "cache_references", "cache_misses")


def window(value):
    """A window, as Window."""
    _object(value)
    for name in _COUNTERS if "counters" in value else ():
        integer(_object(value["counters"])[name], -1)
    for key, check in _CHECKS.items():
        check(value[key])
    if value["kind"] not in _KINDS or value["status"] not in _STATUSES:
        raise ValueError("no such kind or status")
    for key in ("error", "note"):
        text(value.get(key, ""))
    for key in ("lost_statements", "lost_markers", "children_unlisted"):
        integer(value.get(key, 1), 1)
    children = tuple(Child(integer(c["pid"], 1), text(c["command"]), _figures(c["meters"])) for c in _list(value["children"]))
    return Window(value, _figures(value["meters"]), _figures(value.get("tree", {})), children, _top(value.get("top", {})))


def windows(answer):
    """The windows of an answer, as Windows; none where it has no such member."""
    found = Windows(window(w) for w in _list(answer.get("windows", [])))
    found.lost = integer(answer.get("lost", 0), 0)
    found.slower = text(answer.get("slower", ""))[:500]
    return found


def _frame(value):
    return Frame(text(value["function"]), text(value["file"]), integer(value["line"], 0), _or_none(integer, value.get("execution"), least=0))


def lines(answer):
    """The lines of an answer, as Lines; none where it has no such member."""
    return Lines(Line(_meter(line["meter"]), *(integer(line[k]) for k in ("at_peak", "allocated", "freed", "net", "count")), text(line["where"]),
                      tuple(_frame(f) for f in _list(line["stack"]))) for line in _list(answer.get("lines", [])))


def certificate(answer):
    """The certificate of an answer."""
    return Certificate(_boolean(answer["complete"]), tuple(text(p) for p in _list(answer["problems"])))


def _looking(answer):
    """Looking, None where the look is over."""
    if answer.get("looking") is not True:
        return None
    return Looking(integer(answer["look"], 1), integer(answer["wait_ns"], 0))


def _look(found, answer):
    found.why, found.took_ns = text(answer.get("why", ""))[:2000], integer(answer.get("took_ns", 0), 0)
    return found


def _integers(value, least=0):
    return tuple(integer(v, least) for v in _list(value))


def _stack(value):
    return tuple(_frame(f) for f in _list(value))


def _variable(v):
    _object(v)
    return Variable(text(v["name"]), text(v.get("type", "")), *(integer(v.get(k, 0), 0) for k in ("bytes", "reaches", "device")), _boolean(v["exact"]),
                    tuple(text(name) for name in _list(v.get("also", []))), text(v["kind"]), _integers(v.get("shape", [])), text(v.get("dtype", "")),
                    _or_none(integer, v.get("length"), least=0), text(v["shaped"]), text(v["where"]), _boolean(v.get("before", False)),
                    integer(v.get("execution", 0), 0), _or_none(integer, v.get("execution_count"), least=0), integer(v.get("line", 0), 0), _stack(v["stack"]),
                    integer(v.get("view_bytes", 0), 0), integer(v.get("base_bytes", 0), 0))


def _freeing(v):
    _object(v)
    return Freeing(text(v["type"]), integer(v["predicted"], 0), integer(v.get("predicted_device", 0), 0), _boolean(v["exact"]), integer(v.get("small", 0), 0),
                   tuple(text(name) for name in _list(v["names"])), integer(v.get("shared", 0), 0))


def _to_free(answer):
    return tuple(_freeing(v) for v in _list(answer.get("to_free", [])))


def check(answer):
    """What came back, as Check, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(Check(Checked(text(_object(v)["type"]), integer(v["predicted"], 0), integer(v.get("predicted_device", 0), 0), _boolean(v["exact"]),
                                integer(v["came_back"], 0), integer(v.get("came_back_device", 0), 0)) for v in _list(answer.get("checked", []))), answer)
    found.to_free = _to_free(answer)
    return found


def variables(answer):
    """The variables of an answer, as Variables, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(Variables(_variable(v) for v in _list(answer.get("variables", []))), answer)
    found.to_free = _to_free(answer)
    names = answer.get("names")
    if names is not None:
        found.unlisted, found.unlisted_bytes = integer(_object(names)["unlisted"], 0), integer(names["bytes"], 0)
        found.objects, found.complete = integer(names["objects"], 0), _boolean(names["complete"])
    return found


def _fields(value, of, least=-2**63):
    return of(*(integer(_object(value)[k], least) for k in of._fields))


def _verdict(v):
    _object(v)
    change, growth = v.get("change"), v.get("growth")
    return Verdict(text(v["kind"]), text(v["title"]), _meter(v["meter"]), integer(v["bytes"], 0), integer(v["count"], 0), _integers(v["executions"]),
                   _integers(v["execution_counts"]), text(v["runs"]), text(v["where"]), text(v.get("holder", "")), _boolean(v.get("probable", False)),
                   text(v["evidence"]), text(v["advice"]), text(v.get("fix", "")),
                   _or_none(_fields, change, of=Place, least=0), _or_none(_fields, growth, of=Growth), integer(v["age_ns"], 0), text(v.get("command", "")),
                   _integers(v.get("pids", []), 1), _stack(v["stack"]))


def audit(answer):
    """The verdicts of an answer, as Audit, or Looking."""
    looking = _looking(answer)
    if looking:
        return looking
    found = _look(Audit(_verdict(v) for v in _list(answer.get("verdicts", []))), answer)
    found.to_free = _to_free(answer)
    of = answer.get("audited")
    if of is not None:
        left_out = integer(_object(of).get("not_judged_unlisted", 0), 0)
        found.complete, found.all_clear = _boolean(of["complete"]) and not left_out, text(of["all_clear"])[:2000]
        found.least, found.cells, found.unlisted = integer(of["least"], 0), integer(of["cells"], 0), integer(of["unlisted"], 0)
        found.not_judged = tuple(NotJudged(text(n["reason"]), text(n["meter"]), _or_none(integer, n["bytes"]), text(n["says"])[:2000])
                                 for n in _list(of["not_judged"]))
    if answer.get("cut") is True:
        found.unlisted += 1
    return found


# By what was asked: what reads the answer.
READERS = {"cell": windows, "cells": windows, "running": windows, "experiment": windows, "lines": lines, "vars": variables, "audit": audit, "check": check, "certificate": certificate}


def merged(parts):
    """One answer of its packets: lists go on where the packet before left off, anything else is what the last packet says."""
    whole = {}
    for part in parts:
        for key, value in part.items():
            if type(value) is list and type(whole.get(key)) is list:
                whole[key] = whole[key] + value
            else:
                whole[key] = value
    return whole
