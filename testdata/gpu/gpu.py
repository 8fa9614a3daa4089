"""The stand-ins as the cells use them: ctypes around the driver, the runtime, other programs, the caching allocator.

    import gpu                                  loads the libraries from $STANDIN_LIBRARIES: as `import torch` would
    t = gpu.Tensor(64 * gpu.MiB, device=1)      torch-like: freed when nothing holds it
    p = gpu.cu.alloc(64 * gpu.MiB)              the driver's functions; gpu.rt: the runtime's; both keep the GIL
    gpu.cu_nogil.alloc(...), gpu.rt_nogil       the same, releasing the GIL
    gpu.cu.code("cuMemFree_v2", p)              any function by its name: the error code; `call` raises instead

Whole numbers are passed as 64 bits, which is right for narrower parameters too (x86-64 passes them in registers).
"""

import ctypes
import os

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30

_directory = os.environ["STANDIN_LIBRARIES"]
_FORMAT = [("Format", ctypes.c_int), ("NumChannels", ctypes.c_uint)]


class Error(Exception):
    def __init__(self, function, code):
        super().__init__("%s: error %d" % (function, code))
        self.code = code


class OutOfMemory(RuntimeError):
    """Like torch.cuda.OutOfMemoryError, made from a C++ exception."""


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProp(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("requestedHandleTypes", ctypes.c_int), ("location", Location),
                ("win32HandleMetaData", ctypes.c_void_p), ("allocFlags", ctypes.c_ubyte * 8)]


class AccessDesc(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class PoolProps(ctypes.Structure):
    _fields_ = [("allocType", ctypes.c_int), ("handleTypes", ctypes.c_int), ("location", Location),
                ("win32SecurityAttributes", ctypes.c_void_p), ("maxSize", ctypes.c_size_t), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 54)]


class ArrayDesc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("Width", "Height")] + _FORMAT


class Array3DDesc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("Width", "Height", "Depth")] + _FORMAT + [("Flags", ctypes.c_uint)]


class ChannelFormat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("x", "y", "z", "w", "kind")]


class IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


UINT8, HALF, FLOAT = 0x01, 0x10, 0x20       # CU_AD_FORMAT_*
PINNED, MANAGED = 1, 2                      # CU_MEM_ALLOCATION_TYPE_*
NOWHERE, DEVICE, HOST, NUMA = 0, 1, 2, 3    # CU_MEM_LOCATION_TYPE_NONE, _DEVICE, _HOST, _HOST_NUMA
POSIX_FD, FABRIC = 1, 8                     # CU_MEM_HANDLE_TYPE_*


class Library:
    def __init__(self, name, loader):
        self.handle = loader(os.path.join(_directory, name))

    def code(self, function, *arguments):
        return getattr(self.handle, function)(*[ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments])

    def call(self, function, *arguments):
        code = self.code(function, *arguments)
        if code:
            raise Error(function, code)

    def give(self, function, *arguments):
        """Calls a function with a pointer to 64 bits as first argument, and returns their new value."""
        out = ctypes.c_uint64()
        self.call(function, ctypes.byref(out), *arguments)
        return out.value


class Driver(Library):
    def use(self, device=0):
        """Retains the device's primary context and makes it current in this thread."""
        self.call("cuInit", 0)
        self.call("cuCtxSetCurrent", self.give("cuDevicePrimaryCtxRetain", device))

    def alloc(self, size):
        return self.give("cuMemAlloc_v2", size)

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def alloc_pitch(self, width, height):
        pitch = ctypes.c_size_t()
        return self.give("cuMemAllocPitch_v2", ctypes.byref(pitch), width, height, 4), pitch.value

    def create(self, size, device=0, types=0):
        """Creates memory without an address, and returns its handle."""
        prop = AllocationProp(PINNED, types, Location(DEVICE, device))
        return self.give("cuMemCreate", size, ctypes.byref(prop), 0)

    def release(self, handle):
        self.call("cuMemRelease", handle)

    def reserve(self, size):
        return self.give("cuMemAddressReserve", size, 0, 0, 0)

    def map(self, address, size, handle, device=0):
        self.call("cuMemMap", address, size, 0, handle, 0)
        access = AccessDesc(Location(DEVICE, device), 3)
        self.call("cuMemSetAccess", address, size, ctypes.byref(access), 1)

    def unmap(self, address, size):
        self.call("cuMemUnmap", address, size)

    def unreserve(self, address, size):
        self.call("cuMemAddressFree", address, size)

    def pool(self, device=0, place=DEVICE, type=PINNED):
        props = PoolProps(type, 0, Location(place, device))
        return self.give("cuMemPoolCreate", ctypes.byref(props))

    def pool_at(self, place, type=PINNED, name="cuMemGetDefaultMemPool", device=0):
        """Returns the pool of a location (CUDA 13)."""
        return self.give(name, ctypes.byref(Location(place, device)), type)

    def array(self, width, height, format, channels):
        return self.give("cuArrayCreate_v2", ctypes.byref(ArrayDesc(width, height, format, channels)))

    def array3d(self, width, height, depth, format, channels, flags=0):
        return self.give("cuArray3DCreate_v2", ctypes.byref(Array3DDesc(width, height, depth, format, channels, flags)))

    def mipmapped(self, width, height, format, channels, levels):
        whole = Array3DDesc(width, height, 0, format, channels, 0)
        return self.give("cuMipmappedArrayCreate", ctypes.byref(whole), levels)

    def ipc_handle(self, address):
        """Returns the handle as bytes, for another process."""
        handle = IpcHandle()
        self.call("cuIpcGetMemHandle", ctypes.byref(handle), address)
        return bytes(handle.reserved)

    def ipc_open(self, handle):
        return self.give("cuIpcOpenMemHandle_v2", IpcHandle.from_buffer_copy(handle), 1)

    def export(self, handle):
        """Returns a file descriptor for another process."""
        fd = ctypes.c_int(-1)
        self.call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, POSIX_FD, 0)
        return fd.value

    def proc_address(self, name, version=12000, flags=0):
        """Returns the address, or None."""
        out, status = ctypes.c_void_p(), ctypes.c_int()
        self.code("cuGetProcAddress_v2", name.encode(), ctypes.byref(out), version, flags, ctypes.byref(status))
        return out.value

    def exported(self, name):
        return ctypes.cast(getattr(self.handle, name), ctypes.c_void_p).value


