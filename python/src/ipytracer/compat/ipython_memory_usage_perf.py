"""ipython_memory_usage_perf: the line of ipython_memory_usage, and how often the cell missed the processor's cache.

    import ipytracer.compat.ipython_memory_usage_perf as imu
    imu.start_watching_memory()

The original runs `perf stat` and averages its samples. Here the processor's own count over the cell is divided by its
time; the tracer has it if it was started with --counters, on a machine whose processor counts. Where it has not, the
line says so.
"""

from __future__ import annotations

from . import ipython_memory_usage
from .ipython_memory_usage import stop_watching_memory  # noqa: F401, for who calls it here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _cells

EVENT_TYPE = "cache-misses"


class _Watcher(ipython_memory_usage._Watcher):
    def also(self, cell: _cells.Cell) -> str:
        counters = cell.window.counters if cell.window is not None else None
        misses = counters["cache_misses"] if counters else -1
        if misses < 0 or cell.window is None:
            return "\nperf value for %s is not known: %s" % (
                EVENT_TYPE,
                "the tracer's report says why" if counters else "the tracer was not started with --counters",
            )
        seconds = cell.window.duration_ns / 1e9
        return "\nperf value for %s averages to %s/second" % (
            EVENT_TYPE,
            f"{misses / seconds:,.0f}" if seconds > 0 else "nan",
        )


def start_watching_memory() -> None:
    """Print a line below each cell, and its cache misses, from this one on. Started again it starts anew."""
    ipython_memory_usage.start_watching_memory(_Watcher)
