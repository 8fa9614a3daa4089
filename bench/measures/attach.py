"""How long an attach takes."""

from estimate import estimate
from kernel import Kernel
from table import Row
from tracing import Tracer


def measure(settings):
    times, progress, count = [], settings.progress("attach"), settings.rounds(15, 4)
    with Kernel() as kernel:
        kernel.run("import numpy, pandas")
        for i in range(count):
            with Tracer(settings.tracer, kernel.pid) as tracer:
                times.append(tracer.attach_seconds)
                kernel.run("pass")
            progress(i + 1, count)
    yield Row("Attach", "from exec of `tracer attach` to every probe in place", "s", estimate(times), 0.5)
