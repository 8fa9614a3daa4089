"""Experiments: the memory that a stretch of work took, and the memory that came back when its names were deleted."""

from __future__ import annotations

import functools
import gc
import inspect
import sys

from . import _live, _release, _show, _silence, _source, _starter, _text, _way, _words
from ._line import LINE
from ._named import NamedTuple
from ._names import UNTOUCHED, Names
from ._window import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any, TypeVar

    from ._packets import Hello
    from ._types import Shell
    from ._window import Line, Window

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_MOST_BYTES = 160        # of a name, as UTF-8
_MOST_WIDE = (78, 30)    # characters of a name with any outside Latin-1, outside the Basic Multilingual Plane


_WORTH = 64 << 10        # bytes that did not come back: for less the tracer is not asked for lines
_MOST_LINES = 5          # lines in the text about memory that is left


class Result(NamedTuple):
    """The result of an experiment.

    consumed, reclaimed: {meter: bytes}, the memory it had taken at its end, and the part of that which came back when
    its names were deleted. available: {meter: bytes}, the memory left below the limit of the process, for the meter
    that the limit is on. All three are None without a tracer. deleted: names that it defined and that are gone. kept:
    names that it defined and that remain, by keep or because they are modules, functions or classes. reassigned: older
    names with another value now; they are not touched. collected: the number that gc.collect() returned, None where it
    was not called. window: the experiment's Window, None without a tracer. left: Lines, the allocations that did not
    come back, for each meter the largest first. holding: names that may hold them: kept ones, reassigned ones, outputs
    that the notebook has gained ("Out[3]"). Both are empty where everything has come back.
    """

    name: str
    consumed: dict[str, int] | None
    reclaimed: dict[str, int] | None
    available: dict[str, int] | None
    deleted: tuple[str, ...]
    kept: tuple[str, ...]
    reassigned: tuple[str, ...]
    collected: int | None
    window: Window | None
    left: Lines
    holding: tuple[str, ...]

    @property
    def percent(self) -> dict[str, float] | None:
        """Return {meter: the share of consumed memory that came back, in percent}, for meters with consumed memory;
        None without a tracer."""
        if self.consumed is None or self.reclaimed is None:
            return None
        return {m: 100 * self.reclaimed[m] / taken for m, taken in self.consumed.items() if taken > 0}

    def __repr__(self) -> str:
        head = "experiment %s" % _words.safe(self.name, 60)
        said = []
        for what, names in (("deleted", self.deleted), ("kept", self.kept), ("has new values", self.reassigned)):
            if names:
                said.append("%s: %s" % (what, ", ".join(_words.safe(n, 60) for n in names)))
        if self.consumed is None or self.reclaimed is None or self.available is None:
            why, todo = (
                (_silence.words(), "") if LINE.listens() else ("no tracer listens", "\n  for figures, " + _way.todo())
            )
            return "; ".join([head + ": no figures, " + why] + said) + todo
        rows = []
        for meter in _words.in_order(self.consumed):
            taken, back = self.consumed[meter], self.reclaimed[meter]
            if meter == "cpu.resident" or not _words.is_part(meter) and (taken or back):
                share = " (%d %%)" % (100 * back // taken) if taken > 0 else ""
                rest = " · available " + _words.size(self.available[meter]) if meter in self.available else ""
                rows.append(
                    "%s consumed %s · reclaimed %s%s%s"
                    % (_words.meter_name(meter), self._size(meter, taken), self._size(meter, back), share, rest)
                )
        return "\n  ".join([head] + rows + said + self._rest())

    def _rest(self) -> list[str]:
        """Return the memory that did not come back, as lines of text."""
        rows = [
            "left: " + _text.allocation(line, "net", _words.safe(line.where, 100)) for line in self.left[:_MOST_LINES]
        ]
        if len(self.left) > _MOST_LINES:
            rows.append("… and %s" % _words.plural(len(self.left) - _MOST_LINES, "more line"))
        if self.left and self.holding:
            rows.append("may hold it: %s" % ", ".join(_words.safe(n, 60) for n in self.holding))
        return rows

    def _size(self, meter: str, n: int) -> str:
        exact = self.window is not None and self.window.meters[meter].exact
        return _words.mark(exact) + _words.size(n)


def _marker_name(name: object) -> str:
    """Return the name as the tracer gets it."""
    name = "".join(c if c.isprintable() else "?" for c in str(name)) or "experiment"
    widest = max(name)
    if widest > "\uffff":
        name = name[:_MOST_WIDE[1]]
    elif widest > "\xff":
        name = name[:_MOST_WIDE[0]]
    return name.encode("utf-8")[:_MOST_BYTES].decode("utf-8", "ignore")


def _shell() -> Shell:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


class Experiment:
    """An experiment that start() or experiment() began. It ends with finish(), or with its with block."""

    def __init__(
        self,
        name: str,
        keep: str | Iterable[str] = (),
        collect: bool = False,
        empty_cache: bool = False,
        release: bool = False,
        seed: int | None = None,
        keep_var_names: str | Iterable[str] | None = (),
    ) -> None:
        keep, more = ((k,) if isinstance(k, str) else k for k in (keep, keep_var_names or ()))
        self.keep = frozenset(keep).union(more)
        if not all(isinstance(n, str) for n in self.keep):
            raise ValueError("keep takes names, as text")
        self.name, self.collect, self.empty_cache, self.release, self.seed = (
            _marker_name(name),
            collect,
            empty_cache,
            release,
            _release.checked(seed),
        )
        self.result: Result | None = None       # set once it has ended
        self._names: Names | None = None

    def _begin(self) -> Experiment:
        LINE.look() or _starter.listens() or _source.answers()
        if self.seed is not None:
            _release.seed(self.seed)
        self._names = Names(_shell())
        _source.mark("begin " + self.name)
        return self

    def finish(self) -> Result | None:
        """End the experiment: delete the names that it has defined, and measure the memory that came back. Return the
        Result; a second call returns the same one."""
        if self.result is not None or self._names is None:
            return self.result
        listens, hello = _source.answers(), _source.hello()
        before = self._window("running") if listens else None
        names, self._names = self._names, None
        gone = names.end(self.keep)
        collected = gc.collect() if self.collect else None
        if self.empty_cache:
            _release.empty_cache()
        _source.mark("end " + self.name)
        after = self._window("experiment", name=self.name) if before is not None else None
        if after is not None and before is not None and after.id != before.id:
            after = None         # another experiment of that name
        self.result = _result(self.name, before, after, hello, gone, collected, names)
        return self.result

    def _window(self, what: str, **more: Any) -> Window | None:
        found = _source.ask(what, **more)
        if not isinstance(found, list):
            return None
        mine: list[Window] = [w for w in found if w.kind == "experiment" and w.name == self.name]
        return max(mine, key=lambda w: w.id) if mine else None

    def __enter__(self) -> Experiment:
        return self._begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.release and error is not None and _release.is_out_of_memory(error):
            _release.frames(error)
        del error
        result, shell = self.finish(), _shell()
        companion = _way.of(shell) if shell is not None else None
        if companion is not None and companion.on and result is not None and result.consumed is not None:
            _show.publish(shell, {"text/plain": repr(result)})

    def __call__(self, function: _Function) -> _Function:
        """Make a decorator of it: each call is an experiment; the function's attribute result is the Result of the last
        one."""
        made: _Function = (self._awaited if inspect.iscoroutinefunction(function) else self._called)(function)
        return made

    def _awaited(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            one = self._again()
            try:
                return await function(*args, **kwargs)
            finally:
                made.result = one.finish()
        made: Any = run
        made.result = None
        return made

    def _called(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            one = self._again()
            try:
                return function(*args, **kwargs)
            finally:
                made.result = one.finish()
        made: Any = run
        made.result = None
        return made

    def _again(self) -> Experiment:
        return Experiment(self.name, self.keep, self.collect, self.empty_cache, self.release, self.seed)._begin()

    def __repr__(self) -> str:
        if self.result is not None:
            return repr(self.result)
        return "experiment %s: %s" % (
            _words.safe(self.name, 60),
            "runs" if self._names is not None else "has not begun",
        )


def _result(
    name: str,
    before: Window | None,
    after: Window | None,
    hello: Hello | None,
    gone: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    collected: int | None,
    names: Names,
) -> Result:
    if before is None or after is None:
        return Result(name, None, None, None, *gone, collected, None, Lines(), ())
    consumed = {m: before.meters[m].end - f.start for m, f in after.meters.items() if m in before.meters}
    reclaimed = {m: before.meters[m].end - after.meters[m].end for m in consumed}
    available = {}
    if hello is not None and hello.limit:
        meter = "cpu.mapped" if "rlimit" in hello.limit_of.lower() else "cpu.resident"
        if meter in after.meters:
            available[meter] = hello.limit - after.meters[meter].end
    left = _left(after, {m for m, taken in consumed.items() if taken - reclaimed[m] >= _WORTH})
    holding = (
        tuple(n for n in gone[1] if not isinstance(names.value(n), UNTOUCHED)) + gone[2] + names.outputs()
        if left
        else ()
    )
    return Result(name, consumed, reclaimed, available, *gone, collected, after, left, holding)


def _left(window: Window, meters: set[str]) -> Lines:
    """Return the lines with memory that remains, of some meters. Memory that was mapped for an array counts for the
    array. What the display of a running cell took meanwhile is no memory of the experiment's code."""
    if not meters:
        return Lines()
    answer = _source.ask("lines", window=window.id)
    found: list[Line] = list(answer) if isinstance(answer, list) else []
    found = [line for line in found if line.net > 0 and line.meter in meters and not _live.shown_by(line.stack)]
    told = {line.stack for line in found if line.meter != "cpu.mapped"}
    once = [line for line in found if line.meter != "cpu.mapped" or line.stack not in told]
    return Lines(sorted(once, key=lambda line: -line.net))


def experiment(
    name: str,
    keep: str | Iterable[str] = (),
    collect: bool = False,
    empty_cache: bool = False,
    release: bool = False,
    seed: int | None = None,
    keep_var_names: str | Iterable[str] | None = (),
) -> Experiment:
    """Return an experiment as a context manager or a decorator: with ipytracer.experiment("load") as e: … and then
    e.result, a Result.

    At its end the names that the notebook has gained are deleted, except those in keep (keep_var_names is the same),
    modules, functions and classes; with collect gc.collect() is called, with empty_cache torch.cuda.empty_cache().
    release: if it fails for lack of memory, the variables of the calls in its traceback are released. seed: a number
    for the generators of random, NumPy and PyTorch at its begin. Experiments may nest, overlap and span many cells. An
    exception passes through.
    """
    return Experiment(name, keep, collect, empty_cache, release, seed, keep_var_names)


def start(
    name: str,
    keep: str | Iterable[str] = (),
    collect: bool = False,
    empty_cache: bool = False,
    release: bool = False,
    seed: int | None = None,
    keep_var_names: str | Iterable[str] | None = (),
) -> Experiment:
    """Begin an experiment that lasts until its finish(), which returns a Result; the arguments are those of
    experiment()."""
    return Experiment(name, keep, collect, empty_cache, release, seed, keep_var_names)._begin()
