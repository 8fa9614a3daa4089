"""The added cost of an empty cell while the tracer is attached."""

import functools
import statistics

from estimate import estimate
from kernel import Kernel
from pairing import interleave, nothing
from table import Row
from tracing import Tracer

SECTION = "Added to every cell (a block of 40 × `pass`, median of the block, attached against detached, same kernel)"


def block(kernel, _, cells=40):
    ran = [kernel.run("pass") for _ in range(cells)]
    return {"inside": statistics.median(c.inside for c in ran), "waited": statistics.median(c.waited for c in ran),
            "cpu": statistics.median(c.cpu for c in ran)}


def measure(settings):
    with Kernel() as kernel:
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid)}
        found = interleave(settings.rounds(30, 3), conditions, functools.partial(block, kernel),
                           warm_up=not settings.quick, progress=settings.progress("cells"))
    bare = {name: 1000 * statistics.median(series.values["off"]) for name, series in found.items()}
    for name, what, limit in (("inside", "from request to reply, in the kernel", 0.2),
                              ("waited", "as the client waits", 0.2), ("cpu", "CPU time of the kernel", None)):
        yield Row(SECTION, what, "ms", estimate(found[name].differences("attached", "off", 1000)), limit,
                  f"{bare[name]:.2f} ms without the tracer")
