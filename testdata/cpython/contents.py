# Makes arrays, frames and tensors of known elements, and says on file descriptor 3 which facts have to be found about
# each, computed with NumPy. Then it waits on descriptor 4.
import json
import os
import sys

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

wanted = {}


def of_texts(flat):
    texts = set(flat.tolist())
    used = np.char.str_len(flat)
    codes = {c for t in texts for c in (map(ord, t) if isinstance(t, str) else t)}
    return {
        "zeros": int((used == 0).sum()),
        "longest": int(used.max()),
        "ascii": max(codes) < 128,
        "distinct": len(texts),
    }


def of_numbers(flat):
    f = {"missing": 0, "infinite": 0}
    finite = flat
    if flat.dtype.kind in "mM":
        f["missing"] = int(np.isnat(flat).sum())
        flat, finite = flat.view("i8"), flat[~np.isnat(flat)].view("i8")
    elif flat.dtype.kind == "f":
        finite = flat[np.isfinite(flat)]
        f["missing"], f["infinite"] = int(np.isnan(flat).sum()), int(np.isinf(flat).sum())
        f["whole"] = bool(len(finite) and (finite == np.trunc(finite)).all())
    f["ascending"] = not f["missing"] and bool((flat[1:] >= flat[:-1]).all())
    f["zeros"] = int((finite == 0).sum())
    f["distinct"] = len(set(finite.tolist())) + bool(f["missing"])
    if f["infinite"]:
        f["distinct"] += len(set(flat[np.isinf(flat)].tolist()))
    if f["distinct"] > 256:
        f["distinct"] = 0
    if len(finite):
        number = float if flat.dtype.kind == "f" else int
        f["min"], f["max"] = (repr(number(x)) for x in (finite.min(), finite.max()))
    return f


def facts(a, fits, layout):
    "of an array in the order of its memory"
    flat = a.ravel("K") if a.ndim != 1 else a
    f = {"elements": flat.size, "seen": flat.size, "item": a.itemsize, "fits": fits, "layout": layout}
    if a.dtype.kind in "US":
        f |= of_texts(flat)
    elif a.dtype.kind != "c":
        f |= of_numbers(flat)
    elif (flat.imag == 0).all():
        f |= of_numbers(np.ascontiguousarray(flat.real)) | {"real": True}
    return f


def up(n):
    "bytes of an object, as the allocator rounds them up"
    return (n + 15) & ~15 if n <= 512 else (n + 8 + 15) & ~15


def of_objects(name, a, layout="", **more):
    "an array of objects"
    flat = a.ravel().tolist()
    kinds = dict.fromkeys(("str", "int", "float", "bool", "None", "other"), 0)
    objects, values = {}, {}
    f = {"elements": len(flat), "seen": len(flat), "item": 8, "layout": layout}
    f |= {"characters": 0, "zeros": 0, "missing": 0}
    for x in flat:
        kind = "None" if x is None else type(x).__name__
        kinds[kind if kind in kinds else "other"] += 1
        size = 0 if x is None or isinstance(x, bool) else up(sys.getsizeof(x))
        objects[id(x)] = size
        values.setdefault((kind, repr(x)), size)
        f["missing"] += x is None or x != x
        if kind == "str":
            f["characters"] += len(x)
            f["zeros"] += not x
    f["kinds"] = [{"Kind": k, "Count": n} for k, n in sorted(kinds.items(), key=lambda i: -i[1]) if n]
    f |= {"objects": len(objects), "objectbytes": sum(objects.values())}
    f |= {"distinct": len(values), "distinctbytes": sum(values.values())}
    texts = {x for x in flat if isinstance(x, str)}
    if texts:
        f["longest"], f["ascii"] = max(map(len, texts)), all(t.isascii() for t in texts)
    if not kinds["str"] + kinds["float"] + kinds["other"] and kinds["int"]:
        f["min"], f["max"] = str(min(flat)), str(max(flat))
    wanted[name] = f | more


def want(name, a, fits="", layout="", **more):
    wanted[name] = facts(a, fits, layout) | more


