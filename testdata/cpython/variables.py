# Makes variables of known size and says on file descriptor 3 what of each has to be found: how many bytes go with its
# name, its type, its shape and how long it is. Then it waits on descriptor 4. Sizes are as the allocator rounds them up.
import array
import collections
import ctypes
import json
import os
import sys
from xml.etree import ElementTree

try:
    import numpy as np
except ImportError:
    np = None
try:
    import pandas as pd
except ImportError:
    pd = None
try:
    import scipy.sparse as sparse
except ImportError:
    sparse = None

sys.setswitchinterval(1)
wanted = {}


def up(n):
    return (n + 15) & ~15 if n <= 512 else (n + 8 + 15) & ~15


def of(o):
    "an object and what it has of its own; getsizeof leaves the buffers of a few out"
    return up(sys.getsizeof(o))


def want(name, bytes, near=0, **more):
    wanted[name] = {"bytes": bytes, "near": near, **more}


K, M = 1 << 10, 1 << 20
text = "x" * (3 * M)
want("text", 3 * M, 100, type="str", length=3 * M)
wide = "é" * 1000 + "\u4e00" * M
want("wide", 2 * (M + 1000), 200, type="str", length=M + 1000)
raw = os.urandom(2 * M)
want("raw", 2 * M, 100, type="bytes", length=2 * M)
growing = bytearray(5 * M)
want("growing", 5 * M, 200, type="bytearray", length=5 * M)
number = 1 << 2_000_000
want("number", 2_000_000 // 30 * 4, 100, type="int")
floats = [float(i) for i in range(100_000)]
want("floats", of(floats) + 32 * 100_000, 200, type="list", length=100_000)
same = [None] * 500_000
want("same", of(same), 200, type="list", length=500_000)
strings = ["string number %d" % i for i in range(50_000)]
want("strings", of(strings) + sum(of(s) for s in strings), 200, type="list", length=50_000)
pairs = {"key %d" % i: i * 1.5 for i in range(50_000)}
want("pairs", of(pairs) + sum(of(k) for k in pairs) + 32 * 50_000, 200, type="dict", length=50_000)
numbers = {i: -i for i in range(1000, 60_000)}
want("numbers", of(numbers) + 64 * 59_000, 1000, type="dict", length=59_000)
unique = {i * 3.5 for i in range(70_000)}
want("unique", of(unique) + 32 * 70_000, 300, type="set", length=70_000)
frozen = frozenset("member %d" % i for i in range(1000))
want("frozen", of(frozen) + sum(of(s) for s in frozen), 300, type="frozenset", length=1000)
nested = tuple([float(i), float(-i)] for i in range(20_000))
want("nested", of(nested) + 20_000 * (of([1.0, 2.0]) + 64), 20_000 * 16, type="tuple", length=20_000)
queue = collections.deque(float(i) for i in range(64 * 1000))
want("queue", 1001 * up(528) + 64_000 * 32, 1000, type="collections.deque", length=64_000)
tree = ElementTree.Element("tree")
for i in range(10_000):
    ElementTree.SubElement(tree, "leaf", {"name": "leaf number %d" % i}).text = "text %d" % i * 20
want("tree", of(tree) + sum(of(e) + of(e.attrib) + of(e.text) + of(e.attrib["name"]) for e in tree), 10_000 * 48)
typed = array.array("d", bytes(8 * 100_000))
want("typed", 800_000, 60_000, type="array.array", length=100_000)
buffer = ctypes.create_string_buffer(700_000)
want("buffer", 700_000, 500, type="c_char_Array_700000")


class Plain:
    def __init__(self, i):
        self.a = float(i)
        self.b = str(i) * 10


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, i):
        self.a, self.b = float(i), bytes(100)


instances = [Plain(i) for i in range(10_000, 20_000)]
one = 32 + of("10000" * 10)
want("instances", of(instances) + 10_000 * (one + 48), 10_000 * (60 if sys.version_info >= (3, 11) else 200), type="list", length=10_000)
slots = [Slots(i) for i in range(10_000)]
want("slots", of(slots) + 10_000 * (of(slots[0]) + 32 + of(bytes(100))), 1000, type="list", length=10_000)
holder = Plain(1)
holder.data = os.urandom(400_000)
want("holder", 400_000, 1000, type="Plain")


def closing():
    captured = os.urandom(300_000)
    return lambda: captured


closure = closing()
want("closure", 300_000, 1000, type="function")

