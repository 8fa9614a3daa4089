"""PyTorch's tensors on the CPU, counted in this process: libc10.so reports each of its blocks by calls of its own,
which the library libipytracer_counts leads to itself (counts/tensors.c). That is never undone: after off() the calls
are passed on.

It goes with the counting of NumPy's arrays (_counts.py), and begins once PyTorch is imported. Until a tracer gives a
page, each block is passed on to where the tracer has its probes. So a page may come at any time.
"""

from __future__ import annotations

import os
import sys

from . import _counts_facts, _counts_import
from ._counts import Taken
from ._counts_facts import Unable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TRIES = 20                 # times that a tracer is asked for a page
_REPORTER = "_ZN3c1025ProfiledCPUMemoryReporter"
_PROFILES = "_ZN3c1022memoryProfilingEnabledEv"
_LOGS = ("FLAGS_caffe2_report_cpu_memory_usage", "_ZN3fLB36FLAGS_caffe2_report_cpu_memory_usageE",
         "_ZN3c1036FLAGS_caffe2_report_cpu_memory_usageE")
_WHY = {
    -1: "the C library has no handlers for a fork",
    1: "its libc10.so does not call its reporter through its table of addresses",
    2: "other code has changed the calls of its libc10.so",
    3: "the table of addresses of its libc10.so cannot be written to",
}


class Tensors:
    """The counting in this process."""

    def __init__(self) -> None:
        self.on = False
        self.shared = False                   # the counters are in a tracer's page
        self.unable = ""                      # why this PyTorch's tensors cannot be counted
        self.refusal = ""                     # why a tracer has given no page
        self.rests = False                    # a tracer listens, and counts by its probes
        self._waits = False                   # a question for a page has had no answer yet
        self._tries = _TRIES
        self._hooked = False
        self._loaded: Any = None              # the library, once PyTorch's calls are led there

    def begin(self) -> None:
        """Count from now on, or as soon as PyTorch is imported, where that is possible."""
        self.on, self.unable = True, ""
        if "torch" in sys.modules:
            self.imported()
        elif not self._hooked:
            self._hooked = True
            _counts_import.when("torch", self.imported)

    def imported(self) -> None:
        """Take in that PyTorch has been imported."""
        if not self.on or self.unable:
            return
        try:
            self._load()
        except Unable as e:
            self.unable = str(e)
        self._set()

    def off(self) -> None:
        """Count no new tensors."""
        self.on = False
        self._set()

    def waits(self) -> bool:
        """Report whether a question for a page has had no answer yet."""
        return self._waits

    def by_probes(self) -> bool:
        """Report whether a tracer counts tensors by its probes that could be counted here."""
        return self.on and self.rests and self._loaded is not None

    def alone(self) -> None:
        """Count for this process itself: no tracer listens, or the last one has ended."""
        if self.shared:
            self._loaded.ipytracer_tensors_leave()
        if self.shared or self.rests:
            self.shared = self.rests = False
            self._set()
        self._waits, self.refusal, self._tries = False, "", _TRIES

    def beside(self, page: Callable[[bool], int | str | None]) -> None:
        """Count beside a tracer, in its page. page: asks it for one, and returns a descriptor, a sentence that says why
        there is none, or None; with False it only returns a descriptor that has come late."""
        if self.shared:
            self._loaded.ipytracer_tensors_adjust()
            return
        if not self.rests:
            self.rests = True
            self._set()
        asks = self.on and self._loaded is not None and self._tries > 0
        if not asks and not self._waits:
            return
        self._tries -= asks
        self._waits = True
        got = page(asks)
        if got is None:
            return
        self._waits = False
        if isinstance(got, str):
            self.refusal = got
            return
        try:
            self.shared = bool(self._loaded.ipytracer_tensors_use(got, _counts_facts.may_seal()))
        finally:
            os.close(got)
        self.refusal = "" if self.shared else "the tracer's page cannot be mapped here"
        self.rests, self._tries = not self.shared, 0
        self._set()

    def take(self) -> Taken | None:
        """Return the counters, and begin a new peak at what is live now. None while nothing is counted."""
        if not self.on or self.rests or self.shared or self._loaded is None:
            return None
        import ctypes
        found = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
        self._loaded.ipytracer_tensors_take(*map(ctypes.byref, found))
        current, peak, lost = (n.value for n in found)
        return Taken(current, peak, not lost)

    def sentence(self) -> str:
        """Return, for the end of a sentence that arrays are counted, why tensors are not; "" where they are."""
        return "; PyTorch's tensors are not: " + self.unable if self.on and self.unable else ""

    def _set(self) -> None:
        if self._loaded is not None:
            self._loaded.ipytracer_tensors_count(int(self.on and not self.rests))

    def _load(self) -> None:
        import ctypes
        if self._loaded is not None:
            return
        library, torch = _counts_facts.library(), _c10()
        functions = []
        for name in (_REPORTER + "3NewEPvm", _REPORTER + "6DeleteEPv", _PROFILES):
            try:
                functions.append(ctypes.cast(getattr(torch, name), ctypes.c_void_p))
            except AttributeError:
                raise Unable("its libc10.so has no reporter of this kind (PyTorch 1.6)") from None
        begin = library.ipytracer_tensors_begin
        begin.argtypes = [ctypes.c_void_p] * 4
        why = begin(*functions, next((ctypes.cast(getattr(torch, n), ctypes.c_void_p) for n in _LOGS
                                      if hasattr(torch, n)), None))
        if why:
            raise Unable(_WHY[why])
        self._loaded = library


def _c10() -> Any:
    """Return PyTorch's libc10.so, of which this process has one."""
    import ctypes
    paths = set()
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.rstrip("\n").split(None, 5)
                if len(fields) == 6 and "x" in fields[1] and os.path.basename(fields[5]).startswith("libc10.so"):
                    paths.add(fields[5])
    except OSError:
        raise Unable("its libc10.so is not known: /proc cannot be read") from None
    if len(paths) != 1:
        raise Unable("this process has %s libc10.so" % ("more than one" if paths else "no"))
    try:
        return ctypes.CDLL(paths.pop(), mode=os.RTLD_NOLOAD)
    except OSError:
        raise Unable("its libc10.so cannot be opened") from None


TENSORS = Tensors()    # those of this process
