"""Makes pyarrow's objects that hold buffers of Arrow's pools, says of each buffer who holds it ("wanted") and of which
only slices have it ("views"), and waits."""

import gc
import json
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

wanted = []
numbers = pa.array(np.arange(300_000))      # NumPy's memory


def made(i):
    return pc.add(numbers, i)


def want(kind, path, holder, **more):
    """Every buffer of an array, by its address and what its pool was asked for."""
    for chunk in getattr(holder, "chunks", [holder]):
        for b in chunk.buffers():
            if b is not None and b.size:
                wanted.append(dict(address=b.address, size=(b.size + 63) // 64 * 64, kind=kind, path=path, **more))


arr = made(1)
want("variable", "arr", arr)
table = pa.table({"a": made(2), "b": pa.array(["text %d" % i for i in range(300_000)])})
for column in table.columns:
    want("variable", "table", column)
batches = [pa.record_batch({"x": made(3)}), pa.record_batch({"y": made(4)})]
want("variable", "batches[0]", batches[0].column(0))
want("variable", "batches[1]", batches[1].column(0))
deep = {"k": pa.table({"nested": pa.array([[{"i": i}] for i in range(50_000)])})}
many = pa.chunked_array([pa.array([i, i + 1]) for i in range(70_000)])     # more chunks than a listing looks at
want("variable", "many", many)
series = pd.Series(["value %d" % i for i in range(80_000)], dtype="string[pyarrow]")
want("variable", "series*", series.array._pa_array)
buffer = pa.allocate_buffer(100_000)
wanted.append(dict(address=buffer.address, size=100_032, kind="variable", path="buffer"))
zero = made(5).to_numpy()
wanted.append(dict(address=zero.ctypes.data, size=2_400_000, kind="variable", path="zero"))
sink = pa.BufferOutputStream()
sink.write(bytes(200_000))
sys.kept_arrow = made(6)
want("module", "*kept_arrow", sys.kept_arrow)


def slices():
    """Only a small part of each is left, with its buffers' addresses."""
    out = {}
    for name, whole, part in (
            ("head", pa.table({"n": made(7), "b": pc.equal(numbers, 3),
                               "s": pa.array(["text %d" % (i % 7) for i in range(300_000)])}),
             lambda x: x.slice(1000, 10)),
            ("piece", made(8), lambda x: x.slice(7, 90)), ("few", pa.record_batch({"n": made(9)}),
                                                           lambda x: x.slice(5, 3)),
            ("some", pa.chunked_array([made(10), made(11)]), lambda x: x.slice(10, 299_995)),
        ("large", made(12), lambda x: x.slice(0, 200_000))):
        columns = whole.columns if hasattr(whole, "columns") else [whole]
        out[name] = (part(whole), [b.address for c in columns for chunk in getattr(c, "chunks", [c])
                                   for b in chunk.buffers() if b is not None])
    return out


views = slices()
head, piece, few, some, large = (views[name][0] for name in ("head", "piece", "few", "some", "large"))
again = piece
frame = pd.DataFrame({"t": pd.array(["some text %d" % i for i in range(90_000)], dtype="string[pyarrow]")})
top = frame.head(4)
del frame
strings = pd.Series(["%d" % i for i in range(90_000)], dtype="string[pyarrow]")
first = strings[:3]
del strings
views = {name: addresses for name, (_, addresses) in views.items()}
gc.collect()

if __name__ == "__main__":
    os.write(3, json.dumps(wanted).encode() + b"\n")
    os.write(3, json.dumps(views).encode() + b"\n")
    os.read(4, 1)
