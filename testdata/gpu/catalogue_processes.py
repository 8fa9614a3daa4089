"""Cells on contexts, devices, processes, threads and stacks; they run after those of catalogue.py."""

import os

from catalogue import KEPT
from model import Cell, MiB, gpu, innocent, torch


def contexts():
    return [
        Cell("context_destroyed", """
            context = gpu.cu.give("cuCtxCreate_v2", 0, 0)
            gpu.cu.alloc(200 * gpu.MiB)
            gpu.cu.array(4096, 0, gpu.UINT8, 1)
            gpu.cu.give("cuMemHostAlloc", 16 * gpu.MiB, 0)
            r = gpu.Registered(gpu.MiB)
            gpu.cu.call("cuCtxDestroy_v2", context)
            """, gpu(driver=200 * MiB + 4096, pinned=17 * MiB), why="all that it held goes with it"),
        Cell("context_of_other_device", """
            context = gpu.cu.give("cuCtxCreate_v4", 0, 0, 1)
            p = gpu.cu.alloc(20 * gpu.MiB)
            outer = gpu.cu.give("cuCtxPopCurrent_v2")
            q = gpu.cu.alloc(30 * gpu.MiB)
            gpu.cu.call("cuCtxPushCurrent_v2", context)
            gpu.cu.free(q)
            gpu.cu.call("cuCtxDestroy_v2", context)
            """, dict(gpu(driver=30 * MiB), **gpu(1, driver=20 * MiB)),
             why="the current context decides; freeing asks for none in particular"),
        Cell("pool_of_other_device", """
            pool = gpu.cu.pool(1)
            p = gpu.cu.give("cuMemAllocFromPoolAsync", 9 * gpu.MiB, pool, 0)
            gpu.cu.call("cuMemFreeAsync", p, 0)
            gpu.cu.call("cuMemPoolDestroy", pool)
            """, gpu(1, driver=9 * MiB)),
        Cell("reset", """
            gpu.rt.set_device(1)
            p = gpu.rt.malloc(100 * gpu.MiB)
            gpu.rt.call("cudaDeviceReset")
            q = gpu.rt.malloc(10 * gpu.MiB)
            gpu.rt.free(q)
            gpu.rt.set_device(0)
            """, gpu(1, driver=100 * MiB)),
        Cell("primary_released", """
            gpu.rt.set_device(1)
            gpu.cu.use(1)
            gpu.cu.alloc(11 * gpu.MiB)
            for _ in range(2):
                gpu.cu.call("cuDevicePrimaryCtxRelease_v2", 1)
            gpu.rt.set_device(0)
            """, gpu(1, driver=11 * MiB), why="the runtime's reference and this cell's: the last one frees"),
        Cell("device_threads", """
            gpu.cu.give("cuDevicePrimaryCtxRetain", 1)
            barrier = threading.Barrier(4)
            def work(n):
                gpu.rt.set_device(0)
                a = gpu.rt_nogil.malloc(n * 10 * gpu.MiB)
                gpu.rt.set_device(1)
                b = gpu.rt_nogil.malloc(20 * gpu.MiB)
                barrier.wait()
                gpu.rt_nogil.free(a)
                gpu.rt_nogil.free(b)
            threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            """, dict(gpu(driver=100 * MiB), **gpu(1, driver=80 * MiB)), why="all four hold both at the barrier"),
        Cell("hammer", """
            def work():
                for _ in range(300):
                    gpu.app_nogil.blip(gpu.MiB)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            """, gpu(driver=[MiB, 4 * MiB]), why="at most four at once, on new threads without a context of their own"),
    ]


_CHILD = '''
            child = """
            import gpu, os, sys
            gpu.cu.use(0)
            mine = gpu.cu.alloc(8 * gpu.MiB)
            %s
            """
            child = child.replace("\\n            ", "\\n")
'''


