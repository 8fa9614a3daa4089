"""What a series of measurements says: a median, how far it scatters, and how far the median may be off."""

import dataclasses
import random
import statistics


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A median. low and high bound it with 95 % confidence (bootstrap); the middle half of the values lies in q1 … q3."""

    value: float
    low: float
    high: float
    q1: float    # None, as q3 is, where there is no series but one statistic of all rounds
    q3: float
    count: int


def estimate(values):
    """The Estimate of a series; ValueError if it is empty."""
    values = sorted(values)
    if not values:
        raise ValueError("no values")
    low, high = bootstrap(values)
    return Estimate(statistics.median(values), low, high, quantile(values, 0.25), quantile(values, 0.75), len(values))


def estimate_of(statistic, rounds, resamples=1000, confidence=0.95, seed=1):
    """The Estimate of a statistic of whole rounds, given as indices: the interval comes from drawing rounds anew. It has no
    quartiles, for there is one value only."""
    draw = random.Random(seed)
    drawn = sorted(statistic(draw.choices(range(rounds), k=rounds)) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return Estimate(statistic(range(rounds)), quantile(drawn, tail), quantile(drawn, 1 - tail), None, None, rounds)


def bootstrap(values, resamples=4000, confidence=0.95, seed=1):
    """The interval of the median: the same for the same values, whatever ran before."""
    if len(values) == 1:
        return values[0], values[0]
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return quantile(medians, tail), quantile(medians, 1 - tail)


def quantile(ordered, share):
    """Linear between the two nearest of a sorted series."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


# The range of 6 values holds the true median with 97 %; fewer decide nothing, however well they agree.
ENOUGH = 6


def verdict(found, limit):
    """'within' or 'over' where the whole interval is on one side of the limit, else 'not decided'; '' without a limit.

    A single value is not a sample but a fact, such as an average over many seconds: it is compared as it is."""
    if limit is None:
        return ""
    if 1 < found.count < ENOUGH:
        return "not decided"
    if found.high <= limit:
        return "within"
    return "over" if found.low > limit else "not decided"
