"""Cells that make Arrow's tables, arrays and buffers, of every pool that the build has, and let go of them. The truth
is what the pools themselves say: bytes_allocated(), and max_memory() where the cell raised one of them, which is then
what the cell needed. tell() is each cell's last line. It is told what the cell needed where the pools cannot say.
line() is as in tensors.py."""

from model import Plain

FIRST = """
import gc, json, os, sys, threading, tempfile
import numpy as np
import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv, pyarrow.ipc
_noted, _told, _dropped = [], [], {}

def _backends():
    found = {}
    for make in (pa.system_memory_pool, pa.mimalloc_memory_pool, pa.jemalloc_memory_pool):
        try:
            pool = make()
        except NotImplementedError:
            continue
        found[pool.backend_name] = pool
    return found

POOLS = _backends()

def _state():
    return {name: (pool.bytes_allocated(), pool.max_memory()) for name, pool in POOLS.items()}

def tell(peak=None):
    gc.collect()
    before, now = _before[0], _state()
    start, end = (sum(held for held, _ in state.values()) for state in (before, now))
    raised = [name for name in now if now[name][1] > before[name][1]]
    said = -1 if peak is None else start + peak
    if len(raised) == 1 and peak is None:       # cells use one pool: the others had then what they had at the start
        said = start - before[raised[0]][0] + now[raised[0]][1]
    _told.append({"start": start, "peak": said, "end": end})
    _before[0] = now

def line(number, allocated, freed=0):
    _noted.append(["cpu.arrow", [["<module>", number]], allocated, freed])

_before = [_state()]
"""

