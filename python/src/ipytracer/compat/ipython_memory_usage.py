"""ipython_memory_usage: a line below each cell, between %imu_start and %imu_stop.

    %load_ext ipytracer.compat.ipython_memory_usage

"used" is relative to the end of the cell before, as in the original. The load of the processors is the kernel's count
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
        used, peaked, now = texts(found, self.previous, 1)
        print(
            (
                "In [%d] used %s MiB RAM in %0.2fs (system mean cpu %0.0f%%, single max cpu %0.0f%%), "
                "peaked %s MiB above final usage, current RAM usage now %s MiB"
            )
            % (cell.count, used, cell.seconds, mean, most, peaked, now)
            + between(found, self.previous)
            + self.also(cell)
        )
        self.previous = found.end if found is not None else None

    def also(self, cell: _cells.Cell) -> str:
        """Return the text behind the line."""
        return ""


def sizes(found: Figure | None, previous: int | None) -> tuple[float, float, float]:
    """Return three sizes of a cell in MiB, nan where nothing is known: its end above previous bytes (None: above its
    start), its peak above its end, and its end."""
    if found is None:
        return _figures.NAN, _figures.NAN, _figures.NAN
    used = found.consumed if previous is None else found.end - previous
    return used / _figures.MIB, max(0, found.peak - found.end) / _figures.MIB, found.end / _figures.MIB


def texts(found: Figure | None, previous: int | None, decimals: int) -> list[str]:
    """Return the sizes of a cell as texts, with their marks."""
    quantities = ("consumed", "peaked", "end")
    return ["%s%.*f" % (_figures.mark(found, q), decimals, n) for q, n in zip(quantities, sizes(found, previous))]


def between(found: Figure | None, previous: int | None) -> str:
    """Return a note on the part of "used" that was taken before the cell began, from one MiB on: the cell has nothing
    to do with that."""
    before = _figures.mebibytes(found.start - previous) if found is not None and previous is not None else 0
    return " (%0.1f MiB of that before the cell began)" % before if abs(before) >= 1 else ""


def start_watching_memory(watcher: type[_Watcher] = _Watcher) -> None:
    """Print a line below each cell, from this one on. A second start begins anew."""
    stop_watching_memory()
    _watching.append(watcher())
    _watching[0].start()


def stop_watching_memory() -> None:
    """Stop printing them."""
    while _watching:
        _watching.pop().cells.stop(tell=False)


def imu_start(line: str = "") -> str:
    """%imu_start: a line of figures below each cell."""
    start_watching_memory()
    return "IPython Memory Usage started"


def imu_stop(line: str = "") -> str:
    """%imu_stop: no more lines of figures."""
    stop_watching_memory()
    return "IPython Memory Usage stopped"


def lmagic(line: str = "") -> str:
    """%lmagic: the names in this notebook. It is here because the original has it, as an example."""
    print("Variables in the user namespace:", list(_cells.shell().user_ns))
    return line


def load_ipython_extension(shell: Shell) -> None:
    """Load the extension: %load_ext calls this."""
    print("Enabling IPython Memory Usage, use %imu_start to begin, %imu_stop to end")
    for name in _NAMES:
        shell.register_magic_function(globals()[name], "line", name)


def unload_ipython_extension(shell: Shell) -> None:
    """Unload the extension: %unload_ext calls this."""
    stop_watching_memory()
    for name in _NAMES:
        shell.magics_manager.magics["line"].pop(name, None)
