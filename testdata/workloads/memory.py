"""Cells that take memory in known lines and known amounts, and note what: [meter, [[function, line of the cell], …],
allocated, freed], innermost call first. What a line allocates through C is counted by ask.c."""

from model import Plain

FIRST = """
import ctypes, json, mmap, os, threading

class Sums(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("allocated", "freed", "count", "failed")]

ask = ctypes.CDLL(os.environ["IPYTRACER_ASK_LIBRARY"])
ask.ask_heap.argtypes = ask.ask_mapped.argtypes = [ctypes.POINTER(Sums), ctypes.c_int64, ctypes.c_uint32]
ask.ask_moved.argtypes = ask.ask_no_heap.argtypes = [ctypes.POINTER(Sums)]
ask.ask_returned.argtypes = [ctypes.POINTER(Sums), ctypes.c_int64]
_noted = []
sums = Sums()
# These are set so that the namespace does not grow in a line that is compared.
a = many = kept = m = s = t = gone = inner = outer = work = None

def note(meter, frames, allocated, freed=0):
    _noted.append([meter, frames, allocated, freed])

def counted(meter, frames):
    assert not sums.failed, sums.failed
    note(meter, frames, sums.allocated, sums.freed)

def pages(size):
    return (size + 4095) // 4096 * 4096

def large(size):
    "What malloc maps for a block above its threshold: malloc/malloc.c, request2size and sysmalloc_mmap."
    return pages(((size + 8 + 15) & ~15) + 8)
ask.ask_heap(ctypes.byref(Sums()), 1, 1)
ask.ask_no_heap(ctypes.byref(Sums()))
"""

CASES = [
    ("bytearray", """
        a = bytearray(100_000_000)
        note("cpu.heap", [["<module>", 1]], 100_000_001)
        note("cpu.mapped", [["<module>", 1]], large(100_000_001))
        """),
    ("private_mapping", """
        m = mmap.mmap(-1, 5_000_001, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        s = mmap.mmap(-1, 7_000_000)
        note("cpu.mapped", [["<module>", 1]], pages(5_000_001))
        """),
    ("list", """
        many = [None] * 5_000_000
        note("cpu.heap", [["<module>", 1]], 40_000_000)
        note("cpu.mapped", [["<module>", 1]], large(40_000_000))
        """),
    ("nested", """
        def inner(n):
            return bytearray(n)
        def outer(n):
            x = n + 1
            return inner(x)
        kept = outer(50_000_000)
        note("cpu.heap", [["inner", 2], ["outer", 5], ["<module>", 6]], 50_000_002)
        note("cpu.mapped", [["inner", 2], ["outer", 5], ["<module>", 6]], large(50_000_002))
        """),
    ("freed", "del a, many, kept; m.close()"),
    ("heap", """
        sums = Sums()
        def work():
            ask.ask_heap(sums, 20_000, 7)
        work()
        counted("cpu.heap", [["work", 3], ["<module>", 4]])
        """),
    ("no_heap", """
        gone = Sums()
        ask.ask_no_heap(gone)
        """),
    ("heap_in_a_thread", """
        sums = Sums()
        def work():
            ask.ask_heap(sums, 5_000, 9)
        t = threading.Thread(target=work)
        t.start(); t.join()
        counted("cpu.heap", [["work", 3]])
        """),
    ("mapped", """
        sums = Sums()
        def work():
            ask.ask_mapped(sums, 3_000, 11)
        work()
        counted("cpu.mapped", [["work", 3], ["<module>", 4]])
        """),
    ("moved", """
        sums = Sums()
        ask.ask_moved(sums)
        counted("cpu.mapped", [["<module>", 2]])
        """),
    # By a thread that takes the same lock to read.
    ("watched", """
        sums, done = Sums(), threading.Event()
        def look():
            with open("/proc/self/mem", "rb", buffering=0) as memory:
                while not done.is_set():
                    os.pread(memory.fileno(), 100_000, id(sums))
        t = threading.Thread(target=look)
        t.start()
        ask.ask_returned(sums, 5_000)
        done.set(); t.join()
        counted("cpu.mapped", [["<module>", 8]])
        """),
]

LAST = """
with open(os.environ["IPYTRACER_NOTES"], "w") as f:
    json.dump(_noted, f)
"""

CELLS = [Plain("first", FIRST)] + [Plain(*case) for case in CASES] + [Plain("last", LAST)]
