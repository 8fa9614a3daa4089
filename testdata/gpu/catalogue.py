"""The cells of one session, in order. Every figure follows from the sizes in the cell and the rules in model.py and
README.md."""

from model import MEMORY, Cell, GiB, KiB, MiB, gpu, innocent, torch

KEPT = 256 * MiB        # held by `keep` on device 0 through the whole session


def _start():
    return [
        Cell("before", """
            import gc, os, subprocess, sys, threading, time
            gc.disable()
            import numpy as np
            array = np.ones(1 << 20)
            del array
            """, why="no CUDA library is loaded yet; what hangs in a cycle is to go when a cell says so"),
        innocent("pass_first"),
        Cell("import_libraries", "import gpu", why="in the middle of the session; initialises nothing"),
        Cell("keep", "kept = gpu.Tensor(256 * gpu.MiB)", torch(KEPT), torch(KEPT),
             why="10 MiB and more get a segment of their own, rounded up to 2 MiB"),
    ]


def _tensors():
    return [
        Cell("blip", "t = gpu.Tensor(gpu.GiB); del t", torch(GiB), gpu(driver=GiB, reserved=GiB),
             why="the segment stays cached"),
        innocent("pass_after_blip"),
        Cell("temporaries", """
            for _ in range(10):
                t = gpu.Tensor(512 * gpu.MiB)
                u = gpu.Tensor(256 * gpu.MiB)
                del t, u
            """, gpu(active=768 * MiB), why="all of it out of the cached 1 GiB", needs=["blip"]),
        Cell("empty_cache", "gpu.empty_cache()", kept=gpu(driver=-GiB, reserved=-GiB), needs=["blip"],
             why="reported by no call to c10"),
        Cell("small_blocks", """
            small = [gpu.Tensor(100) for _ in range(1000)]
            medium = [gpu.Tensor(3 * gpu.MiB), gpu.Tensor(5 * gpu.MiB)]
            del small, medium
            gpu.empty_cache()
            """, gpu(active=1000 * 512 + 8 * MiB, reserved=22 * MiB, driver=22 * MiB),
             why="512 bytes each, out of one segment of 2 MiB; both others out of one of 20 MiB"),
        Cell("emptied_in_one_statement", """
            if True:
                t = gpu.Tensor(128 * gpu.MiB)
                del t
                gpu.empty_cache()
            """, torch(128 * MiB), why="no boundary between what PyTorch reports and what it does not"),
        Cell("odd_sizes", """
            t, u = gpu.Tensor(10 * gpu.MiB + 1), gpu.Tensor(11 * gpu.MiB + 1)
            del t, u
            gpu.empty_cache()
            """, gpu(active=22 * MiB + 512, reserved=24 * MiB, driver=24 * MiB),
             why="segments of 12 MiB; more than 1 MiB is split off, of the second block nothing"),
        *[Cell("leak_%d" % i, 'leak = globals().setdefault("leak", [])\nleak.append(gpu.Tensor(64 * gpu.MiB))',
               torch(64 * MiB), torch(64 * MiB), needs=["leak_%d" % (i - 1)] if i > 1 else []) for i in (1, 2, 3)],
        Cell("leak_cleared", "leak.clear()\ngpu.empty_cache()", kept=torch(-192 * MiB), needs=["leak_3"]),
        Cell("held_by_output", "shown = gpu.Tensor(24 * gpu.MiB)\nshown", torch(24 * MiB), torch(24 * MiB)),
        Cell("held_by_output_still", "del shown\ngpu.empty_cache()", why="Out[N] holds it", needs=["held_by_output"]),
        Cell("output_deleted", "shown = Out[max(Out)]\n%xdel shown\ngpu.empty_cache()", kept=torch(-24 * MiB),
             needs=["held_by_output_still"], why="everywhere in IPython"),
        Cell("private_pool", """
            pool = gpu.PrivatePool()
            with pool:
                t = gpu.Tensor(48 * gpu.MiB)
            del t
            gpu.empty_cache()
            """, torch(48 * MiB), gpu(driver=48 * MiB, reserved=48 * MiB),
             why="a graph's pool is not emptied while the graph lives"),
        Cell("private_pool_released", "pool.release()\ngpu.empty_cache()",
             kept=gpu(driver=-48 * MiB, reserved=-48 * MiB),
             needs=["private_pool"]),
        Cell("training", """
            import queue
            tasks, done, loss = queue.Queue(), queue.Queue(), []
            def autograd():
                while (activations := tasks.get()) is not None:
                    while activations:
                        gradient = gpu.Tensor(16 * gpu.MiB)
                        activations.pop()
                    del gradient
                    done.put(None)
            worker = threading.Thread(target=autograd)
            worker.start()
            for step in range(20):
                tasks.put([gpu.Tensor(16 * gpu.MiB) for _ in range(8)])
                done.get()
            tasks.put(None)
            worker.join()
            """, torch(144 * MiB), gpu(driver=144 * MiB, reserved=144 * MiB),
             why="8 activations, and in the backward pass the next gradient beside the one before it: "
                 "8 + 1, 7 + 2, 6 + 2, …; the segments are freed on another thread"),
        Cell("training_emptied", "gpu.empty_cache()", kept=gpu(driver=-144 * MiB, reserved=-144 * MiB),
             needs=["training"]),
        Cell("tensor_on_each",
             "a, b = gpu.Tensor(32 * gpu.MiB, device=1), gpu.Tensor(64 * gpu.MiB)\ndel a, b\ngpu.empty_cache()",
             dict(torch(64 * MiB), **torch(32 * MiB, 1))),
    ]


