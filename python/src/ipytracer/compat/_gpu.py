"""The GPU in use, and the memory of the device: NVML by ctypes, and CUDA's numbers translated into NVML's, which the
tracer's meters have.

Nothing is loaded before it is asked for, and no CUDA context is made. Where there is no NVML there are no devices.
"""

from __future__ import annotations

import ctypes
import os
import sys

from .._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class GPUMemory(NamedTuple):
    """Memory of a device, of all processes together."""

    total: int
    free: int
    used: int


class _Info(ctypes.Structure):
    """nvmlMemory_t."""
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Pci(ctypes.Structure):
    """nvmlPciInfo_t. The domain, the bus and the device are its numbers; of the texts around them the first is too
    short for some domains."""
    _fields_ = [
        ("legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("ids", ctypes.c_uint),
        ("subsystem", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    ]


_nvml: list[Any] = []    # the library, or None, after a search for it


def _library() -> Any:
    if not _nvml:
        _nvml.append(None)
        try:
            found = ctypes.CDLL("libnvidia-ml.so.1")
            if found.nvmlInit_v2() == 0:
                _nvml[0] = found
        except (OSError, AttributeError):
            pass
    return _nvml[0]


def _handle(index: int) -> ctypes.c_void_p | None:
    """Return NVML's handle of a device, None where there is no such device."""
    library, handle = _library(), ctypes.c_void_p()
    if library is None or library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)):
        return None
    return handle


def count() -> int:
    """Return the number of NVML's devices."""
    library, n = _library(), ctypes.c_uint()
    return 0 if library is None or library.nvmlDeviceGetCount_v2(ctypes.byref(n)) else n.value


def memory(index: int) -> GPUMemory | None:
    """Return GPUMemory of the device with that NVML number, in bytes; None where NVML does not report it."""
    handle, info = _handle(index), _Info()
    if handle is None or _library().nvmlDeviceGetMemoryInfo(handle, ctypes.byref(info)):
        return None
    return GPUMemory(info.total, info.free, info.used)


def _bus_of(index: int) -> tuple[int, int, int] | None:
    handle, pci = _handle(index), _Pci()
    if handle is None or _library().nvmlDeviceGetPciInfo_v3(handle, ctypes.byref(pci)):
        return None
    return pci.domain, pci.bus, pci.device


def _bus(text: bytes) -> tuple[int, int, int] | None:
    """Return a PCI bus id such as b"0000:0f:00.0" as numbers: domain, bus and device. GPUs have one function."""
    try:
        domain, bus, rest = text.decode().split(":")
        return int(domain, 16), int(bus, 16), int(rest.partition(".")[0], 16)
    except (UnicodeDecodeError, ValueError):
        return None


def _bus_of_ordinal(ordinal: int) -> tuple[int, int, int] | None:
    """Return the PCI bus id of a device as CUDA numbers it in this process, None where CUDA has not been
    initialized."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | ctypes.DEFAULT_MODE)
        device, text = ctypes.c_int(), ctypes.create_string_buffer(32)
        if driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(ordinal)) or driver.cuDeviceGetPCIBusId(
            text, ctypes.c_int(32), device
        ):
            return None
        return _bus(text.value)
    except (OSError, AttributeError):
        return None


def index_of(ordinal: int) -> int | None:
    """Return the number in NVML and in the tracer's meters of this process's CUDA device; None where that is not known.

    The two are matched by the PCI bus id. Where one of them does not report it, CUDA_VISIBLE_DEVICES decides, if it
    consists of numbers only.
    """
    bus = _bus_of_ordinal(ordinal)
    if bus is not None:
        for index in range(count()):
            if _bus_of(index) == bus:
                return index
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return ordinal
    try:
        numbers = [int(n) for n in visible.split(",")]
    except ValueError:
        return None
    return numbers[ordinal] if 0 <= ordinal < len(numbers) and numbers[ordinal] >= 0 else None


def torch() -> Any:
    """Return PyTorch if this program has imported it and it has a GPU; None otherwise."""
    found = sys.modules.get("torch")
    try:
        return found if found is not None and found.cuda.is_available() else None
    except Exception:
        return None


def current() -> int:
    """Return CUDA's number of the device that PyTorch uses now; 0 without PyTorch."""
    found = torch()
    return int(found.cuda.current_device()) if found is not None else 0


def clear_cache() -> None:
    """Have PyTorch give back the memory that it keeps for later, if it uses a GPU."""
    found = torch()
    if found is not None and found.cuda.is_initialized():
        found.cuda.empty_cache()


def meter(ordinal: int | None = None) -> str | None:
    """Return the id of the meter of this process's memory on a device, by default PyTorch's current one; None where the
    device is not known."""
    index = index_of(current() if ordinal is None else ordinal)
    return None if index is None else "gpu.%d.driver" % index
