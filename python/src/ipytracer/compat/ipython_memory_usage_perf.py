"""ipython_memory_usage_perf: the line of ipython_memory_usage, and the cell's misses of the processor's cache.

    import ipytracer.compat.ipython_memory_usage_perf as imu
    imu.start_watching_memory()

The original runs `perf stat` and averages its samples. Here the processor's own count over the cell is divided by its
time. The tracer has the count if it was started with --counters, on a machine with a processor that counts. Otherwise
the line says that it is missing.
"""

from __future__ import annotations

from . import ipython_memory_usage
from .ipython_memory_usage import stop_watching_memory  # noqa: F401, for callers of this module

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
    """Print a line below each cell, and its cache misses, from this one on. A second start begins anew."""
    ipython_memory_usage.start_watching_memory(_Watcher)
