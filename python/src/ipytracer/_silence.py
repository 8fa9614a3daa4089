"""A tracer that listens and does not answer in time: the cells without figures for that reason, and a sentence about
them, once each time."""

from __future__ import annotations

from . import _line, _words

_PATIENT = 3     # cells without an answer that are not worth a message: their figures come below the next ones


def words() -> str:
    """Return words for a tracer that did not answer in time."""
    return "the tracer did not answer within %g s" % _line.ASKED_FOR


class Silence:
    """The silence in one shell. A tracer that is stopped, or busy, may answer much later: then the figures of some
    cells are shown, and those of others are only in %tracer table and in the report."""

    def __init__(self) -> None:
        # the In[N] without figures, since the tracer last answered in time
        self._waiting: list[int] = []
        self._told: set[int] = set()      # those of them that it has reported meanwhile, too late to be shown
        self._lost = False                # the tracer no longer reports some of them
        self.since: int | None = None       # the first of them, once that is worth a message

    def reset(self) -> None:
        """Forget everything: there is another tracer, or none."""
        self._waiting, self._told, self._lost, self.since = [], set(), False, None

    def asks(self, count: int) -> None:
        """Take in that figures of In[count] are asked for now."""
        self._waiting.append(count)

    def told(self, count: int | None, shown: bool) -> None:
        """Take in that the tracer has reported In[count]; shown: its figures are shown, late or not."""
        if count is None or count not in self._waiting:
            return
        if shown:
            self._waiting.remove(count)
        else:
            self._told.add(count)

    def asked(self, answered: bool, lost: int = 0) -> str:
        """Take in whether there was an answer in time. lost: the number of cells that the tracer no longer reports.
        Return the sentence to show now, "" for nothing."""
        self._lost = self._lost or lost > 0
        if not answered:
            if self.since is None and len(self._waiting) > _PATIENT:
                self.since = self._waiting[0]
                return "%s: cells from In[%d] on have no figures here until it does, the report has them" % (
                    words(),
                    self.since,
                )
            return ""
        missing = [c for c in self._waiting if c in self._told or self._lost]
        self.reset()
        return "%s; figures of %s are missing here, the report has them" % (words(), _cells(missing)) if missing else ""

    def now(self) -> str:
        """Return words for a tracer that does not answer now, "" where it does."""
        return "" if self.since is None else "it has not answered in time since In[%d]" % self.since


def _cells(counts: list[int]) -> str:
    """Return names of cells: "In[5]", "In[5] to In[24]", "7 cells from In[5] to In[24]"."""
    first, last = counts[0], counts[-1]
    if first == last:
        return "In[%d]" % first
    of = "" if last - first + 1 == len(counts) else _words.plural(len(counts), "cell") + " from "
    return "%sIn[%d] to In[%d]" % (of, first, last)
