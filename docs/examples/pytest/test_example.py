"""What each test needs, and which of them leak: sudo tracer run -q -o report.txt -- python3 -m pytest --ipytracer"""

import numpy as np
import pytest

cache = []


def load(mib):
    return np.ones((mib, 1 << 20), np.uint8)


@pytest.mark.limit_memory("70 MiB")
def test_load():
    assert load(64).shape[0] == 64


@pytest.mark.limit_memory("70 MiB")
def test_load_and_copy():
    data = load(64)
    assert (data + 1).max() == 2


@pytest.mark.no_leaks
def test_without_a_leak():
    load(8)


@pytest.mark.no_leaks
def test_with_a_leak():
    cache.append(load(2))