CASES = [
    ("array", """
        a = pa.array(range(1_000_000), pa.int64())
        tell()
        """),
    ("buffer", """
        b = pa.allocate_buffer(3_000_001)
        line(1, 3_000_064); tell(3_000_064)     # whole multiples of 64
        """),
    ("buffer_of_nothing", """
        z = [pa.allocate_buffer(0) for _ in range(100)]
        del z; tell(0)
        """),
    ("resized", """
        r = pa.allocate_buffer(1_000_000, resizable=True)
        r.resize(9_000_000)
        r.resize(64, shrink_to_fit=True)
        tell(9_000_000)
        """),
    ("resized_to_nothing", """
        r.resize(0, shrink_to_fit=True)
        r.resize(500_000)
        r.resize(0, shrink_to_fit=True)
        del r; tell()
        """),
    ("zero_copy", """
        n = np.arange(2_000_000)
        w = pa.array(n)                 # NumPy's memory
        s = a.slice(10, 1000)           # a's
        q = pa.py_buffer(b'x' * 5_000_000)
        tell(0)
        """),
    ("table", """
        t = pa.table({"x": pc.add(a, 1), "y": pc.multiply(a, 2)})
        tell()
        """),
    ("concatenated", """
        c = pa.concat_tables([t, t, t])
        k = c.combine_chunks()
        tell()
        """),
    ("strings", """
        names = pa.array(["name %d" % i for i in range(300_000)])
        d = names.dictionary_encode()
        u = pc.utf8_upper(names)
        tell()
        """),
    ("filtered", """
        f = t.filter(pc.equal(pc.bit_wise_and(t["x"], 1), 0))
        o = f.sort_by([("y", "descending")])
        tell()
        """),
    ("grouped", """
        g = pa.table({"key": pc.bit_wise_and(a, 255), "value": a}).group_by("key", use_threads=False).aggregate(
            [("value", "sum")])
        tell()
        """),
    ("to_pandas", """
        import pandas as pd
        p = t.to_pandas()
        back = pa.Table.from_pandas(p)
        tell()
        """),
    ("pandas_strings", """
        ps = pd.Series(["value %d" % i for i in range(200_000)], dtype="string[pyarrow]")
        up = ps.str.upper()
        tell()
        """),
    ("pandas_frame_dropped", """
        fr = pd.DataFrame({"s": pd.array(["some text %d" % i for i in range(100_000)], dtype="string[pyarrow]")})
        fr = fr[fr["s"].str.endswith("7")]
        del fr; tell()
        """),
    ("dropped", "del c, k, f, o, g, d, u; tell()"),
    ("csv", """
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as out:
            out.write("i,text\\n" + "".join("%d,row %d\\n" % (i, i) for i in range(200_000)))
            out.flush()
            read = pa.csv.read_csv(out.name)
        tell()
        """),
    ("ipc", """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, t.schema) as writer:
            writer.write_table(t)
        stream = sink.getvalue(); del sink, writer
        again = pa.ipc.open_stream(stream).read_all()   # views of it
        tell()
        """),
    ("each_pool", """
        kept = []
        for name in sorted(POOLS):
            kept.append(pa.allocate_buffer(1_000_000 + len(kept), POOLS[name], resizable=True))
        tell(1_000_000 + 1_000_064 * (len(kept) - 1))
        """),
    ("system", """
        own = [pc.add(a, i, memory_pool=POOLS["system"]) for i in range(4)]
        tell()
        """),
    ("system_resized", """
        grown = pa.allocate_buffer(100, POOLS["system"], resizable=True)
        for i in range(1, 40): grown.resize(100 + i * 1_000_000)
        grown.resize(7_000_000, shrink_to_fit=True)
        tell()
        """),
    ("mimalloc", """
        mi = [pc.add(a, i, memory_pool=POOLS.get("mimalloc")) for i in range(9)]
        tell()
        """),
    ("in_front", """
        behind = pa.proxy_memory_pool(POOLS["system"]); said = pa.logging_memory_pool(behind)
        through = [pa.allocate_buffer(6_000_000, pool) for pool in (behind, behind)]
        assert behind.bytes_allocated() == 12_000_000
        tell()
        """),
    ("nested", """
        def inner(n):
            return pa.allocate_buffer(n)
        def outer(n):
            x = n + 1
            return inner(x)
        many = [outer(1_000_000) for _ in range(3)]
        _noted.append(["cpu.arrow", [["inner", 2], ["outer", 5]], 3 * 1_000_064, 0]); tell(3 * 1_000_064)
        """),
    ("threads", """
        meet = threading.Barrier(4)
        def work():
            mine = pa.allocate_buffer(30_000_000)
            meet.wait()
            del mine
            meet.wait()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t_ in threads: t_.start()
        for t_ in threads: t_.join()
        _noted.append(["cpu.arrow", [["work", 3]], 120_000_000, 120_000_000]); tell(120_000_000)
        """),
    ("in_many_threads", """
        total = sum(pc.sum(pc.multiply(chunk, chunk)).as_py() for chunk in pa.chunked_array([a] * 8).chunks)
        tell()
        """),
    ("exception", """
        def fails():
            big = pa.allocate_buffer(200_000_000)
            raise ValueError(big.size)
        try:
            fails()
        except ValueError:
            pass
        tell(200_000_000)
        """),
    ("refused", """
        try:
            pa.allocate_buffer(1 << 50)
        except pa.ArrowMemoryError:
            pass
        tell(0)
        """),
    ("refused_to_grow", """
        stays = pa.allocate_buffer(400_000, resizable=True)
        try:
            stays.resize(1 << 50)
        except pa.ArrowMemoryError:
            pass
        assert stays.size == 400_000
        tell(400_000)
        """),
    ("gone", """
        del (a, b, w, s, q, t, names, p, back, ps, up, read, stream, again, kept, own, grown, mi, through, many, total,
             stays)
        tell()
        """),
    # What is there by name at the end. Of each the test knows how much its pool got back when one like it was deleted.
    ("named", """
        integers, strings = np.arange(4_000_000), "string[pyarrow]"
        def given_back(name, make):
            gone, before = make(), sum(held for held, _ in _state().values())
            del gone; gc.collect()
            _dropped[name] = before - sum(held for held, _ in _state().values())
            return make()
        big = given_back('big', lambda: pa.table({n: pc.add(integers, i) for i, n in enumerate(("n", "m", "o"), 1)}))
        texts = given_back('texts', lambda: pd.Series(["text %d" % i for i in range(300_000)], dtype="string[pyarrow]"))
        frame = given_back('frame', lambda: pd.DataFrame(
            {"s": pd.array(["some text %d" % i for i in range(200_000)], dtype=strings)}))
        del integers, strings; tell()
        """),
]

LAST = """
with open(os.environ["IPYTRACER_NOTES"], "w") as f:
    json.dump([_noted, _told, _dropped], f)
"""

CELLS = [Plain("first", FIRST)] + [Plain(*case) for case in CASES] + [Plain("last", LAST)]
