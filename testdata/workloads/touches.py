"""Makes memory resident in known ways, each in a function of its own, and prints for each: name, bytes that the
function touches, bytes of those that are still there at the end.

touches.py LIBRARY FILE: the library is touches.c; FILE has 32 MiB.
"""

import array
import ctypes
import mmap
import os
import sys
import threading
import time

import numpy as np

MIB = 1 << 20
SIZE = 32 * MIB
library = ctypes.CDLL(sys.argv[1])
kept = []


def anonymous(size):
    m = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(m, "madvise"):
        m.madvise(15)       # MADV_NOHUGEPAGE
    return m


def address(m):
    return ctypes.addressof(ctypes.c_char.from_buffer(m))


def zeros_late():
    made.fill(1)


def instruction(how):
    m = anonymous(SIZE)
    kept.append(m)
    call = {}
    exec(f"def instruction_{how}():\n return library.touch({how}, ctypes.c_void_p({address(m)}), {SIZE // 4096})",
         globals(), call)
    kept.append(call)
    if call[f"instruction_{how}"]():
        print(f"instruction_{how}", SIZE, SIZE)


def reads():
    with open(sys.argv[2], "rb", buffering=0) as f:
        into = np.empty(SIZE, np.uint8)
        f.readinto(into)
        kept.append(into)


def maps_file():
    m = np.memmap(sys.argv[2], np.uint8, "r")
    m[::4096].sum()
    kept.append(m)


def maps_shared():
    m = mmap.mmap(-1, SIZE)
    np.frombuffer(m, np.uint8)[::4096] = 1
    kept.append(m)


def strings():
    kept.append([str(i) for i in range(10 ** 7, 10 ** 7 + 400_000)])


def grows():
    a = array.array("q")
    piece = array.array("q", bytes(MIB))
    for _ in range(32):
        a.extend(piece)
    kept.append(a)


def frees():
    np.ones(SIZE, np.uint8)


def advises():
    m = anonymous(SIZE)
    for at in range(0, SIZE, 4096):
        m[at] = 1
    m.madvise(mmap.MADV_DONTNEED)
    kept.append(m)


def in_thread():
    kept.append(np.ones(SIZE, np.uint8))


def twice():
    m = anonymous(SIZE)
    for _ in range(2):
        np.frombuffer(m, np.uint8)[::4096] = 1
        m.madvise(mmap.MADV_DONTNEED)
    np.frombuffer(m, np.uint8)[::4096] = 1
    kept.append(m)


time.sleep(1)       # on a busy machine the tracer is late to know a new interpreter
made = np.zeros(SIZE, np.uint8)
for number in range(library.ways()):
    instruction(number)
for step, touched, stays in (
        (zeros_late, SIZE, SIZE), (reads, SIZE, SIZE), (maps_file, SIZE, SIZE), (maps_shared, SIZE, SIZE),
        (strings, None, None), (grows, SIZE, SIZE), (frees, SIZE, 0), (advises, SIZE, 0), (twice, 3 * SIZE, SIZE)):
    before = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    step()
    after = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    print(step.__name__, touched or after - before, stays if stays is not None else after - before)
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
print("in_thread", SIZE, SIZE)
sys.stdout.flush()
os._exit(0)