def processes():
    eight = (gpu(driver=8 * MiB), gpu(driver=8 * MiB))
    return [
        Cell("ipc", _CHILD % "theirs = gpu.cu.ipc_open(bytes.fromhex(sys.argv[1])); "
                             "gpu.cu.call('cuIpcCloseMemHandle', theirs)" + """
            p = gpu.cu.alloc(64 * gpu.MiB)
            subprocess.run([sys.executable, "-c", child, gpu.cu.ipc_handle(p).hex()], check=True)
            gpu.cu.free(p)
            """, gpu(driver=64 * MiB), children=[eight], why="counts where it was allocated, not where it was opened"),
        Cell("vmm_shared", _CHILD % "theirs = gpu.cu.give('cuMemImportFromShareableHandle', int(sys.argv[1]), 1); "
                                    "at = gpu.cu.reserve(32 * gpu.MiB); gpu.cu.map(at, 32 * gpu.MiB, theirs)" + """
            handle = gpu.cu.create(32 * gpu.MiB, types=gpu.POSIX_FD)
            fd = gpu.cu.export(handle)
            subprocess.run([sys.executable, "-c", child, str(fd)], pass_fds=[fd], check=True)
            os.close(fd)
            gpu.cu.release(handle)
            """, gpu(driver=32 * MiB), children=[eight]),
        Cell("checkpoint_self", """
            for step in ("Lock", "Checkpoint", "Restore", "Unlock"):
                gpu.cu.call("cuCheckpointProcess" + step, os.getpid(), 0)
            """, why="gone, and back before the cell ends"),
        Cell("suspended", """
            child = ("import gpu, sys; "
                     "[gpu.cu.call('cuCheckpointProcess' + s, int(sys.argv[1]), 0) for s in sys.argv[2:]]")
            subprocess.run([sys.executable, "-c", child, str(os.getpid()), "Lock", "Checkpoint"], check=True)
            """, kept=gpu(driver=-KEPT), children=[({}, {})],
             why="another process calls: nothing of the driver runs in this one. The allocator goes on counting"),
        innocent("pass_while_suspended", needs=["suspended"]),
        Cell("resumed", """
            subprocess.run([sys.executable, "-c", child, str(os.getpid()), "Restore", "Unlock"], check=True)
            """, gpu(driver=KEPT), gpu(driver=KEPT), children=[({}, {})], needs=["suspended"]),
    ] + (yielded() if "IPYTRACER_PROGRAM" in os.environ else [])


def yielded():
    """The same by `tracer gpu yield` and `tracer gpu restore`."""
    command = """
            subprocess.run([os.environ["IPYTRACER_PROGRAM"], "gpu", "%s", str(os.getpid())], check=True)
            """
    return [
        Cell("yielded", command % "yield", kept=gpu(driver=-KEPT), children=[({}, {})]),
        innocent("pass_while_yielded", needs=["yielded"]),
        Cell("given_back", command % "restore", gpu(driver=KEPT), gpu(driver=KEPT), children=[({}, {})],
             needs=["yielded"]),
    ]


def stacks():
    return [
        Cell("greenlets", """
            import greenlet
            held = []
            def switches(n):
                for i in range(50):
                    held.append(gpu.Tensor(12 * gpu.MiB))
                    main.switch()
                    try:
                        gpu.Tensor(100 * gpu.GiB)
                    except gpu.OutOfMemory:
                        main.switch()
                    p = gpu.rt.malloc(gpu.MiB)
                    main.switch()
                    gpu.rt.free(p)
                    held.pop()
            main = greenlet.getcurrent()
            others = [greenlet.greenlet(switches) for n in range(3)]
            while not all(g.dead for g in others):
                for g in others:
                    g.switch(0)
            gpu.empty_cache()
            """, gpu(active=36 * MiB, reserved=36 * MiB, driver=39 * MiB), requires=["greenlet"],
             why="three stacks take turns between and after the calls: three tensors, then three times 1 MiB"),
        Cell("greenlet_in_allocator", """
            import greenlet
            gpu.observe_oom(lambda: main.switch())
            def fails(n):
                try:
                    gpu.Tensor(100 * gpu.GiB, gil=True)
                except gpu.OutOfMemory:
                    return n
            main = greenlet.getcurrent()
            others = [greenlet.greenlet(fails) for _ in range(3)]
            for n, g in enumerate(others):
                g.switch(n)
                p = gpu.rt.malloc(17 * gpu.MiB)
                gpu.rt.free(p)
            assert [g.switch(0) for g in others] == [0, 1, 2]
            gpu.observe_oom(None)
            """, gpu(driver=17 * MiB), requires=["greenlet"],
             why="the stacks are swapped inside the allocator, its frames come back before it throws"),
        Cell("between_cells", """
            def later():
                time.sleep(0.5)
                gpu.app.blip(90 * gpu.MiB)
            threading.Thread(target=later).start()
            """, between=(gpu(driver=90 * MiB), {}), settle=1.5,
             why="what it takes comes after the cell and before the next"),
        innocent("pass_after_between"),
        Cell("end", "del kept\ngpu.empty_cache()", kept=torch(-KEPT)),
        innocent("pass_last"),
    ]
