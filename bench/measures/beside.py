"""The tools people use today, measured the same way in the same run."""

import contextlib
import functools
import statistics

from estimate import estimate
from kernel import Kernel
from pairing import interleave, nothing
from table import Row, Skipped
from tracing import Failure, Tracer

SECTION = "Beside it: tools that work inside the kernel"

TOOLS = {
    "CellLogger": ("from ipyexperiments import IPyExperimentsCPU\nfrom ipyexperiments.cell_logger import CellLogger\n"
                   "_logger = CellLogger(IPyExperimentsCPU(exp_enable=False, cl_enable=False))",
                   "_logger.start()", "_logger.stop()"),
    "ipython_memory_usage": ("from ipython_memory_usage import ipython_memory_usage as _usage",
                             "_usage.start_watching_memory()", "_usage.stop_watching_memory()"),
}


@contextlib.contextmanager
def watching(kernel, start, stop):
    kernel.run(start)
    kernel.run("pass")
    try:
        yield None
    finally:
        kernel.run(stop)


def cells(kernel, tracer):
    """Returns the wait for an empty cell, and the CPU seconds, with the tracer's, of a cell that sleeps for a
    second."""
    waited = statistics.median(kernel.run("pass").waited for _ in range(8))
    own = tracer.cpu_seconds() if tracer else 0
    used = kernel.run("import time; time.sleep(1)").cpu + (tracer.cpu_seconds() - own if tracer else 0)
    return {"waited": waited, "cpu": used}


def measure(settings):
    if not settings.seeds:
        yield Skipped(SECTION, "CellLogger and ipython_memory_usage: --seeds DIR says where they are "
                               "(pip install --target DIR ipyexperiments ipython_memory_usage)")
        return
    with Kernel(path=[settings.seeds]) as kernel:
        conditions = {"off": nothing, "ipytracer": lambda: Tracer(settings.tracer, kernel.pid)}
        for name, (load, start, stop) in TOOLS.items():
            try:
                kernel.run(load)
            except Failure as e:
                yield Skipped(SECTION, f"{name}: {e}")
                continue
            conditions[name] = functools.partial(watching, kernel, start, stop)
        found = interleave(settings.rounds(12, 2), conditions, functools.partial(cells, kernel),
                           warm_up=not settings.quick, progress=settings.progress("beside"))
    for name in list(conditions)[1:]:
        yield Row(SECTION, f"{name}: added to a cell, as the client waits", "ms",
                  estimate(found["waited"].differences(name, "off", 1000)))
        yield Row(SECTION, f"{name}: CPU while a cell sleeps for 1 s", "s", estimate(found["cpu"].values[name]))