# Who shares, and who only seems to.
shared = os.urandom(600_000)
first, second = [shared], [shared]
want("first", of(first), 100)
want("shared", 0)
del shared
want("second", of(second), 100)
del wanted["shared"]
alias = other = os.urandom(650_000)
want("alias", 650_000, 100, also=["other"])
me = [os.urandom(250_000)]
me.append(me)
want("me", 250_000, 300, type="list", length=2)
held = os.urandom(350_000)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))  # by something in C
want("held", 0)

if np:
    grid = np.ones((300, 400))
    want("grid", 960_000, 300, type="numpy.ndarray", shape=[300, 400], dtype="float64", length=300)
    small = np.arange(100, dtype=np.int16)
    want("small", 200, 200, shape=[100], dtype="int16", length=100)
    names = np.array(["some text of many letters"] * 1000)
    want("names", 100_000, 200, shape=[1000], dtype="U25")
    swapped = np.zeros(1000, dtype=">i4")
    want("swapped", 4000, 300, shape=[1000], dtype=">i4")
    flags = np.zeros((10, 10, 10), dtype=bool)
    want("flags", 1000, 300, shape=[10, 10, 10], dtype="bool")
    when = np.zeros(5000, dtype="datetime64[ns]")
    want("when", 40_000, 300, dtype="datetime64")
    waves = np.zeros(5000, dtype=complex)
    want("waves", 80_000, 300, dtype="complex128")
    objects = np.array([[float(i), None] for i in range(5000)], dtype=object)
    want("objects", 80_000 + 32 * 5000, 300, shape=[5000, 2], dtype="object")
    base = np.zeros(200_000)
    view = base[::2]
    want("base", 0, 200, shape=[200_000])  # the view would keep it
    want("view", 0, 200, shape=[100_000])
    only = np.zeros(150_000)[1000:2000]
    want("only", 1_200_000, 400, shape=[1000], dtype="float64")
    record = np.zeros(1000, dtype=[("a", "f8"), ("b", "i4")])
    want("record", 12_000, 300, shape=[1000], dtype="V12")
    scalar = np.float64(1.5)
    want("scalar", 32, 0, type="numpy.float64")
if pd:
    frame = pd.DataFrame({"a": np.arange(30_000.0), "b": np.arange(30_000), "c": ["text %d" % i for i in range(30_000)]})
    want("frame", 3 * 240_000 + sum(of("text %d" % i) for i in range(30_000)), 10_000, type="DataFrame", shape=[30_000, 3], length=30_000)
    series = pd.Series(np.arange(25_000.0), index=np.arange(25_000) * 2)
    want("series", 400_000, 10_000, type="Series", shape=[25_000], length=25_000, dtype="float64")
    index = pd.Index(np.arange(35_000) * 3)
    want("index", 280_000, 5000, shape=[35_000], length=35_000, dtype="int64")
if sparse:
    matrix = sparse.csr_matrix(np.eye(20_000, 1)) + sparse.eye(20_000, 1, format="csr")
    want("matrix", 20_000 * 4, 10_000, shape=[20_000, 1])

try:
    if "torch" in sys.argv:
        import torch
except ImportError:
    pass
if "torch" in sys.modules:
    tensor = torch.ones(100, 50, 20)
    # malloc leaves what is too small for a block to the one before it: up to 96 bytes to the block, and up to 16 to each
    # of the small ones that a tensor has (the tensor's own, its storage's, its version's, and its sizes from six on)
    want("tensor", 400_000, 500 + 96 + 3 * 16, type="Tensor", shape=[100, 50, 20], dtype="float32", length=100)
    deep = torch.zeros(2, 3, 4, 5, 6, 7, dtype=torch.int64)
    want("deep", 5040 * 8, 500 + 96 + 5 * 16, shape=[2, 3, 4, 5, 6, 7], dtype="int64")
    whole = torch.ones(50_000, dtype=torch.float64)
    slice_ = whole[10:20]
    want("whole", 0, 500, shape=[50_000])
    want("slice_", 0, 500, shape=[10], dtype="float64")
    part = torch.ones(70_000, dtype=torch.int16)[5:]
    want("part", 140_000, 1000, shape=[69_995], dtype="int16")
    weight = torch.nn.Parameter(torch.ones(60_000))
    weight.sum().backward()
    want("weight", 480_000, 1000, type="Parameter", shape=[60_000])
    number_ = torch.tensor(2.5)
    want("number_", 300, 300, shape=[], dtype="float32")
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.Linear(200, 100))
    want("model", 4 * (300 * 200 + 200 + 200 * 100 + 100), 20_000, type="Sequential")
    from_numpy = torch.from_numpy(np.ones(30_000))
    want("from_numpy", 400, 400, shape=[30_000], unsure=True)  # C++ has the array
    array = np.ones(40_000)
    over = torch.from_numpy(array)
    want("over", 400, 400, shape=[40_000], dtype="float64", unsure=True)
    want("array", 0, 0)
    loss = (torch.ones(20_000, requires_grad=True) * 2).sum()
    want("loss", 80_000, 6000, unsure=True)  # its graph has the leaf

