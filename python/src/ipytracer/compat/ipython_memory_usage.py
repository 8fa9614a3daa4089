"""ipython_memory_usage: a line below each cell, between %imu_start and %imu_stop.

    %load_ext ipytracer.compat.ipython_memory_usage

"used" is against the end of the cell before, as in the original. How busy the processors were is the kernel's count
over the cell, of the whole machine.
"""

from __future__ import annotations

from . import _cells, _figures, _processors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Shell
    from .._window import Figure

_NAMES = ("imu_start", "imu_stop", "lmagic")

window = None      # the Window of the last cell
_watching = []     # the _Watcher that is on


class _Watcher:
    def __init__(self) -> None:
        self.cells = _cells.Cells("ipython_memory_usage", self.after, self.before)
        self.previous: int | None = None
        self.busy: _processors.Busy | None = None

    def start(self) -> None:
        self.previous = None         # the first is against its own start
        self.cells.start()

    def before(self) -> None:
        self.busy = _processors.Busy()

    def after(self, cell: _cells.Cell) -> None:
        global window
        window = cell.window
        mean, most = self.busy.over() if self.busy is not None else (_figures.NAN, _figures.NAN)
        found = _figures.figure(window.meters, _figures.RESIDENT) if window is not None else None
        used = taken(found, self.previous)
        print(
            (
                "In [%d] used %s%0.1f MiB RAM in %0.2fs (system mean cpu %0.0f%%, single max cpu %0.0f%%), "
                "peaked %s%0.1f MiB above final usage, "
                "current RAM usage now %s%0.1f MiB"
            )
            % (
                cell.count,
                _figures.mark(found),
                used,
                cell.seconds,
                mean,
                most,
                _figures.mark(found, True),
                _figures.mebibytes(above(found)),
                _figures.mark(found),
                _figures.mebibytes(found.end if found is not None else None),
            )
            + between(found, self.previous)
            + self.also(cell)
        )
        self.previous = found.end if found is not None else None

    def also(self, cell: _cells.Cell) -> str:
        """What stands behind the line."""
        return ""


def above(found: Figure | None) -> int | None:
    """How far the peak was above the end, in bytes; None where it is not known."""
    return max(0, found.peak - found.end) if found is not None else None


def taken(found: Figure | None, previous: int | None) -> float:
    """MiB that there are more at a cell's end than previous bytes, or, where that is not known, than at its start; nan
    where nothing is known."""
    return _figures.mebibytes(None if found is None else found.consumed if previous is None else found.end - previous)


def between(found: Figure | None, previous: int | None) -> str:
    """A word on what of "used" was taken before the cell began, from a MiB on: the cell has nothing to do with that."""
    before = _figures.mebibytes(found.start - previous) if found is not None and previous is not None else 0
    return " (%0.1f MiB of that before the cell began)" % before if abs(before) >= 1 else ""


def start_watching_memory(watcher: type[_Watcher] = _Watcher) -> None:
    """Print a line below each cell, from this one on. Started again it starts anew."""
    stop_watching_memory()
    _watching.append(watcher())
    _watching[0].start()


def stop_watching_memory() -> None:
    """Print no more of them."""
    while _watching:
        _watching.pop().cells.stop(tell=False)


def imu_start(line: str = "") -> str:
    """%imu_start: a line of figures below each cell."""
    start_watching_memory()
    return "IPython Memory Usage started"


def imu_stop(line: str = "") -> str:
    """%imu_stop: no more of them."""
    stop_watching_memory()
    return "IPython Memory Usage stopped"


def lmagic(line: str = "") -> str:
    """%lmagic: the names in this notebook. It is the original's example, and is here because that is."""
    print("Variables in the user namespace:", list(_cells.shell().user_ns))
    return line


def load_ipython_extension(shell: Shell) -> None:
    """What %load_ext does."""
    print("Enabling IPython Memory Usage, use %imu_start to begin, %imu_stop to end")
    for name in _NAMES:
        shell.register_magic_function(globals()[name], "line", name)


def unload_ipython_extension(shell: Shell) -> None:
    """What %unload_ext does."""
    stop_watching_memory()
    for name in _NAMES:
        shell.magics_manager.magics["line"].pop(name, None)
