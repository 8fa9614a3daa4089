"""The measured process: it reads lines [function, arguments] on standard input and prints the results."""

import ctypes
import json
import platform
import sys
import time
import tracemalloc

import numpy


class Subject:
    def __init__(self, library):
        self._c = ctypes.CDLL(library)
        for name in ("fault_storm", "map_storm", "call_storm", "spawn_storm", "native_storm"):
            getattr(self._c, name).restype = ctypes.c_double

    def storm(self, name, arguments, repeat):
        """The quickest of some repetitions of a C storm, in ns an operation."""
        times = [getattr(self._c, name)(*(ctypes.c_long(a) for a in arguments)) for _ in range(repeat)]
        if min(times) < 0:
            raise RuntimeError(name + " failed")
        return min(times)

    def arrays(self, count, elements, depth=0):
        """Makes and drops `count` arrays, `depth` calls deeper than this one; seconds in all."""
        if depth:
            return self.arrays(count, elements, depth - 1)
        ones = numpy.ones
        start = time.perf_counter()
        for _ in range(count):
            ones(elements)
        return time.perf_counter() - start

    def objects(self, count, size):
        """Makes and drops `count` bytearrays, each a malloc and a free of its data; seconds in all."""
        make = bytearray
        start = time.perf_counter()
        for _ in range(count):
            make(size)
        return time.perf_counter() - start

    def beside(self, tool, path, what, arguments):
        """The seconds of one of these with a tool that works in the process: its own start and stop are not part of the
        time."""
        if tool == "tracemalloc":
            tracemalloc.start()
            try:
                return getattr(self, what)(**arguments)
            finally:
                tracemalloc.stop()
        import memray
        with memray.Tracker(destination=memray.FileDestination(path, overwrite=True)):
            return getattr(self, what)(**arguments)

    def versions(self):
        found = {"python": platform.python_version(), "numpy": numpy.__version__}
        try:
            import memray
            found["memray"] = memray.__version__
        except ImportError:
            pass
        return found


def main():
    subject = Subject(sys.argv[1])
    print(json.dumps(subject.versions()), flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(getattr(subject, name)(**arguments)), flush=True)


main()
