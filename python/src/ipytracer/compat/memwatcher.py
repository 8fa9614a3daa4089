"""ipython_memwatcher: a line below each cell, and its figures as data.

    from ipytracer.compat.memwatcher import MemWatcher
    mw = MemWatcher()
    mw.start_watching_memory()

MiB and seconds; nan where no tracer listens.
"""

from __future__ import annotations

from .._named import NamedTuple
from . import _cells, _figures
from .ipython_memory_usage import between, sizes, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._window import Window


class Measurements(NamedTuple):
    """Measurements of the last cell: the memory gained since the end of the cell before (MiB), its time (seconds), how
    far its peak was above its end, and the memory now (MiB)."""

    memory_delta: float
    time_delta: float
    memory_peak: float
    memory_usage: float


class MemWatcher:
    """Prints a line below each cell between start_watching_memory() and stop_watching_memory()."""

    def __init__(self) -> None:
        self.window: Window | None = None         # that of the last cell
        self._cells = _cells.Cells("MemWatcher", self._after)
        # memory at the last cell's end; the first cell is compared with its own start
        self._previous: int | None = None
        self._measurements = Measurements(
            0, 0, -1, _figures.mebibytes(_figures.resident() if _figures.listens() else None)
        )

    @property
    def measurements(self) -> Measurements:
        """Return Measurements of the last cell."""
        return self._measurements

    @property
    def watching_memory(self) -> bool:
        """Report whether cells are reported."""
        return self._cells.on

    def start_watching_memory(self) -> None:
        """Report cells, from this one on. A second start begins anew."""
        self.stop_watching_memory()
        self._previous = None
        self._cells.start()

    def stop_watching_memory(self) -> None:
        """Stop reporting cells."""
        self._cells.stop(tell=False)

    def _after(self, cell: _cells.Cell) -> None:
        self.window = cell.window
        found = _figures.figure(cell.window.meters, _figures.RESIDENT) if cell.window is not None else None
        delta, peak, usage = sizes(found, self._previous)
        self._measurements = Measurements(delta, cell.seconds, peak, usage)
        used, peaked, now = texts(found, self._previous, 3)
        print(
            "In [%d] used %s MiB RAM in %0.3fs, peaked %s MiB above current, total RAM usage %s MiB"
            % (cell.count, used, cell.seconds, peaked, now)
            + between(found, self._previous)
        )
        self._previous = found.end if found is not None else None
