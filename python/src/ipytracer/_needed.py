"""The memory that cells needed in their last runs, by the cells' keys (_key.py): figures and hashes, no source."""

from __future__ import annotations

from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._key import Key
    from ._window import Window

MOST_CELLS = 2000     # cells that are remembered
MOST_RUNS = 3         # the last runs of each
MOST_METERS = 16      # figures of a run
_WORTH = 1 << 16      # bytes of a meter that are worth to be kept


class NotEnoughMemory(MemoryError):
    """A cell was not run: it needed more memory the last time than is free now."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: no code of the user's has run, so there are no lines to show."""
        return ["NotEnoughMemory: %s" % self]


class Run(NamedTuple):
    """One run of a cell: what it needed, in bytes by meter, whether that is only a lower bound, the hash of the sizes
    of the data that it read, when it ended, in seconds since 1970, and whether the kernel died in it."""

    need: dict[str, int]
    least: bool
    data: str
    when: int
    died: bool = False


class Found(NamedTuple):
    """What a cell will need if it needs as much as it did: bytes by meter. least: at least that. other: it read data of
    other sizes. times: how often it has run. died: the kernel died in that run."""

    need: dict[str, int]
    least: bool
    other: bool
    times: int
    died: bool = False


def run_of(window: Window, data: str, now: int) -> Run:
    """Return the run that a window of the tracer's is. Resident memory and GPUs are those of the process and its
    children together; mapped memory is the process's own, as rlimits count it."""
    figures = window.figures()
    figures.update((m, f) for m, f in window.meters.items() if m == "cpu.mapped")
    need: dict[str, int] = {}
    least = window.status != "ok"
    for meter in sorted(figures):
        figure = figures[meter]
        counts = meter in ("cpu.mapped", "cpu.resident") or meter.startswith("gpu.") and meter.endswith(".driver")
        if not counts or len(need) >= MOST_METERS or figure.need < _WORTH and meter != "cpu.resident":
            continue
        need[meter] = max(figure.need, 0)
        least = least or meter != "cpu.mapped" and not figure.exact and figure.bound is None
    return Run(need, least, data, now)


class Needs:
    """The last runs of cells, the cells that ran longest ago first."""

    def __init__(self) -> None:
        self.runs: dict[str, tuple[int, list[Run]]] = {}    # by the hash of the code: how many, and the last ones

    def __len__(self) -> int:
        return len(self.runs)

    def add(self, key: Key, run: Run) -> None:
        """Remember one more run of a cell."""
        times, runs = self.runs.pop(key.code) if key.code in self.runs else (0, [])
        self.runs[key.code] = times + 1, (runs + [run])[-MOST_RUNS:]
        self._bound()

    def take(self, others: Needs) -> None:
        """Take in cells that are newer than all of these."""
        for code, entry in others.runs.items():
            self.runs.pop(code, None)
            self.runs[code] = entry
        self._bound()

    def _bound(self) -> None:
        while len(self.runs) > MOST_CELLS:
            del self.runs[next(iter(self.runs))]

    def find(self, key: Key | None) -> Found | None:
        """Return what a cell needed the last time, with data of the same sizes if it has run with such. A run that did
        not come to its end says less than the one before it, where that needed more."""
        if key is None or key.code not in self.runs:
            return None
        times, runs = self.runs[key.code]
        same = [r for r in runs if r.data == key.data]
        fitting = same or runs
        last = fitting[-1]
        need, least, died = dict(last.need), last.least, last.died
        whole = next((r for r in reversed(fitting) if not r.least), None)
        if least and whole is not None and whole.need.get("cpu.resident", 0) >= need.get("cpu.resident", 0):
            need, least, died = dict(whole.need), False, False
        return Found(need, least, not same, times, died)
