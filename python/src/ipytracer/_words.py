"""Sizes, times and names as the tracer's own reports write them, and text made safe to show.

The same bytes give the same text here and on the command line: size() and duration() follow the package words of the
tracer.
"""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._window import Figure

_SECOND = 10**9
# Unicode counts these as printable, and they are blank.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
ABOUT = "≈"       # the mark of a figure with a known bound
_MOST_MARKS = 4   # combining marks behind one character


def size(n: int) -> str:
    """Return n bytes for people: "1023 B", "1.00 KiB", "512.48 MiB"; powers of 1024, two decimals, half away from
    zero."""
    sign, n = ("-" if n < 0 else ""), abs(n)
    if n < 1024:
        return "%s%d B" % (sign, n)
    unit = 1
    for name in ("KiB", "MiB", "GiB", "TiB"):  # noqa: B007
        unit <<= 10
        hundredths = n // unit * 100 + (n % unit * 100 + unit // 2) // unit
        if hundredths < 1024 * 100:
            break
    return "%s%s %s" % (sign, _decimal(hundredths), name)


# These rest on a figure's peak: a loss can only make them larger.
_ON_PEAK = ("peak", "need", "peaked")


def mark(exact: bool, bound: int | None = 0, quantity: str = "") -> str:
    """Return the mark in front of a quantity of a figure ("need", "end", …): "" if the figure is exact, "≈" if it is
    off by a known bound, "≥" if it is at least this."""
    if exact:
        return ""
    return "≥" if bound is None and quantity in _ON_PEAK else ABOUT


def shown(figure: Figure, quantity: str) -> str:
    """Return a quantity of a figure ("start", "peak", "end", "need", "consumed", "peaked") as text, with its mark."""
    return mark(figure.exact, figure.bound, quantity) + size(getattr(figure, quantity))


def _decimal(hundredths: int) -> str:
    return "%d.%02d" % divmod(hundredths, 100)


def _round(n: int, by: int) -> int:
    quotient, rest = divmod(n, by)
    return quotient + (rest >= by - rest)


def duration(ns: int) -> str:
    """Return a length of time in nanoseconds for people: "850 ns", "12 µs", "1.8 ms", "2.41 s", "3 min 05 s"; half
    up."""
    if ns < 0:
        return "-" + duration(-ns)
    if ns < 1000:
        return "%d ns" % ns
    if _round(ns, 1000) < 1000:
        return "%d µs" % _round(ns, 1000)
    if _round(ns, 100_000) < 100:
        return "%d.%d ms" % divmod(_round(ns, 100_000), 10)
    if _round(ns, 10**6) < 1000:
        return "%d ms" % _round(ns, 10**6)
    if _round(ns, _SECOND // 100) < 6000:
        return _decimal(_round(ns, _SECOND // 100)) + " s"
    seconds = _round(ns, _SECOND)
    minutes = _round(seconds, 60)
    if seconds < 3600:
        return "%d min %02d s" % divmod(seconds, 60)
    if minutes < 24 * 60:
        return "%d h %02d min" % divmod(minutes, 60)
    return "%d d %02d h" % divmod(_round(minutes, 60), 24)


def meter_name(meter: str) -> str:
    """Return a meter's name for people: "resident", "numpy", "GPU 0 active"."""
    if meter.startswith("gpu."):
        return "GPU " + meter[4:].replace(".", " ")
    return (meter[4:] if meter.startswith("cpu.") else meter).replace(".", " ")


def limit_name(kind: str) -> str:
    """Return the name of what limits memory, for people."""
    return "container" if kind == "cgroup" else kind


# Meters that the command line shows first. Short texts leave out parts of others.
_PLACES = {"cpu.resident": 1, "driver": 2, "active": 3, "cpu.mapped": 4, "cpu.numpy": 5, "cpu.torch": 6, "cpu.arrow": 7}


def is_part(meter: str) -> bool:
    """Report whether a meter is only a part of another one, as "cpu.resident.anon" is of "cpu.resident"."""
    return meter.startswith("cpu.resident.")


def in_order(meters: Iterable[str]) -> list[str]:
    """Return the ids of meters in the order of the tracer's tables."""
    def place(meter: str) -> tuple[int, int, str, str]:
        device = meter.split(".")[1] if meter.startswith("gpu.") else ""
        rank = _PLACES.get(meter.split(".")[-1] if device else meter, 8)
        return rank, len(device), device, meter
    return sorted(meters, key=place)


def safe(text: str, most: int | None = None) -> str:
    """Return text as one line of visible characters, at most so many (None: any number). Text of a program may hold
    escape sequences, line ends, bidirectional overrides or invisible characters. They become escapes such as \\x1b."""
    if most is not None and len(text) > most:
        text = text[:most - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    out, marks = [], 0
    for c in text:
        marks = marks + 1 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me") else 0
        seen = c.isprintable() and c not in _BLANK and marks <= _MOST_MARKS
        out.append(c if seen else _escaped(c))
    return "".join(out)


def _escaped(c: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c)
    if short:
        return short
    n = ord(c)
    return "\\x%02x" % n if n < 0x80 else "\\u%04x" % n if n < 0x10000 else "\\U%08x" % n


def plural(n: int, noun: str) -> str:
    """Return a count and its noun: "1 child", "2 cells", "3 children"."""
    if n != 1:
        noun = "children" if noun == "child" else noun + "s"
    return "%s %s" % (format(n, ","), noun)
