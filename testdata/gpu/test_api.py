"""The stand-ins behave as CUDA does: errors, devices, symbols, and which function calls which."""

import os
import subprocess
import unittest

import symbols
import test_rig as rig

# unittest expects the last two in this module.
from test_rig import GiB, MiB, python, setUpModule, tearDownModule  # noqa: F401

REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
OUT_OF_MEMORY = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

WATCH = """
import ctypes, sys, threading, gpu
lib = gpu.ctypes.PyDLL(gpu._directory + "/libvisits.so")
c10 = gpu.ctypes.PyDLL(gpu._directory + "/libc10.so")
names = sys.argv[1].split()
for name in names:
    library = gpu.cu if name.startswith("cu") and not name.startswith("cuda") else gpu.rt
    handle = c10 if name.startswith("_Z") else library.handle
    assert lib.visits_watch(ctypes.cast(getattr(handle, name), ctypes.c_void_p)) >= 0, name
def visits(arguments=False):
    buffer = (ctypes.c_int64 * (6 * 4096))()
    n = lib.visits_take(buffer, 4096)
    return [buffer[6 * i + 1:6 * i + 6] if arguments else names[buffer[6 * i] & 0xffffffff] for i in range(n)]
gpu.rt.set_device(0)
visits()
"""


class Symbols(unittest.TestCase):
    def names(self, library):
        out = subprocess.check_output(["nm", "-D", "--defined-only", os.path.join(rig.directory.name, library)])
        return {line.split()[-1] for line in out.decode().splitlines()}

    def test_driver(self):
        self.assertEqual(set(), set(symbols.DRIVER) - self.names("libcuda.so.1"))

    def test_c10_has_two(self):
        self.assertEqual({REPORT, OUT_OF_MEMORY}, self.names("libc10.so"))

    def test_static_runtime_is_hidden(self):
        self.assertEqual(set(), {n for n in self.names("libstatic_app.so") if not n.startswith("app_")})

    def test_nothing_but_the_api(self):
        self.assertEqual(set(), {n for n in self.names("libcuda.so.1") if not n.startswith("cu")})
        self.assertEqual(set(), {n for n in self.names("libcudart.so.12") if not n.startswith(("cuda", "__cuda"))})

    def test_no_two_at_one_address(self):
        out = subprocess.check_output(["nm", "-D", "--defined-only",
                                       os.path.join(rig.directory.name, "libcuda.so.1")]).decode()
        addresses = [line.split()[0] for line in out.splitlines()]
        self.assertEqual(len(addresses), len(set(addresses)))

    def test_code(self):
        """push rbp; mov rbp, rsp at the very first byte, as on driver 580; on arm64 stp x29, x30, [sp, -N]!"""
        out = python(
            "import gpu, ctypes, sys\nout = {n: ctypes.string_at(gpu.cu.exported(n), 4).hex() for n in sys.argv[1:]}",
            *symbols.DRIVER)
        if os.uname().machine == "aarch64":
            out = {n: "%08x" % (int.from_bytes(bytes.fromhex(code), "little") & ~0x3f8000) for n, code in out.items()}
        frame = "a9807bfd" if os.uname().machine == "aarch64" else "554889e5"
        self.assertEqual({name: frame for name in symbols.DRIVER}, out)

    def test_proc_address(self):
        out = python("""
import gpu, ctypes
def same(name, function, version=12000, flags=0):
    return gpu.cu.proc_address(name, version, flags) == (gpu.cu.exported(function) if function else None)
out = [same(*t) for t in [("cuMemAlloc", "cuMemAlloc_v2"), ("cuMemAlloc", "cuMemAlloc_v2", 13000, 2),
       ("cuMemAlloc", "cuMemAlloc", 3000), ("cuMemFree", "cuMemFree_v2"), ("cuMemAllocAsync", None, 11000),
       ("cuMemAllocAsync", "cuMemAllocAsync"), ("cuMemAllocAsync", "cuMemAllocAsync_ptsz", 12000, 2),
       ("cuMemFreeAsync", "cuMemFreeAsync_ptsz", 12000, 2),
       ("cuCtxCreate", "cuCtxCreate_v2", 11000), ("cuCtxCreate", "cuCtxCreate_v4", 13000), ("cuNothing", None)]]
""")
        self.assertEqual({True}, set(out))


