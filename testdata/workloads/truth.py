"""The truth about this process, and memory taken so that the truth is known: ctypes around truth.c and take.c.

    import truth as T
    T.gil.spike(b"top", 512 * T.MiB)      # keeps the GIL: nothing else of Python runs between the mark and the free
    T.free.spike(b"top", 512 * T.MiB)     # gives the GIL up
    T.mark("here")                        # page exact, milliseconds
    T.mark_fast("here")                   # kernel counters, microseconds

The library comes from $IPYTRACER_TRUTH_LIBRARY, else it is compiled. Marks go to the file $IPYTRACER_TRUTH_LOG when
that is set (children and the driver see them at once), else to memory shared with forked children.
"""

import ctypes
import os
import shutil
import sys
import tempfile

MiB = 1 << 20
PAGE = 4096
# The questions of machine.h.
QUESTIONS = ("read_small", "read_large", "write", "advised", "behind", "freed", "collapsed", "heap")


def __getattr__(name):
    """np: NumPy, None where the interpreter cannot load it (driver.py, --without). It has been used: it looks at its
    callers' unwind tables once, and a library's file that the page cache has in one piece comes 2 MiB at a time."""
    if name != "np":
        raise AttributeError(name)
    try:
        import numpy
    except ImportError:
        return None
    numpy.ones(1 << 16) + numpy.ones(1 << 16) + numpy.ones(1 << 16)
    return numpy


class Library:
    """The functions of truth.c through one kind of ctypes handle."""

    def __init__(self, handle):
        c, i, n, s, p, q = ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t, None, ctypes.c_void_p, ctypes.c_int64
        table = {
            "truth_mark": (s, c),
            "truth_mark_fast": (s, c),
            "truth_data": (q,),
            "truth_resident": (q,),
            "truth_rss": (i, p),
            "truth_counters": (i, p),
            "truth_dump": (i, c),
            "truth_open": (i, c),
            "machine_ask": (s, p),
            "spike": (i, c, n),
            "spike_hold_ns": (i, c, n, q),
            "blip": (i, c, n, i),
            "keep": (p, c, n),
            "drop": (s, p, n),
            "untouched": (i, c, n),
            "zero_page": (i, c, n),
            "populate": (i, c, n),
            "mremap_growth": (i, c, n, n, n),
            "brk_churn": (i, c, i, i, n),
            "advise": (i, c, n, i, c, c),
            "map_file": (i, c, c, n, i),
            "map_shared": (i, c, n),
            "prot_flip": (i, c, c, c, c, n),
            "replace_and_punch": (i, c, c, c, n),
            "refused": (i, c),
            "thp": (i, c, n),
            "threads": (i, c, i, n),
            "fork_cow": (i, c, c, c, c, n),
        }
        for name, (result, *arguments) in table.items():
            function = getattr(handle, name)
            function.restype, function.argtypes = result, arguments
            if result is i and not name.startswith("truth_"):
                function.errcheck = _check
            setattr(self, name, function)

    def parts(self, counters=False):
        """(anon, file, shmem) in bytes now: by the page tables, or by the kernel's counters."""
        out = (ctypes.c_int64 * 3)()
        (self.truth_counters if counters else self.truth_rss)(out)
        return tuple(out)


def _check(result, function, arguments):
    if result != 0:
        raise MemoryError("%s%r: the system refused" % (function.__name__, arguments))
    return result


def mark(label):
    gil.truth_mark(label.encode())


def mark_fast(label):
    gil.truth_mark_fast(label.encode())


def machine():
    """What this machine answers to QUESTIONS, in bytes: machine.h."""
    answers = (ctypes.c_int64 * len(QUESTIONS))()
    gil.machine_ask(answers)
    return dict(zip(QUESTIONS, answers))


def here(name):
    """Path of a file that lies beside this one."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def scratch(name):
    """Path, as bytes, of a file a helper may create and remove: beside the log."""
    return os.path.join(os.path.dirname(_log) or tempfile.gettempdir(), "scratch-%d-%s" % (os.getpid(), name)).encode()


def _load():
    """PyDLL and CDLL of the library; one that had to be compiled leaves no file behind."""
    path, made = os.environ.get("IPYTRACER_TRUTH_LIBRARY"), None
    try:
        if not path:
            from build import build

            made = tempfile.mkdtemp(prefix="ipytracer-truth-")
            path = build(made)
        return Library(ctypes.PyDLL(path)), Library(ctypes.CDLL(path))
    finally:
        if made:
            shutil.rmtree(made)


gil, free = _load()
_log = os.environ.get("IPYTRACER_TRUTH_LOG", "")
if gil.truth_open(_log.encode()) != 0:
    raise OSError("truth: cannot open the log %r" % _log)


def is_over():
    """Has the driver seen that the cell is over whose thread or task asks? Without a driver nobody knows, and it is."""
    return not _log or os.path.exists(_log + ".over")


if __name__ == "__main__":
    mark("now")
    gil.truth_dump(b"/dev/stdout")
    sys.exit(0)
