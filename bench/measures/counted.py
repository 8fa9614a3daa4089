"""The added cost where small arrays and tensors are counted in the process, beside a tracer: of single ones, and of
notebooks, small networks among them."""

import contextlib
import functools
import os
import statistics
import tempfile
import time

from estimate import estimate, estimate_of
from kernel import Kernel
from pairing import interleave, undisturbed
from table import Row
from tracing import Failure, Tracer

from . import networks, notebooks

ARRAYS = "An array or tensor made and freed, counted in the process beside a tracer (least of 15 loops), against none"
COST = "Ordinary notebooks, counted in the process beside a tracer that records: CPU time, against a kernel without"
COMPANION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "src")
LIMIT, WORST = 3, 6         # percent

SETUP = """import time
import numpy as np
import torch
def _least(call, deep):
    if deep:
        return _least(call, deep - 1)
    loops = []
    for _ in range(15):
        start = time.thread_time_ns()
        for _ in range(20_000):
            call()
        loops.append(time.thread_time_ns() - start)
    return min(loops) / 20_000
"""
CALLS = {f"np.{name}(2000), {deep} calls deep": f"_least(lambda: np.{name}(2000), {deep})"
         for name in ("empty", "ones") for deep in (0, 50)}
CALLS |= {f"torch.{name}(2000)": f"_least(lambda: torch.{name}(2000), 0)" for name in ("empty", "ones")}


STATE = """import sys
from ipytracer._counts import COUNTS
from ipytracer._counts_torch import TENSORS
print(COUNTS.shared and (TENSORS.shared or "torch" not in sys.modules), COUNTS.refusal, TENSORS.unable, TENSORS.refusal)
"""


def count(kernel):
    """Has a traced notebook count its small arrays itself, and tensors where it has PyTorch. Failure if it cannot."""
    kernel.run("%load_ext ipytracer\n%tracer counts on")
    for _ in range(100):
        state = kernel.run(STATE).text
        if state.startswith("True"):
            return
        time.sleep(0.1)
    raise Failure(f"the notebook does not count in the tracer's page: {state.strip()} (make build builds the library)")


@contextlib.contextmanager
def prepared(settings, how, *flags):
    """A notebook with NumPy and PyTorch: plain, probes (a tracer) or counts (a tracer, whose pages it counts in)."""
    with Kernel(path=(*settings.path, COMPANION)) as kernel:
        kernel.run("import numpy, torch")
        with contextlib.nullcontext() if how == "plain" else Tracer(settings.tracer, kernel.pid, *flags):
            if how == "counts":
                count(kernel)
            yield kernel


def loops(kernel):
    kernel.run(SETUP)
    text = kernel.run("\n".join(f"print({call})" for call in CALLS.values())).text
    return dict(zip(CALLS, map(float, text.split())))


def arrays(settings):
    conditions = {how: functools.partial(prepared, settings, how, "--budget", "off")
                  for how in ("plain", "counts", "probes")}
    found = interleave(settings.rounds(10, 1), conditions, loops, warm_up=not settings.quick,
                       progress=settings.progress("counted, arrays"))
    for name, series in found.items():
        yield Row(ARRAYS, f"{name}: counted", "%", estimate(series.percents("counts", "plain")), LIMIT,
                  f"{min(series.values['plain']):.0f} ns without")
        yield Row(ARRAYS, f"{name}: by the probes", "%", estimate(series.percents("probes", "plain")))


class Counted(notebooks.Reported):
    """A run in which a traced kernel counts its small arrays itself."""

    def _kernel(self):
        return Kernel(path=(*self.settings.path, COMPANION), env=notebooks.STEADY)

    @contextlib.contextmanager
    def _traced(self, kernel):
        kernel.run("import numpy")
        with super()._traced(kernel) as tracer:
            if tracer:
                count(kernel)
            yield tracer


def costs(settings, names):
    """Yields a row for each notebook, then the median."""
    shares = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
            series = notebooks.cost(settings, name, place, Counted)
        rounds = len(series["cpu"].values["off"])
        shares.append(undisturbed(series["cells"], "attached", "off"))
        yield Row(COST, os.path.splitext(os.path.basename(name))[0], "%", estimate_of(shares[-1], rounds), WORST,
                  f"{statistics.median(series['cpu'].values['off']):.2f} s without; "
                  f"{notebooks.exactness(series, 'attached')}")
    yield Row(COST, "the notebook in the middle", "%",
              estimate_of(lambda drawn: statistics.median(share(drawn) for share in shares), rounds), LIMIT)


def measure(settings):
    if not settings.notebooks:
        yield from arrays(settings)
    small = {os.path.splitext(os.path.basename(path))[0]: path for path in networks.notebooks()}
    yield from costs(settings, [small.get(name, name) for name in settings.notebooks or
                                sorted({*notebooks.books.names(), *small})])