class Nesting(unittest.TestCase):
    def visits(self, script, *names):
        return python(WATCH + script, " ".join(names))

    def test_runtime_calls_driver(self):
        for script, runtime, driver in [
                ("gpu.rt.malloc(4096)", "cudaMalloc", "cuMemAlloc_v2"),
                ("gpu.rt.free(0)", "cudaFree", "cuMemFree_v2"),
                ("gpu.rt.give('cudaHostAlloc', 4096, 0)", "cudaHostAlloc", "cuMemHostAlloc"),
                ("gpu.rt.give('cudaMallocHost', 4096)", "cudaMallocHost", "cuMemHostAlloc"),
                ("gpu.rt.give('cudaMallocPitch', ctypes.byref(ctypes.c_size_t()), 100, 100)", "cudaMallocPitch",
                 "cuMemAllocPitch_v2"),
                ("gpu.rt.give('cudaMallocManaged', 4096, 1)", "cudaMallocManaged", "cuMemAllocManaged"),
                ("gpu.rt.give('cudaMallocAsync', 4096, 0)", "cudaMallocAsync", "cuMemAllocAsync"),
                ("gpu.rt.malloc_array(64, 64)", "cudaMallocArray", "cuArray3DCreate_v2")]:
            with self.subTest(runtime=runtime):
                self.assertEqual([runtime, driver], self.visits(script + "\nout = visits()", runtime, driver))

    def test_exported_functions_call_none_of_the_others(self):
        out = self.visits("""
out = []
for call in (lambda: gpu.cu.alloc(5), lambda: gpu.cu.give("cuMemAlloc", 5),
             lambda: gpu.cu.give("cuMemAllocAsync_ptsz", 5, 0),
             lambda: gpu.cu.array(5, 0, gpu.UINT8, 1), lambda: gpu.cu.give("cuMemAllocHost_v2", 5)):
    call()
    out.append(visits())
""", "cuMemAlloc", "cuMemAlloc_v2", "cuMemAllocAsync", "cuMemAllocAsync_ptsz", "cuArrayCreate_v2", "cuArray3DCreate_v2",
                          "cuMemHostAlloc",
                          "cuMemAllocHost_v2")
        self.assertEqual([["cuMemAlloc_v2"], ["cuMemAlloc"], ["cuMemAllocAsync_ptsz"], ["cuArrayCreate_v2"],
                          ["cuMemAllocHost_v2"]], out)

    def test_static_runtime_calls_driver(self):
        self.assertEqual(["cuMemAlloc_v2", "cuMemFree_v2"], self.visits(
            "gpu.static().blip(5)\nout = visits()", "cudaMalloc",
                                                                          "cuMemAlloc_v2", "cudaFree", "cuMemFree_v2"))

    def test_tensor(self):
        out = self.visits("""
t = gpu.Tensor(gpu.MiB); u = gpu.Tensor(512); del t, u
out = [visits()]
gpu.empty_cache()
out.append(visits())
""", "cudaMalloc", "cuMemAlloc_v2", "cudaFree", "cuMemFree_v2", REPORT)
        self.assertEqual([["cudaMalloc", "cuMemAlloc_v2"] + [REPORT] * 4, ["cudaFree", "cuMemFree_v2"]], out)

    def test_out_of_memory(self):
        """Twice refused, reported once, thrown, caught; and everything goes on."""
        out = self.visits("""
for _ in range(3):
    try:
        gpu.Tensor(gpu.GiB * 100)
    except gpu.OutOfMemory as e:
        pass
out = [visits()]
t = gpu.Tensor(gpu.MiB)
out.append(visits())
""", "cudaMalloc", "cuMemAlloc_v2", REPORT, OUT_OF_MEMORY)
        self.assertEqual([(["cudaMalloc", "cuMemAlloc_v2"] * 2 + [OUT_OF_MEMORY]) * 3,
                          ["cudaMalloc", "cuMemAlloc_v2", REPORT]], out)

    def test_what_is_reported(self):
        """Address, size (negative: freed), totals after it, device (type 1 is CUDA, then the index)."""
        script = """
gpu.mode(sys.argv[2])
t, u, v = gpu.Tensor(30 * gpu.MiB), gpu.Tensor(1000), gpu.Tensor(5, 1)
p = [t.ptr, u.ptr, v.ptr]
del t, v
gpu.empty_cache()
del u
out = [["tuv"[p.index(a[0])]] + a[1:4] + [a[4] & 0xffff] for a in visits(arguments=True)]
"""
        for mode, first, second in [("default", 30 * MiB, 2 * MiB), ("expandable", 40 * MiB, 2 * MiB)]:
            with self.subTest(mode=mode):
                out = python(WATCH + script, REPORT, mode)
                # Emptying the cache is not reported; the next report has what is left.
                self.assertEqual([["t", 30 * MiB, 30 * MiB, first, 0x0001],
                                  ["u", 1024, 30 * MiB + 1024, first + second, 0x0001],
                                  ["v", 512, 512, 2 * MiB, 0x0101],
                                  ["t", -30 * MiB, 1024, first + second, 0x0001],
                                  ["v", -512, 0, 2 * MiB, 0x0101],
                                  ["u", -1024, 0, second, 0x0001]], out)

    def test_out_of_memory_report(self):
        out = python(WATCH + """
t = gpu.Tensor(gpu.MiB)
try:
    gpu.Tensor(100 * gpu.GiB + 1)
except gpu.OutOfMemory:
    pass
out = [a[:3] + [a[3] & 0xffff] for a in visits(arguments=True)]
""", OUT_OF_MEMORY)
        self.assertEqual([[100 * GiB + 512, MiB, 2 * MiB, 0x0001]], out)

    def test_expandable(self):
        out = self.visits("""
gpu.mode("expandable")
t = gpu.Tensor(21 * gpu.MiB); del t
gpu.empty_cache()
out = visits()
""", "cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease",
                          "cuMemAddressFree", REPORT)
        self.assertEqual(
            ["cuMemAddressReserve"]
            + ["cuMemCreate"] * 3
            + ["cuMemMap"] * 2
            + ["cuMemSetAccess"]
            + [REPORT] * 2
            + ["cuMemUnmap", "cuMemRelease"] * 2
            + ["cuMemAddressFree"],
            out,
        )

    def test_async_mode_reports_nothing(self):
        out = self.visits(
            'gpu.mode("async"); t = gpu.Tensor(5); del t\nout = visits()',
            "cudaMallocAsync",
            "cuMemAllocAsync",
            "cudaFreeAsync",
            "cuMemFreeAsync",
            REPORT,
        )
        self.assertEqual(["cudaMallocAsync", "cuMemAllocAsync", "cudaFreeAsync", "cuMemFreeAsync"], out)


