import unittest

from . import counting

# Both ways to find a block's size, and both ways to add.
_WAYS = [(alone, chunks) for alone in (0, 1) for chunks in (0, 1)]
_SET = """
_counts_facts.holds_lock = lambda: %d
_counts_facts.is_glibcs_malloc = lambda: %d
COUNTS.begin()
import numpy as np
def live():
    taken = COUNTS.take()
    assert taken.whole, taken
    return taken.current
"""


def each_way(code):
    for way in _WAYS:
        counting.run(_SET % way + code)


class Numpy(unittest.TestCase):
    """The counters against what NumPy says of its arrays, to the byte."""

    def test_peak_and_live_bytes_of_an_expression(self):
        each_way("""
a = np.ones(1 << 20)
assert live() == 8 << 20
(a * 2).sum()
taken = COUNTS.take()
assert taken.current == 8 << 20 and (16 << 20) < taken.peak < 100 + (16 << 20), taken
del a
assert COUNTS.take()[:2] == (0, 8 << 20)
assert COUNTS.take()[:2] == (0, 0)
""")

    def test_random_life_of_arrays(self):
        each_way("""
import random
random.seed(5)
arrays, total, most = [], 0, 0
for i in range(60000):
    if arrays and random.random() < 0.45:
        at = random.randrange(len(arrays))
        arrays[at], arrays[-1] = arrays[-1], arrays[at]
        total -= arrays.pop().nbytes
    elif arrays and random.random() < 0.2:
        a = arrays[random.randrange(len(arrays))]
        total -= a.nbytes
        a.resize(int(2 ** random.uniform(0, 17)), refcheck=False)
        total += a.nbytes
    else:
        make = random.choice((np.empty, np.zeros))
        arrays.append(make(int(2 ** random.uniform(0, 17)), "u1"))
        total += arrays[-1].nbytes
        arrays[-1][:] = 255          # the kept size must not lie in it
    most = max(most, total)
taken = COUNTS.take()
assert taken.current == total and taken.whole, (taken, total)
assert taken.peak >= most, (taken, most)
arrays.clear()
a = None
assert live() == 0
""")

    def test_sizes_around_the_largest_block_that_carries_its_size(self):
        each_way("""
for size in [*range(32700, 32850), 0, 1, 7, 8, 9, 4095, 4096, 4097, (4 << 20) - 1, 4 << 20, (4 << 20) + 1]:
    for make in (np.empty, np.zeros):
        a = make(size, "u1")
        assert live() == max(size, 1), (size, live())
        assert a.size == size and (make is np.empty or not a.any())
        a[:] = 7
        a.resize(size + 40000, refcheck=False)
        assert live() == size + 40000 and (a[:size] == 7).all() and not a[size:].any()
        a.resize(size // 2 or 1, refcheck=False)
        assert live() == (size // 2 or 1)
        del a
        assert live() == 0
""")

    def test_ways_in_which_numpy_grows_arrays(self):
        counting.run(_SET % (1, 1) + """
import io, pickle
a = np.fromiter((i for i in range(12345)), "i8")
assert live() == a.nbytes
b = np.loadtxt(io.StringIO("\\n".join("1 2 3" for _ in range(5000))))
gc.collect()
assert live() == a.nbytes + b.nbytes, (live(), a.nbytes, b.nbytes)
o = np.array([object() for _ in range(3000)])
assert live() == a.nbytes + b.nbytes + o.nbytes
c = pickle.loads(pickle.dumps(a))
held = 0 if c.flags.owndata else c.nbytes          # protocol 5 keeps the bytes of the pickle
assert live() == a.nbytes * 2 + b.nbytes + o.nbytes - held
f = io.BytesIO(); np.save(f, b); f.seek(0); d = np.load(f)
own = d if d.flags.owndata else d.base
assert live() == a.nbytes * 2 + b.nbytes * 2 + o.nbytes - held, (live(), type(own))
""")

    def test_arrays_from_before_are_not_counted(self):
        counting.run("""
import numpy as np
before = [np.ones(n) for n in (10, 1000, 100000)]
COUNTS.begin()
mine = np.ones(1000)
for a in before:
    a.resize(a.size * 2, refcheck=False)
assert COUNTS.take().current == 8000
before.clear()
assert COUNTS.take() == (8000, 8000, True), COUNTS.take()
""")

    def test_off_gives_arrays_back_and_counts_their_ends(self):
        counting.run(_SET % (1, 1) + """
a = np.ones(1000)
COUNTS.off()
assert COUNTS.take() is None
b = np.ones(5000)
del a
COUNTS.begin()
assert live() == 0
c = np.ones(300)
assert live() == 2400
""")

    def test_numpy_asks_for_the_same_huge_pages(self):
        counting.run("""
import contextvars
import numpy as np
def asked(make):
    a = make(40 << 20, "u1")
    return _counts_facts._is_huge(a.ctypes.data + (20 << 20))
numpys = [contextvars.Context().run(asked, make) for make in (np.empty, np.zeros)]
COUNTS.begin()
assert [asked(make) for make in (np.empty, np.zeros)] == numpys, numpys
""")


