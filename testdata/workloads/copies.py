"""Copies pages after forks in known ways. Each way is an experiment of its name. At its end, while its children still
live and wait, a line says: name, bytes of anonymous memory that all processes have (Pss_Anon, where a shared page
counts once), then for each process its pid and the bytes that it has copied, both by Linux.
"""

import gc
import mmap
import multiprocessing
import os
import re
import sys
import time

import numpy as np

MIB = 1 << 20
PAGE = mmap.PAGESIZE
SIZE = 68 * MIB


def marker(text):
    compile("", f"<ipytracer:{text}>", "exec")


def read(pid, file, key):
    with open(f"/proc/{pid}/{file}") as f:
        return int(re.search(key + r":\s+(\d+)", f.read())[1]) << 10


def anon(pid="self"):
    return read(pid, "status", "RssAnon")


def copied(at_birth):
    """Returns what a child has copied: it shares nothing else that it has written to, and the rest is new."""
    return read("self", "smaps_rollup", "Private_Dirty") - (anon() - at_birth)


def write(memory, start, end):
    """Writes a byte into each page."""
    np.frombuffer(memory, np.uint8)[start:end:PAGE] = 7


def anonymous(size, huge=False):
    m = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    m.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    write(m, 0, size)
    return m


class Child:
    """A forked process that does some work, says how much it has copied by then, and waits for its end."""

    def __init__(self, work, *arguments):
        here, there = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(here[1])
            os.close(there[0])
            self.said, self.go = here[0], there[1]
            return
        try:
            at_birth = anon()
            os.close(here[0])
            os.close(there[1])
            work(*arguments)
            os.write(here[1], b"%d" % copied(at_birth))
            os.read(there[0], 1)
        finally:
            os._exit(0)

    def copied(self):
        return int(os.read(self.said, 20))

    def end(self):
        os.write(self.go, b"x")
        os.waitpid(self.pid, 0)
        os.close(self.said)
        os.close(self.go)


def descendants(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        for child in map(int, f.read().split()):
            yield child
            yield from descendants(child)


def say(name, known):
    """Ends an experiment with what Linux says of all processes."""
    time.sleep(0.05)
    pids = [os.getpid(), *descendants(os.getpid())]
    total = sum(read(pid, "smaps_rollup", "Pss_Anon") for pid in pids)
    marker("end " + name)
    print(name, total, *(f"{pid}={n}" for pid, n in known.items()))


def way(function):
    """Runs a function as an experiment. It returns the children that live, and who has copied how much."""
    marker("begin " + function.__name__)
    children, known = function()
    say(function.__name__, known)
    for child in children:
        child.end()


def half():
    c = Child(write, memory, 0, SIZE // 2)
    return [c], {c.pid: c.copied()}


def reads_objects():
    c = Child(lambda: [None for o in objects if o is mine])
    return [c], {c.pid: c.copied()}


def reads_array():
    c = Child(lambda: array.sum())
    return [c], {c.pid: c.copied()}


def parent_writes():
    c = Child(lambda: 0)
    said = c.copied()
    write(memory, 0, SIZE // 4)
    return [c], {os.getpid(): SIZE // 4, c.pid: said}


def parent_alone():
    c = Child(lambda: 0)
    said = c.copied()
    c.end()
    write(memory, 0, SIZE)
    return [], {os.getpid(): 0, c.pid: said}


def reads_into():
    def work():
        with open("/dev/zero", "rb", buffering=0) as f:
            f.readinto(memoryview(memory)[:SIZE // 2])
    c = Child(work)
    return [c], {c.pid: c.copied()}


def grandchild():
    """The grandchild inherits what its parent has copied, and copies that and more."""
    def work():
        at_birth = anon()
        write(memory, 0, SIZE // 4)
        own = copied(at_birth)
        below.append(Child(write, memory, SIZE // 8, SIZE // 2))
        os.write(pipe[1], b"%d %d" % (own, below[0].copied()))
    below, pipe = [], os.pipe()
    c = Child(work)
    own, said = map(int, os.read(pipe[0], 40).split())
    c.copied()      # not by Linux: what it has copied it shares now
    return [c], {c.pid: own, next(descendants(c.pid)): said}


def two():
    both = [Child(write, memory, 0, SIZE // 2) for _ in range(2)]
    return both, {c.pid: c.copied() for c in both}


def huge_pages():
    c = Child(write, huge, 0, SIZE // 2)
    return [c], {c.pid: c.copied()}


def child_frees():
    """What it gives back stays with its parent, and what it takes then is its own."""
    return gives_back(memory.close)


def child_advises():
    """The same by madvise: Linux does not show such a range before it has gone."""
    return gives_back(lambda: memory.madvise(mmap.MADV_DONTNEED))


def gives_back(give):
    def work():
        at_birth = anon()
        os.write(pipe[1], b"%d" % copied(at_birth))
        give()
        kept.append(anonymous(SIZE // 2))
    pipe = os.pipe()
    c = Child(work)
    said = int(os.read(pipe[0], 20))
    c.copied()      # not by Linux: its memory has shrunk
    return [c], {c.pid: said}


def parent_frees():
    """What it gives back stays with its child."""
    own = anonymous(SIZE)
    c = Child(lambda: 0)
    said = c.copied()
    own.close()
    return [c], {c.pid: said}


def last_keeps():
    """Two children of which one ends; the parent has copied, so the other one alone keeps the old pages."""
    own = anonymous(SIZE)
    kept.append(own)
    first, second = Child(lambda: 0), Child(lambda: 0)
    first.copied()
    said = second.copied()
    write(own, 0, SIZE)
    first.end()
    return [second], {os.getpid(): SIZE, second.pid: said}


def last_ends():
    """The same, and then both have ended, but another child, which has not seen the old pages, lives."""
    own = anonymous(SIZE)
    kept.append(own)
    first = Child(lambda: 0)
    first.copied()
    write(own, 0, SIZE)
    second = Child(lambda: 0)
    said = second.copied()
    first.end()
    return [second], {os.getpid(): SIZE, second.pid: said}


def executes():
    """A child that executes a program has nothing of its parent any more."""
    c = Child(write, memory, 0, SIZE // 2)
    said = c.copied()
    pid = os.fork()
    if not pid:
        os.execv("/bin/sleep", ["sleep", "300"])
    while os.readlink(f"/proc/{pid}/exe") == os.readlink("/proc/self/exe"):
        time.sleep(0.01)
    sleeps.append(pid)
    return [c], {c.pid: said}


def born():
    global at_birth
    at_birth = anon()


def in_pool(start):
    write(memory, start, start + SIZE // 4)
    time.sleep(0.5)     # so that each of them gets one
    return os.getpid(), copied(at_birth)


def pool():
    marker("begin pool")
    os.register_at_fork(after_in_child=born)
    with multiprocessing.get_context("fork").Pool(2) as workers:
        said = workers.map(in_pool, [0, SIZE // 2], chunksize=1)
        say("pool", dict(said))


memory, huge = anonymous(SIZE), anonymous(SIZE, huge=True)
array = np.ones(SIZE, np.uint8)
mine = object()
objects = [str(i) for i in range(10 ** 9, 10 ** 9 + 1_000_000)]
kept, sleeps, at_birth = [], [], 0
gc.collect()
gc.freeze()
for each in (half, reads_objects, reads_array, parent_writes, parent_alone, reads_into, grandchild, two, huge_pages,
             child_frees, child_advises, parent_frees, last_keeps, last_ends, executes):
    way(each)
pool()
for pid in sleeps:
    os.kill(pid, 9)
sys.stdout.flush()
os._exit(0)
