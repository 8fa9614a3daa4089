"""Figures of this process for the compatible modules: now, of an experiment, of a cell. A figure without an answer is
None.

They are asked for on the line to the tracer. Where no tracer listens, this process reads them itself, and one message
on standard output says so, and how to get a tracer. Where one does not answer in time, one message says so, until it
answers again.
"""

from __future__ import annotations

import itertools
import os

from .. import _silence, _source, _starter, _way, _words
from .._line import LINE
from .._window import Figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Figures
    from .._window import Window

RESIDENT = "cpu.resident"
MIB = 1 << 20
NAN = float("nan")

_NEW = 0.050      # seconds that a tracer has to say hello, the first time
_numbers = itertools.count(1)


def listens() -> bool:
    """Report whether a tracer listens. The first time that none does, print how to get one, but only after the tracer
    that started this process, if one did, has had its time to answer."""
    if LINE.look(cell=True, patience=0 if LINE.said else _NEW) or not LINE.said and _starter.listens(cell=True):
        LINE.said = True
        return True
    inside = _source.answers()
    if not LINE.said:
        LINE.said = True
        print(_way.inside() if inside else "ipytracer: no tracer listens yet, so there are no figures; " + _way.todo())
    return inside


_silent: list[Any] = []      # the tracer for which a message has said that it does not answer


def ask(what: str, **more: Any) -> Any:
    """Return the tracer's answer; None where there is none, or no answer in time, for which a message is printed."""
    if not _source.answers():
        return None
    found = _source.ask(what, **more)
    if found is not None:
        _silent.clear()
    elif LINE.listens() and not _silent:
        _silent.append(LINE.hello)
        print("ipytracer: %s: figures are missing here until it does, its report has them" % _silence.words())
    return found


def running() -> list[Window]:
    """Return the open windows of this process, outermost first, up to this instant; none without a tracer."""
    found = ask("running")
    return found if isinstance(found, list) else []


class Stretch:
    """A window of the tracer's that begins here: an experiment of the report. It may nest and overlap with others."""

    def __init__(self, name: str) -> None:
        # an end closes the window of its name that began last, so names are not used twice
        self.name = "%s %d" % (name, next(_numbers))
        self._window: Window | None = None
        self._open = True
        self._of = os.getpid()
        _source.mark("begin " + self.name)

    def window(self) -> Window | None:
        """Return the window up to now, or as a whole once it has ended: a Window, None without a tracer's answer."""
        if self._open:
            found = [w for w in running() if w.kind == "experiment" and w.name == self.name]
            self._window = found[-1] if found else None
        return self._window

    def end(self, tell: bool = True, tries: int = 1) -> Window | None:
        """End it. Return its Window, None without a tracer's answer. tell: the Window is wanted; tries: the most
        requests for it."""
        if not self._open or self._of != os.getpid():
            return self._window
        self._open = False
        _source.mark("end " + self.name)
        self._window = None
        while tell and tries and self._window is None and _source.answers():
            tries -= 1
            found = ask("experiment", name=self.name)
            if isinstance(found, list) and found and found[-1].name == self.name:
                self._window = found[-1]
        return self._window


def now() -> Figures | None:
    """Return {meter: Figure} at this instant: the end of each is the current value. None without a tracer's answer."""
    if not listens():
        return None
    open_now = running()
    if open_now:
        return open_now[-1].meters
    point = Stretch("now")
    window = point.window()
    point.end(tell=False)
    return window.meters if window is not None else None


def figure(meters: Figures | None, meter: str) -> Figure | None:
    """Return the Figure of a meter; zeros for one that was 0 all the time; None where nothing is known. Without a
    tracer a GPU's memory is at least what PyTorch has reserved of it."""
    if meters is None:
        return None
    if meter in meters:
        return meters[meter]
    if _source.outside():
        return Figure(0, 0, 0, 0, 0, True, 0)
    reserved = meters.get(meter[:-len("driver")] + "reserved") if meter.endswith(".driver") else None
    return reserved._replace(exact=False, bound=None) if reserved is not None else None


def resident() -> int | None:
    """Return the bytes that are resident now, None where that is not known."""
    found = figure(now(), RESIDENT)
    return found.end if found is not None else None


def peaked(found: Figure) -> int:
    """Return the memory needed on top of the memory kept, as the tools define it: peak - start, less the memory kept,
    never below 0."""
    return max(0, found.peak - found.start - max(0, found.consumed))


def mark(found: Figure | None, quantity: str) -> str:
    """Return the mark before a quantity of a figure ("end", "peak", …); "" where there is none."""
    return "" if found is None else _words.mark(found.exact, found.bound, quantity)


def mebibytes(n: int | None) -> float:
    """Return bytes in MiB, as a float; nan for None."""
    return NAN if n is None else n / MIB


def difference(a: int | None, b: int | None) -> int | None:
    """Return a - b, None where one of them is."""
    return None if a is None or b is None else a - b


def limit() -> tuple[int | None, str]:
    """Return (bytes, owner) of the tightest limit on this process's memory: (None, "") where it is not known."""
    hello = _source.hello()
    return (hello.limit, hello.limit_of) if hello is not None and hello.limit else (None, "")


def machine() -> tuple[int | None, int | None]:
    """Return (total, available) bytes of memory as the kernel reports it; None, None where it does not. A container's
    limit, where there is one, bounds both."""
    found = {}
    try:
        with open("/proc/meminfo") as f:
            for line in f:
                name, _, rest = line.partition(":")
                if name in ("MemTotal", "MemAvailable"):
                    found[name] = int(rest.split()[0]) << 10
    except (OSError, ValueError, IndexError):
        pass
    total, available = found.get("MemTotal"), found.get("MemAvailable")
    most, of = limit()
    if (
        most is not None
        and of not in ("", "machine")
        and "rlimit" not in of.lower()
        and total is not None
        and most < total
    ):
        used = resident()
        total = most
        if used is not None and available is not None:
            available = min(available, max(0, most - used))
    return total, available
