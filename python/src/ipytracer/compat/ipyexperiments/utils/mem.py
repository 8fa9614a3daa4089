"""Memory of GPUs, in whole MB of 2**20, of the device and all processes together. It also works without CUDA, and
returns zeros then."""

from __future__ import annotations

import gc

from ... import _gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GPUMemory = _gpu.GPUMemory


def b2mb(num: float) -> int:
    """Return bytes in MB, rounded down."""
    return int(num / 2**20)


def get_nvml_gpu_id(torch_gpu_id: int) -> int | None:
    """Return NVML's number of PyTorch's device; None where it is not known."""
    return _gpu.index_of(torch_gpu_id)


def preload_pytorch(device_id: int = 0) -> None:
    """Have PyTorch make CUDA's context, which takes memory that is never given back."""
    import torch
    if not torch.cuda.is_initialized():
        torch.ones((1, 1)).to(device_id)


def gpu_mem_get_mbs(torch_gpu_id: int | None = None) -> GPUMemory:
    """Return GPUMemory of a device, by default PyTorch's current one; zeros where there is none."""
    index = _gpu.index_of(_gpu.current() if torch_gpu_id is None else torch_gpu_id)
    found = _gpu.memory(index) if index is not None else None
    return GPUMemory(0, 0, 0) if found is None else GPUMemory(*map(b2mb, found))


def gpu_mem_get_total_mbs(torch_gpu_id: int | None = None) -> int:
    """Return the total memory of the device."""
    return gpu_mem_get_mbs(torch_gpu_id).total


def gpu_mem_get_free_mbs(torch_gpu_id: int | None = None) -> int:
    """Return its free memory."""
    return gpu_mem_get_mbs(torch_gpu_id).free


def gpu_mem_get_used_mbs(torch_gpu_id: int | None = None) -> int:
    """Return its used memory, by all processes."""
    return gpu_mem_get_mbs(torch_gpu_id).used


def _without_cache() -> None:
    gc.collect()
    _gpu.clear_cache()


def gpu_mem_get_free_no_cache_mbs(torch_gpu_id: int | None = None) -> int:
    """Return its free memory after PyTorch has given its cache back."""
    _without_cache()
    return gpu_mem_get_free_mbs(torch_gpu_id)


def gpu_mem_get_used_no_cache_mbs(torch_gpu_id: int | None = None) -> int:
    """Return its used memory after PyTorch has given its cache back."""
    _without_cache()
    return gpu_mem_get_used_mbs(torch_gpu_id)


def gpu_mem_allocate_mbs(n: int, fatal: bool = False) -> Any:
    """Return a tensor of n MB on the current device; None where that fails, unless fatal, which raises."""
    import torch
    try:
        return torch.ones(n << 18, device="cuda")
    except Exception:
        if fatal:
            raise
        return None


def gpu_mem_leave_free_mbs(n: int) -> Any:
    """Take all memory of the current device but n MB, and return the tensor that has it. Raise AssertionError where
    less is free."""
    free = gpu_mem_get_free_mbs()
    if free <= n:
        raise AssertionError("%d MB are free, which is not more than %d" % (free, n))
    held = gpu_mem_allocate_mbs(free - n)
    if held is None:
        raise AssertionError("could not allocate %d MB" % (free - n))
    return held
