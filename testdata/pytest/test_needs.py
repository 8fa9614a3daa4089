"""A suite of planted needs and leaks. What each test's name begins with says how it has to end: passes_, fails_,
skips_, or unjudged_."""

import os
import subprocess
import sys
import unittest

import numpy as np
import pytest

MIB = 1 << 20
kept = []


def array(mib):
    return np.ones(int(mib * MIB), np.uint8)


@pytest.fixture
def given():
    return array(48)


def test_passes_beside_a_fixture(given):
    array(16)


@pytest.mark.limit_memory("65 MiB")
def test_passes_below():
    array(64)


@pytest.mark.limit_memory("64 MB")
def test_fails_at_its_limit():
    array(64)


@pytest.mark.limit_memory("1 KB", meter="numpy")
def test_fails_by_numpy():
    array(1)


# In a worker of xdist what a test and its child have together is not exact: the limits are far from what they need.
@pytest.mark.limit_memory("16 MiB")
def test_fails_by_its_child():
    subprocess.run([sys.executable, "-c", "b = b'x' * (120 << 20)"], check=True)


@pytest.mark.limit_memory("400 MiB")
def test_passes_with_its_child():
    subprocess.run([sys.executable, "-c", "b = b'x' * (120 << 20)"], check=True)


@pytest.mark.no_leaks
def test_passes_without_a_leak():
    array(8)


@pytest.mark.no_leaks
def test_passes_with_a_cache():
    if not any(len(a) == 3 * MIB for a in kept):
        kept.append(array(3))


@pytest.mark.no_leaks
def test_fails_with_a_leak():
    kept.append(array(1))


@pytest.mark.limit_leaks("2 MiB")
def test_passes_with_a_small_leak():
    kept.append(array(1))


@pytest.mark.no_leaks
def test_fails_with_leaking_objects():
    kept.append([str(i) for i in range(20_000)])


@pytest.mark.no_leaks
def test_passes_with_a_cycle():
    one = [array(1)]
    one.append(one)


@pytest.mark.limit_leaked_objects()
def test_unjudged_objects():
    pass


class Units(unittest.TestCase):
    def setUp(self):
        self.given = array(8)

    @pytest.mark.limit_memory("64 MiB")
    def test_passes_as_a_unit(self):
        array(16)

    @pytest.mark.limit_memory("4 MiB")
    def test_fails_as_a_unit(self):
        array(16)


@pytest.mark.skipif("STANDIN_LIBRARIES" not in os.environ, reason="there are no stand-ins of CUDA")
@pytest.mark.parametrize("limit", [pytest.param("33 MiB", marks=pytest.mark.limit_memory("33 MiB", meter="gpu"),
                                                id="passes_on_a_gpu"),
                                   pytest.param("32 MiB", marks=pytest.mark.limit_memory("32 MiB", meter="gpu"),
                                                id="fails_on_a_gpu")])
def test_gpu(limit):
    import gpu
    gpu.cu.use()
    gpu.cu.free(gpu.cu.alloc(32 * MIB))