class Devices(unittest.TestCase):
    SCRIPT = """
import gpu, ctypes
def pci(i):
    text = ctypes.create_string_buffer(32)
    gpu.cu.call("cuDeviceGetPCIBusId", text, 32, i)
    return text.value.decode()[5:7]
code = gpu.cu.code("cuInit", 0)
out = [pci(i) for i in range(ctypes.c_int(gpu.cu.give("cuDeviceGetCount")).value)] if not code else code
"""

    def test_visible(self):
        for visible, expected in [
            (None, ["11", "21", "31"]),
            ("1", ["21"]),
            ("2,0", ["31", "11"]),
            ("", 100),
            ("-1", 100),
            ("1,9,0", ["21"]),
            ("0,0", 100),
            ("GPU-a2", ["31"]),
            ("GPU-a1b2c3d4-e5f6,0", ["21", "11"]),
        ]:
            with self.subTest(visible=visible):
                more = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
                self.assertEqual(expected, python(self.SCRIPT, STANDIN_DEVICES="3", **more))

    def test_order(self):
        self.assertEqual(["21", "11"], python(self.SCRIPT, STANDIN_FASTEST="1,0"))
        self.assertEqual(["11", "21"], python(self.SCRIPT, STANDIN_FASTEST="1,0", CUDA_DEVICE_ORDER="PCI_BUS_ID"))

    def test_figures_go_to_the_device_of_the_machine(self):
        out = python("""
import gpu, os, truth
t = gpu.Tensor(20 * gpu.MiB); p = gpu.rt.malloc(5)
read = truth.Truth(os.environ["STANDIN_TRUTH"], gpu._directory + "/libtruth_reader.so")
out = read.cut(os.getpid())
""", STANDIN_DEVICES="3", CUDA_VISIBLE_DEVICES="2", STANDIN_TRUTH=os.path.join(rig.directory.name, "truth-visible"))
        self.assertEqual(
            {"gpu.2.driver", "gpu.2.active", "gpu.2.reserved"},
            {meter for meter, (current, _) in out.items() if current},
        )


