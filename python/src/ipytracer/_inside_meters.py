"""Meters that this process reads of itself, where no tracer listens: at the ends of windows, without rights.

Each reading says what a meter has now, and between which values its peak since the reading before lies. A reader never
raises: a meter that cannot be read is left out.
"""

from __future__ import annotations

import functools
import os
import re
import sys

from ._counts import COUNTS
from ._counts_torch import TENSORS
from ._named import NamedTuple
from ._room import kib, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PAGE = 4096
_COUNTERS = 3               # resident memory is the sum of so many: anonymous, files, shared
_LEAST_BATCH = 32           # pages: percpu_counter_batch of the kernel's lib/percpu_counter.c
_PER_THREAD = 64            # pages: TASK_RSS_EVENTS_THRESH of the kernel's mm/memory.c, before Linux 6.2
_MOST_GPUS = 64


class Reading(NamedTuple):
    """A meter, in bytes: its value now; the least and the most that its peak can be since the reading before (high is
    None where that is not known); off, the most by which each of them can be wrong, None where that is not known.
    source: where it is from."""

    now: int
    low: int
    high: int | None
    off: int | None
    source: str


class Meters:
    """The meters of this process, and their values at the last reading."""

    def __init__(self, root: str = "/") -> None:
        self._status = os.path.join(root, "proc/self/status")
        self._clear = os.path.join(root, "proc/self/clear_refs")
        self._before: dict[str, int] = {}         # each meter's value
        self._highest: dict[str, int] = {}        # each monotonous maximum
        self._may_clear = True
        self.resets_gpu = False                   # the user agrees that PyTorch's peaks begin anew at each reading

    def read(self) -> dict[str, Reading]:
        """Return {meter: Reading}, and begin new peaks."""
        found: dict[str, Reading] = {}
        for some in (self._memory, self._counted, self._gpus):
            try:
                found.update(some())
            except Exception:      # a meter that fails is left out, whatever the code of others did
                continue
        self._before = {meter: reading.now for meter, reading in found.items()}
        return found

    def _between(self, meter: str, now: int, highest: int | None, off: int | None, source: str) -> Reading:
        """Return the reading of a meter of which a maximum since the process began is known: that is the peak if it has
        grown, and else the most that the peak can be."""
        low, before = max(now, self._before.get(meter, now)), self._highest.get(meter)
        if highest is None:
            return Reading(now, low, None, None, source)
        self._highest[meter] = highest
        if before is not None and highest > before:
            low = highest
        return Reading(now, max(low, now), max(highest, low), off, source)

    # ---- memory

    def _memory(self) -> Iterator[tuple[str, Reading]]:
        text = read(self._status)
        resident, mapped = kib(text, b"VmRSS"), kib(text, b"VmData")
        if resident is not None:
            yield "cpu.resident", self._resident(resident, kib(text, b"VmHWM"), _threads(text))
        elif sys.platform == "darwin":
            now = _mach_resident()
            if now is not None:
                yield "cpu.resident", self._between("cpu.resident", now, _most_resident(), 0, "task_info, ru_maxrss")
        if mapped is not None:
            yield "cpu.mapped", self._between("cpu.mapped", mapped, None, None, "VmData at the ends")

    def _resident(self, now: int, highest: int | None, threads: int) -> Reading:
        """Return resident memory: the kernel's high-water mark, which this process may set back to what it has now
        (proc(5), clear_refs, 5), says its peak."""
        off = _off(threads)
        if highest is None:
            return self._between("cpu.resident", now, _most_resident(), off, "VmRSS, ru_maxrss")
        if self._may_clear and self._set_back():
            first = "cpu.resident" not in self._before     # that mark is from before the first reading
            peak = now if first else max(highest, now)
            return Reading(now, peak, peak, off, "VmHWM, set back at the ends")
        return self._between("cpu.resident", now, highest, off, "VmHWM")

    def _set_back(self) -> bool:
        try:
            number = os.open(self._clear, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            self._may_clear = False
            return False
        try:
            os.write(number, b"5")
            return True
        except OSError:
            self._may_clear = False
            return False
        finally:
            os.close(number)

    # ---- arrays, and PyTorch on GPUs

    def _counted(self) -> Iterator[tuple[str, Reading]]:
        for meter, taken in (("cpu.numpy", COUNTS.take()), ("cpu.torch", TENSORS.take())):
            if taken is not None:
                low, whole = max(taken.peak, taken.current), taken.whole
                yield meter, Reading(
                    taken.current, low, low if whole else None, 0 if whole else None, "counted in the process"
                )

    def _gpus(self) -> Iterator[tuple[str, Reading]]:
        torch: Any = sys.modules.get("torch")
        cuda = getattr(torch, "cuda", None)
        if cuda is None or not cuda.is_initialized():
            return
        for number in range(min(cuda.device_count(), _MOST_GPUS)):
            stats = cuda.memory_stats(number)
            for name, key in (("active", "allocated_bytes.all."), ("reserved", "reserved_bytes.all.")):
                now, highest = stats.get(key + "current"), stats.get(key + "peak")
                if isinstance(now, int) and isinstance(highest, int) and (now or highest):
                    meter = "gpu.%d.%s" % (number, name)
                    if self.resets_gpu and meter in self._before:
                        yield meter, Reading(now, highest, highest, 0, "PyTorch's statistics, set back at the ends")
                    else:
                        yield meter, self._between(meter, now, highest, 0, "PyTorch's statistics")
            if self.resets_gpu:
                cuda.reset_peak_memory_stats(number)


def _threads(status: bytes) -> int:
    found = re.search(rb"^Threads:\s+(\d{1,9})$", status, re.MULTILINE)
    return int(found.group(1)) if found else 1


def _off(threads: int) -> int:
    """Return by how much the kernel's resident memory can be off, in bytes. Each CPU (each thread, before Linux 6.2)
    keeps some pages back that are not in the sum yet."""
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    pages = _COUNTERS * max(_LEAST_BATCH, 2 * cpus) * cpus
    if _release() < (6, 2):
        pages = _PER_THREAD * max(threads, 1)
    return pages * max(os.sysconf("SC_PAGE_SIZE"), _PAGE)


@functools.cache
def _release() -> tuple[int, int]:
    found = re.match(r"(\d{1,3})\.(\d{1,3})", os.uname().release)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def _most_resident() -> int | None:
    """Return the most resident memory that this process ever had, in bytes (getrusage(2))."""
    import resource
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024) or None


def _mach_resident() -> int | None:
    """Return the resident memory of this process on macOS, in bytes: MACH_TASK_BASIC_INFO of mach/task_info.h."""
    import ctypes
    flavor, words = 20, 12     # of 4 bytes: virtual, resident and most resident size, two times, policy, suspensions
    system = ctypes.CDLL(None)
    info, count = (ctypes.c_uint32 * words)(), ctypes.c_uint32(words)
    task = ctypes.c_uint32.in_dll(system, "mach_task_self_")
    if system.task_info(task, flavor, info, ctypes.byref(count)) != 0:
        return None
    return int(info[2]) | int(info[3]) << 32
