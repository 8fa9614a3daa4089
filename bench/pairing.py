"""Interleaved measurements: compared conditions take turns, so that other work of the machine hits all alike."""

import contextlib

from estimate import quantile


class Series:
    """Values by condition; the values with the same index were measured one after the other."""

    def __init__(self, conditions):
        self.values = {name: [] for name in conditions}

    def add(self, name, value):
        self.values[name].append(value)

    def ratios(self, name, base):
        """Returns each pair's ratio to the base."""
        return [a / b for a, b in zip(self.values[name], self.values[base])]

    def percents(self, name, base):
        """Returns each pair's excess over the base, in percent."""
        return [100 * (r - 1) for r in self.ratios(name, base)]

    def differences(self, name, base, scale=1.0):
        return [scale * (a - b) for a, b in zip(self.values[name], self.values[base])]


def undisturbed(series, name, base):
    """Returns a function of rounds for estimate_of: the undisturbed excess of the condition over the base, in percent.

    Each value is a list of times, of a session's cells for instance. The lower quartile of each cell over the rounds is
    taken, because other work of the machine only ever adds time, and the quartiles are summed."""
    def percent(rounds):
        took = {
            c: sum(quantile(sorted(times), 0.25) for times in zip(*(series.values[c][i] for i in rounds)))
            for c in (name, base)
        }
        return 100 * (took[name] / took[base] - 1)
    return percent


def interleave(rounds, conditions, measure, warm_up=True, progress=None):
    """Measures every condition in every round, in turns: the order is reversed each time.

    conditions maps a name to a function that gives a context manager; measure(entered) runs inside it and returns a
    dict of figures. The result maps each figure to its Series. The first round, if it is a warm-up, is thrown away.
    """
    found = {}
    for i in range(-1 if warm_up else 0, rounds):
        names = list(conditions)
        for name in names if i % 2 == 0 else reversed(names):
            with conditions[name]() as entered:
                figures = measure(entered)
            if i < 0:
                continue
            for figure, value in figures.items():
                found.setdefault(figure, Series(conditions)).add(name, value)
        if progress:
            progress(i + 1, rounds)
    return found


@contextlib.contextmanager
def nothing():
    """The condition without any tool."""
    yield None
