"""The questions that Python code can ask. Without a tracer each call returns at once, with figures that this process
has read itself."""

from __future__ import annotations

import time
import warnings

from . import _asking, _inside_vars, _silence, _source, _way, _words
from ._line import IN_ALL, LINE
from ._looked import Advice, Audit, Looking, Variables
from ._window import Lines, Window, Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ._looked import Check

    _Found = TypeVar("_Found", Variables, Audit)

_PAGE = 200     # cells of one answer
_MOST_PAGES = 500


def attached() -> bool:
    """Report whether a tracer listens. It does not wait: where the extension is not loaded, the first call only offers
    the line, and later calls can know."""
    return LINE.look()


def _warn(what: str) -> None:
    warnings.warn("ipytracer: %s: %s" % (_silence.words(), what), RuntimeWarning, stacklevel=3)


def find_last() -> tuple[Window | None, bool]:
    """Return (the last cell that does not only ask, or None; whether the tracer has answered)."""
    if not _source.outside():
        return _source.newest(), True
    told = LINE.ask("cell")
    if isinstance(told, Windows) and told:
        LINE.late = (LINE.late + [told])[-3:]     # the next cell shows figures that an earlier one still waits for
    if told is None:
        return LINE.newest, False
    if LINE.newest is not None:
        return LINE.newest, True
    found, answered = find_cells()                # cells that had ended before there was a line
    return next(
        (w for w in reversed(found) if w.kind == "cell" and not w.silent and not _asking.asks(w)), None
    ), answered


def last() -> Window | None:
    """Return the last cell that has ended, as Window; None before the first cell. Without a tracer its figures are
    those that this process reads itself (docs/alone.md).

    In a cell it is the cell before. A cell that only asks, by %tracer or by calls such as this one, is never the last
    cell. Sizes are bytes, times nanoseconds. If the tracer does not answer in time, there is a RuntimeWarning, and the
    result is the last window that the tracer has reported.
    """
    if not _source.answers():
        return None
    window, answered = find_last()
    if not answered:
        _warn("this is the last cell that it told of")
    return window


def find_cells(after: int = 0) -> tuple[Windows, bool]:
    """Return (the cells of this process with higher ids, whether the tracer has answered for all of them)."""
    found = Windows()
    for _ in range(_MOST_PAGES):
        page = _source.ask("cells", most=IN_ALL, after=after, limit=_PAGE)
        if not isinstance(page, Windows):
            return found, page is not None
        newer = [w for w in page if w.id > after]
        if not newer:        # a page may be shorter than asked for
            break
        found.extend(newer)
        after = max(w.id for w in newer)
    return found, True


def cells(after: int = 0) -> Windows:
    """Return the cells of this process that have ended, as Windows: a list of Window, oldest first, with
    to_dataframe().

    after: only cells with higher ids. Cells that only ask are included. Sizes are bytes, times nanoseconds. Without a
    tracer the figures are those that this process reads itself (docs/alone.md). If the tracer does not answer in
    time, there is a RuntimeWarning, and cells are missing.
    """
    if not _source.answers():
        return Windows()
    found, answered = find_cells(after)
    if not answered:
        _warn("cells are missing")
    return found


def find_lines(number: int) -> tuple[Lines, bool]:
    """Return (the lines that allocated in the window with that id, whether the tracer has answered)."""
    found = LINE.ask("lines", most=IN_ALL, window=number)
    return found if isinstance(found, Lines) else Lines(), found is not None


