"""NumPy's arrays, counted in this process: the library libipytracer_counts becomes NumPy's data allocator (NEP 49,
NumPy from 1.22), in every thread and task that Python begins, where no other code has set an allocator of its own.

Nothing is set unless the user asks: by %tracer counts on, or by the variable IPYTRACER_COUNTS=1 where the extension is
loaded. Each array keeps the allocator that made it, so the library is never unloaded. After off() it still counts the
ends of its own arrays, and gets no new ones.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading

from . import _counts_facts, _counts_import
from ._counts_facts import Unable
from ._ends import spoil
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VARIABLE = "IPYTRACER_COUNTS"
WORDS = "on, off, gpu"
ON = (
    "NumPy's arrays and PyTorch's tensors on the CPU are counted in this process, to the byte, by a small library, "
    "which adds some 2 % to the time of a small array; %tracer counts off ends that"
)
STORM = (
    "a cell made more small arrays or tensors than the overhead budget can count one by one. From now on this process "
    "counts them itself, by a small library, which adds some 2 %% to the time of a small array. "
    "%%tracer counts off ends that; %s=off, set before the kernel starts, prevents it" % VARIABLE
)
OFF = "NumPy's arrays and PyTorch's tensors are not counted; %tracer counts on does"

# Entries of NumPy's C table (numpy/__multiarray_api.h), and the version of it that has the allocator.
_FEATURES, _SET, _GET = 211, 304, 305
_FIRST_FEATURES = 0x0F      # NumPy 1.22
_CAPSULE = b"mem_handler"
_LACKS = ("the C library has no handlers for a fork", "arrays of NumPy's own allocator cannot be noticed")
_TRIES = 20                 # times that a tracer is asked for a page

# Threads of these packages are the notebook's own, and make no arrays of the user's.
_NOTEBOOKS_OWN = ("IPython", "debugpy", "ipykernel", "ipytracer", "jupyter_client", "pydevd", "tornado", "zmq")


class Taken(NamedTuple):
    """The counters at an instant: live bytes, the most since they were last taken, and whether that is all that NumPy
    has made in this process since counting began."""

    current: int
    peak: int
    whole: bool


class Counts:
    """The counting in this process."""

    def __init__(self) -> None:
        self.on = False
        self.rests = False                        # a tracer counts: new arrays are left to NumPy's own allocator
        self.shared = False                       # the counters are in a tracer's page
        self.refusal = ""                         # why a tracer has given no page
        self._chosen = False                      # the user, or a storm, has begun or ended counting before
        self._storm = False                       # a storm has begun it, and nobody was told yet
        self._tries = _TRIES
        self._asked: int | None = None            # live bytes at the first question for a page without an answer
        self._loaded: Any = None                  # the library, once it is in use
        self._ours: Any = None                    # the capsule of its allocator
        self._numpys: Any = None                  # the capsule of NumPy's own
        self._get: Callable[[], Any]              # NumPy's functions: the allocator of this thread or task
        self._set: Callable[[Any], Any]
        self._address: Callable[[Any], int]       # of an allocator in its capsule
        self._default = 0                         # the address of NumPy's own allocator
        self._hooked = False
        self._armed: set[int] = set()             # identities of threads that began with our allocator
        self._missed = False                      # a thread or task had an allocator of somebody else
        self._tasks: list[Any] = []               # asyncio's tasks from before counting began, with NumPy's allocator

    def begin(self) -> None:
        """Count from now on, or as soon as NumPy is imported. Raise Unable where that cannot be."""
        _counts_facts.library()                                # says at once why it cannot be used
        self.on = self._chosen = True
        self._tasks = [task for task in _tasks() if not _is_own_task(task)]
        self._hook()
        if "numpy" in sys.modules:
            try:
                self._load()
            except Unable:
                self.on = False
                raise
            self._read()       # what was made since off() is not counted
            self.arm()

    def off(self) -> None:
        """Give new arrays back to NumPy's own allocator. Other threads end with it."""
        self.on, self._chosen = False, True
        self._give_back()

    def begin_in_storm(self) -> bool:
        """Count from the next page on that a tracer gives, because it cannot afford its probes: unless the user has
        chosen whether to count. Report whether the user has not."""
        if self._chosen or os.environ.get(VARIABLE, "").lower() in ("0", "off", "no"):
            return False
        self._chosen = self.rests = self._storm = True     # until there is a page, new arrays are left to NumPy's own
        try:
            self.begin()
        except Unable:
            pass
        return True

    def waits(self) -> bool:
        """Report whether a question for a page has had no answer yet."""
        return self._asked is not None

    def has_begun_in_storm(self, tensors: bool = False) -> bool:
        """Report, once, that this process counts because of a storm. tensors: it counts those in a page."""
        begun = self._storm and (self.shared or tensors)
        self._storm = self._storm and not begun
        return begun

    def alone(self) -> None:
        """Count for this process itself: no tracer listens, or the last one has ended."""
        if self.shared:
            self._loaded.ipytracer_counts_leave()
        if (self.shared or self.rests) and self._loaded is not None:
            self._read()       # what NumPy's own allocator has made meanwhile was the tracer's to count
        self.rests = self.shared = False
        self.refusal, self._tries, self._asked = "", _TRIES, None

    def beside(self, page: Callable[[int, int, bool], int | str | None]) -> None:
        """Count beside a tracer, in its page. page: asks it for one, for the allocator at an address and the bytes of
        its live blocks, and returns a descriptor, a sentence that says why there is none, or None; with False it only
        returns a descriptor that has come late. Without a page new arrays are left to NumPy's own allocator, where the
        tracer has probes."""
        if self.shared:
            self._loaded.ipytracer_counts_adjust()
            self.arm()
            return
        if not self.rests:
            self.rests = True
            self._give_back()
        tries = self.on and self._loaded is not None and self._tries > 0
        if not tries and self._asked is None:
            self._storm = self._storm and self._tries > 0
            return
        self._tries -= tries
        live = self._live()
        asks = tries and live is not None
        if asks and self._asked is None:
            self._asked = live
        if self._asked is None:
            return
        got = page(self._address(self._ours), live or 0, asks)
        if isinstance(got, str):
            self._asked, self.refusal = None, got
        elif got is not None:
            self._take_over(got, live)

    def _live(self) -> int | None:
        """Return the bytes of live blocks, None where the counters cannot move to a page now."""
        import ctypes
        live = ctypes.c_uint64()
        if self._missed or self._tasks or self._strangers():
            self.refusal = "other threads or tasks make arrays that would not be counted"
        elif not self._loaded.ipytracer_counts_shareable(ctypes.byref(live)):
            self.refusal = "large arrays from before it listened are counted in this process"
        else:
            return live.value
        return None

    def _take_over(self, page: int, live: int | None) -> None:
        """Count in a page. It may be the answer to an earlier question: the tracer has had the bytes that were live
        then, and ever since, in its figures."""
        asked, self._asked = self._asked, None
        if not self.on or live is None or live != asked:
            self._tries, self.refusal = 0, "the tracer's page came too late"
            spoil(page)
            return
        try:
            self.shared = bool(self._loaded.ipytracer_counts_use(page, _counts_facts.may_seal()))
        finally:
            os.close(page)
        self.refusal = "" if self.shared else "the tracer's page cannot be mapped here"
        self.rests = not self.shared
        self.arm()

    def _give_back(self) -> None:
        if self._loaded is not None and self._address(self._get()) == self._address(self._ours):
            self._set(self._numpys)

    def arm(self) -> None:
        """Set the allocator for the running thread or task, unless other code has set one. Each cell is a task of its
        own, and each thread begins with NumPy's."""
        if not self.on or self.rests or self._loaded is None:
            return
        now = self._address(self._get())
        if now == self._default:
            self._set(self._ours)
        elif now != self._address(self._ours):
            self._missed = True
            return
        self._armed.add(threading.get_ident())

    def take(self) -> Taken | None:
        """Return the counters, and begin a new peak at what is live now. None while nothing is counted."""
        if not self.on or self.rests or self.shared or self._loaded is None:
            return None
        current, peak, lost = self._read()
        self._tasks = [task for task in self._tasks if not task.done()]
        return Taken(current, peak, not (lost or self._missed or self._tasks or self._strangers()))

    def _read(self) -> list[int]:
        """Return the live bytes, the most since the last call, and how many blocks are not among them."""
        import ctypes
        found = (ctypes.c_uint64 * 3)()
        self._loaded.ipytracer_counts_take(*(ctypes.byref(found, 8 * i) for i in range(3)))
        return list(found)

    # ---- NumPy

    def _load(self) -> None:
        """Make the library ready for the NumPy that this process has imported."""
        import ctypes
        if self._loaded is not None:
            return
        library = _counts_facts.library()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        table = ctypes.cast(pointer(_counts_facts.c_table(), None), ctypes.POINTER(ctypes.c_void_p))
        if ctypes.CFUNCTYPE(ctypes.c_uint)(table[_FEATURES])() < _FIRST_FEATURES:
            raise Unable("NumPy's arrays can be counted from NumPy 1.22 on; this is " + _counts_facts.version())
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET])
        self._get = ctypes.PYFUNCTYPE(ctypes.py_object)(table[_GET])
        self._address = lambda capsule: int(pointer(capsule, _CAPSULE))
        self._numpys = contextvars.Context().run(self._get)
        self._default = self._address(self._numpys)
        library.ipytracer_counts_begin.argtypes = [ctypes.c_uint32] * 3 + [ctypes.c_void_p]
        facts = _counts_facts.holds_lock(), _counts_facts.is_glibcs_malloc(), _counts_facts.huge()
        if lack := library.ipytracer_counts_begin(*facts, self._default):
            raise Unable(_LACKS[lack - 1])
        library.ipytracer_counts_handler.restype = ctypes.c_void_p
        self._ours = capsule(library.ipytracer_counts_handler(), _CAPSULE, None)
        self._loaded = library

    def imported(self) -> None:
        """Take in that NumPy has just been imported."""
        if not self.on:
            return
        try:
            self._load()
        except Unable:
            self.on = False
            return
        self.arm()

    # ---- threads

    def _hook(self) -> None:
        """Have each new thread begin with our allocator, and hear of NumPy's import."""
        if self._hooked:
            return
        self._hooked = True
        _counts_import.when("numpy", self.imported)
        original = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

        def begin(thread: Any) -> None:
            context = getattr(thread, "_context", None)      # from Python 3.14 on the thread runs in it
            try:
                self.arm() if context is None else context.run(self.arm)
            finally:
                try:
                    original(thread)
                finally:
                    self._armed.discard(threading.get_ident())

        threading.Thread._bootstrap_inner = begin  # type: ignore[attr-defined]

    def _strangers(self) -> bool:
        """Report whether a thread runs that may make arrays by NumPy's own allocator: it began before counting did, or
        C code has made it."""
        others = set(sys._current_frames()) - self._armed - {threading.get_ident()}
        if not others:
            return False
        known = {t.ident: t for t in threading.enumerate()}
        return any(not _is_notebooks_own(known.get(ident)) for ident in others)


def _is_notebooks_own(thread: threading.Thread | None) -> bool:
    if thread is None or isinstance(thread, threading._DummyThread):
        return False
    if thread is threading.main_thread():
        return True          # cells run in it, or it only waits for those that do
    target = getattr(thread, "_target", None)
    modules = [type(thread).__module__, getattr(target, "__module__", None) or ""]
    return any(m.split(".")[0] in _NOTEBOOKS_OWN for m in modules)


def _tasks() -> set[Any]:
    """Return the tasks of this thread's event loop, other than the one that runs."""
    asyncio: Any = sys.modules.get("asyncio")
    try:
        return set(asyncio.all_tasks()) - {asyncio.current_task()}
    except (AttributeError, RuntimeError):       # no asyncio, no loop that runs
        return set()


def _is_own_task(task: Any) -> bool:
    """Report whether a task is one of the notebook's own, by the package that its function is from."""
    code = getattr(task.get_coro(), "cr_code", None)
    folders = getattr(code, "co_filename", "").split(os.sep)
    return any(package in folders for package in _NOTEBOOKS_OWN)


COUNTS = Counts()    # those of this process
