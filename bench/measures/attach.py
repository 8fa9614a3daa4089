"""How long an attach takes, and how much processor time."""

from estimate import estimate
from kernel import Kernel
from table import Row
from tracing import Tracer

LIBRARIES = (
    "import numpy, pandas\nfor name in 'sklearn.linear_model', 'torch':\n    try: __import__(name)\n"
    "    except ImportError: pass"
)


def measure(settings):
    times, again, first, progress, count = [], [], [], settings.progress("attach"), settings.rounds(15, 4)
    with Kernel() as kernel:
        kernel.run(LIBRARIES)
        for i in range(count):
            for flags, spent in ((), again), (("--no-cache",), first):
                with Tracer(settings.tracer, kernel.pid, *flags) as tracer:
                    spent.append(tracer.cpu_seconds())
                    if not flags:
                        times.append(tracer.attach_seconds)
                    kernel.run("pass")
            progress(i + 1, count)
    yield Row("Attach", "from exec of `tracer attach` to every probe in place", "s", estimate(times), 0.5)
    yield Row(
        "Attach", "processor time of the tracer until it is at rest, nothing kept (--no-cache)", "s", estimate(first), 2
    )
    yield Row("Attach", "the same, with what an earlier attach has kept", "s", estimate(again[1:] or again), 0.7)