def lines(window: Window | int | None = None) -> Lines:
    """Return the lines that allocated in a window, as Lines: a list of Line with to_dataframe(), sorted for each meter
    by bytes at the window's peak, largest first.

    window: a Window or its id; None for the last cell, as in last(). Sizes are bytes. Without a tracer the list is
    empty, and there is a RuntimeWarning; likewise if the tracer does not answer in time.
    """
    if not _source.answers():
        return Lines()
    if not _source.outside():
        warnings.warn(_way.no_lines(), RuntimeWarning, stacklevel=2)
        return Lines()
    answered = True
    if window is None:
        window, answered = find_last()
        if window is None:
            return Lines()
    number = window.id if isinstance(window, Window) else window
    if type(number) is not int:
        raise TypeError("lines() takes a window or its id, not %s" % type(number).__name__)
    found, answers = find_lines(number)
    if not (answered and answers):
        _warn("lines are missing, or those of an earlier cell")
    return found


_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25   # seconds between two questions whether a look has ended
SILENT_FOR = 10.0      # seconds without an answer after which a tracer that was to look is not waited for
UNANSWERED = "the tracer does not answer: it is stopped, or very busy"


def ask_look(what: str, number: int = 0, again: bool = False) -> Looking | Variables | Audit | Advice | Check | str:
    """Ask once for a look ("vars", "audit", "advise", "check"), or for the result of look number: return Looking,
    Variables, Audit, Advice or Check, or a sentence (str) that says why there is none. again: the same was asked
    before, and had no answer in time."""
    if not LINE.look():
        inside = what == "vars" and _source.answers() and not _source.outside()
        shell = _way.shell() if inside else None
        return "no tracer listens" if shell is None else _inside_vars.variables(shell)
    more = {"look": number} if number else {}
    found: Looking | Variables | Audit | Advice | Check | str | None = LINE.ask(
        what, most=IN_ALL, patient=True, again=again, **more
    )
    if found is None:
        return UNANSWERED if LINE.look() else "the tracer has ended"
    return found


def look(
    what: str, wait: float, say: Callable[[float, float | None], None] | None = None
) -> Variables | Audit | Advice | Check | str:
    """Have the tracer look, and wait for the result, at most that many seconds. A tracer with much to do may answer
    late: one that says nothing for SILENT_FOR is given up. say is called with the seconds so far and the seconds until
    the look may begin, None while the tracer does not answer. The result is that of ask_look."""
    began = heard = time.monotonic()
    pause, number = _FIRST_PAUSE, 0
    until: float | None = 0.0
    while True:
        found = ask_look(what, number, until is None)
        now, until = time.monotonic(), None
        if isinstance(found, Looking):
            heard, number, until = now, found.look, found.wait_ns / 1e9
        elif found is not UNANSWERED:
            return found
        if until is None and now - heard >= min(wait, SILENT_FOR):
            return "the tracer has not answered for %s: it is stopped, or very busy; ask again in a minute" % (
                _words.duration(round((now - heard) * 1e9))
            )
        if now - began >= wait:
            return "the tracer still looks after %d s: ask again" % (now - began)
        if say is not None:
            say(now - began, until)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _looked(what: str, kind: type[_Found], wait: float) -> _Found:
    found = look(what, wait)
    if isinstance(found, kind):
        return found
    none = kind()
    none.why = found if isinstance(found, str) else "the answer is none"
    return none


def vars(wait: float = 30.0) -> Variables:
    """Return the variables of this process, as Variables: a list of Variable, the largest first, with to_dataframe().

    The tracer reads the objects from outside, which takes some tenths of a second. Sizes are bytes. Without a tracer
    this process looks itself: sizes are then the least, and the attribute why says so. wait: the most seconds to wait
    while the tracer looks.
    """
    return _looked("vars", Variables, wait)


def audit(wait: float = 120.0) -> Audit:
    """Return the memory that stays behind in this process, as Audit: a list of Verdict, most bytes first, with
    to_dataframe().

    It is the result of `tracer audit`, as of now: the line that allocated, the holder, the advice. The cell that asks
    is not judged, nor the memory that its calls hold. The tracer reads the objects from outside, which takes some
    seconds. Without a tracer the list is empty, and its attribute why says so. wait: the most seconds to wait while the
    tracer looks.
    """
    return _looked("audit", Audit, wait)
