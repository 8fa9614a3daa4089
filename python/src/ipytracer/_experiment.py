"""Experiments: a stretch of work, what it took, what came back when its names were deleted."""

import functools
import gc
import inspect
import sys
import types
import weakref
from collections import namedtuple

from . import _release, _show, _silence, _starter, _way, _words
from . import _shell as _companions
from ._line import LINE, marker
from ._window import Lines

_MOST_BYTES = 160        # of a name, as UTF-8
_MOST_WIDE = (78, 30)    # characters of a name with any outside Latin-1, outside the Basic Multilingual Plane
_UNTOUCHED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


_WORTH = 64 << 10        # bytes that did not come back: what is less is not asked about
_MOST_LINES = 5          # of those that hold it, as text


class Result(namedtuple("Result", "name consumed reclaimed available deleted kept reassigned collected window left holding")):
    """What an experiment came to.

    consumed, reclaimed: {meter: bytes}, what it had taken when it was over, and what of that came back when its names were deleted.
    available: {meter: bytes}, what is left below the limit of the process's memory, for the meter that the limit is of. All three are None
    without a tracer. deleted: names that it had defined and that are gone. kept: such names that are there still, by keep or because they are modules,
    functions or classes. reassigned: older names that have another value now; they are not touched. collected: what
    gc.collect() found, None where it was not asked for. window: the experiment's Window, None without a tracer. left: Lines, who allocated what did not
    come back, of each meter the most first. holding: names that may hold it: kept ones, those with new values, outputs that the notebook has
    gained ("Out[3]"). Both are empty where everything has come back.
    """

    __slots__ = ()

    @property
    def percent(self):
        """{meter: how much of what it had taken came back, in percent}, of meters of which it had taken something; None without a tracer."""
        if self.consumed is None:
            return None
        return {m: 100 * self.reclaimed[m] / taken for m, taken in self.consumed.items() if taken > 0}

    def __repr__(self):
        head = "experiment %s" % _words.safe(self.name, 60)
        said = []
        for what, names in (("deleted", self.deleted), ("kept", self.kept), ("has new values", self.reassigned)):
            if names:
                said.append("%s: %s" % (what, ", ".join(_words.safe(n, 60) for n in names)))
        if self.consumed is None:
            why, todo = (_silence.words(), "") if LINE.listens() else ("no tracer listens", "\n  for figures, " + _way.todo())
            return "; ".join([head + ": no figures, " + why] + said) + todo
        rows = []
        for meter in _words.in_order(self.consumed):
            taken, back = self.consumed[meter], self.reclaimed[meter]
            if meter == "cpu.resident" or not _words.is_part(meter) and (taken or back):
                share = " (%d %%)" % (100 * back // taken) if taken > 0 else ""
                rest = " · available " + _words.size(self.available[meter]) if meter in self.available else ""
                rows.append("%s consumed %s · reclaimed %s%s%s" % (_words.meter_name(meter), self._size(meter, taken), self._size(meter, back), share, rest))
        return "\n  ".join([head] + rows + said + self._rest())

    def _rest(self):
        """What did not come back, as lines of text."""
        rows = ["left: %s %s  %s" % (_words.meter_name(line.meter), _words.size(line.net), _words.safe(line.where, 100)) for line in self.left[:_MOST_LINES]]
        if len(self.left) > _MOST_LINES:
            rows.append("… and %s" % _words.plural(len(self.left) - _MOST_LINES, "more line"))
        if self.left and self.holding:
            rows.append("may hold it: %s" % ", ".join(_words.safe(n, 60) for n in self.holding))
        return rows

    def _size(self, meter, n):
        return ("" if self.window.meters[meter].exact else "≈") + _words.size(n)


def _marker_name(name):
    """The name as the tracer gets it."""
    name = "".join(c if c.isprintable() else "?" for c in str(name)) or "experiment"
    widest = max(name)
    if widest > "\uffff":
        name = name[:_MOST_WIDE[1]]
    elif widest > "\xff":
        name = name[:_MOST_WIDE[0]]
    return name.encode("utf-8")[:_MOST_BYTES].decode("utf-8", "ignore")


def _shell():
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


class _Names:
    """What a notebook's names meant at one moment, without keeping any value alive."""

    def __init__(self, shell):
        self._shell = shell
        self._then = {name: _seen(value) for name, value in self._names()}
        self._outputs = set(self._shown())

    def _names(self):
        if self._shell is None:
            return []
        hidden = self._shell.user_ns_hidden
        return [(n, v) for n, v in list(self._shell.user_ns.items()) if not n.startswith("_") and n not in hidden]

    def _shown(self):
        """The numbers of outputs that the notebook keeps."""
        out = self._shell.user_ns.get("Out") if self._shell is not None else None
        return [n for n in out if type(n) is int] if type(out) is dict else []

    def value(self, name):
        """What a name means now."""
        return self._shell.user_ns.get(name) if self._shell is not None else None

    def outputs(self):
        """Those it has gained since, as names."""
        return tuple("Out[%d]" % n for n in self._shown() if n not in self._outputs)

    def end(self, keep):
        """Delete the names that are new; those deleted, those kept, and older ones with another value."""
        deleted, kept, reassigned = [], [], []
        for name, value in self._names():
            then = self._then.get(name)
            if then is not None:
                if not _same(then, value):
                    reassigned.append(name)
            elif name in keep or isinstance(value, _UNTOUCHED):
                kept.append(name)
            elif not type(value).__module__.startswith("ipytracer."):
                self._shell.user_ns.pop(name, None)
                deleted.append(name)
        return tuple(deleted), tuple(kept), tuple(reassigned)


def _seen(value):
    try:
        return weakref.ref(value)
    except TypeError:
        return id(value), type(value)


def _same(seen, value):
    if isinstance(seen, tuple):
        return seen[0] == id(value) and seen[1] is type(value)
    return seen() is value


class Experiment:
    """An experiment that start() or experiment() began. It ends with finish(), or where its with block does."""

    def __init__(self, name, keep=(), collect=False, empty_cache=False, release=False, seed=None, keep_var_names=()):
        keep, more = ((k,) if isinstance(k, str) else k for k in (keep, keep_var_names or ()))
        self.keep = frozenset(keep).union(more)
        if not all(isinstance(n, str) for n in self.keep):
            raise ValueError("keep takes names, as text")
        self.name, self.collect, self.empty_cache, self.release, self.seed = _marker_name(name), collect, empty_cache, release, _release.checked(seed)
        self.result = None       # a Result once it has ended
        self._names = None

    def _begin(self):
        LINE.look() or _starter.listens()
        if self.seed is not None:
            _release.seed(self.seed)
        self._names = _Names(_shell())
        marker("begin " + self.name)
        return self

    def finish(self):
        """End the experiment: delete the names it has defined, see what came back. The Result; a second time the same again."""
        if self.result is not None or self._names is None:
            return self.result
        listens, hello = LINE.look(), LINE.hello
        before = self._window("running") if listens else None
        names, self._names = self._names, None
        gone = names.end(self.keep)
        collected = gc.collect() if self.collect else None
        if self.empty_cache:
            _release.empty_cache()
        marker("end " + self.name)
        after = self._window("experiment", name=self.name) if before is not None else None
        if after is not None and after.id != before.id:
            after = None         # another one of that name
        self.result = _result(self.name, before, after, hello, gone, collected, names)
        return self.result

    def _window(self, what, **more):
        found = LINE.ask(what, **more)
        if not isinstance(found, list):
            return None
        mine = [w for w in found if w.kind == "experiment" and w.name == self.name]
        return max(mine, key=lambda w: w.id) if mine else None

    def __enter__(self):
        return self._begin()

    def __exit__(self, kind, error, _):
        if self.release and error is not None and _release.is_out_of_memory(error):
            _release.frames(error)
        del error
        result, shell = self.finish(), _shell()
        companion = _companions.of(shell) if shell is not None else None
        if companion is not None and companion.on and result.consumed is not None:
            _show.publish(shell, {"text/plain": repr(result)})

    def __call__(self, function):
        """As a decorator: each call is an experiment; the Result of the last one is the function's attribute result."""
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def run(*args, **kwargs):
                one = self._again()
                try:
                    return await function(*args, **kwargs)
                finally:
                    run.result = one.finish()
        else:
            @functools.wraps(function)
            def run(*args, **kwargs):
                one = self._again()
                try:
                    return function(*args, **kwargs)
                finally:
                    run.result = one.finish()
        run.result = None
        return run

    def _again(self):
        return Experiment(self.name, self.keep, self.collect, self.empty_cache, self.release, self.seed)._begin()

    def __repr__(self):
        if self.result is not None:
            return repr(self.result)
        return "experiment %s: %s" % (_words.safe(self.name, 60), "runs" if self._names is not None else "has not begun")


def _result(name, before, after, hello, gone, collected, names):
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
    holding = tuple(n for n in gone[1] if not isinstance(names.value(n), _UNTOUCHED)) + gone[2] + names.outputs() if left else ()
    return Result(name, consumed, reclaimed, available, *gone, collected, after, left, holding)


def _left(window, meters):
    """Who allocated what is there still of some meters. What was mapped for an array is told of the array."""
    if not meters:
        return Lines()
    found = LINE.ask("lines", window=window.id)
    found = [line for line in found if line.net > 0 and line.meter in meters] if isinstance(found, list) else []
    told = {line.stack for line in found if line.meter != "cpu.mapped"}
    return Lines(sorted((line for line in found if line.meter != "cpu.mapped" or line.stack not in told), key=lambda line: -line.net))


def experiment(name, keep=(), collect=False, empty_cache=False, release=False, seed=None, keep_var_names=()):
    """An experiment as a context manager or a decorator: with ipytracer.experiment("load") as e: … and then e.result, a Result.

    As it ends the names that the notebook has gained are deleted, but for those in keep (keep_var_names is the same), modules, functions and
    classes; with collect gc.collect() is called, with empty_cache torch.cuda.empty_cache(). release: where it ends for want of memory, what the calls
    in its traceback hold is released. seed: a number for the generators of random, NumPy and PyTorch at its begin. Experiments may nest, overlap and
    go over many cells. An exception passes through.
    """
    return Experiment(name, keep, collect, empty_cache, release, seed, keep_var_names)


def start(name, keep=(), collect=False, empty_cache=False, release=False, seed=None, keep_var_names=()):
    """Begin an experiment that lasts until its finish(), which returns a Result; the rest as in experiment()."""
    return Experiment(name, keep, collect, empty_cache, release, seed, keep_var_names)._begin()
