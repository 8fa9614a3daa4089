"""The judgement of a test: limits on the memory that it needs, and on the memory that it leaves behind.

An inexact figure is judged only where its error makes no difference; else the test is "not judged", which is a failure
only if strictness is asked for. A leak is memory that each further run of the same call leaves behind: caches that the
first run fills are none.
"""

from __future__ import annotations

import gc

from . import _pytest_words, _sizes, _text, _words
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pytest

    from ._pytest_run import Runner
    from ._types import Data, Figures, Settings
    from ._window import Figure, Line, Window

MARKS = ("limit_memory", "no_leaks", "limit_leaks", "limit_leaked_objects")
# further runs that are not judged: gc after the first one may have found older garbage
_SETTLES = 1
_MOST_REPEATS = 1000
# bytes of resident memory that a run may leave for no_leaks: allocators take pages, not objects
_PAGES = 64 << 10
_LEAKING = ("cpu.numpy", "cpu.torch", "cpu.heap", "cpu.pinned")


class StackFrame(NamedTuple):
    """One call of a stack, as filters for limit_leaks get it."""

    function: str
    filename: str
    lineno: int


class Stack(NamedTuple):
    """The calls behind an allocation, innermost first, as filters for limit_leaks get it; frames are StackFrame."""

    frames: tuple[StackFrame, ...]


def marks(item: pytest.Item) -> dict[str, pytest.Mark]:
    """Return this plugin's markers of an item, the closest of each name."""
    found: dict[str, pytest.Mark] = {}
    for mark in item.iter_markers():
        if mark.name in MARKS:
            found.setdefault(mark.name, mark)
    return found


def meters_of(figures: Figures, meter: str) -> list[str]:
    """Return the meters that a name means: an id, its end ("numpy"), or "gpu", which means the memory from each GPU's
    driver."""
    if meter == "gpu":
        return [m for m in figures if m.startswith("gpu.") and m.endswith(".driver")]
    return [m for m in figures if m in (meter, "cpu." + meter)]


def _sort(value: int, figure: Figure, limit: int) -> bool | None:
    """Report whether a value of a figure is below a limit: True, False, or None where either is possible."""
    if figure.exact:
        return value < limit
    if figure.bound is None:     # a lower bound
        return False if value >= limit else None
    if value + figure.bound < limit:
        return True
    return False if value - figure.bound >= limit else None


def leaking(meter: str) -> bool:
    """Report whether memory that stays on a meter is a leak: memory requested from allocators, not memory that they
    hold in advance."""
    return (
        meter in _LEAKING
        or meter == "cpu.resident"
        or meter.startswith("gpu.")
        and meter.endswith((".active", ".driver"))
    )