def _errors():
    most = (MEMORY - KEPT) // (20 * MiB) * (20 * MiB)
    return [
        Cell("oom_caught", """
            t = gpu.Tensor(gpu.GiB); del t
            try:
                gpu.Tensor(8 * gpu.GiB)
            except gpu.OutOfMemory as e:
                message = str(e)
            """, torch(GiB), why="a C++ exception through the allocator; the cached 1 GiB is given back first"),
        Cell("oom_retried", """
            t = gpu.Tensor(gpu.GiB); del t
            t = gpu.Tensor(7 * gpu.GiB)
            del t
            gpu.empty_cache()
            """, torch(7 * GiB), why="the first cudaMalloc fails, the second one, without the cache, does not"),
        Cell("oom_uncaught", "gpu.Tensor(100 * gpu.GiB)", status="error"),
        Cell("exception_keeps_locals", """
            def fails():
                local = gpu.Tensor(128 * gpu.MiB)
                raise ValueError("with a tensor")
            fails()
            """, torch(128 * MiB), torch(128 * MiB), status="error", why="the traceback holds the frame"),
        innocent("pass_after_error"),
        Cell("exception_replaced", 'raise KeyError("another")', status="error",
             needs=["exception_keeps_locals"],
             why="nobody holds the traceback before it any more; frame and exception hold each other"),
        Cell("exception_collected", "collected = gc.collect()\ngpu.empty_cache()", kept=torch(-128 * MiB),
             needs=["exception_replaced"]),
        Cell("refused", """
            codes = [gpu.cu.code("cuMemAlloc_v2", gpu.ctypes.byref(gpu.ctypes.c_uint64()), size)
                     for size in (0, 9 * gpu.GiB)]
            codes += [gpu.cu.code("cuMemFree_v2", 4096), gpu.rt.code("cudaFree", 0)]
            thread = threading.Thread(target=lambda: codes.append(gpu.cu.code("cuMemFree_v2", 4096)))
            thread.start(); thread.join()
            assert codes == [1, 2, 1, 0, 201], codes
            """, why="no size, no room, nobody's address, nothing at all, no context in this thread"),
        Cell("expandable", """
            gpu.mode("expandable")
            a, b = gpu.Tensor(30 * gpu.MiB), gpu.Tensor(30 * gpu.MiB)
            c = gpu.Tensor(1000)
            del a
            gpu.empty_cache()
            """, gpu(active=60 * MiB + KiB, reserved=62 * MiB, driver=62 * MiB),
             gpu(active=30 * MiB + KiB, reserved=42 * MiB, driver=42 * MiB),
             why="pieces of 20 MiB, and one of 2 for the small one; of the first 30 MiB one piece can be unmapped"),
        Cell("expandable_freed", "del b, c\ngpu.empty_cache()",
             kept=gpu(active=-30 * MiB - KiB, reserved=-42 * MiB, driver=-42 * MiB), needs=["expandable"]),
        Cell("expandable_beside_libraries", """
            graph = gpu.PrivatePool()
            with graph:
                static = gpu.Tensor(30 * gpu.MiB)
            handle = gpu.cu.create(20 * gpu.MiB)
            workspace = [gpu.rt.malloc(25344), gpu.rt.malloc(4)]
            t = gpu.Tensor(150 * gpu.MiB)
            del t
            gpu.empty_cache()
            """, gpu(active=180 * MiB, reserved=200 * MiB, driver=220 * MiB + 25348),
             gpu(active=30 * MiB, reserved=40 * MiB, driver=60 * MiB + 25348), needs=["expandable_freed"],
             why="as cuDNN on an H100: it takes two blocks on the thread that PyTorch takes eight pieces on before "
                 "its next report, which go while a graph's pool stays"),
        Cell("expandable_beside_libraries_freed", """
            del static
            graph.release()
            for p in workspace:
                gpu.rt.free(p)
            gpu.cu.release(handle)
            gpu.empty_cache()
            """, kept=gpu(active=-30 * MiB, reserved=-40 * MiB, driver=-60 * MiB - 25348),
             needs=["expandable_beside_libraries"]),
        Cell("expandable_oom", """
            try:
                gpu.Tensor(9 * gpu.GiB)
            except gpu.OutOfMemory:
                pass
            gpu.mode("default")
            """, gpu(driver=most), needs=["expandable_freed"],
             why="as many pieces of 20 MiB as there is room for, twice; reserved never saw them"),
        Cell("async_mode", """
            gpu.mode("async")
            t = gpu.Tensor(300 * gpu.MiB + 1)
            del t
            gpu.mode("default")
            """, gpu(driver=300 * MiB + 1), why="cudaMallocAsync: no report, so neither active nor reserved"),
    ]


