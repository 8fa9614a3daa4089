import unittest

from . import counting


class Beside(unittest.TestCase):
    """A page that a tracer has given, here a file in memory."""

    def test_page(self):
        """Small arrays are counted in the page, large ones are lent. Back alone, both are counted."""
        counting.run(_PAGE + """
small = [np.empty(100) for _ in range(10)]
assert read() == (8_000, 8_000, 0), read()
large = np.empty(1 << 20)
del small[5:]
assert read() == (4_000, 8_000, 0), read()
large.resize(10, refcheck=False)              # small from now on
assert read()[0] == 4_080, read()
large.resize(1 << 20, refcheck=False)
assert read()[0] == 4_000, read()
assert COUNTS.take() is None
COUNTS.alone()
assert read() == (4_000, 8_000, 1), read()     # a tracer that still reads it does not trust it
COUNTS.arm()
taken = COUNTS.take()
assert taken.current == 4_000 + (8 << 20), taken
more = np.empty(1 << 20)
del large, more
taken = COUNTS.take()
assert (taken.current, taken.peak) == (4_000, 4_000 + (16 << 20)), taken
""")

    def test_storm(self):
        """Single arrays from 1 KiB on are lent, for the sake of their lines. In a storm few are, and all go back to the
        functions that made them."""
        counting.run(_PAGE + """
import random
single = [np.empty(2000) for _ in range(10)]
assert read()[0] == 0, read()
for _ in range(200_000):
    np.empty(2000)
random.seed(7)
sizes = [random.choice((100, 2000, 4000)) for _ in range(100_000)]
before, many = read()[0], [np.empty(size) for size in sizes]
held, total = read()[0] - before, 8 * sum(sizes)
assert total * 0.9 < held < total, (held, total)
random.shuffle(many)
del many, single
assert read()[0] == 0 and read()[2] == 0, read()
""")

    def test_samples_stand_for_all(self):
        """The blocks that samples stand for add up to those that were made, for each size, whatever the interval."""
        counting.run(_SAMPLED)

    def test_fork(self):
        """A forked child leaves its parent's page alone, and frees what its parent has made."""
        counting.run(_PAGE + """
small = [np.empty(100) for _ in range(10)]
child = os.fork()
if not child:
    del small[:5]
    kept = [np.empty(2000), np.empty(1 << 20)]
    kept[0].resize(5, refcheck=False)
    del kept, small
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert read()[0] == 8_000, read()
""")

    def test_late(self):
        """A page that comes late is used only if the tracer has had in it what is live, and else says so."""
        counting.run(_LATE + """
COUNTS.beside(lambda *_: sent())
assert COUNTS.shared and read() == (8_000, 8_000, 0), (COUNTS.refusal, read())
""")
        counting.run(_LATE + """
for _ in range(COUNTS._tries):
    COUNTS.beside(lambda handler, live, asks: None if asks else 1 / 0)
del small[5:]
COUNTS.beside(lambda handler, live, asks: 1 / 0 if asks else sent())
assert not COUNTS.shared and COUNTS.rests and read()[2] == 1, read()
COUNTS.beside(lambda *_: 1 / 0)
""")
        counting.run(_LATE + """
COUNTS.off()
COUNTS.beside(lambda handler, live, asks: 1 / 0 if asks else sent())
assert not COUNTS.shared and read()[2] == 1, read()
""")

    def test_large_before(self):
        """With large arrays from before, no page is asked for."""
        counting.run("""
COUNTS.begin()
import numpy as np
kept = np.empty(1 << 20)
COUNTS.beside(lambda *_: 1 / 0)
assert not COUNTS.shared and COUNTS.rests and "large arrays" in COUNTS.refusal
""")


