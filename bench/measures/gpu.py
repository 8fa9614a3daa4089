"""The cost of probes on the CUDA driver and on PyTorch's totals for an allocation, beside empty probes there.

It runs on the stand-ins of testdata/gpu, which do little else, and on a driver with calls that take as long as the
quickest in the recordings of an H200 (testdata/gpu/replay): cuMemAllocAsync 7.7 µs, cuMemFreeAsync 3.1 µs, cuMemAlloc
and cuMemFree 117 µs each, medians."""

import contextlib
import functools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from estimate import estimate
from kernel import Kernel
from pairing import interleave, nothing
from table import Row
from tracing import Failure, Tracer

SECTION = "GPU memory on stand-ins: one allocation and its free (probes that do nothing in the same places beside it)"
GPU = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "testdata", "gpu")
SUBJECT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "subjects", "allocations.c")

PREPARE = """
import ctypes, os, gpu
here = os.environ["STANDIN_LIBRARIES"]
driver, torch = ctypes.CDLL(os.path.join(here, "libcuda.so.1")), ctypes.CDLL(os.path.join(here, "libc10_cuda.so"))
loops = ctypes.PyDLL(os.path.join(here, "allocations.so"))
loops.driver_pairs.restype = loops.tensor_pairs.restype = ctypes.c_double
address = lambda function: ctypes.cast(function, ctypes.c_void_p)
kept = gpu.Tensor(gpu.MiB)
"""
DRIVER = "print(loops.driver_pairs(%d, address(driver.cuMemAlloc_v2), address(driver.cuMemFree_v2)))"
TENSOR = "print(loops.tensor_pairs(%d, address(torch.sc_alloc), address(torch.sc_free)))"


class Bare:
    """Probes that do nothing. Use it with `with`."""

    def __init__(self, binary, pid, library):
        self.command = [binary, "bare-probes", str(pid), library]

    def __enter__(self):
        self.place = tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp")
        ready = os.path.join(self.place.name, "ready")
        self.process = subprocess.Popen(
            [*self.command, "--ready-file", ready], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        end = time.monotonic() + 30
        while not os.path.exists(ready):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure("the bare probes could not be placed")
            time.sleep(0.001)

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        self.place.cleanup()


@contextlib.contextmanager
def stand_ins(*command):
    """Yields a directory with the libraries from a script of testdata/gpu, and the environment of a kernel on them."""
    script, *arguments = command or ["build.py"]
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
        try:
            subprocess.run(
                [sys.executable, os.path.join(GPU, script), place, *arguments], check=True, stdout=subprocess.DEVNULL
            )
            subprocess.run(
                ["gcc", "-O2", "-shared", "-fPIC", "-o", os.path.join(place, "allocations.so"), SUBJECT], check=True
            )
        except (OSError, subprocess.CalledProcessError) as e:
            raise Failure(f"no stand-ins: {e}") from None
        before = dict(os.environ)
        os.environ.update(STANDIN_LIBRARIES=place, LD_LIBRARY_PATH=place)
        try:
            yield place
        finally:
            os.environ.clear()
            os.environ.update(before)


def pairs(kernel, source, count, repeat, _):
    return {"pair": min(float(kernel.run(source % count).text) for _ in range(repeat))}


CALL_NS = 3100


def measure(settings):
    with stand_ins() as place:
        for what, source, library, call_ns in (
            ("cuMemAlloc + cuMemFree that take no time", DRIVER, "libcuda.so.1", 0),
            ("cuMemAlloc + cuMemFree of 3.1 µs each, as cuMemFreeAsync on an H200", DRIVER, "libcuda.so.1", CALL_NS),
            ("a tensor of the caching allocator, made and freed", TENSOR, "libc10.so", 0),
        ):
            os.environ["STANDIN_CALL_NS"] = str(call_ns)
            with Kernel(path=[GPU]) as kernel:
                kernel.run(PREPARE)
                yield allocations(settings, kernel, what, source, os.path.join(place, library))


def allocations(settings, kernel, what, source, library):
    conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid, "--budget", "off"),
                  "bare": functools.partial(Bare, settings.tracer, kernel.pid, library)}
    found = interleave(settings.rounds(15, 2), conditions, functools.partial(pairs, kernel, source, 20_000, 5),
                       warm_up=not settings.quick, progress=settings.progress(what))["pair"]
    off, on, bare = (statistics.median(found.values[c]) for c in ("off", "attached", "bare"))
    return Row(
        SECTION,
        what + ": attached / probes that do nothing",
        "×",
        estimate(found.ratios("attached", "bare")),
        1.2,
        f"{off:.0f} ns without probes, {bare:.0f} ns with probes that do nothing, {on:.0f} ns traced",
    )