try:
    if "arrow" in sys.argv:
        import pyarrow as pa
        import pyarrow.compute as pc
except ImportError:
    pass
if "pa" in globals():
    # Nothing else allocates meanwhile: what a name has of its own is what its buffers take of the pools.
    def pool_bytes():
        return sum(pool.bytes_allocated() for pool in (pa.system_memory_pool(), pa.default_memory_pool()))

    def took(make):
        before = pool_bytes()
        made = make()
        return made, pool_bytes() - before

    arr, n = took(lambda: pa.array(range(200_000), pa.int64()))
    want("arr", n, 3000, type="pyarrow.lib.Int64Array", length=200_000)
    texts, n = took(lambda: pa.array(["text %d" % i for i in range(100_000)]))
    want("texts", n, 3000, type="pyarrow.lib.StringArray")
    words, n = took(lambda: texts.dictionary_encode())
    want("words", n, 5000, type="pyarrow.lib.DictionaryArray")
    chunks, n = took(lambda: pa.chunked_array([pc.add(arr, i) for i in range(20)]))
    want("chunks", n, 40_000, type="pyarrow.lib.ChunkedArray", length=4_000_000)
    arrow_table, n = took(lambda: pa.table({"a": pc.add(arr, 1), "b": pc.multiply(arr, 2), "c": pa.array([[i, i] for i in range(200_000)])}))
    want("arrow_table", n, 40_000, type="pyarrow.lib.Table", shape=[200_000, 3], length=200_000)
    batch, n = took(lambda: pa.record_batch({"x": pc.add(arr, 5), "y": pa.array([{"k": i} for i in range(200_000)])}))
    want("batch", n, 40_000, type="pyarrow.lib.RecordBatch", shape=[200_000, 2])
    sizeable, n = took(lambda: pa.allocate_buffer(3_000_000, pa.system_memory_pool()))
    want("sizeable", n, 2000, type="pyarrow.lib.Buffer")
    base_, n = took(lambda: pc.add(arr, 9))
    sliced = base_.slice(100, 1000)
    del base_
    want("sliced", n, 4000, type="pyarrow.lib.Int64Array", length=1000)
    two, n = took(lambda: pc.add(arr, 7))
    also_two = pa.table({"only": two})     # shared: neither has it alone
    want("two", 0, 3000)
    want("also_two", 0, 20_000)
    under = np.arange(70_000)
    wrapped = pa.array(under)           # NumPy's memory, which wrapped has as well
    want("under", 0, 1000)
    want("wrapped", 0, 4000)
    only = pa.array(np.arange(80_000))
    want("only", 640_000, 4000)
    if pd:
        ser, n = took(lambda: pd.Series(["value %d" % i for i in range(60_000)], dtype="string[pyarrow]"))
        want("ser", n, 40_000, type="Series")

if "sklearn" in sys.argv:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
    def trained(model, trees):
        random = np.random.default_rng(0)
        X = random.normal(size=(20_000, 8))
        model.fit(X, (X[:, 0] + random.normal(size=20_000) > 0).astype(int))
        return model, sum(tree.capacity * (tree.__getstate__()["nodes"].itemsize + 8 * tree.value[0].size) for tree in trees(model))
    forest, size = trained(RandomForestClassifier(12, random_state=0), lambda m: [e.tree_ for e in m.estimators_])
    want("forest", size, 60_000, type="RandomForestClassifier")
    boosted, size = trained(GradientBoostingRegressor(n_estimators=60, max_depth=7, random_state=0), lambda m: [e[0].tree_ for e in m.estimators_])
    want("boosted", size, 160_000, type="GradientBoostingRegressor", unsure=True)

if __name__ == "__main__":
    os.write(3, json.dumps(wanted).encode() + b"\n")
    os.read(4, 1)