class Storm(unittest.TestCase):
    """A tracer that cannot afford its probes on small arrays."""

    def test_begins(self):
        """Counting begins with the page, and that is said once."""
        counting.run(_STORM + """
storm(None)                                    # the tracer answers late
assert COUNTS.on and not COUNTS.shared and not COUNTS.has_begun_in_storm()
COUNTS.beside(lambda handler, live, asks: os.dup(page))
assert COUNTS.shared and COUNTS.has_begun_in_storm() and not COUNTS.has_begun_in_storm()
assert COUNTS._address(COUNTS._get()) == COUNTS._address(COUNTS._ours)
""")

    def test_not_chosen(self):
        """It does not begin where the user has ended counting, or does not allow it; nor does it without a page."""
        for code, environment in (
            ("COUNTS.begin(); COUNTS.off(); storm(page)", {}),
            ("storm(page)", {"IPYTRACER_COUNTS": "off"}),
            ("storm(page)", {"IPYTRACER_COUNTS": "0"}),
            ("for _ in range(30): storm('no page left')", {}),
        ):
            counting.run(_STORM + code + """
assert not COUNTS.shared and not COUNTS.has_begun_in_storm()
assert COUNTS._loaded is None or COUNTS._address(COUNTS._get()) == COUNTS._default
""", **environment)


_STORM = """
import os
import numpy as np
page = os.memfd_create("page")
os.ftruncate(page, 4096)
def storm(answer):
    COUNTS.begin_in_storm()
    COUNTS.beside(lambda handler, live, asks: os.dup(answer) if type(answer) is int else answer)
"""


_FILE = """
import os, struct
COUNTS.begin()
import numpy as np
page = os.memfd_create("page")
os.ftruncate(page, 4096)
def sent():
    return os.dup(page)
def read():
    return struct.unpack("3Q", os.pread(page, 24, 0))
"""
_LATE = _FILE + """
small = [np.empty(100) for _ in range(10)]
COUNTS.beside(lambda *_: None)
"""
_PAGE = _FILE + """
COUNTS.beside(lambda handler, live, asks: sent())
assert COUNTS.shared, COUNTS.refusal
"""

# Calls the library's functions as NumPy does. Its own allocator is one that notes the sample.
_SAMPLED = """
import ctypes, math, os, random, time
from ipytracer import _counts_facts
library = _counts_facts.library()
C = ctypes.CDLL(None)
C.malloc.restype, C.malloc.argtypes, C.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
page = os.memfd_create("page")
os.ftruncate(page, 4096)
exact, stand, errors = {}, {}, {}
def note(context, size):
    sample = int.from_bytes(os.pread(page, 8, 32), "little")
    if sample:
        weight = size / -math.expm1(-size / (512 << sample))
        stand[size] = stand.get(size, 0) + weight
        errors[size] = errors.get(size, 0) + weight * weight
    else:
        exact[size] = exact.get(size, 0) + size
    return C.malloc(size)
MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
class Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                ("malloc", MALLOC), ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p), ("free", FREE)]
numpys = Handler(b"", 1, None, MALLOC(note), None, None, FREE(lambda context, block, size: C.free(block)))
begin, use = library.ipytracer_counts_begin, library.ipytracer_counts_use
begin.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p]
assert not begin(1, 0, 0, ctypes.addressof(numpys)) and use(page, 0)
library.ipytracer_counts_handler.restype = ctypes.c_void_p
ours = Handler.from_address(library.ipytracer_counts_handler())
random.seed(3)
made, sizes = {}, [random.choice((600, 1500, 8000, 8001, 60_000, 65_000)) for _ in range(300_000)]
for at, size in enumerate(sizes):
    if at % 30_000 == 29_999:
        time.sleep(0.1)          # the interval falls again
        library.ipytracer_counts_adjust()
    made[size] = made.get(size, 0) + size
    ours.free(None, ours.malloc(None, size), size)
assert 600 not in exact and 600 not in stand
for size in (1500, 8000, 8001, 60_000, 65_000):
    off = exact[size] + stand[size] - made[size]
    assert abs(off) < 5 * math.sqrt(errors[size]), (size, made[size], exact[size], stand[size], errors[size])
    assert errors[size] and exact[size] < made[size] / 2, (size, made[size], exact[size])
"""
