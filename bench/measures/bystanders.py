"""The cost to untraced processes, while a tracer is attached to another one."""

import functools
import statistics

from estimate import estimate
from pairing import interleave, nothing
from table import Row
from tracing import Tracer
from worker import Worker

SECTION = "Processes that are not traced, while another is (with the tracer / without)"

STORMS = (("fault_storm", [1024, 32], "page fault"), ("map_storm", [20_000], "mmap + munmap of 64 KiB"),
          ("call_storm", [200_000], "getppid"), ("spawn_storm", [60], "fork + exec of /bin/true + wait"))
ARRAYS = 50_000


def storms(worker, _):
    found = {name: worker.run("storm", name=name, arguments=arguments, repeat=6) for name, arguments, _ in STORMS}
    found["arrays"] = min(worker.run("arrays", count=ARRAYS, elements=2_000) for _ in range(4)) * 1e9 / ARRAYS
    return found


def measure(settings):
    with Worker() as traced, Worker(cpu=0) as other:
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, traced.pid)}
        found = interleave(settings.rounds(30, 2), conditions, functools.partial(storms, other),
                           warm_up=not settings.quick, progress=settings.progress("bystanders"))
    for name, what in [(name, what) for name, _, what in STORMS] + [
        ("arrays", "np.ones(2000), the same interpreter file")
    ]:
        off = statistics.median(found[name].values["off"])
        added = statistics.median(found[name].differences("attached", "off"))
        yield Row(
            SECTION, what, "×", estimate(found[name].ratios("attached", "off")), None, f"{off:.0f} ns, {added:+.0f} ns"
        )
