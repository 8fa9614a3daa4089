"""Reads the log that truth.c writes: shared memory in a file, readable while it grows."""

import struct

_MARK = struct.Struct("<10q2i2I40s")
_BY_WALK, _SETTLED = 1, 2


def read_log(path, start=0):
    """Marks number `start` and on of a log file, as dictionaries; stops before one that is still being written."""
    with open(path, "rb") as f:
        header = f.read(_MARK.size)
        if len(header) < _MARK.size or not header.startswith(b"truth-1"):
            return []
        capacity, size, made = struct.unpack_from("<3I", header, 8)
        if size != _MARK.size:
            raise ValueError("%s: marks of %d bytes, not %d: another truth.c" % (path, size, _MARK.size))
        if made > capacity:
            raise ValueError("%s: %d marks made, room for %d" % (path, made, capacity))
        f.seek(_MARK.size * (1 + start))
        records = f.read(_MARK.size * (made - start)) if made > start else b""
    marks = []
    for values in _MARK.iter_unpack(records):
        ns, data, rss, anon, file, shmem, before, after, _, _, pid, tid, flags, ready, label = values
        if not ready:
            break
        marks.append({"label": label.split(b"\0")[0].decode("utf-8", "replace"), "ns": ns, "pid": pid, "tid": tid,
                      "mapped": data, "resident": rss, "anon": anon, "file": file, "shmem": shmem,
                      "counted": [before, after], "walk": bool(flags & _BY_WALK), "settled": bool(flags & _SETTLED)})
    return marks
