import unittest

from . import counting
from .counting_torch import HEAD, fake, torch


class Tensors(unittest.TestCase):
    """The counters against PyTorch's own word of its tensors."""

    def test_live_bytes_and_peak(self):
        torch("""
TENSORS.begin()
assert TENSORS.take() == (0, 0, True)
a = torch.ones(1000, 1000)
assert live() == 4_000_000
b = a * 2 + 1
taken = TENSORS.take()
assert taken.current == 8_000_000 and 12_000_000 <= taken.peak < 12_000_100, taken
del a, b
assert TENSORS.take()[:2] == (0, 8_000_000) and TENSORS.take()[:2] == (0, 0)
""")

    def test_random_life(self):
        torch("""
TENSORS.begin()
random.seed(5)
kept, total = [], 0
for i in range(40_000):
    if kept and random.random() < 0.45:
        total -= kept.pop(random.randrange(len(kept))).numel()
    else:
        kept.append(torch.empty(int(2 ** random.uniform(0, 17)), dtype=torch.uint8))
        total += kept[-1].numel()
    if i == 20_000:
        share()                           # from here on the small ones are in the page
taken = TENSORS.take()
assert taken is None
TENSORS.alone()
assert live() == total, (live(), total)
kept.clear()
assert live() == 0
""")

    def test_training_in_threads(self):
        torch("""
TENSORS.begin()
share()
for _ in range(400_000):
    torch.empty(10)                       # until not each is a line
torch.set_num_threads(4)
def work(seed):
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    for _ in range(100):
        model(torch.randn(32, 20)).sum().backward()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
gc.collect()
assert read()[0] == 0 and read()[1] > 0, read()
""")

    def test_profiler_sees_its_blocks(self):
        torch("""
import warnings
warnings.simplefilter("ignore")
from torch.profiler import profile
TENSORS.begin()
share()
before = torch.empty(3000)
with profile(profile_memory=True) as seen:
    a = torch.empty(1000)
    del a, before
made = [e.cpu_memory_usage for e in seen.key_averages() if e.key == "aten::empty"]
assert made == [4000], made
""")

    def test_before_the_import(self):
        torch("""
TENSORS.begin()
assert TENSORS.take() is None and "torch" not in sys.modules
import torch
a = torch.empty(1000)
assert live() == 4000, TENSORS.unable
""", imported=False)


