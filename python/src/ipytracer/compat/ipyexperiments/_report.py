"""The printed texts of experiments."""

from __future__ import annotations

from .. import _figures
from .cell_logger import about, b2mb, int2width, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..._window import Window

_WORTH = 1 << 19     # bytes: below half a MB no share is printed


def elapsed(seconds: float) -> str:
    """Return seconds as "01:02:03"."""
    whole = int(seconds)
    return "%02d:%02d:%02d" % (whole // 3600, whole // 60 % 60, whole % 60)


def _width(values: Iterable[int | None], least: int = 0) -> int:
    known = [n for n in map(b2mb, values) if n is not None]
    return max(least, int2width(*known) + 1 if known else 0)


def state(rows: list[tuple[str, int | None, int | None, int | None]]) -> None:
    """Print rows of (name, total, free, used) bytes."""
    width = _width([n for row in rows for n in row[1:]], 7)
    print("\n*** Current state:")
    print("RAM: %s %s %s    %s" % tuple(s.rjust(width) for s in ("Used", "Free", "Total", "Util")))
    for name, total, free, used in rows:
        share = "–".rjust(7) if used is None or not total else "%6.2f%%" % (used / total * 100)
        print("%s: %s %s %s MB %s" % (name, written(used, width), written(free, width), written(total, width), share))


def names(gone: tuple[list[str], list[str], list[str]], kept: list[str]) -> None:
    """Print the names that were deleted, and those that were not."""
    deleted, failed, left = gone
    kept = sorted(set(kept) | set(left))
    if not (deleted or failed or kept):
        return
    print("\n*** Newly defined local variables:")
    for what, found in (("Deleted:", deleted), ("Failed to delete:", failed), ("Kept:   ", kept)):
        if found:
            print(what, ", ".join(sorted(found)))


def collected(count: int, garbage: int) -> None:
    """Print the result of gc.collect()."""
    if count:
        print("\n*** Circular ref objects gc collected during the experiment:")
        print("cleared %d objects (only temporary leakage)" % count)
    if garbage:
        print("\n*** Potential memory leaks during the experiment:")
        print("uncollected gc.garbage of %d objects" % garbage)


def memory(
    consumed: Sequence[int | None], reclaimed: Sequence[int | None], has_gpu: bool, window: Window | None
) -> None:
    """Print the memory that the experiment took and the memory that came back: bytes of (machine, GPU)."""
    rows = [("CPU", consumed[0], reclaimed[0])] + ([("GPU", consumed[1], reclaimed[1])] if has_gpu else [])
    width = _width([n for row in rows for n in row[1:]], 8)
    found = window.meters.get(_figures.RESIDENT) if window is not None else None
    print("\n*** Experiment memory:")
    print("RAM: %s       %s" % ("Consumed".rjust(width), "Reclaimed".rjust(width)))
    for name, taken, back in rows:
        mark = _figures.mark(found, "consumed") if name == "CPU" else ""
        share = "–".rjust(7) if taken is None or back is None or taken < _WORTH else "%6.2f%%" % (100.0 * back / taken)
        texts = written(taken, width, mark), written(back, width, mark)
        print("%s: %s %s MB (%s)%s" % (name, *texts, share, about(mark)))
