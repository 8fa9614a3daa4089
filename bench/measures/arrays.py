"""Storms of arrays: the cost of the NumPy probes within the budget, and without one beside memray and tracemalloc."""

import contextlib
import functools
import os
import statistics
import tempfile
import time

from estimate import estimate
from pairing import interleave, nothing
from table import Remark, Row, Skipped
from tracing import Failure, Tracer
from worker import Worker

BUDGET = "A storm of small arrays, default budget"
STACKS = "Stacks: what they add to an array, beside --no-stacks (--budget off)"
UNLIMITED = "A storm of arrays, --budget off, beside memray and tracemalloc"
# Elements of 8 bytes, arrays, so that a storm takes some tenths of a second.
SIZES = ((2_000, 30_000), (20_000, 15_000), (50_000, 8_000), (200_000, 3_000), (500_000, 1_000), (1_000_000, 300),
         (2_000_000, 100))
# The time that the probes on PyTraceMalloc_Track stay beside those in NumPy after an attach, and a little more.
HANDED_OVER = 1.5
# The most time of an attached run, beside memray: twice for arrays of 16 kB, no more for larger ones.
LIMITS = {2_000: 2}

QUICK_SIZES = ((2_000, 40_000), (20_000, 20_000), (200_000, 4_000))


def storm(worker, elements, counts, _):
    return {count: worker.run("arrays", count=count, elements=elements) for count in counts}


def with_budget(settings):
    with Worker(cpu=0) as worker:
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, worker.pid)}
        for count, rounds in ((100_000, settings.rounds(30, 2)), (1_000_000, settings.rounds(12, 1))):
            found = interleave(rounds, conditions, functools.partial(storm, worker, 2_000, (count,)),
                               warm_up=not settings.quick, progress=settings.progress(f"arrays, {count}"))[count]
            off, on = (statistics.median(found.values[c]) for c in ("off", "attached"))
            yield Row(BUDGET, f"{count:,} × np.ones(2000)", "%", estimate(found.percents("attached", "off")), None,
                      f"{off:.3f} s → {on:.3f} s; the storm starts with the probes in, right after an attach")


def without_budget(settings):
    root = settings.other_root()
    if not root:
        yield Skipped(UNLIMITED, "no Python with memray: scripts/pythons.sh trixie builds one ($PYTHONS_DIR)")
        return
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp"))
        try:
            worker = stack.enter_context(Worker(python="/usr/bin/python3", root=root, cpu=0))
        except Failure as e:
            yield Skipped(UNLIMITED, f"the Python in {os.path.basename(root)} does not start: {e}")
            return
        if "memray" not in worker.about:
            yield Skipped(UNLIMITED, "that Python has no memray")
            return
        versions = ", ".join(f"{name} {version}" for name, version in worker.about.items())
        yield from compare(settings, worker, os.path.join(place, "memray.bin"), versions)


def conditions(settings, worker, capture):
    """Each gives a function (count, elements) -> seconds."""
    @contextlib.contextmanager
    def traced(*flags):
        with Tracer(settings.tracer, worker.pid, "--budget", "off", *flags):
            time.sleep(HANDED_OVER)
            yield functools.partial(plain, worker)

    def tool(name):
        return lambda: contextlib.nullcontext(functools.partial(beside, worker, name, capture))

    return {"off": lambda: contextlib.nullcontext(functools.partial(plain, worker)), "attached": traced,
            "no stacks": lambda: traced("--no-stacks"), "memray": tool("memray"), "tracemalloc": tool("tracemalloc")}


def plain(worker, count, elements):
    return worker.run("arrays", count=count, elements=elements)


def beside(worker, tool, capture, count, elements):
    return worker.run(
        "beside", tool=tool, path=capture, what="arrays", arguments={"count": count, "elements": elements}
    )


def sweep(sizes, run):
    return {elements: min(run(count, elements) for _ in range(3)) for elements, count in sizes}


def compare(settings, worker, capture, versions):
    sizes = QUICK_SIZES if settings.quick else SIZES
    found = interleave(settings.rounds(15, 2), conditions(settings, worker, capture), functools.partial(sweep, sizes),
                       warm_up=not settings.quick, progress=settings.progress("arrays, sizes"))
    counts, alike = dict(sizes), None
    for elements in sorted(found, reverse=True):
        against = estimate(found[elements].ratios("attached", "memray"))
        if against.low > 1:
            break
        alike = elements
    for elements, series in sorted(found.items()):
        bare = 1e6 * statistics.median(series.values["off"]) / counts[elements]
        for name in ("attached", "no stacks", "memray", "tracemalloc"):
            note = ""
            if name == "attached":
                added = 1e6 * statistics.median(series.differences("attached", "off")) / counts[elements]
                beside = 1e6 * statistics.median(series.differences("memray", "off")) / counts[elements]
                without = 1e6 * statistics.median(series.differences("no stacks", "off")) / counts[elements]
                note = (
                    f"{bare:.2f} µs an array bare; the tracer adds {added:.2f} µs, without stacks {without:.2f} µs, "
                    f"memray {beside:.2f} µs"
                )
            shown = "attached with --no-stacks" if name == "no stacks" else name
            yield Row(
                UNLIMITED, f"np.ones({elements}): {shown}", "%", estimate(series.percents(name, "off")), None, note
            )
        yield Row(
            UNLIMITED,
            f"np.ones({elements}): attached / memray",
            "×",
            estimate(series.ratios("attached", "memray")),
            LIMITS.get(elements, 1),
        )
        yield Row(
            UNLIMITED,
            f"np.ones({elements}): attached with --no-stacks / memray",
            "×",
            estimate(series.ratios("no stacks", "memray")),
            LIMITS.get(elements, 1),
        )
    where = "at no size measured" if alike is None else f"from {alike:,} elements ({8 * alike / 1e6:g} MB) on"
    yield Remark(UNLIMITED, f"not to be told from memray, or better: {where} ({versions})")


def at_depth(worker, depths, count, _):
    return {
        depth: 1e6 * min(worker.run("arrays", count=count, elements=2000, depth=depth) for _ in range(3)) / count
        for depth in depths
    }


def stacks(settings):
    """Yields the cost of a walk up a stack, by its depth: the frames above the benchmark's own are always the same."""
    depths = (0, 5, 10, 25, 50)
    with Worker(cpu=0) as worker:
        conditions = {"off": lambda: Tracer(settings.tracer, worker.pid, "--budget", "off", "--no-stacks"),
                      "attached": lambda: Tracer(settings.tracer, worker.pid, "--budget", "off")}
        found = interleave(settings.rounds(12, 2), conditions, functools.partial(at_depth, worker, depths, 10_000),
                           warm_up=not settings.quick, progress=settings.progress("stacks"))
    for depth in depths:
        yield Row(
            STACKS, f"np.ones(2000), {depth} calls deeper", "µs", estimate(found[depth].differences("attached", "off"))
        )


def measure(settings):
    yield from with_budget(settings)
    yield from stacks(settings)
    yield from without_budget(settings)
