"""The worst that page faults and mappings of the traced process can be made to cost."""

import functools
import statistics

from empty import EmptyProgram
from estimate import estimate
from pairing import interleave, nothing
from table import Row
from tracing import Tracer
from worker import Worker

SECTION = "Storms in C, traced process (one operation after the other, nothing else done)"


def storms(worker, _):
    return {"fault": worker.run("storm", name="fault_storm", arguments=[1024, 32], repeat=6),
            "map": worker.run("storm", name="map_storm", arguments=[20_000], repeat=6),
            "spawn": worker.run("storm", name="spawn_storm", arguments=[60], repeat=4)}


def measure(settings):
    with Worker(cpu=0) as worker:
        conditions = {"off": nothing, "empty": lambda: EmptyProgram("rss_stat"),
                      "attached": lambda: Tracer(settings.tracer, worker.pid)}
        found = interleave(settings.rounds(30, 2), conditions, functools.partial(storms, worker),
                           warm_up=not settings.quick, progress=settings.progress("faults"))
    for name, what, limit in (("fault", "page faults: touch 4 MiB without huge pages, unmap, repeat", 5),
                              ("map", "mmap and munmap of 64 KiB, untouched", None),
                              ("spawn", "fork, exec of /bin/true, wait: the child is traced, too", None)):
        off, on = (statistics.median(found[name].values[c]) for c in ("off", "attached"))
        added = statistics.median(found[name].differences("attached", "off"))
        yield Row(SECTION, what, "%", estimate(found[name].percents("attached", "off")), limit,
                  f"{off:.0f} ns → {on:.0f} ns; {added:+.0f} ns each")
    added = statistics.median(found["fault"].differences("empty", "off"))
    yield Row(SECTION, "of the page faults': a program that does nothing, at the same tracepoint", "%",
              estimate(found["fault"].percents("empty", "off")), None, f"{added:+.0f} ns each")
    added = statistics.median(found["fault"].differences("attached", "empty"))
    yield Row(SECTION, "the rest: the tracer's own program", "%",
              estimate(found["fault"].percents("attached", "empty")), 5, f"{added:+.0f} ns each")