class Beside(unittest.TestCase):
    """A page that a tracer has given, here a file in memory."""

    def test_a_block_is_in_the_page_or_passed_on(self):
        fake("""
TENSORS.begin()
alone = C.make(100)
assert passed() == (1, 100, 0) and live() == 100
TENSORS.beside(lambda asks: None)                     # a tracer listens, without a page
probed = C.make(200)
assert passed() == (2, 300, 0) and TENSORS.take() is None
TENSORS.beside(lambda asks: os.dup(page))             # late
assert TENSORS.shared and read() == (0, 0, 0) and number("notices").value == 1
large = C.make(1 << 16)
assert passed() == (3, 300 + (1 << 16), 0) and read() == (0, 0, 0)
number("profiles", ctypes.c_int).value = 1
watched = C.make(300)
number("profiles", ctypes.c_int).value = 0
assert passed()[0] == 4 and read() == (0, 0, 0)
while passed()[0] < 40_000 and not read()[0]:         # until not each is a line
    C.drop(C.make(1))
C.churn(1, 200_000)
kept = [C.make(50) for _ in range(1000)]
made, _, freed = passed()
counted = read()[0]
assert 40_000 < counted <= 50_000 and counted % 50 == 0, read()
assert made - freed == 4 + (50_000 - counted) // 50, (passed(), counted)
for block in kept:
    C.drop(block)
assert read()[0] == 0 and read()[1] >= counted and read()[2] == 0, read()
assert passed()[0] - passed()[2] == 4
for block in (alone, probed, large, watched):
    C.drop(block)
assert passed()[0] == passed()[2], passed()
""", "-DCALLS")

    def test_off_passes_on(self):
        fake("""
TENSORS.begin()
share()
C.churn(1, 200_000)                                   # its lines are paid for
kept = [C.make(50) for _ in range(1000)]
counted, made = read()[0], passed()[0]
TENSORS.off()
more = C.make(60)
assert read()[0] == counted and passed()[0] == made + 1
for block in kept:
    C.drop(block)
C.drop(more)
assert read()[0] == 0 and passed()[0] == passed()[2], (read(), passed())
TENSORS.begin()
kept = [C.make(50) for _ in range(1000)]
assert read()[0] > 0
""", "-DCALLS")

    def test_the_tracer_ends(self):
        fake("""
TENSORS.begin()
share()
C.churn(1, 200_000)
kept = [C.make(50) for _ in range(1000)]
lent = passed()[0] - passed()[2]
assert read()[0] == 50 * (1000 - lent)
TENSORS.alone()
assert read()[2] == 1 and live() == 50_000
more = C.make(60)
assert live() == 50_060 and passed()[0] - passed()[2] == lent + 1
os.pwrite(page, bytes(40), 0)
share()                                               # the next one sees none of those from before
assert read() == (0, 0, 0)
for block in kept:
    C.drop(block)
C.drop(more)
assert read() == (0, 0, 0) and passed()[0] == passed()[2]
""", "-DCALLS")

    def test_threads_at_once(self):
        """Calls without Python's lock: nothing is lost, also while the page is given and the tracer takes the peak."""
        fake("""
TENSORS.begin()
threads = [threading.Thread(target=C.churn, args=(n, 200_000)) for n in range(6)]
for t in threads: t.start()
share()
while any(t.is_alive() for t in threads):
    os.pwrite(page, bytes(8), 8)
for t in threads: t.join()
assert read()[0] == 0 and read()[2] == 0, read()
assert passed()[0] == passed()[2], passed()
assert number("notices").value > 100
TENSORS.alone()
assert live() == 0
""", "-DCALLS")

    def test_fork(self):
        """A forked child leaves its parent's page alone, and passes its own blocks on, whatever other threads do."""
        fake("""
TENSORS.begin()
share()
C.churn(1, 200_000)
kept = [C.make(50) for _ in range(1000)]
counted = read()[0]
thread = threading.Thread(target=C.churn, args=(9, 2_000_000)); thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        before = passed()[0]
        C.drop(kept[0])
        C.make(70)
        os._exit(0 if passed()[0] == before + 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
thread.join()
assert read()[0] == counted and read()[2] == 0, (read(), counted)
""", "-DCALLS")

    def test_samples_stand_for_all(self):
        """The blocks that pass and those that they stand for add up to those that were made, for each size."""
        fake("""
import math
exact, stand, errors = {}, {}, {}
HEARD = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
def note(block, size):
    sample = int.from_bytes(os.pread(page, 8, 32), "little")
    weight = size / -math.expm1(-size / (512 << sample)) if sample else size
    to = stand if sample else exact
    to[size] = to.get(size, 0) + weight
    errors[size] = errors.get(size, 0) + (weight * weight if sample else 0)
heard = HEARD(note)
number("heard", ctypes.c_void_p).value = ctypes.cast(heard, ctypes.c_void_p).value
TENSORS.begin()
share()
random.seed(3)
made, sizes = {}, [random.choice((300, 1500, 8000, 60_000, 65_000)) for _ in range(300_000)]
for at, size in enumerate(sizes):
    if at % 30_000 == 29_999:
        time.sleep(0.1)          # the interval falls again
        TENSORS.beside(lambda asks: 1 / 0)
    made[size] = made.get(size, 0) + size
    C.drop(C.make(size))
for size in made:
    off = exact[size] + stand[size] - made[size]
    assert abs(off) < 5 * math.sqrt(errors[size]), (size, made[size], exact[size], stand[size], errors[size])
    assert errors[size] and exact[size] < made[size] / 2, (size, made[size], exact[size])
""", "-DCALLS")


class Refused(unittest.TestCase):
    """Libraries of which the calls are left as they are."""

    def test_no_calls_through_the_table(self):
        for flags in ((), ("-DCALLS", "-Wl,-Bsymbolic")):
            fake("""
TENSORS.begin()
assert TENSORS.unable == "its libc10.so does not call its reporter through its table of addresses", TENSORS.unable
assert TENSORS.take() is None
TENSORS.beside(lambda asks: 1 / 0)
""", *flags, head="import torch\n")

    def test_others_have_changed_the_table(self):
        """Not what is expected is in the table: nothing is changed. Asked several times, a fork still ends."""
        fake("""
import os, signal
library = _counts_facts.library()
begin = library.ipytracer_tensors_begin
begin.argtypes = [ctypes.c_void_p] * 4
def at(name):
    return ctypes.cast(getattr(C, name), ctypes.c_void_p)
made, freed = at("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"), at("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv")
profiles = at("_ZN3c1022memoryProfilingEnabledEv")
assert begin(made, profiles, profiles, None) == 2
assert begin(profiles, freed, profiles, None) == 2
assert begin(ctypes.cast(ctypes.CDLL(None).malloc, ctypes.c_void_p), freed, profiles, None) == 1
C.drop(C.make(10))
assert passed() == (1, 10, 1)
TENSORS.begin()
C.drop(C.make(10))
assert not TENSORS.unable and TENSORS.take().peak == 10
signal.alarm(20)
child = os.fork()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""", "-DCALLS")

    def test_another_library_of_that_name(self):
        fake("""
TENSORS.begin()
assert TENSORS.unable == "its libc10.so has no reporter of this kind (PyTorch 1.6)", TENSORS.unable
""", head="import torch\n", source="int nothing;")

    def test_two_libraries(self):
        fake("""
import shutil
shutil.copy(C._name, C._name + ".1")
other = ctypes.CDLL(C._name + ".1")
TENSORS.begin()
assert TENSORS.unable == "this process has more than one libc10.so", TENSORS.unable
""", "-DCALLS")

    def test_no_library(self):
        counting.run(HEAD + """
import types
sys.modules["torch"] = types.ModuleType("torch")
TENSORS.begin()
assert TENSORS.unable == "this process has no libc10.so", TENSORS.unable
""")
