"""The facts that counting NumPy's arrays in this process needs: of the library, of this Python, of its NumPy."""

from __future__ import annotations

import contextvars
import os
import platform
import sys

from . import _room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts")
_HUGE_MALLOC, _HUGE_CALLOC = 1, 2
_OWN_MAPPING = 40 << 20     # bytes of a block that malloc maps by itself: glibc's threshold rises to 32 MiB at most


class Unable(Exception):
    """Arrays cannot be counted here: the text says why."""


def library() -> Any:
    """Return the library, which counts nothing yet. Raise Unable where there is none for this machine."""
    if platform.python_implementation() != "CPython":
        raise Unable("NumPy's arrays can be counted in CPython only")
    path = os.path.join(_FOLDER, "libipytracer_counts-%s.so" % platform.machine())
    try:
        import ctypes
        return ctypes.PyDLL(path)
    except (ImportError, OSError):
        if not os.path.exists(path):
            raise Unable("this package has no counting library for %s" % platform.machine()) from None
        raise Unable("the counting library cannot be loaded here") from None


def c_table() -> Any:
    """Return the capsule of NumPy's C table."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        module = sys.modules.get(name)
        if module is not None:
            return module._ARRAY_API
    raise Unable("NumPy has no C table where it is expected")


def version() -> str:
    return str(getattr(sys.modules.get("numpy"), "__version__", "another"))[:40]


def holds_lock() -> int:
    """Return 1 if Python always has its global interpreter lock: then one thread at a time is in NumPy's allocator. A
    free-threaded build has it at times, for one while it loads a library."""
    return int("t" not in getattr(sys, "abiflags", ""))


def is_glibcs_malloc() -> int:
    """Return 1 if the process's malloc is that of glibc, with a header before each block."""
    import ctypes
    if "mem.tagging" in os.environ.get("GLIBC_TUNABLES", ""):
        return 0
    try:
        process = ctypes.CDLL(None)
        _ = process.gnu_get_libc_version
        at = ctypes.cast(process.malloc, ctypes.c_void_p).value or 0
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                fields = line.split(None, 5)
                first, _, end = fields[0].partition("-")
                if int(first, 16) <= at < int(end, 16):
                    return int(len(fields) == 6 and os.path.basename(fields[5]).startswith(("libc.so.6", "libc-2.")))
    except (AttributeError, OSError, ValueError):
        pass
    return 0


def may_seal() -> int:
    """Return 1 if the process may make a system call that is new: no filter (seccomp) ends it for one that the filter
    does not know."""
    return int(b"\nSeccomp:\t0\n" in _room.read("/proc/self/status"))


def huge() -> int:
    """Return for which blocks this NumPy asks for huge pages, as the library has to: it depends on NumPy's version and
    settings, so two blocks are made, and looked at. None of their memory is touched."""
    numpy: Any = sys.modules["numpy"]
    which = 0
    for flag, make in ((_HUGE_MALLOC, numpy.empty), (_HUGE_CALLOC, numpy.zeros)):
        try:
            block = contextvars.Context().run(make, _OWN_MAPPING, "u1")
        except MemoryError:
            continue
        which |= flag if _is_huge(block.ctypes.data + _OWN_MAPPING // 2) else 0
    return which


def _is_huge(address: int) -> bool:
    """Report whether huge pages were asked for, for the mapping of an address (hg in VmFlags of /proc/PID/smaps)."""
    inside = False
    try:
        with open("/proc/self/smaps", "rb") as smaps:
            for line in smaps:
                if line.startswith(b"VmFlags:"):
                    if inside:
                        return b" hg" in line
                elif b"-" in line[:17] and not line[:1].isupper():
                    first, _, end = line.split(b" ", 1)[0].partition(b"-")
                    inside = int(first, 16) <= address < int(end, 16)
    except (OSError, ValueError):
        pass
    return False