M = 1 << 17  # of 8 bytes: a megabyte
if np:
    r = np.random.default_rng(30)
    ages = r.integers(0, 201, M).astype(float)
    want("ages", ages, "float16")
    floats = r.normal(size=M)
    want("floats", floats)
    singles = r.normal(size=M).astype(np.float32).astype(float)
    want("singles", singles, "float32")
    holes = r.integers(0, 5, M).astype(float)
    holes[::7], holes[3], holes[4] = np.nan, np.inf, -np.inf
    want("holes", holes, "float16")
    nothing = np.full(M, np.nan)
    want("nothing", nothing, "float16")
    short = r.integers(-30_000, 30_000, M)
    want("short", short, "int16")
    flags = r.integers(0, 2, M)
    want("flags", flags, "int8")
    bytes_ = r.integers(0, 256, M)
    want("bytes_", bytes_, "uint8")
    wide = r.integers(-(1 << 63), (1 << 63) - 1, M)
    wide[5], wide[6] = -(1 << 63), (1 << 63) - 1
    want("wide", wide)
    unsigned = r.integers(0, 1 << 63, M).astype(np.uint64) * np.uint64(2)
    unsigned[9] = (1 << 64) - 1
    want("unsigned", unsigned)
    medium = r.integers(0, 1 << 32, 2 * M).astype(np.uint64)
    want("medium", medium, "uint32")
    ids = np.arange(M)
    want("ids", ids, "int32")
    constant = np.full(2 * M, 7, dtype=np.int32)
    want("constant", constant, "int8")
    zeros = np.zeros(4 * M)
    want("zeros", zeros, "float16")
    mostly = np.zeros(2 * M, dtype=np.float32)
    mostly[r.choice(2 * M, M // 10, replace=False)] = 0.5
    want("mostly", mostly, "float16")
    tiny = r.integers(-100, 100, 8 * M).astype(np.int8)
    want("tiny", tiny)
    pixels = r.integers(0, 256, (512, 1024, 3)).astype(np.uint8)
    want("pixels", pixels, layout="C")
    mask = r.integers(0, 2, 8 * M).astype(bool)
    want("mask", mask)
    words16 = r.integers(-3000, 3000, 4 * M).astype(np.int16)
    want("words16", words16)
    halves = r.normal(size=4 * M).astype(np.float16)
    want("halves", halves)
    dates = np.datetime64("2020-01-01", "ns") + np.arange(M).astype("timedelta64[s]")
    want("dates", dates)
    gaps = dates - dates[0]
    gaps[5] = np.timedelta64("NaT")
    want("gaps", gaps)
    waves = r.normal(size=M) + 1j * r.normal(size=M)
    want("waves", waves)
    real = r.integers(0, 9, M).astype(complex)
    want("real", real, "complex64")
    texts = np.array(["word %d" % i for i in range(12)], dtype="U100")[r.integers(0, 12, 4096)]
    want("texts", texts, "U7")
    greek = np.array(["", "αβγ", "x"], dtype="U10")[r.integers(0, 3, 40_000)]
    want("greek", greek, "U3")
    raw = np.array([b"", b"ab", b"abc"], dtype="S9")[r.integers(0, 3, 200_000)]
    want("raw", raw, "S3")
    grid = r.integers(0, 10, (500, 700)).astype(np.int64)
    want("grid", grid, "int8", "C")
    fortran = np.asfortranarray(grid)
    want("fortran", fortran, "int8", "F")
    base = np.arange(2 * M)
    every = base[::2]
    want("every", every, "int32", "strided")
    want("base", base, "int32")
    back = base[::-1]
    want("back", back, "int32", "strided", ascending=True)  # as it lies in memory
    part = grid[:, 100:500]
    want("part", part, "int8", "strided")
    box = np.arange(200 * 100 * 50).reshape(200, 100, 50).transpose(1, 0, 2)
    want("box", box, "int32", "strided")
    swapped = np.zeros(2 * M, dtype=">i4")
    little = np.arange(1000)
    record = np.zeros(M, dtype=[("a", "f8"), ("b", "i4")])
    same = np.broadcast_to(np.arange(3.0), (M, 3))
    overlap = np.lib.stride_tricks.as_strided(base, (M, 16), (8, 8))
    twin = ages.copy()
    window = twin[:]
    want("twin", twin, "float16", sameas=["ages"])
    want("window", window, "float16", sameas=["ages"])  # the same memory is no copy
    wanted["ages"]["sameas"] = ["twin", "window"]
    for name in ("swapped", "little", "record", "same", "overlap"):
        wanted[name] = None

    words = ["word number %d" % i for i in range(12)]
    categories = np.array([words[i] for i in r.integers(0, 12, M)], dtype=object)
    of_objects("categories", categories)
    copies = np.array(["".join(words[i]) + "!" for i in r.integers(0, 12, M)], dtype=object)
    of_objects("copies", copies, objects=0)
    unique = np.array(["unique %06d" % i for i in range(M)], dtype=object)
    of_objects("unique", unique, distinct=0, objects=0, distinctbytes=0)
    parts = [None, "", "\xe9t", "\u4e00x", 1.5, float("nan"), True, 7, b"x"]
    mixed = np.array([parts[i % 9] for i in range(M)], dtype=object)
    of_objects("mixed", mixed)
    numbers = np.array([1000 + i % 50_000 for i in range(M)], dtype=object)
    of_objects("numbers", numbers, objects=0)
    holder = np.empty((2, M), dtype=object)  # None, and half of it NumPy's own
    holder[0] = None
    of_objects("holder", holder, layout="C")
if pd:
    n = 2 * M
    frame = pd.DataFrame({"price": r.integers(0, 100, n) / 4, "cost": r.normal(size=n)})
    frame["count"] = r.integers(0, 9, n)
    for name, fits in (("price", "float16"), ("cost", ""), ("count", "int8")):
        want("frame." + name, frame[name].to_numpy(), fits)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="s")
    want("frame.when", frame["when"].to_numpy())
    frame["name"] = [words[i] for i in r.integers(0, 12, n)]
    frame["extra"] = frame["price"].to_numpy().copy()
    want("frame.extra", frame["extra"].to_numpy(), "float16", sameas=["frame['price']"])
    wanted["frame.price"]["sameas"] = ["frame['extra']"]
    if frame["name"].dtype == object:
        of_objects("frame.name", frame["name"].to_numpy())
    table = pd.DataFrame(r.integers(0, 1000, (M, 3)), columns=["a", "b", "c"])
    for name in "abc":
        want("table." + name, table[name].to_numpy(), "int16", "strided")
    series = pd.Series(r.integers(0, 1000, M).astype(np.int32).repeat(2), index=np.arange(2 * M) * 2)
    want("series", series.to_numpy(), "int16")
    index = pd.Index(np.arange(M) * 3)
    want("index", index.to_numpy(), "int32")
    stamps = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(M) % 7, unit="D"))
    want("stamps", stamps.to_numpy())