def _raw():
    mipmapped = sum((1024 >> i) ** 2 * 4 for i in range(11))
    return [
        Cell("blip_with_gil", "gpu.app.blip(5 * gpu.GiB)", gpu(driver=5 * GiB),
             why="cudaMalloc and cudaFree in one call"),
        innocent("pass_after_raw_blip"),
        Cell("blip_without_gil", "gpu.app_nogil.blip(2 * gpu.GiB)", gpu(driver=2 * GiB)),
        Cell("preallocated", """
            exec(compile("def put(n): blip(n)", "/venv/lib/python3.12/site-packages/jax/_src/dispatch.py", "exec"),
                 {"blip": gpu.app_nogil.handle.app_blip}, jax := {})
            jax["put"](gpu.ctypes.c_size_t(7 * gpu.GiB))
            """, gpu(driver=7 * GiB), why="most of the GPU in one block, called from where JAX's code lies"),
        Cell("raw_from_python", "p = gpu.rt.malloc(3 * gpu.GiB)\ngpu.rt.free(p)", gpu(driver=3 * GiB)),
        Cell("same_address", """
            addresses = set()
            for _ in range(1000):
                addresses.add(gpu.cu.alloc(2 * gpu.MiB))
                gpu.cu.free(max(addresses))
            assert len(addresses) == 1
            """, gpu(driver=2 * MiB)),
        Cell("freed_elsewhere", """
            p = gpu.rt.malloc(96 * gpu.MiB)
            thread = threading.Thread(target=lambda: gpu.rt_nogil.free(p))
            thread.start(); thread.join()
            """, gpu(driver=96 * MiB)),
        Cell("first_versions", """
            p = gpu.ctypes.c_uint()
            gpu.cu.call("cuMemAlloc", gpu.ctypes.byref(p), 12345)
            gpu.cu.call("cuMemFree", p.value)
            """, gpu(driver=12345), why="cuMemAlloc and cuMemFree without _v2"),
        Cell("pinned_keep", "p = gpu.Pinned(64 * gpu.MiB + 10)", gpu(pinned=64 * MiB + 10), gpu(pinned=64 * MiB + 10)),
        Cell("pinned_free", "p.free()", kept=gpu(pinned=-64 * MiB - 10), needs=["pinned_keep"]),
        Cell("pinned_register", """
            r = gpu.Registered(32 * gpu.MiB)
            assert gpu.rt.code("cudaHostRegister", r.address, 4096, 0) == 712
            h = gpu.cu.give("cuMemAllocHost_v2", 5000)
            r.unregister()
            gpu.cu.call("cuMemFreeHost", h)
            """, gpu(pinned=32 * MiB + 5000)),
        Cell("pitch", """
            p, pitch = gpu.cu.alloc_pitch(1000, 4096)
            assert pitch == 1024
            gpu.cu.free(p)
            """, gpu(driver=4 * MiB), why="4096 rows of 1024 bytes"),
        Cell("managed", """
            p, q = gpu.rt.give("cudaMallocManaged", 128 * gpu.MiB, 1), gpu.cu.give("cuMemAllocManaged", 64 * gpu.MiB, 1)
            gpu.rt.free(p)
            gpu.cu.free(q)
            """, gpu(driver=192 * MiB)),
        Cell("arrays", """
            arrays = [gpu.cu.array(1024, 1024, gpu.FLOAT, 4), gpu.cu.array(4096, 0, gpu.UINT8, 1),
                      gpu.cu.array3d(256, 256, 64, gpu.HALF, 2)]
            runtime = gpu.rt.malloc_array(512, 512)
            for array in arrays:
                gpu.cu.call("cuArrayDestroy", array)
            gpu.rt.call("cudaFreeArray", runtime)
            """, gpu(driver=16 * MiB + 4096 + 16 * MiB + MiB)),
        Cell("mipmapped", """
            whole = gpu.cu.mipmapped(1024, 1024, gpu.FLOAT, 1, 99)
            two = gpu.cu.mipmapped(1024, 1024, gpu.FLOAT, 1, 2)
            gpu.cu.call("cuMipmappedArrayDestroy", whole)
            gpu.cu.call("cuMipmappedArrayDestroy", two)
            """, gpu(driver=mipmapped + 5 * MiB), why="eleven levels, then two: 4 MiB and 1"),
        Cell("per_thread_stream", """
            p = gpu.cu.give("cuMemAllocAsync_ptsz", 40 * gpu.MiB, 0)
            q = gpu.rt.give("cudaMallocAsync", 3, 0)
            gpu.cu.call("cuMemFreeAsync_ptsz", p, 0)
            gpu.rt.call("cudaFreeAsync", q, 0)
            """, gpu(driver=40 * MiB + 3)),
        Cell("pool", """
            pool = gpu.cu.pool()
            p = gpu.cu.give("cuMemAllocFromPoolAsync", 100 * gpu.MiB, pool, 0)
            q = gpu.cu.give("cuMemAllocFromPoolAsync_ptsz", 50 * gpu.MiB, pool, 0)
            gpu.cu.call("cuMemFreeAsync", p, 0)
            gpu.cu.call("cuMemPoolTrimTo", pool, 0)
            gpu.cu.call("cuMemPoolDestroy", pool)
            """, gpu(driver=150 * MiB), gpu(driver=50 * MiB),
             why="a pool that is destroyed keeps what is still allocated"),
        Cell("pool_outlived", 'gpu.cu.call("cuMemFreeAsync", q, 0)', kept=gpu(driver=-50 * MiB), needs=["pool"]),
        Cell("host_pools", """
            pools = [gpu.cu.pool_at(gpu.HOST), gpu.cu.pool(0, gpu.NUMA), gpu.cu.pool_at(gpu.NUMA)]
            p = [gpu.cu.give("cuMemAllocFromPoolAsync", 16 * gpu.MiB, pool, 0) for pool in pools]
            gpu.cu.call("cuMemFreeAsync", p[0], 0); gpu.cu.call("cuMemFreeAsync", p[2], 0)
            """, {"cpu.pinned": 48 * MiB}, {"cpu.pinned": 16 * MiB}, why="CUDA 13: pools in the host's memory"),
        Cell("host_pools_freed", 'gpu.cu.call("cuMemFreeAsync_ptsz", p[1], 0)', kept={"cpu.pinned": -16 * MiB},
             needs=["host_pools"]),
        Cell("pool_kept", "outside = gpu.cu.pool_at(gpu.HOST)"),
        Cell("pool_used", """
            p = gpu.cu.give("cuMemAllocFromPoolAsync", 8 * gpu.MiB, outside, 0)
            gpu.cu.call("cuMemFreeAsync", p, 0)
            """, {"cpu.pinned": 8 * MiB}, needs=["pool_kept"], why="known, if the tracer saw where the pool came from"),
        Cell("pools_by_location", """
            for pool in gpu.cu.pool_at(gpu.DEVICE, name="cuMemGetMemPool"), gpu.cu.pool_at(gpu.NOWHERE, gpu.MANAGED):
                p = gpu.cu.give("cuMemAllocFromPoolAsync", 30 * gpu.MiB, pool, 0)
                gpu.cu.call("cuMemFreeAsync", p, 0)
            """, gpu(driver=30 * MiB), why="managed memory is on the current context's device"),
        Cell("static_runtime", """
            program = gpu.static()
            p = program.alloc(77 * gpu.MiB)
            program.blip(500 * gpu.MiB)
            program.free(p)
            """, gpu(driver=577 * MiB), why="its library is loaded here; none of the runtime's names is visible in it"),
    ]


