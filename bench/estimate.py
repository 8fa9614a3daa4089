"""Estimates from a series of measurements: its median, its scatter, and the uncertainty of the median."""

import dataclasses
import random
import statistics


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A median. low and high bound it with 95 % confidence (bootstrap); the middle half of the values lies in q1 …
    q3."""

    value: float
    low: float
    high: float
    q1: float    # None, like q3, for a single statistic of all rounds
    q3: float
    count: int


def estimate(values):
    """Returns the Estimate of a series; ValueError if it is empty."""
    values = sorted(values)
    if not values:
        raise ValueError("no values")
    low, high = bootstrap(values)
    return Estimate(statistics.median(values), low, high, quantile(values, 0.25), quantile(values, 0.75), len(values))


def estimate_of(statistic, rounds, resamples=1000, confidence=0.95, seed=1):
    """Returns the Estimate of a statistic of whole rounds, given as indices. The interval comes from drawing rounds
    anew. It has no quartiles, because there is one value only."""
    draw = random.Random(seed)
    drawn = sorted(statistic(draw.choices(range(rounds), k=rounds)) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return Estimate(statistic(range(rounds)), quantile(drawn, tail), quantile(drawn, 1 - tail), None, None, rounds)


def bootstrap(values, resamples=4000, confidence=0.95, seed=1):
    """Returns the interval of the median: the same for the same values, in any process."""
    if len(values) == 1:
        return values[0], values[0]
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return quantile(medians, tail), quantile(medians, 1 - tail)


def quantile(ordered, share):
    """Interpolates linearly between the two nearest of a sorted series."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


# The range of 6 values holds the true median with 97 %; fewer decide nothing, however well they agree.
ENOUGH = 6


def verdict(found, limit):
    """Returns 'within' or 'over' for an interval on one side of the limit, else 'not decided'; '' without a limit.

    A single value, such as an average over many seconds, is a fact and not a sample: it is compared as it is."""
    if limit is None:
        return ""
    if 1 < found.count < ENOUGH:
        return "not decided"
    if found.high <= limit:
        return "within"
    return "over" if found.low > limit else "not decided"
