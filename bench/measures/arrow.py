"""Arrow's pools: the cost of the probes for a loop that only takes and frees buffers, and for ordinary reading of
files. The kernel's processor time counts: it includes the probes' time, and no other work on the machine."""

import functools
import statistics

from estimate import estimate
from kernel import Kernel
from pairing import interleave, nothing
from table import Row, Skipped
from tracing import Tracer

SECTION = "Arrow's pools: buffers in a loop, CSV and Parquet"
COUNT = 20_000
PREPARE = """
import io, pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, pyarrow.parquet as pq
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
def buffers(n, size):
    for _ in range(n):
        pa.allocate_buffer(size)
table = pa.table({"n": pa.array(range(500_000)), "x": pc.divide(pa.array(range(500_000), pa.float64()), 7),
                  "s": pa.array(["text %d" % (i % 1000) for i in range(500_000)])})
out = io.BytesIO()
pa.csv.write_csv(table, out)
text = pa.py_buffer(out.getvalue())
sink = pa.BufferOutputStream()
pq.write_table(table, sink)
stored = sink.getvalue()
def read_csv(n):
    for _ in range(n):
        pa.csv.read_csv(pa.BufferReader(text)).num_rows
def read_parquet(n):
    for _ in range(n):
        pq.read_table(pa.BufferReader(stored)).num_rows
"""
# The loops, and their repetitions, so that each takes some tenths of a second.
CELLS = {
    "buffers of 1,024 bytes": ("buffers(%d, 1024)", COUNT), "buffers of 1 MB": ("buffers(%d, 1_000_000)", COUNT),
    "CSV": ("read_csv(%d)", 5), "Parquet": ("read_parquet(%d)", 20),
}


def cells(kernel, _):
    """Returns the least processor time of four, by loop."""
    return {name: min(kernel.run(source % count).cpu for _ in range(4)) for name, (source, count) in CELLS.items()}


def measure(settings):
    root = settings.other_root("sid")
    if not root:
        yield Skipped(SECTION, "no Python with pyarrow: scripts/pythons.sh sid builds one ($PYTHONS_DIR)")
        return
    with Kernel(root=root) as kernel:
        kernel.run(PREPARE)
        cells(kernel, None)
        conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid),
                      "every": lambda: Tracer(settings.tracer, kernel.pid, "--budget", "off"),
                      "no stacks": lambda: Tracer(settings.tracer, kernel.pid, "--budget", "off", "--no-stacks")}
        found = interleave(settings.rounds(15, 2), conditions, functools.partial(cells, kernel),
                           warm_up=not settings.quick, progress=settings.progress("Arrow"))
    for name, (_, count) in CELLS.items():
        series, bare = found[name], 1000 * statistics.median(found[name].values["off"])
        if name.startswith("buffers"):
            each = 1e6 / count
            for condition, flags in (("every", "--budget off"), ("no stacks", "--budget off --no-stacks")):
                yield Row(
                    SECTION,
                    f"{name}, dropped at once: added to each, {flags}",
                    "µs",
                    estimate(series.differences(condition, "off", each)),
                    None,
                    f"{1000 * bare / count:.2f} µs without the tracer",
                )
            yield Row(
                SECTION, f"{name}, dropped at once, default budget", "%", estimate(series.percents("attached", "off"))
            )
            continue
        for condition, flags in (("attached", "default budget"), ("every", "--budget off")):
            yield Row(
                SECTION,
                f"reading {name} {count} times, {flags}",
                "%",
                estimate(series.percents(condition, "off")),
                None,
                f"{bare / count:.1f} ms each without the tracer",
            )