class Runtime(Library):
    def set_device(self, device):
        self.call("cudaSetDevice", device)

    def malloc(self, size):
        return self.give("cudaMalloc", size)

    def free(self, address):
        self.call("cudaFree", address)

    def malloc_array(self, width, height, channel=ChannelFormat(32, 0, 0, 0, 2)):
        return self.give("cudaMallocArray", ctypes.byref(channel), width, height, 0)


class App(Library):
    """A program's own functions, which call the runtime themselves."""

    def __init__(self, name, loader):
        super().__init__(name, loader)
        for function in ("app_alloc", "app_alloc_async", "app_alloc_host"):
            getattr(self.handle, function).restype = ctypes.c_uint64

    def set_device(self, device):
        self.call("app_set_device", device)

    def alloc(self, size):
        return self.code("app_alloc", size)

    def free(self, address):
        self.call("app_free", address)

    def blip(self, size):
        self.call("app_blip", size)


def static(loader=ctypes.PyDLL):
    """A program with the runtime inside; its library is loaded by the first call."""
    return App("libstatic_app.so", loader)


cu, cu_nogil = Driver("libcuda.so.1", ctypes.PyDLL), Driver("libcuda.so.1", ctypes.CDLL)
rt, rt_nogil = Runtime("libcudart.so.12", ctypes.PyDLL), Runtime("libcudart.so.12", ctypes.CDLL)
app, app_nogil = App("libapp.so", ctypes.PyDLL), App("libapp.so", ctypes.CDLL)

# ---- the caching allocator ---------------------------------------------------------------------------------------

# torch's bindings release the GIL to make a tensor and to empty the cache, and keep it to free one.
_torch, _torch_nogil = [loader(os.path.join(_directory, "libc10_cuda.so")) for loader in (ctypes.PyDLL, ctypes.CDLL)]
for _library in (_torch, _torch_nogil):
    _library.sc_alloc.restype, _library.sc_alloc.argtypes = ctypes.c_uint64, [ctypes.c_int, ctypes.c_size_t]
_torch.sc_free.argtypes = [ctypes.c_uint64]
_torch.sc_last_error.restype = ctypes.c_char_p


class Tensor:
    """Device memory of the caching allocator. `gil`: keep it while allocating."""

    def __init__(self, size, device=0, gil=False):
        self.size, self.device, self.ptr = size, device, 0
        self.ptr = (_torch if gil else _torch_nogil).sc_alloc(device, size)
        if not self.ptr:
            raise OutOfMemory(_torch.sc_last_error().decode())

    def __del__(self, free=_torch.sc_free):
        if self.ptr:
            free(self.ptr)
            self.ptr = 0


def empty_cache():
    _torch_nogil.sc_empty_cache()


def mode(name):
    """Sets default, expandable or async, for later allocations."""
    _torch.sc_mode(["default", "expandable", "async"].index(name))


def observe_oom(function):
    """Sets a function that the allocator calls without memory, before it throws the exception; None: no function."""
    global _observer
    _observer = ctypes.CFUNCTYPE(None)(function) if function else None
    _torch.sc_observe_oom(_observer)


class PrivatePool:
    """A pool of its own, as a CUDA graph has. Tensors made inside `with` use it. Its segments go after release()."""

    count = 0

    def __init__(self, device=0):
        PrivatePool.count += 1
        self.device, self.number = device, PrivatePool.count

    def __enter__(self):
        _torch.sc_pool_begin(self.device, self.number)
        return self

    def __exit__(self, *exception):
        _torch.sc_pool_end(self.device)

    def release(self):
        _torch.sc_pool_release(self.device, self.number)


class Pinned:
    """Page-locked host memory through the runtime."""

    def __init__(self, size):
        self.size, self.ptr = size, rt.give("cudaHostAlloc", size, 0)

    def free(self):
        rt.call("cudaFreeHost", self.ptr)
        self.ptr = 0


class Registered:
    """Page-locks memory of Python's."""

    def __init__(self, size):
        self.memory = bytearray(size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        rt.call("cudaHostRegister", self.address, size, 0)

    def unregister(self):
        rt.call("cudaHostUnregister", self.address)
