"""One report of all workers: the highest task of each kind on each process, and a bound of all processes together."""

from __future__ import annotations

from . import _packets, _text, _words
from ._dask_figures import METER, peak
from ._dask_sum import together
from ._named import NamedTuple
from ._values import boolean, integer, list_of, object_of, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._types import Data
    from ._window import Window

DRIFT = 10_000             # a clock may gain or lose 1 ns in so many, since the figures were taken
_MOST_ROWS = 100_000       # kinds of tasks, of all workers
_MOST_LEVELS = 1_000_000   # levels, of all workers


class Task(NamedTuple):
    """The tasks of one kind on one worker's process.

    worker: its name or address. prefix: that of their keys. cell: the cell that submitted them, "" if that is not
    known. count: the number of tasks. window: the Window of the one with the highest peak of resident memory, as in the
    report of the tracer on that machine.
    """

    worker: str
    prefix: str
    cell: str
    count: int  # type: ignore[assignment]
    window: Window

    @property
    def peak(self) -> int:
        """Return the most resident memory of the worker's process and its children while that task ran, in bytes."""
        return peak(self.window)

    @property
    def need(self) -> int:
        """Return the part of peak that was not there when that task began."""
        figure = self.window.figures().get(METER)
        return figure.need if figure is not None else 0

    @property
    def exact(self) -> bool:
        """Report whether peak is exact to the byte."""
        figure = self.window.figures().get(METER)
        return figure is not None and figure.exact


class Report(NamedTuple):
    """The memory of tasks on Dask workers.

    tasks: Task, the highest peak first. processes: the number of processes that a tracer follows; silent: the workers
    in processes that none follows; failed: {worker: the reason why it has no answer}. together: at most so many bytes
    of all processes with a tracer at one instant; None if that is not known, because figures of some process are
    missing for some of the time. error: the most nanoseconds by which the workers' clocks are off. missing: tasks that
    ended without a figure.
    """

    tasks: tuple[Task, ...]
    processes: int
    silent: tuple[str, ...]
    failed: dict[str, str]
    together: int | None
    error: int
    missing: int

    def __repr__(self) -> str:
        return "\n".join([line(self)] + ([_text.table(table(self))] if len(self.tasks) > 1 else []))


def line(r: Report) -> str:
    """Return the line below a cell."""
    rest = []
    if r.silent:
        rest.append("%s without a tracer" % _words.plural(len(r.silent), "worker"))
    if r.failed:
        worker, why = next(iter(r.failed.items()))
        rest.append("no answer of %s (%s: %s)" % (
            _words.plural(len(r.failed), "worker"), _words.safe(worker, 60), _words.safe(why, 120)))
    if r.missing:
        rest.append("%s without a figure" % _words.plural(r.missing, "task"))
    if not r.tasks:
        head = "no task has a figure"
    else:
        top = r.tasks[0]
        head = "on %s: highest %s%s on %s in %s" % (
            _words.plural(r.processes, "worker") if r.processes == 1 else "%d workers" % r.processes,
            _words.mark(top.exact),
            _words.size(top.peak),
            _words.safe(top.worker, 60),
            _words.safe(top.prefix, 60),
        )
        if r.processes > 1:
            head += (", together at most %s at once" % _words.size(r.together) if r.together is not None
                     else ", together not known")
    return " · ".join(["dask " + head, *rest])


def table(r: Report) -> _text.Table:
    """Return the tasks as a table, the highest peak first."""
    rows = [
        [
            _words.safe(t.prefix, 40),
            _words.safe(t.cell, 40),
            _words.safe(t.worker, 40),
            format(t.count, ","),
            _words.mark(t.exact) + _words.size(t.peak),
            _words.mark(t.exact) + _words.size(t.need),
        ]
        for t in r.tasks[:50]
    ]
    return _text.Table(["task", "cell…", "worker…", "tasks", "peak", "need"], rows)


class _Process:
    """The answer of one process: several workers may live in it."""

    def __init__(self, name: str, data: Data, clock: tuple[int, int]) -> None:
        object_of(data)
        self.name = text(data["name"])[:100] or name
        self.key = text(data["boot"])[:64], text(data["host"])[:200], integer(data["pid"], 1)
        self.listens, self.missing = boolean(data["listens"]), integer(data["missing"], 0)
        shift, error = clock
        self.error = error + integer(data["error_ns"], 0)
        now = integer(data["now_ns"])
        kinds, levels = list_of(data["kinds"])[:_MOST_ROWS], list_of(data["levels"])[:_MOST_LEVELS]
        self.levels = [(integer(a) + shift, integer(b) + shift, integer(n)) for a, b, n in levels]
        self.tasks: list[Task] = []
        self.times: list[int] = []       # of the first begin and the last end of each kind
        self.error += (now - min((a for a, _, _ in levels), default=now)) // DRIFT
        for kind in kinds:
            self.tasks.append(Task(
                self.name,
                text(kind["task"])[:200],
                text(kind["cell"])[:200],
                integer(kind["count"], 1),
                _packets.window(kind["window"]),
            ))
            self.times += [integer(kind["first_ns"]) + shift, integer(kind["last_ns"]) + shift]


def join(answers: Iterable[tuple[str, Any]], begun: int, ended: int, boot: str) -> Report:
    """Return the report of all workers: (address, what its process answered, or the exception). The question was sent
    at begun and the last answer came at ended (time.time_ns()): the clock of another machine is known as well as that.
    boot: the machine's own, whose clock needs no comparison."""
    silent, failed = [], {}
    found: dict[tuple[str, str, int], _Process] = {}
    for address, data in answers:
        if isinstance(data, BaseException):
            failed[address] = "%s: %s" % (type(data).__name__, data)
            continue
        try:
            one = _Process(address, data, _clock(data, begun, ended, boot))
        except (ValueError, KeyError, TypeError) as e:
            failed[address] = "not an answer of ipytracer (%s)" % e
            continue
        if not one.listens:
            silent.append(one.name)
        elif one.key not in found:
            found[one.key] = one
    processes = list(found.values())
    tasks = sorted((t for one in processes for t in one.tasks), key=lambda t: -t.peak)
    times = [t for one in processes for t in one.times]
    most, bound = (
        together([(one.levels, one.error) for one in processes], min(times), max(times)) if times else (0, False)
    )
    return Report(
        tuple(tasks), len(processes), tuple(silent), failed, most if bound else None,
        max((one.error for one in processes), default=0), sum(one.missing for one in processes),
    )


def _clock(data: Any, begun: int, ended: int, boot: str) -> tuple[int, int]:
    """Return (what to add to a worker's times for ours, the error of that), in nanoseconds."""
    if boot and data["boot"] == boot:
        return 0, 0
    middle = (begun + ended) // 2
    return middle - integer(data["now_ns"]), (ended - begun + 1) // 2
