# Makes blocks of memory that are held in every way there is, and says on file descriptor 3 where each is and who has to
# be found to hold it; then it waits on descriptor 4. Blocks are NumPy arrays, or ctypes' buffers where there is no
# NumPy. Arguments are modules to import first.
import collections
import ctypes
import functools
import gc
import json
import os
import sys
import threading
import types
import weakref

try:
    import numpy as np
except ImportError:
    np = None

for name in sys.argv[1:]:
    __import__(name)
gc.disable()
SIZE = 40_000
wanted = []


def make():
    return np.zeros(SIZE // 8) if np else ctypes.create_string_buffer(SIZE)


def address(block):
    return block.ctypes.data if np else ctypes.addressof(block)


def want(block, kind, path, **more):
    wanted.append({"address": address(block), "size": SIZE, "kind": kind, "path": path, **more})
    return block


plain = want(make(), "variable", "plain")
cache = {"train": [0, 1, 2, types.SimpleNamespace(weight=want(make(), "variable", "cache['train'][3].weight"))]}
by_number = {(1, "x"): want(make(), "variable", "by_number[(1, 'x')]"), -5: want(make(), "variable", "by_number[-5]")}


class Plain:
    shared = want(make(), "variable", "Plain.shared")

    def __init__(self, path):
        self.first = 1
        self.data = want(make(), "variable", path + ".data")


class Slots:
    __slots__ = ("number", "data")

    def __init__(self, path):
        self.data = want(make(), "variable", path + ".data")


class Both(Slots):
    pass


class Dictionary(dict):
    pass


class Listing(list):
    __slots__ = ("more",)


instance, late, slots, both = Plain("instance"), Plain("late"), Slots("slots"), Both("both")
late.__dict__["more"] = want(make(), "variable", "late.more")
both.extra = want(make(), "variable", "both.extra")
dictionary, listing = Dictionary(), Listing()
dictionary["k"] = want(make(), "variable", "dictionary['k']")
dictionary.attribute = want(make(), "variable", "dictionary.attribute")
listing.append(want(make(), "variable", "listing[0]"))
listing.more = want(make(), "variable", "listing.more")
many = {i: None for i in range(1000)}
many[999] = want(make(), "variable", "many[999]")
names = types.SimpleNamespace(**{f"name{i}": None for i in range(100)})
names.name77 = want(make(), "variable", "names.name77")

try:
    import dataclasses

    @dataclasses.dataclass
    class Data:
        x: object
        y: int = 0

    data = Data(want(make(), "variable", "data.x"))
except ImportError:
    pass


def closing():
    captured = want(make(), "variable", "closure.__closure__['captured']")

    def inner():
        return captured

    return inner


closure = closing()


@functools.lru_cache
def remembered(n):
    return want(make(), "variable", f"remembered.<dict>[{n}]")


remembered(7)
remembered(8)


def defaulted(x=want(make(), "variable", "defaulted.__defaults__[0]"), *,
              y=want(make(), "variable", "defaulted.__kwdefaults__['y']")):
    pass


def generating():
    local = want(make(), "variable", "generator.gi_frame.f_locals['local']")
    yield 1
    return local


generator = generating()
next(generator)


async def awaiting():
    local = want(make(), "variable", "coroutine.gi_frame.f_locals['local']")

    @types.coroutine
    def stop():
        yield

    await stop()
    return local


coroutine = awaiting()
coroutine.send(None)

queue = collections.deque(range(200))
queue.append(want(make(), "variable", "queue[200]"))
queue.appendleft(want(make(), "variable", "queue[0]"))
wanted[-2]["path"] = "queue[201]"
partial = functools.partial(print, 1, want(make(), "variable", "partial.args[1]"),
                            key=want(make(), "variable", "partial.keywords['key']"))
bound = [want(make(), "variable", "bound.__self__[0]")].append
ordered = collections.OrderedDict(a=want(make(), "variable", "ordered['a']"))
default = collections.defaultdict(list)
default["l"].append(want(make(), "variable", "default['l'][0]"))
members = {frozenset([Plain("members{…}{…}")])}
mapping = types.MappingProxyType({"k": want(make(), "variable", "mapping.<dict>['k']")})
iterator = iter([want(make(), "variable", "iterator.<list>[0]")])
caught = None
try:
    raise ValueError(want(make(), "variable", "caught.args[0]"))
except ValueError as e:
    caught = e.with_traceback(None)

if np:
    base = np.zeros(SIZE // 8 + 4)
    view = want(base[2:-2], "variable", "view")
    wanted[-1]["address"] = address(base)
    wanted[-1]["size"] += 32
    del base
    backwards = want(make(), "variable", "backwards")[::-1]
    objects = np.empty((2, 2), dtype=object)
    objects[1, 0] = want(make(), "variable", "objects.flat[2]")
    masked = np.ma.masked_array(make())
    want(masked.data, "variable", "masked")
    sub = want(make(), "variable", "sub").view(np.matrix)
    try:
        import pandas as pd

        frame = pd.DataFrame({"a": np.arange(SIZE // 8, dtype=float)})
        want(frame["a"].values, "variable", "frame.*")
    except ImportError:
        pass

# What IPython makes.
In = [""]
Out = {7: want(make(), "output", "Out[7]", output=7), 8: {"k": want(make(), "output", "Out[8]['k']", output=8)}}
_oh, _7, _8 = Out, Out[7], Out[8]
_ = want(make(), "output", "_")
_9 = want(make(), "output", "_9", output=9)


def deep(n):
    if n:
        deep(n - 1)
    cell = want(make(), "traceback", "cell", function="deep", line=0)
    wanted[-1]["line"] = sys._getframe().f_lineno + 4
    local = {"batch": [want(make(), "traceback", "local['batch'][0]", function="deep", line=wanted[-1]["line"])]}
    if not n:
        (lambda: cell)
        raise KeyError(want(make(), "traceback", "sys.last_value.args[0]"))
    wanted[-1]["line"] = wanted[-2]["line"] = None
    return local


try:
    deep(0)
except KeyError as e:
    sys.last_value, sys.last_traceback, sys.last_type = e, e.__traceback__, KeyError

ready, held = threading.Event(), threading.Event()


def working():
    mine = want(make(), "thread", "mine", function="working")
    inner = [want(make(), "thread", "inner[0]", function="working")]
    local = threading.local()
    local.value = want(make(), "thread", "*['value']")

    def suspended():
        inside = want(make(), "thread", "inside", function="suspended")
        yield
        return inside

    g = suspended()
    next(g)
    ready.set()
    held.wait()
    return mine, inner


threading.Thread(target=working, daemon=True).start()
ready.wait()

# Another module, and a class of its own that nobody imported by name.
other = types.ModuleType("other")
exec("class Base:\n    pass\ndef function(): pass\n", vars(other))
sys.modules["other"] = other
other.attribute = want(make(), "module", "other.attribute")
other._cache = {"x": want(make(), "module", "other._cache['x']")}
other.Base.shared = want(make(), "module", "other.Base.shared")
other.function.kept = want(make(), "module", "other.function.kept")
other.function.__module__ = other.Base.__module__ = "other"
from other import Base, function  # noqa: E402, F401

derived = Base()
module = other
del other

nowhere = {}
exec("def hidden(): pass\nkept = None", nowhere)
nowhere["kept"] = want(make(), "variable", "hidden.__globals__['kept']")
hidden = nowhere["hidden"]
hidden.__module__ = "__main__"
del nowhere

# What nobody holds, or not as it seems. The garbage collector knows ctypes' buffers themselves, arrays it does not.
weak_values = weakref.WeakValueDictionary()
cyclic = Plain("…")
wanted[-1].update(kind="cycle", path="*.data" if np else "…")
cyclic.me = [cyclic]
weak_values["k"] = cyclic
del cyclic
leaked = want(make(), "none", "" if np else "…")
ctypes.pythonapi.Py_IncRef(ctypes.py_object(leaked))
del leaked
leaked_list = [want(make(), "none", "*[0]" if np else "…")]
ctypes.pythonapi.Py_IncRef(ctypes.py_object(leaked_list))
del leaked_list
# What lay before where an object of a library in C keeps its memory is no reference of that library's.
try:
    import numexpr
except ImportError:
    numexpr = None
if np and numexpr:
    def stale():
        node = Plain("…")
        wanted[-1].update(kind="cycle", path="*.data")
        node.me = [node]
        pieces = [[node.data] * n for n in range(600, 8000, 37)]
        return len(pieces)

    stale()
    ten = np.ones(10)
    for i in range(200):
        numexpr.evaluate("sin(ten) * %d + cos(ten) * ten + 1" % i)

gone = weakref.ref(want(make(), "none", ""))

if __name__ == "__main__":
    os.write(3, json.dumps(wanted).encode() + b"\n")
    os.read(4, 1)
