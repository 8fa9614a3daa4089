"""Notebooks with leaks of GPU memory planted, and healthy ones, on PyTorch. notebooks.py has their parts."""

from notebooks import (
    AFTER,
    GROWTH,
    MIB,
    OUTPUT,
    TRACEBACK,
    Leak,
    Notebook,
    Step,
    collected_traceback,
    reference_cycle,
    stolen_reference,
    waiting_thread,
)

ACTIVE, DRIVER, PINNED, RESERVED = "gpu.0.active", "gpu.0.driver", "cpu.pinned", "gpu.0.reserved"

IMPORTS = Step("""
    import ctypes, functools, gc, json, sys, threading, types
    import torch
    from torch import nn
    MiB = 1 << 20
    def block(n):
        return torch.empty(n, dtype=torch.uint8, device="cuda")
    """)


def size(number):
    """A size in bytes that no other leak has and that PyTorch's allocator does not round: blocks of 12 MiB and more are
    taken in steps of 512 bytes, segments in steps of 2 MiB."""
    return 12 * MIB + number * 4096


LEAKS = [
    Notebook("losses_with_their_graphs", [
        Step("layer = nn.Linear(1024, 1024, device='cuda')\nlosses = []"),
        Step("""
            def forward():
                x = torch.ones(4096, 1024, device="cuda")
                return layer(x).relu().mean()
            losses.append(forward())  # leaks
            """, 3)], [Leak(GROWTH, None, 9, meter=ACTIVE, exact=False)]),
    Notebook("list_of_tensors", [Step("kept = []"), Step("kept.append(block(%d))  # leaks" % size(1), 4)],
             [Leak(GROWTH, 4 * size(1), 4, meter=ACTIVE)]),
    Notebook("cache_in_a_helper", [
        Step("""
            embeddings = {}
            def embed(key):
                value = block(%d)  # leaks
                embeddings[key] = value
                return value.shape
            """ % size(2)),
        Step("shape = embed(len(embeddings))", 3)], [Leak(GROWTH, 3 * size(2), 3, "embed", ACTIVE)]),
    Notebook("hooks_that_collect", [
        Step("""
            features = []
            net = nn.Identity()
            def keep(module, inputs, output):
                features.append(output + 1)  # leaks
            handle = net.register_forward_hook(keep)
            """),
        Step("y = net(block(%d))" % size(3), 3)], [Leak(GROWTH, 3 * size(3), 3, "keep", ACTIVE)]),
    Notebook("output", [Step("block(%d)  # leaks" % size(4))], [Leak(OUTPUT, size(4), 1, meter=ACTIVE)]),
    Notebook("library_attribute", [Step("json.last_batch = block(%d)  # leaks" % size(5))],
             [Leak(AFTER, size(5), 1, meter=ACTIVE)]),
    stolen_reference(size(6), ACTIVE),
    waiting_thread(size(7), ACTIVE),
    Notebook("raw_cudamalloc", [
        Step("runtime = ctypes.CDLL('libcudart.so.12')"),
        Step("""
            p = ctypes.c_void_p()
            assert runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(%d)) == 0  # leaks
            """ % (32 * MIB), 3)], [Leak(GROWTH, 3 * 32 * MIB, 3, meter=DRIVER)]),
    Notebook("pinned_batches", [
        Step("batches = []"), Step("batches.append(torch.empty(%d, dtype=torch.uint8, pin_memory=True))  # leaks" % (
            16 * MIB), 3)],
        [Leak(GROWTH, 3 * 16 * MIB, 3, meter=PINNED)]),
    Notebook("cache_in_pieces", [
        Step("torch.cuda.empty_cache()\nwhole = [block(100 * MiB) for _ in range(8)]\ndel whole"),
        Step("halves = [block(45 * MiB) for _ in range(16)]"),
        Step("del halves[::2]"),
        Step("again = [block(90 * MiB) for _ in range(4)]  # leaks")],
             [Leak("fragmentation", None, 4, meter=RESERVED, exact=False)]),
    collected_traceback(size(10), ACTIVE),
    Notebook("traceback_of_out_of_memory", [
        Step("""
            def train():
                activations = block(%d)  # leaks
                return activations, block(1 << 50)
            """ % size(8)),
        Step("train()", fails=True)], [Leak(TRACEBACK, size(8), 1, "train", ACTIVE)]),
    reference_cycle(size(9), ACTIVE),
]

HEALTHY = [
    Notebook("training", [
        Step("""
            model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, batch_first=True, dropout=0.0), 2).cuda()
            optimizer = torch.optim.Adam(model.parameters())
            batch = torch.randn(32, 128, 256, device="cuda")
            """),
        Step("""
            for step in range(5):
                optimizer.zero_grad()
                loss = model(batch).square().mean()
                loss.backward()
                optimizer.step()
            """, 4)]),
    Notebook("graph_in_a_variable", [Step("out = model(batch)", 2)]),
    Notebook("inference", [Step("with torch.no_grad():\n    predictions = model(batch).cpu()", 3)]),
    Notebook("rebinding", [Step("x = block(100 * MiB)\ny = x + 1", 4)]),
    Notebook("out_of_memory_handled", [
        Step("""
            size = 1 << 45
            while True:
                try:
                    x = block(size)
                    break
                except torch.cuda.OutOfMemoryError:
                    size = 64 * MiB
            del x
            """, 3)]),
    Notebook("cache_given_back", [Step("x = block(300 * MiB)\ndel x"), Step("torch.cuda.empty_cache()")]),
    Notebook("pinned_and_moved",
             [Step((
                 "host = torch.empty(32 * MiB, dtype=torch.uint8, pin_memory=True)\n"
                 "moved = host.to('cuda', non_blocking=True)\ndel host, moved"
             ), 4)]),
    Notebook("raw_and_freed", [
        Step("runtime = ctypes.CDLL('libcudart.so.12')"),
        Step("""
            p = ctypes.c_void_p()
            assert runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(32 * MiB)) == 0
            assert runtime.cudaFree(p) == 0
            """, 3)]),
]
