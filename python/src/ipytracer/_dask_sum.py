"""Bounds of a sum: the most memory that several processes can have had at one instant.

A window's peak bounds its process's memory at each instant of the window; of several windows the lowest does. The times
of other machines are known with an error, so each level is taken to last that much longer at both ends. The largest sum
of the levels is then at least the true one, and the true one is at least the largest single level.
"""

from __future__ import annotations

import heapq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Level = tuple[int, int, int]     # from, to (nanoseconds), bytes


def envelope(levels: Iterable[Level], highest: bool) -> list[Level]:
    """Return levels that do not overlap: at each instant the highest or the lowest of those given, and none where none
    is."""
    waiting = sorted(level for level in levels if level[0] < level[1])
    times = sorted({t for a, b, _ in waiting for t in (a, b)})
    found: list[Level] = []
    valid: list[tuple[int, int]] = []      # (bytes, negative for the highest, end)
    at = 0
    for here, there in zip(times, times[1:]):
        while at < len(waiting) and waiting[at][0] <= here:
            _, end, n = waiting[at]
            heapq.heappush(valid, (-n if highest else n, end))
            at += 1
        while valid and valid[0][1] <= here:
            heapq.heappop(valid)
        if not valid:
            continue
        n = -valid[0][0] if highest else valid[0][0]
        if found and found[-1][1:] == (here, n):
            found[-1] = (found[-1][0], there, n)
        else:
            found.append((here, there, n))
    return found


def cut(levels: Iterable[Level], first: int, last: int) -> list[Level]:
    """Return the parts of levels that lie between two instants."""
    return [(max(a, first), min(b, last), n) for a, b, n in levels if b > first and a < last]


def together(processes: Sequence[tuple[Sequence[Level], int]], first: int, last: int) -> tuple[int, bool]:
    """Return (the most bytes of all processes together at one instant between two, whether that is a bound). Each
    process has its levels and the error of their times in nanoseconds. It is no bound where the levels of a process do
    not cover all of the time."""
    changes: list[tuple[int, int]] = []
    covered = True
    for levels, error in processes:
        lowest = envelope(levels, highest=False)
        wide = cut(envelope([(a - error, b + error, n) for a, b, n in lowest], highest=True), first, last)
        covered = covered and sum(b - a for a, b, _ in wide) == last - first
        for a, b, n in wide:
            changes += [(a, n), (b, -n)]
    most = now = 0
    for _, n in sorted(changes):           # an end before a begin at the same instant
        now += n
        most = max(most, now)
    return most, covered
