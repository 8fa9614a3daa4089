"""The added cost of ordinary notebooks (testdata/notebooks) while they are traced and recorded, and the cost of a long
one's report."""

import collections
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time

from estimate import estimate, estimate_of
from kernel import Kernel
from pairing import interleave, undisturbed
from table import Row
from tracing import Failure, Tracer, cpu_seconds

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata", "notebooks"))
import notebook_text as books  # noqa: E402

COST = (
    "Ordinary notebooks: CPU time of the kernel and its children, attached with --record, "
    "against a fresh kernel without"
)
LONG = "A notebook of %d cells"
LONG_ONE = ("plots", "groupby", "seaborn", "images")

METERS = ("cpu.numpy", "cpu.torch")     # those of which exact windows are counted

# Reasons why the same work takes different CPU time from run to run: the order of sets, and threads that spin.
STEADY = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
MODULES = "import sklearn, matplotlib, seaborn, joblib, torch, PIL, pandas"


class Run:
    """A fresh kernel, traced where flags is not None."""

    def __init__(self, settings, cells, flags):
        self.settings, self.cells, self.flags = settings, cells, flags

    def figures(self):
        with self._kernel() as kernel:
            with self._traced(kernel) as tracer:
                own, before = tracer.cpu_seconds() if tracer else 0, self.ran(tracer)
                times = [kernel.cpu_of(cell.source) for cell in self.cells]
                own, programs = tracer.cpu_seconds() - own if tracer else 0, self.ran(tracer) - before
            # The cells' sum is of the kernel alone; its children's time is known once it has waited for them.
            alone = cpu_seconds(kernel.pid)
            children = max(kernel.end() - alone, 0)
        return {
            "cells": times + [children],
            "cpu": sum(times) + children,
            "tracer": 100 * own / (sum(times) + children),
            "programs": programs,
        }

    def ran(self, tracer):
        """Returns the runs and the time of the tracer's programs so far, if they are counted."""
        return collections.Counter()

    def _kernel(self):
        return Kernel(path=self.settings.path, env=STEADY)

    def _traced(self, kernel):
        return self._tracer(kernel.pid)

    def _tracer(self, pid):
        return contextlib.nullcontext() if self.flags is None else Tracer(self.settings.tracer, pid, *self.flags)


def exact_windows(report, cells):
    """Returns (windows with an exact figure, windows with a figure), of the meters together, for the last cells."""
    windows = [w for w in report["windows"] if w["kind"] == "cell"][-cells:]
    figures = [w["meters"][meter] for w in windows for meter in METERS if meter in w["meters"]]
    return sum(f["exact"] for f in figures), len(figures)


def sampled_share(report):
    """Returns the part from samples of the bytes that lines of the session allocated."""
    lines = [line for line in report["lines"] if line["meter"] in METERS]
    allocated = sum(line["own_allocated"] for line in lines)
    return sum(line["own_allocated"] for line in lines if line.get("sampled")) / allocated if allocated else 0


class Reported(Run):
    """A run that keeps the figures of the tracer's report about its meters."""

    def __init__(self, settings, cells, flags, place):
        self.output = os.path.join(place, "report.json")
        super().__init__(settings, cells, flags and [*flags, "--output", self.output])

    def figures(self):
        found = super().figures()
        if self.flags is None:
            return found | {"exact": (0, 0), "sampled": 0}
        with open(self.output, encoding="utf-8") as f:
            report = json.load(f)
        return found | {"exact": exact_windows(report, len(self.cells)), "sampled": sampled_share(report)}


def exactness(found, condition):
    """Returns the counts of windows from the runs under a condition."""
    exact = [sum(part) for part in zip(*found["exact"].values[condition])]
    return f"exact in {exact[0]} of {exact[1]} windows"


def cost(settings, name, place, run=Reported):
    """Returns the Series of a notebook's figures, in turns. run makes a run."""
    cells = books.read(name)
    record = ["--record", os.path.join(place, "run.arrows"), "--force"]
    conditions = {"off": lambda: contextlib.nullcontext(run(settings, cells, None, place)),
                  "attached": lambda: contextlib.nullcontext(run(settings, cells, record, place))}
    return interleave(
        settings.rounds(9, 1),
        conditions,
        Reported.figures,
        warm_up=not settings.quick,
        progress=settings.progress(name),
    )


def costs(settings, names):
    """Yields a row for each notebook, then the median."""
    shares = []
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
        found = {name: cost(settings, name, place) for name in names}
    for name, series in found.items():
        rounds = len(series["cpu"].values["off"])
        own, seconds = (
            statistics.median(values) for values in (series["tracer"].values["attached"], series["cpu"].values["off"])
        )
        shares.append(undisturbed(series["cells"], "attached", "off"))
        yield Row(
            COST,
            os.path.splitext(os.path.basename(name))[0],
            "%",
            estimate_of(shares[-1], rounds),
            2,
            (
                f"{seconds:.2f} s without the tracer, which itself takes {own:.1f} % of that; "
                f"{exactness(series, 'attached')}"
            ),
        )
    rounds = min(len(series["cpu"].values["off"]) for series in found.values())
    yield Row(
        COST,
        "the notebook in the middle",
        "%",
        estimate_of(lambda drawn: statistics.median(share(drawn) for share in shares), rounds),
        1,
    )
    pairs = [ratio for series in found.values() for ratio in series["cpu"].percents("attached", "off")]
    yield Row(COST, "all pairs", "%", estimate(pairs))


def long_one(settings):
    """Yields rows about the report of a long session: its size, the wait for it, and the tracer's peak memory."""
    cells = [cell for name in LONG_ONE for cell in books.read(name)]
    section, waits, memory, sizes = LONG % len(cells), {"text": [], "json": []}, [], {"text": [], "json": []}
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
        for i in range(settings.rounds(6, 1)):
            for form in ("text", "json"):
                output = os.path.join(place, "report")
                tracer = Tracer(
                    settings.tracer,
                    None,
                    "--record",
                    os.path.join(place, "run.arrows"),
                    "--force",
                    "--format",
                    form,
                    "--output",
                    output,
                )
                with Kernel(env=STEADY) as kernel:
                    tracer.pid = kernel.pid
                    with tracer:
                        for cell in cells:
                            kernel.cpu_of(cell.source)
                        time.sleep(0.5)     # like a user who looks at the result: the tracer has caught up
                        asked = time.perf_counter()
                        memory.append(tracer.end())
                        waits[form].append(time.perf_counter() - asked)
                sizes[form].append(os.path.getsize(output) / 1e6)
            settings.progress("long")(i + 1, settings.rounds(6, 1))
    for form in ("text", "json"):
        yield Row(section, f"from Ctrl-C to the end, {form}", "s", estimate(waits[form]), 1)
    yield Row(section, "JSON", "MB", estimate(sizes["json"]), 5)
    yield Row(section, "the tracer at its highest", "MiB", estimate(memory), 100)


def measure(settings):
    with Kernel() as kernel:
        try:
            kernel.run(MODULES)
        except Failure as e:
            raise Failure(f"what notebooks import is not there (scripts/install.sh test): {e}") from None
    yield from costs(settings, settings.notebooks or books.names())
    if not settings.notebooks:
        yield from long_one(settings)