class Threads(unittest.TestCase):
    def test_threads_and_tasks_begin_with_it(self):
        counting.run(_SET % (1, 1) + """
from concurrent.futures import ThreadPoolExecutor
import asyncio
kept = []
def work(n): kept.append(np.ones(n))
with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, [1000] * 100))
assert live() == 800000
async def main():
    await asyncio.gather(*(asyncio.to_thread(work, 1000) for _ in range(10)))
    work(1000)
asyncio.run(main())
assert live() == 800000 + 88000, live()
""")

    def test_a_thread_from_before_makes_the_count_a_part(self):
        counting.run("""
begin, made, end = threading.Event(), threading.Event(), threading.Event()
def work():
    begin.wait()
    global kept
    kept = np.ones(1000)
    made.set()
    end.wait()
import numpy as np
thread = threading.Thread(target=work)
thread.start()
COUNTS.begin()
begin.set(); made.wait()
assert COUNTS.take() == (0, 0, False), "an array that is not counted"
end.set(); thread.join()
assert COUNTS.take().whole
""")

    def test_arrays_of_code_without_it_make_the_count_a_part(self):
        """Code in an empty context, and threads that Python's own module has not begun and that have ended."""
        counting.run(_SET % (1, 1) + """
import _thread, contextvars, ctypes
kept, made = [], threading.Event()
def work(_=None):
    kept.append(np.ones(3000))
    made.set()
def in_thread():
    made.clear()
    _thread.start_new_thread(work, ())
    made.wait()
def in_thread_of_c():
    number = ctypes.c_ulong()
    start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(work)
    assert not ctypes.CDLL(None).pthread_create(ctypes.byref(number), None, start, None)
    assert not ctypes.CDLL(None).pthread_join(number, None)
for others in (lambda: contextvars.Context().run(work), in_thread, in_thread_of_c):
    COUNTS.take()
    others()
    assert COUNTS.take() == (0, 0, False), others
    while len(sys._current_frames()) > 1: pass
    mine = np.empty(10)
    assert COUNTS.take() == (80, 80, True), others
    del mine
COUNTS.off()
contextvars.Context().run(work)
COUNTS.begin()
assert COUNTS.take() == (0, 0, True)
""")

    def test_threads_at_once(self):
        counting.run(_SET % (0, 1) + """
def work():
    for n in range(20000):
        a = np.empty(n % 700 * 100, "u1")
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert live() == 0
""")

    def test_a_child_of_a_fork_counts_for_itself(self):
        counting.run(_SET % (0, 1) + """
import os, warnings
warnings.simplefilter("ignore")
a = np.ones(100000)
end = threading.Event()
def work():
    while not end.is_set():
        np.empty(100000)
thread = threading.Thread(target=work); thread.start()
for _ in range(20):
    pid = os.fork()
    if not pid:
        b = np.ones(200000)
        os._exit(0 if COUNTS.take().current >= 2400000 else 1)
    assert os.waitpid(pid, 0)[1] == 0
end.set(); thread.join()
assert live() == 800000
""")


class Others(unittest.TestCase):
    """What else may be in the process."""

    def test_an_allocator_of_somebody_else_is_left_alone(self):
        counting.run("""
import ctypes
import numpy as np
COUNTS.begin()
ours, theirs = COUNTS._get(), ctypes.create_string_buffer(bytes((ctypes.c_char * 200).from_address(
    COUNTS._address(COUNTS._numpys))))
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule = new(ctypes.addressof(theirs), b"mem_handler", None)
COUNTS._set(capsule)
COUNTS.arm()
assert COUNTS._address(COUNTS._get()) == ctypes.addressof(theirs)
a = np.ones(1000)
taken = COUNTS.take()
assert taken.current == 0 and not taken.whole
COUNTS.off()
assert COUNTS._address(COUNTS._get()) == ctypes.addressof(theirs)
del a
""")

    def test_a_block_that_others_wrote_behind_is_lost_and_not_wrong(self):
        counting.run(_SET % (1, 0) + """
import ctypes
a = np.ones(1000)
ctypes.memset(a.ctypes.data + 8000, 0x41, 8)     # a bug of somebody's: past the end, where the size may be
sizes = a.nbytes
del a
taken = COUNTS.take()
assert taken.current in (0, 8000) and (taken.whole or taken.current == 8000), taken
""")

    def test_old_numpy_says_so(self):
        out = counting.run("""
import ctypes
import numpy as np
_counts._FIRST_FEATURES = 0xFFFF
try:
    COUNTS.begin()
except Unable as e:
    print(e, COUNTS.on)
""")
        self.assertRegex(out, r"^NumPy's arrays can be counted from NumPy 1.22 on; this is \S+ False\n$")

    def test_no_library_for_the_machine_says_so(self):
        out = counting.run("""
import platform
platform.machine = lambda: "pdp11"
try:
    COUNTS.begin()
except Unable as e:
    print(e, COUNTS.on)
""")
        self.assertEqual(out, "this package has no counting library for pdp11 False\n")

    def test_without_numpy_nothing_is_imported(self):
        counting.run("""
COUNTS.begin()
assert COUNTS.take() is None and "numpy" not in sys.modules
""")
