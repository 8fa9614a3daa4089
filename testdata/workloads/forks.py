"""Forks thousands of times, and copies pages in a loop. forks.py COUNT: at the end a line says the bytes of anonymous
memory that Linux says the process has, which is alone again.
"""

import mmap
import os
import re
import sys

PAGE = mmap.PAGESIZE
memory = mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def write(number):
    for at in range(0, 64 * PAGE, PAGE):
        memory[at] = number & 255


def child(depth, number):
    pid = os.fork()
    if pid:
        return pid
    try:
        write(number)
        if depth:
            child(depth - 1, number + 1)    # ends without its parent
        memory.madvise(mmap.MADV_DONTNEED)
    finally:
        os._exit(0)


write(0)
for each in range(int(sys.argv[1])):
    pid = child(2, each)
    write(each)
    os.waitpid(pid, 0)
with open("/proc/self/smaps_rollup") as f:
    print(int(re.search(r"Pss_Anon:\s+(\d+)", f.read())[1]) << 10)
sys.stdout.flush()
os._exit(0)