def _vmm():
    return [
        Cell("vmm_released_first", """
            handle, at = gpu.cu.create(64 * gpu.MiB), gpu.cu.reserve(128 * gpu.MiB)
            gpu.cu.map(at, 64 * gpu.MiB, handle)
            gpu.cu.release(handle)
            """, gpu(driver=64 * MiB), gpu(driver=64 * MiB), why="released, but mapped"),
        Cell("vmm_unmapped", "gpu.cu.unmap(at, 64 * gpu.MiB)", kept=gpu(driver=-64 * MiB),
             needs=["vmm_released_first"]),
        Cell("vmm_released_last", """
            handle = gpu.cu.create(32 * gpu.MiB)
            gpu.cu.map(at, 32 * gpu.MiB, handle)
            gpu.cu.unmap(at, 32 * gpu.MiB)
            other = gpu.cu.create(16 * gpu.MiB)
            gpu.cu.release(handle); gpu.cu.release(other)
            """, gpu(driver=48 * MiB), why="unmapped, but not released", needs=["vmm_unmapped"]),
        Cell("vmm_retained", """
            handle = gpu.cu.create(64 * gpu.MiB)
            gpu.cu.map(at, 64 * gpu.MiB, handle)
            gpu.cu.release(handle)
            again = gpu.cu.give("cuMemRetainAllocationHandle", at + 4096)
            gpu.cu.unmap(at, 64 * gpu.MiB)
            gpu.cu.map(at + 64 * gpu.MiB, 64 * gpu.MiB, again)
            gpu.cu.unmap(at + 64 * gpu.MiB, 64 * gpu.MiB)
            other = gpu.cu.create(32 * gpu.MiB)
            gpu.cu.release(again); gpu.cu.release(other)
            gpu.cu.unreserve(at, 128 * gpu.MiB)
            """, gpu(driver=96 * MiB), why="one reference keeps it, mapped here, there or nowhere",
             needs=["vmm_released_last"]),
        Cell("vmm_not_permitted", """
            try:
                gpu.cu.create(2 * gpu.MiB, types=gpu.FABRIC)
            except gpu.Error as e:
                assert e.code == 800
            gpu.cu.release(gpu.cu.create(2 * gpu.MiB, types=gpu.POSIX_FD))
            """, gpu(driver=2 * MiB)),
        Cell("vmm_storm", """
            for _ in range(2):
                handles = []
                try:
                    while True:
                        handles.append(gpu.cu.create(2 * gpu.MiB))
                except gpu.Error as e:
                    assert e.code == 2
                for handle in handles:
                    gpu.cu.release(handle)
            """, gpu(driver=MEMORY - KEPT), why="2 x 3,968 pieces, then no room"),
        Cell("vmm_other_device", "gpu.cu.release(gpu.cu.create(6 * gpu.MiB, device=1))", gpu(1, driver=6 * MiB),
             why="the location counts, not the current context"),
    ]


def all_cells():
    import catalogue_processes as more

    return _start() + _tensors() + _raw() + _vmm() + _errors() + more.contexts() + more.processes() + more.stacks()