class Judge:
    """Judges one test after its call has passed."""

    def __init__(self, item: pytest.Item, runner: Runner, settings: Settings, before: int | None) -> None:
        self._item, self._runner, self._settings, self._before = item, runner, settings, before
        self._marks = marks(item)
        self._problems: list[str] = []
        self._unjudged: list[str] = []
        self._limits: dict[str, int] = {}
        self.repeats: list[dict[str, int]] = []

    def found(self) -> Data:
        """Return plain data for the report."""
        return {
            "problem": "\n".join(self._problems) or None,
            "not_judged": self._unjudged,
            "limits": self._limits,
            "repeats": self.repeats,
        }

    def call(self, runtest: Callable[[], object]) -> str | None:
        """Judge everything. Return the failure of the test as text, or None. runtest runs the call once more."""
        __tracebackhide__ = True
        try:
            self._memory()
            self._increase()
            self._leaks(runtest)
        except _Wrong as e:
            self._problems.append(str(e))
        if "limit_leaked_objects" in self._marks:
            self._unjudged.append(
                "limit_leaked_objects: objects are not counted one by one; no_leaks and limit_leaks judge bytes"
            )
        if self._settings.strict:
            if self._window() is None and not self._unjudged:
                self._unjudged.append("there are no figures")
            self._problems += ["not judged: " + why for why in self._unjudged]
        return "\n".join(self._problems) or None

    def _window(self) -> Window | None:
        return self._runner.at(self._item.nodeid, "call")

    # ---- the memory that it needs

    def _memory(self) -> None:
        mark = self._marks.get("limit_memory")
        if mark is not None:
            arguments = _arguments(mark, ("size",), {"meter": "cpu.resident", "current_thread_only": False})
            limit = _size(mark, arguments["size"])
            self._limits["limit_memory"] = limit
            self._need("limit_memory", arguments["meter"], limit, arguments["current_thread_only"])
        elif self._settings.fail_over is not None:
            self._limits["fail_over"] = self._settings.fail_over
            self._need("--fail-over", "cpu.resident", self._settings.fail_over + 1, False)

    def _need(self, who: str, meter: object, limit: int, threads: object) -> None:
        window = self._window()
        if window is None:
            self._unjudged.append("%s: there are no figures" % who)
            return
        figures = window.figures()
        meters = meters_of(figures, meter) if isinstance(meter, str) else []
        if not meters and (meter == "gpu" or str(meter).startswith("gpu.")):
            return       # no GPU was used
        if not meters:
            raise _Wrong(
                "%s: there is no meter %.40r; there are: %s, gpu" % (who, meter, ", ".join(_words.in_order(figures)))
            )
        for m in meters:
            self._below(who, window, m, figures[m], limit, threads)

    def _below(self, who: str, window: Window, meter: str, figure: Figure, limit: int, threads: object) -> None:
        below = _sort(figure.need, figure, limit)
        if below:
            return
        text = "%s needs %s, %s" % (_words.meter_name(meter), _words.shown(figure, "need"), self._than(who, limit))
        if below is None:
            self._unjudged.append("%s: %s, and that figure may be off" % (who, text))
        elif threads:
            self._unjudged.append("%s: %s, and what one thread alone needs is not known" % (who, text))
        else:
            self._problems.append("\n".join(["%s: %s" % (who, text)] + self._lines(window, "at_peak")))

    def _than(self, who: str, limit: int) -> str:
        return "more than %s" % _words.size(limit - 1) if who == "--fail-over" else "not below %s" % _words.size(limit)

    def _increase(self) -> None:
        window = self._window()
        figure = window.figures().get("cpu.resident") if window is not None else None
        if self._before is None or not self._settings.on_increase:
            return
        if figure is None:
            self._unjudged.append("--fail-on-increase: there are no figures")
            return
        below = _sort(figure.need, figure, self._before + self._settings.tolerance + 1)
        need = _words.shown(figure, "need")
        text = "--fail-on-increase: it needs %s, and needed %s before" % (need, _words.size(self._before))
        if below is False:
            self._problems.append(text)
        elif below is None:
            self._unjudged.append(text + "; that figure may be off")

    def _lines(self, window: Window, order: str, most: int = 3) -> list[str]:
        """Return lines of text: the lines that allocated."""
        found = [line for line in self._runner.lines(window) if getattr(line, order) > 0 and line.allocated > 0]
        told = {line.stack for line in found if line.meter != "cpu.mapped"}
        found = [line for line in found if line.meter != "cpu.mapped" or line.stack not in told]
        found.sort(key=lambda line: -int(getattr(line, order)))
        out = []
        for line in found[:most]:
            out.append("  " + self._line(line, order))
            out += [
                "    %s, %s:%d" % (_words.safe(f.function, 80), _words.safe(f.file, 120), f.line)
                for f in line.stack[1 : self._settings.stacks]
            ]
        return out

    @staticmethod
    def _line(line: Line, quantity: str) -> str:
        return _text.allocation(line, quantity, _words.safe(_pytest_words.place(line.where), 160))

    # ---- the memory that it leaves

    def _leaks(self, runtest: Callable[[], object]) -> None:
        __tracebackhide__ = True
        wanted: list[tuple[str, int | None, dict[str, Any], int]] = []
        takes: tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...] = (
            ("no_leaks", (), {"repeats": 3}),
            ("limit_leaks", ("size",), {"filter_fn": None, "current_thread_only": False, "repeats": 3}),
        )
        for name, required, optional in takes:
            mark = self._marks.get(name)
            if mark is None:
                continue
            arguments = _arguments(mark, required, optional)
            n = arguments["repeats"]
            if type(n) is not int or not 1 <= n <= _MOST_REPEATS:
                raise _Wrong("%s: repeats is a number from 1 to %d" % (name, _MOST_REPEATS))
            size = _size(mark, arguments["size"]) if required else None
            self._limits[name] = size or 0
            wanted.append((name, size, arguments, n))
        if not wanted:
            return
        if self._window() is None:
            self._unjudged += ["%s: there are no figures" % name for name, *_ in wanted]
            return
        windows = self._again(runtest, max(n for *_, n in wanted))
        if windows is None:
            self._unjudged += ["%s: a further run has no figures" % name for name, *_ in wanted]
            return
        for name, size, arguments, n in wanted:
            self._growth(name, size, arguments, windows[-n:])

    def _again(self, runtest: Callable[[], object], n: int) -> list[Window] | None:
        """Run the call so many times more and once before. Return the judged windows, None where one is missing."""
        __tracebackhide__ = True
        windows = []
        for i in range(1, n + _SETTLES + 1):
            phase = "run %d" % (i + 1)
            with self._runner.window(self._item.nodeid, phase, after=gc.collect):
                runtest()
            windows.append(self._runner.at(self._item.nodeid, phase))
        judged = [w for w in windows[_SETTLES:] if w is not None]
        if None in windows:
            return None
        self.repeats = [{m: f.consumed for m, f in w.figures().items()} for w in judged]
        return judged

    def _growth(self, name: str, size: int | None, arguments: dict[str, Any], windows: list[Window]) -> None:
        filter_fn = arguments.get("filter_fn")
        if filter_fn is not None:
            self._by_line(name, size or 0, filter_fn, windows)
            return
        grown = []
        for meter in _words.in_order({m for w in windows for m in w.figures() if leaking(m)}):
            figures = [w.figures()[meter] for w in windows if meter in w.figures()]
            if len(figures) < len(windows):
                continue
            limit = size if size is not None else _PAGES if meter == "cpu.resident" else 1
            sorts = [_sort(f.consumed, f, max(limit, 1)) for f in figures]
            text = "%s %s" % (
                _words.meter_name(meter),
                ", ".join(_words.shown(f, "consumed") for f in figures),
            )
            if all(s is False for s in sorts):
                grown.append((meter, text))
            elif True not in sorts:
                self._unjudged.append("%s: further runs leave %s, and those figures may be off" % (name, text))
        if not grown:
            return
        said = "%s: each of %d further runs leaves memory behind%s" % (
            name,
            len(windows),
            "" if size is None else ", %s or more" % _words.size(size),
        )
        if arguments.get("current_thread_only"):
            self._unjudged.append(said + "; what one thread alone leaves is not known")
            return
        self._problems.append("\n".join([said] + ["  " + text for _, text in grown] + self._lines(windows[-1], "net")))

    def _by_line(self, name: str, size: int, filter_fn: Callable[[Stack], bool], windows: list[Window]) -> None:
        """Judge with a filter: find one line that leaves so much in each further run, and that the filter accepts."""
        left = []
        for w in windows:
            if any(not f.exact for m, f in w.figures().items() if leaking(m)):
                self._unjudged.append("%s: who left what is not certain in a further run" % name)
                return
            left.append(
                {
                    (line.meter, line.stack): line
                    for line in self._runner.lines(w)
                    if leaking(line.meter) and line.net >= max(size, 1)
                }
            )
        for key, line in left[-1].items():
            if all(key in of for of in left) and filter_fn(
                Stack(tuple(StackFrame(f.function, f.file, f.line) for f in line.stack))
            ):
                self._problems.append(
                    "%s: each of %d further runs leaves %s or more\n  %s"
                    % (name, len(windows), _words.size(size), self._line(line, "net"))
                )


class _Wrong(Exception):
    """A marker with invalid arguments, in a sentence."""


def _arguments(mark: pytest.Mark, required: tuple[str, ...], optional: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a marker by name."""
    names = required + tuple(optional)
    given = dict(zip(names, mark.args), **mark.kwargs)
    unknown = [n for n in mark.kwargs if n not in names]
    if len(mark.args) > len(names) or unknown or any(n not in given for n in required):
        raise _Wrong("%s takes %s" % (mark.name, ", ".join(names)))
    return dict(optional, **given)


def _size(mark: pytest.Mark, text: object) -> int:
    try:
        return _sizes.parse(text)
    except ValueError as e:
        raise _Wrong("%s: %s" % (mark.name, e)) from None