if sparse:
    matrix = sparse.eye(M, format="csr") * 2
    want("matrix", matrix.data, "float16")

try:
    if "torch" in sys.argv:
        import torch
except ImportError:
    pass
if "torch" in sys.modules:
    tensor = torch.randint(0, 100, (M, 2))
    want("tensor", tensor.numpy(), "int8", "C")
    turned = torch.randint(0, 100, (1000, 2000), dtype=torch.int32).t()
    want("turned", turned.numpy(), "int8", "F")
    weight = torch.nn.Parameter(torch.randn(M * 2))
    want("weight", weight.detach().numpy())
    half = torch.arange(M, dtype=torch.float32)[M // 2:].repeat(8).to(torch.bfloat16)
    want("half", half.to(torch.float32).numpy(), item=2, fits="")
    part = torch.arange(4 * M)[::2]
    want("part", part.numpy(), "int32", "strided")
    deep = torch.zeros(2, 4, 8, 16, 32, 64)
    want("deep", deep.numpy(), "float16", "C")
    shared = torch.from_numpy(ages)
    want("shared", ages, "float16", sameas=["twin", "window"])
    wanted["twin"]["sameas"] = wanted["window"]["sameas"] = ["ages", "shared"]

if __name__ == "__main__":
    os.write(3, json.dumps(wanted).encode() + b"\n")
    os.read(4, 1)
