"""Programs of their own that count PyTorch's tensors, or those of a small library in its place."""

import importlib.util
import os
import subprocess
import tempfile
import unittest

from . import counting

HEAD = """
import ctypes, os, random, struct, time
from ipytracer._counts_torch import TENSORS
page = os.memfd_create("page")
os.ftruncate(page, 4096)
def read():
    return struct.unpack("3Q", os.pread(page, 24, 0))
def live():
    taken = TENSORS.take()
    assert taken.whole, taken
    return taken.current
def share():
    TENSORS.beside(lambda asks: os.dup(page))
    assert TENSORS.shared, TENSORS.refusal
"""

# A libc10.so that is not PyTorch's own: what its New and Delete are called for is known.
_FAKE = """
#include <stdint.h>
#include <stdlib.h>
#define API __attribute__((visibility("default")))
API uint64_t made_blocks, made_bytes, freed_blocks, notices;
API int profiles;
API void (*heard)(void *, size_t);
API void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void *this, void *block, size_t size)
{
	if (!size) {
		notices += block == (void *)1;
		return;
	}
	__atomic_fetch_add(&made_blocks, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&made_bytes, size, __ATOMIC_SEQ_CST);
	if (heard)
		heard(block, size);
}
API void _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(void *this, void *block)
{
	__atomic_fetch_add(&freed_blocks, 1, __ATOMIC_SEQ_CST);
}
API _Bool _ZN3c1022memoryProfilingEnabledEv(void) { return profiles; }
#ifdef CALLS
API void *make(size_t size)
{
	void *block = malloc(size);
	_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(0, block, size);
	return block;
}
API void drop(void *block)
{
	_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(0, block);
	free(block);
}
API void churn(unsigned seed, int times)
{
	void *kept[64] = { 0 };
	for (int i = 0; i < times; i++) {
		seed = seed * 1664525u + 1013904223u;
		unsigned at = seed >> 26;
		if (kept[at])
			drop(kept[at]);
		kept[at] = make(1 + (seed >> 8 & 0xfff));
	}
	for (int at = 0; at < 64; at++)
		if (kept[at])
			drop(kept[at]);
}
#endif
"""
_FAKE_TORCH = """
import torch
C = torch.C
C.make.restype, C.make.argtypes, C.drop.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def number(name, kind=ctypes.c_uint64):
    return kind.in_dll(C, name)
def passed():
    return number("made_blocks").value, number("made_bytes").value, number("freed_blocks").value
"""


def torch(code, imported=True):
    """Run a program with PyTorch. Skip the test where there is none."""
    if importlib.util.find_spec("torch") is None:
        raise unittest.SkipTest("no PyTorch")
    return counting.run(HEAD + "import torch\n" * imported + code)


def fake(code, *flags, head=_FAKE_TORCH, source=_FAKE):
    """Run a program whose torch is a module with that library."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "c10.c"), "w", encoding="ascii") as f:
            f.write(source)
        library = os.path.join(folder, "libc10.so")
        counting.sources()
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wl,-z,now", "-Wl,-z,relro", *flags, "-o", library, f.name],
                       check=True)
        with open(os.path.join(folder, "torch.py"), "w", encoding="ascii") as f:
            f.write("import ctypes\nC = ctypes.CDLL(%r)\n" % library)
        return counting.run(HEAD + "import sys; sys.path.insert(0, %r)\n" % folder + head + code)
