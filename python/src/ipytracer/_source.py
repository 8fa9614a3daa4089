"""The source of figures: the tracer on the line, where one listens; else this process itself (_inside.py)."""

from __future__ import annotations

from ._counts import COUNTS
from ._counts_torch import TENSORS
from ._inside import INSIDE
from ._line import LINE, marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._packets import Hello
    from ._window import Window


def outside() -> bool:
    """Report whether a tracer listened at the last look."""
    return LINE.listens()


def answers(cell: bool = False, patience: float = 0) -> bool:
    """Report whether there is a source of figures. It looks for a tracer first, as Line.look() does."""
    if LINE.look(cell, patience):
        take_over(True)
        return True
    take_over(False)
    INSIDE.begin()
    return INSIDE.measures()


def take_over(listens: bool) -> None:
    """Take in whether a tracer listens: this process then measures nothing itself."""
    if not listens:
        COUNTS.alone()
        TENSORS.alone()
        return
    _ask_for_pages()
    if INSIDE.measures():
        INSIDE.end()


def counts_in_storm(storm: bool) -> bool:
    """Take in whether a cell made too many small arrays or tensors for the tracer that listens: this process then
    counts them itself, if the user's setting allows. Report, once, that it has begun."""
    if storm:
        if COUNTS.begin_in_storm():
            TENSORS.begin()
        _ask_for_pages()
    return COUNTS.has_begun_in_storm(TENSORS.shared)


def _ask_for_pages() -> None:
    """Have the tracer give pages to count in. One question at a time: a page does not say which one it answers."""
    if not TENSORS.waits():
        COUNTS.beside(_page)
    if not COUNTS.waits():
        TENSORS.beside(_page_of_tensors)


def _page_of_tensors(asks: bool) -> int | str | None:
    """Ask the tracer for a page in which this process counts PyTorch's tensors, as _page does."""
    return _received(LINE.ask("tensors") if asks else None)


def _page(handler: int, live: int, asks: bool) -> int | str | None:
    """Ask the tracer for a page in which this process counts NumPy's arrays, as the allocator at an address does. live:
    bytes of its blocks. Return its descriptor, which may be the answer to an earlier question, a sentence that says why
    there is none, or None where the tracer does not answer or nothing is to be asked."""
    return _received(LINE.ask("counts", handler=handler, live=live) if asks else None)


def _received(answer: Any) -> int | str | None:
    page = LINE.take_descriptor()
    return page if page is not None else answer if isinstance(answer, str) else None


def uncounted() -> str:
    """Return, for the end of a sentence that arrays and tensors are counted in this process, why the tracer that
    listens counts them by its probes all the same; "" where it does not."""
    said = ""
    for what, rests, refusal in (
        ("arrays", COUNTS.on and COUNTS.rests, COUNTS.refusal),
        ("tensors", TENSORS.by_probes(), TENSORS.refusal),
    ):
        if rests:
            said += "; the tracer that listens counts new %s by its probes instead" % what
            said += ": " + refusal if refusal else ""
    return said


def mark(text: str) -> None:
    """Send a marker to the tracer, and to this process where none listens."""
    marker(text)
    if not LINE.listens():
        INSIDE.mark(text)


def ask(what: str, patience: float | None = None, most: float | None = None, **more: Any) -> Any:
    """Ask the source, as Line.ask() does. This process answers at once."""
    if LINE.listens():
        return LINE.ask(what, patience, most, **more)
    return INSIDE.ask(what, **more)


def newest() -> Window | None:
    """Return the last cell that the source has reported and that does not only ask."""
    return LINE.newest if LINE.listens() else INSIDE.newest


def hello() -> Hello | None:
    """Return what the source says of itself; None where there is none."""
    if LINE.listens():
        return LINE.hello
    return INSIDE.hello() if INSIDE.measures() else None
