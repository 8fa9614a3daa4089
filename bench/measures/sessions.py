"""A whole notebook and a loop of plain Python, and the tracer's own use of CPU and memory meanwhile."""

import functools
import os
import statistics
import tempfile
import time

from estimate import estimate, estimate_of
from kernel import Kernel
from pairing import interleave, nothing, undisturbed
from subjects.notebook import CELLS, LOOP
from table import Row
from tracing import Tracer

NOTEBOOK = f"Whole session: Run All of a NumPy/pandas notebook of {len(CELLS)} cells, same kernel"
LOOPS = "Whole session: a loop of plain Python in a cell"
SELF = "The tracer itself"


def run_all(kernel, tracer):
    # Each run starts with the same memory: no variables, no results in Out, nothing kept by malloc.
    kernel.run("%reset -f")
    kernel.run("import ctypes, gc; gc.collect(); ctypes.CDLL(None).malloc_trim(0)")
    cpu = tracer.cpu_seconds() if tracer else 0
    start = time.perf_counter()
    cells = [kernel.run(source) for source in CELLS]
    wall = time.perf_counter() - start
    figures = {"wall": wall, "cpu": sum(c.cpu for c in cells), "cells": [c.waited for c in cells],
               "cells' cpu": [c.cpu for c in cells]}
    figures["tracer"] = 100 * (tracer.cpu_seconds() - cpu) / wall if tracer else 0
    figures["resident"], figures["high"] = tracer.memory() if tracer else (0, 0)
    return figures


def notebook(settings):
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place, Kernel() as kernel:
        record = ["--record", os.path.join(place, "run.arrows"), "--force"]
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid),
                      "recorded": lambda: Tracer(settings.tracer, kernel.pid, *record)}
        found = interleave(settings.rounds(15, 2), conditions, functools.partial(run_all, kernel),
                           warm_up=not settings.quick, progress=settings.progress("notebook"))
    seconds = statistics.median(found["wall"].values["off"])
    for name, what in (("attached", "attached"), ("recorded", "attached, with --record")):
        yield Row(NOTEBOOK, what + ": wall time", "%", estimate(found["wall"].percents(name, "off")), 1,
                  f"{seconds:.2f} s without the tracer" if name == "attached" else "")
        yield Row(NOTEBOOK, what + ": wall time, undisturbed", "%",
                  estimate_of(undisturbed(found["cells"], name, "off"), len(found["cells"].values["off"])), 1)
        yield Row(NOTEBOOK, what + ": CPU time of the kernel", "%", estimate(found["cpu"].percents(name, "off")), 1)
        yield Row(NOTEBOOK, what + ": CPU time of the kernel, undisturbed", "%",
                  estimate_of(undisturbed(found["cells' cpu"], name, "off"), len(found["cpu"].values["off"])), 1)
    for name, what in (("attached", ""), ("recorded", ", with --record")):
        yield Row(SELF, "CPU during the notebook" + what, "% of a core", estimate(found["tracer"].values[name]), 1)
        yield Row(SELF, "resident after the notebook" + what, "MiB", estimate(found["resident"].values[name]), 60)
        yield Row(
            SELF, "resident at its highest, attach included" + what, "MiB", estimate(found["high"].values[name]), 60
        )


def loop(kernel, iterations, repeat, _):
    cells = [kernel.run(LOOP % iterations) for _ in range(repeat)]
    return {
        "wall": min(c.inside for c in cells),
        "cpu": min(c.cpu for c in cells),
        "all": [min(c.inside for c in cells)],
    }


class TraceMalloc:
    """tracemalloc, started and stopped in a kernel."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __enter__(self):
        self.kernel.run("import tracemalloc; tracemalloc.start()")

    def __exit__(self, *failure):
        self.kernel.run("tracemalloc.stop()")


def loops(settings):
    with Kernel() as kernel:
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid)}
        found = interleave(settings.rounds(30, 2), conditions, functools.partial(loop, kernel, 1_500_000, 4),
                           warm_up=not settings.quick, progress=settings.progress("loop"))
        beside = interleave(settings.rounds(8, 1), {"off": nothing, "tracemalloc": lambda: TraceMalloc(kernel)},
                            functools.partial(loop, kernel, 300_000, 1),
                            warm_up=not settings.quick, progress=settings.progress("loop, tracemalloc"))
    seconds = statistics.median(found["wall"].values["off"])
    yield Row(LOOPS, "attached: time of the cell", "%", estimate(found["wall"].percents("attached", "off")), 1,
              f"quickest of 4; {seconds:.3f} s without the tracer")
    yield Row(LOOPS, "attached: time of the cell, undisturbed", "%",
              estimate_of(undisturbed(found["all"], "attached", "off"), len(found["all"].values["off"])), 1)
    yield Row(LOOPS, "attached: CPU time of the kernel", "%", estimate(found["cpu"].percents("attached", "off")), 1)
    yield Row(
        LOOPS, "beside it, tracemalloc: time of the cell", "×", estimate(beside["wall"].ratios("tracemalloc", "off"))
    )


def idle(settings):
    seconds = settings.rounds(20, 3)
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place, Kernel() as kernel:
        for what, flags in (("", []), (", with --record", ["--record", os.path.join(place, "idle.arrows")])):
            with Tracer(settings.tracer, kernel.pid, *flags) as tracer:
                kernel.run("pass")
                time.sleep(1)
                before = tracer.cpu_seconds()
                time.sleep(seconds)
                share = 100 * (tracer.cpu_seconds() - before) / seconds
            yield Row(SELF, f"CPU while nothing runs, {seconds} s" + what, "% of a core", estimate([share]), 0.1)


def measure(settings):
    yield from notebook(settings)
    yield from loops(settings)
    yield from idle(settings)
