"""The cells of a session on PyTorch, in order: (name, source, status)."""

import textwrap

_CELLS = [
    ("before", """
        import ctypes, gc, threading
        gc.disable()
        """),
    ("import_torch", """
        import torch
        from torch import nn
        MiB, GiB = 1 << 20, 1 << 30
        def take(n, device=0):
            return torch.empty(n, dtype=torch.uint8, device=device)
        """),
    ("keep", "kept = take(256 * MiB)"),
    ("blip", "x = take(GiB); del x"),
    ("innocent", "pass"),
    ("temporaries", """
        a = torch.ones(4096, 4096, device="cuda")
        b = (a * 2 + 1) @ a
        c = (b - b.mean()).relu_()
        del b
        """),
    ("cached", "del a, c\nx = take(300 * MiB)\ndel x"),
    ("empty_cache", "torch.cuda.empty_cache()"),
    ("small_blocks", """
        small = [take(100) for _ in range(1000)]
        medium = [take(3 * MiB), take(5 * MiB)]
        del small, medium
        """),
    ("empty_cache_again", "torch.cuda.empty_cache()"),
    ("raw_cudamalloc_under_the_gil", """
        runtime = ctypes.PyDLL("libcudart.so.12")
        p = ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(2 * GiB)) == 0
        assert runtime.cudaFree(p) == 0
        """),
    ("leak_1", "leak = [take(64 * MiB)]"),
    ("leak_2", "leak.append(take(64 * MiB))"),
    ("leak_cleared", "leak.clear()\ntorch.cuda.empty_cache()"),
    ("out_of_memory", "take(1 << 40)", "error"),
    ("out_of_memory_caught", """
        try:
            x = take(GiB)
            y = take(1 << 40)
        except torch.cuda.OutOfMemoryError:
            del x
        """),
    ("exception_keeps", """
        def fails():
            inner = take(128 * MiB)
            raise ValueError("no")
        fails()
        """, "error"),
    ("exception_still_keeps", "gc.collect()"),
    ("pinned", "host = torch.empty(64 * MiB, dtype=torch.uint8, pin_memory=True)"),
    ("to_device", "moved = host.to('cuda', non_blocking=True)\ndel moved"),
    ("pinned_freed", "del host\ntorch._C._host_emptyCache()"),
    ("model", """
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, batch_first=True, dropout=0.0), 4).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        batch = torch.randn(32, 128, 512, device="cuda")
        """),
    ("training_loop", """
        for step in range(10):
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
        """),
    ("inference", "with torch.no_grad():\n    out = model(batch)\ndel out"),
    ("model_gone", "del model, optimizer, batch, loss\ngc.collect()\ntorch.cuda.empty_cache()"),
    ("graph", """
        graph, static = torch.cuda.CUDAGraph(), torch.randn(1024, 1024, device="cuda")
        with torch.cuda.graph(graph):
            captured = static @ static + 1
        for _ in range(3):
            graph.replay()
        """),
    ("graph_beside_libraries", """
        pointers = [ctypes.c_void_p() for _ in range(2)]
        for pointer, size in zip(pointers, (25344, 4)):
            assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        x = take(170 * MiB)
        del x
        torch.cuda.empty_cache()
        """),
    ("pool_beside_libraries", """
        if torch.cuda.get_allocator_backend() == "native":
            pool = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(pool):
                held = take(32 * MiB)
                for pointer in pointers:
                    assert runtime.cudaFree(pointer) == 0
                    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(25344)) == 0
                x = take(170 * MiB)
            del x
            torch.cuda.empty_cache()
            del held, pool
        gc.collect()
        torch.cuda.empty_cache()
        for pointer in pointers:
            assert runtime.cudaFree(pointer) == 0
        """),
    ("graph_gone", "del graph, captured, static\ngc.collect()\ntorch.cuda.empty_cache()"),
    ("streams", """
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            x = take(96 * MiB)
            x.record_stream(torch.cuda.current_stream())
        del x
        """),
    ("other_device", "other = take(512 * MiB, 1)"),
    ("both_devices", """
        with torch.cuda.device(1):
            x = torch.ones(64 * MiB, device="cuda")
        y = x.to("cuda:0")
        del x, y
        """),
    ("threads", """
        def work(device):
            for i in range(20):
                x = take((i + 1) * 4 * MiB, device)
                del x
        workers = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
        for w in workers: w.start()
        for w in workers: w.join()
        """),
    ("other_device_freed", "del other\ntorch.cuda.empty_cache()"),
    ("private_pool", """
        if torch.cuda.get_allocator_backend() == "native":
            pool = torch.cuda.MemPool()
            with torch.cuda.use_mem_pool(pool):
                x = take(32 * MiB)
            del x, pool
        gc.collect()
        torch.cuda.empty_cache()
        """),
    ("autocast", """
        layer, data = nn.Linear(2048, 2048).cuda(), torch.randn(512, 2048, device="cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            layer(data).float().sum().backward()
        del layer, data
        """),
    ("checkpointed", """
        from torch.utils.checkpoint import checkpoint
        block = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()
        data = torch.randn(4096, 1024, device="cuda", requires_grad=True)
        checkpoint(block, data, use_reentrant=False).sum().backward()
        del block, data
        gc.collect()
        """),
    ("odd", "odd = take(5_000_001)"),
    ("end", "del kept\ntorch.cuda.empty_cache()"),
]


class Cell:
    """request is read by the driver of the kernel."""

    request = {}

    def __init__(self, name, source, status="ok"):
        self.name, self.source, self.status = name, textwrap.dedent(source).strip("\n"), status


CELLS = [Cell(*cell) for cell in _CELLS]
