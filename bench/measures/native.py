"""The added cost of native frames for an allocation, by their number."""

import functools

from estimate import estimate
from pairing import interleave
from table import Row
from tracing import Tracer
from worker import Worker

SECTION = "Native stacks: what --native adds to an allocation, beside none (--budget off)"
DEPTHS = (0, 5, 10, 25, 50)


def at_depth(worker, _):
    found = {depth: worker.run("storm", name="native_storm", arguments=[20_000, depth], repeat=3) for depth in DEPTHS}
    found["array"] = 1e9 * min(worker.run("arrays", count=10_000, elements=2000) for _ in range(3)) / 10_000
    return found


def measure(settings):
    with Worker(cpu=0) as worker:
        conditions = {"python": lambda: Tracer(settings.tracer, worker.pid, "--budget", "off"),
                      "native": lambda: Tracer(settings.tracer, worker.pid, "--budget", "off", "--native")}
        found = interleave(
            settings.rounds(12, 2),
            conditions,
            functools.partial(at_depth, worker),
            warm_up=not settings.quick,
            progress=settings.progress("native"),
        )
    for depth in DEPTHS:
        yield Row(
            SECTION,
            f"a block, {depth} calls below ctypes' own",
            "ns",
            estimate(found[depth].differences("native", "python")),
        )
    yield Row(
        SECTION,
        "np.ones(2000): NumPy tells of three blocks",
        "ns",
        estimate(found["array"].differences("native", "python")),
    )
