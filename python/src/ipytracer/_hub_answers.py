"""What agents answer about one user of JupyterHub, checked and put together. Nothing of an answer is believed that is
not of its form, and every number and text has a bound."""

from __future__ import annotations

import re

from ._named import NamedTuple
from ._values import boolean, decode, integer, list_of, or_none, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FORMAT = "ipytracer/user/v1"
MOST_BYTES = 256 << 10   # of an answer
_MOST_KERNELS = 200      # of all agents together, as the next two
_MOST_CELLS = 20
_MOST_DEATHS = 5
_MOST_TEXT = 400
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d{1,9})?Z", re.ASCII)
_AGENT = re.compile(r"[0-9a-f]{16}")


class Kernel(NamedTuple):
    """A kernel that runs. now: its resident memory; highest: the highest need of a cell; limit: (kind, bytes), None
    where it is not known; gpus: (number, bytes). The notebook is as the kernel says."""

    node: str
    pid: int
    server: str
    notebook: str
    python: str
    joined: str
    now: int
    highest: int
    limit: tuple[str, int] | None
    gpus: tuple[tuple[int, int], ...]


class Cell(NamedTuple):
    """A cell that has ended. bound: how far the peak may be off, None where that is not known."""

    node: str
    name: str
    notebook: str
    pid: int
    began: str
    duration_ns: int
    outcome: str
    start: int
    peak: int
    need: int
    exact: bool
    bound: int | None


class Death(NamedTuple):
    """The end of a kernel. ran: (name of the cell or statement, need, exact), None where nothing ran; used: the most of
    the limit that was used."""

    node: str
    at: str
    pid: int
    says: str
    notebook: str
    limit: tuple[str, int] | None
    used: int
    ran: tuple[str, int, bool] | None


class Answer(NamedTuple):
    """The answer of one agent."""

    agent: str
    since: str
    kernels: tuple[Kernel, ...]
    cells: tuple[Cell, ...]
    deaths: tuple[Death, ...]


class Found(NamedTuple):
    """The answers of all agents. since: the first and the last time from which an agent counts cells. silent: how many
    of the asked agents did not answer."""

    kernels: tuple[Kernel, ...]
    cells: tuple[Cell, ...]
    deaths: tuple[Death, ...]
    since: tuple[str, str]
    asked: int
    silent: int


def answer(data: bytes, user: str) -> Answer:
    """Return the answer in an agent's bytes. Raise ValueError, KeyError or TypeError for anything else, and for an
    answer about somebody else."""
    if len(data) > MOST_BYTES:
        raise ValueError("it is too large")
    of = decode(data)
    if of["format"] != FORMAT or of["user"] != user or not _AGENT.fullmatch(text(of["agent"])):
        raise ValueError("it is no answer about this user")
    node = _text(of["node"])
    return Answer(
        of["agent"],
        _time(of["since"]),
        tuple(_kernel(node, k) for k in list_of(of["kernels"])[:_MOST_KERNELS]),
        tuple(_cell(node, c) for c in list_of(of["cells"])[:_MOST_CELLS]),
        tuple(_death(node, d) for d in list_of(of["deaths"])[:_MOST_DEATHS]),
    )


def join(answers: Iterable[Answer | None]) -> Found:
    """Return what all agents have answered; None for one that did not. An agent that was reached by two addresses
    counts once."""
    known: dict[str, Answer] = {}
    silent = 0
    for one in answers:
        if one is None:
            silent += 1
        else:
            known[one.agent] = one
    of = list(known.values())
    times = sorted(one.since for one in of) or [""]
    return Found(
        tuple(sorted((k for one in of for k in one.kernels), key=lambda k: (k.joined, k.pid))[:_MOST_KERNELS]),
        tuple(sorted((c for one in of for c in one.cells), key=lambda c: (-c.need, c.began))[:_MOST_CELLS]),
        tuple(sorted((d for one in of for d in one.deaths), key=lambda d: d.at, reverse=True)[:_MOST_DEATHS]),
        (times[0], times[-1]),
        len(known) + silent,
        silent,
    )


def _text(value: Any) -> str:
    """Return a text, as much of it as is kept."""
    return text(value)[:_MOST_TEXT]


def _time(value: Any) -> str:
    """Return a time as it can be compared and shown: "2026-11-26 12:00:07"."""
    found = _TIME.fullmatch(text(value))
    if not found:
        raise ValueError("no time")
    return "%s %s%s" % found.groups()


def _limit(value: Any) -> tuple[str, int]:
    return _text(value["kind"]), integer(value["bytes"], 0)


def _kernel(node: str, k: Any) -> Kernel:
    return Kernel(
        node, integer(k["pid"], 0), _text(k["server"]), _text(k["notebook"]), _text(k["python"]), _time(k["joined"]),
        integer(k["resident"], 0), integer(k["highest"], 0), or_none(_limit, k["limit"]),
        tuple((integer(g["number"], 0), integer(g["bytes"], 0)) for g in list_of(k["gpus"])[:64]),
    )


def _cell(node: str, c: Any) -> Cell:
    return Cell(
        node, _text(c["name"]), _text(c["notebook"]), integer(c["pid"], 0), _time(c["began"]),
        integer(c["duration_ns"], 0), _text(c["outcome"]), integer(c["start"], 0), integer(c["peak"], 0),
        integer(c["need"], 0), boolean(c["exact"]), or_none(integer, c["bound"], least=0),
    )


def _ran(w: Any) -> tuple[str, int, bool]:
    name = _text(w["name"])
    line = integer(w.get("line", 0), 0)
    return (name + ", line %d" % line if line else name), integer(w["need"], 0), boolean(w["exact"])


def _death(node: str, d: Any) -> Death:
    ran = d["statement"] if d["statement"] is not None else d["cell"]
    return Death(
        node, _time(d["at"]), integer(d["pid"], 0), text(d["says"])[:1000], _text(d["notebook"]),
        or_none(_limit, d["limit"]), integer(d["used"], 0), or_none(_ran, ran),
    )