class Errors(unittest.TestCase):
    def test_codes(self):
        out = python("""
import gpu, ctypes, os, threading
def code(*a): return gpu.cu.code(*a)
p = ctypes.c_uint64()
out = {"before cuInit": code("cuMemAlloc_v2", ctypes.byref(p), 5), "flags": code("cuInit", 1)}
gpu.cu.call("cuInit", 0)
out["no context"] = code("cuMemAlloc_v2", ctypes.byref(p), 5)
gpu.cu.use(0)
out["device"] = code("cuDevicePrimaryCtxRetain", ctypes.byref(p), 7)
out["too much"] = code("cuMemAlloc_v2", ctypes.byref(p), 9 << 30)
out["far too much"] = code("cuMemAlloc_v2", ctypes.byref(p), 1 << 63)
out["nowhere"] = code("cuMemAlloc_v2", None, 5)
out["freed twice"] = (lambda a: (gpu.cu.free(a), code("cuMemFree_v2", a))[1])(gpu.cu.alloc(5))
a = gpu.cu.alloc(5 << 20)
out["inside"] = code("cuMemFree_v2", a + 512)
out["host as device"] = code("cuMemFree_v2", gpu.cu.give("cuMemHostAlloc", 5, 0))
out["device as host"] = code("cuMemFreeHost", a)
out["not registered"] = code("cuMemHostUnregister", 4096)
prop = gpu.AllocationProp(1, 0, gpu.Location(1, 0))
out["granularity"] = code("cuMemCreate", ctypes.byref(p), 5, ctypes.byref(prop), 0)
out["released twice"] = (lambda h: (gpu.cu.release(h), code("cuMemRelease", h))[1])(gpu.cu.create(2 << 20))
out["mapped nowhere"] = code("cuMemMap", 4096, 2 << 20, 0, gpu.cu.create(2 << 20), 0)
out["own ipc"] = code("cuIpcOpenMemHandle_v2", ctypes.byref(p), gpu.IpcHandle.from_buffer_copy(gpu.cu.ipc_handle(a)), 1)
context = gpu.cu.give("cuCtxCreate_v2", 0, 0)
def elsewhere():
    gpu.cu.call("cuCtxSetCurrent", context)
    destroyed.wait()
    out["destroyed"] = code("cuMemAlloc_v2", ctypes.byref(p), 5)
destroyed = threading.Event()
t = threading.Thread(target=elsewhere); t.start()
gpu.cu.call("cuCtxDestroy_v2", context); destroyed.set(); t.join()
out["default pool"] = code("cuMemPoolDestroy", gpu.cu.give("cuDeviceGetDefaultMemPool", 0))
out["not locked"] = code("cuCheckpointProcessCheckpoint", os.getpid(), 0)
r, w = os.pipe()
if not os.fork():
    os.write(w, bytes([code("cuMemAlloc_v2", ctypes.byref(p), 5)])); os._exit(0)
out["forked"] = os.read(r, 1)[0]
""")
        self.assertEqual(
            {
                "before cuInit": 3,
                "flags": 1,
                "no context": 201,
                "device": 101,
                "too much": 2,
                "far too much": 2,
                "nowhere": 1,
                "freed twice": 1,
                "inside": 1,
                "host as device": 1,
                "device as host": 1,
                "not registered": 713,
                "granularity": 1,
                "released twice": 1,
                "mapped nowhere": 1,
                "own ipc": 201,
                "destroyed": 709,
                "default pool": 1,
                "not locked": 401,
                "forked": 3,
            },
            out,
        )

    def test_runtime(self):
        out = python(
            "import gpu, ctypes\np = ctypes.c_uint64()\nout = [gpu.rt.code('cudaMalloc', ctypes.byref(p), n) for n in "
            "(9 << 30, 0, 5)] + [gpu.rt.code('cudaSetDevice', 5), gpu.rt.code('cudaFree', 5)]"
        )
        self.assertEqual([2, 0, 0, 101, 1], out)

    def test_no_device(self):
        self.assertEqual(100, python("import gpu\nout = gpu.rt.code('cudaFree', 0)", STANDIN_DEVICES="0"))

    def test_calls_wait_while_locked(self):
        out = python("""
import gpu, os, threading, time
gpu.cu.use(0)
gpu.cu.call("cuCheckpointProcessLock", os.getpid(), 0)
order = []
def alloc():
    gpu.cu_nogil.use(0)
    gpu.cu_nogil.alloc(5)
    order.append("alloc")
t = threading.Thread(target=alloc); t.start()
time.sleep(0.2)
order.append("unlock")
gpu.cu.call("cuCheckpointProcessUnlock", os.getpid(), 0)
t.join()
out = order
""")
        self.assertEqual(["unlock", "alloc"], out)


if __name__ == "__main__":
    unittest.main()
