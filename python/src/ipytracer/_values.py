"""Values of a tracer's packets: each function returns a valid value, and raises ValueError for an invalid one."""

from __future__ import annotations

import json
import re

from ._window import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    Packet = dict[str, Any]
    _T = TypeVar("_T")

_METER = re.compile(r"[a-z0-9][a-z0-9._]{0,63}")


def _int_of(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError("a number of %d digits" % len(digits))
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError("%s is no number" % name)


_decoder = json.JSONDecoder(parse_int=_int_of, parse_constant=_no_constant)


def decode(data: bytes | memoryview) -> Packet:
    """Return the JSON object in a packet's bytes."""
    try:
        packet = _decoder.decode(bytes(data).decode("utf-8"))
    except RecursionError:
        raise ValueError("nested too deep") from None
    if type(packet) is not dict:
        raise ValueError("a packet is an object")
    return packet


def integer(value: Any, least: int = -2**63) -> int:
    """Return value, if it is a 64-bit number of at least that."""
    if type(value) is not int or not least <= value < 2**63:
        raise ValueError("no such number")
    return value


def text(value: Any) -> str:
    """Return value, if it is text."""
    if type(value) is not str:
        raise ValueError("no text")
    return value


def boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value


def or_none(check: Callable[..., _T], value: Any, **more: Any) -> _T | None:
    return None if value is None else check(value, **more)


def list_of(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError("no list")
    return value


def object_of(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError("no object")
    return value


def meter(value: Any) -> str:
    name = text(value)
    if not _METER.fullmatch(name):
        raise ValueError("no meter's id")
    return name


def frame(value: Any) -> Frame:
    return Frame(
        text(value["function"]),
        text(value["file"]),
        integer(value["line"], 0),
        or_none(integer, value.get("execution"), least=0),
    )


def integers(value: Any, least: int = 0) -> tuple[int, ...]:
    return tuple(integer(v, least) for v in list_of(value))


def stack(value: Any) -> tuple[Frame, ...]:
    return tuple(frame(f) for f in list_of(value))
