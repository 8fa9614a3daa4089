"""Notebooks with leaks of tensors on the CPU planted, and healthy ones. notebooks.py says what they are made of."""

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

TORCH = "cpu.torch"

IMPORTS = Step("""
    import ctypes, gc, json, sys, threading, types
    import torch
    from torch import nn
    def block(n):
        return torch.empty(n, dtype=torch.uint8)
    """)


def size(number):
    """A size in bytes that no other leak has."""
    return 3 * MIB + number * 4096


LEAKS = [
    Notebook("losses_with_their_graphs", [
        Step("layer = nn.Linear(512, 512)\nlosses = []"),
        Step("""
            def forward():
                x = torch.ones(2048, 512)
                return layer(x).sigmoid().mean()
            losses.append(forward())  # leaks
            """, 3)], [Leak(GROWTH, None, None, meter=TORCH, exact=False, says="losses[")]),
    Notebook("list_of_tensors", [Step("kept = []"), Step("kept.append(block(%d))  # leaks" % size(1), 4)],
             [Leak(GROWTH, 4 * size(1), 4, meter=TORCH, says="kept[")]),
    Notebook("hooks_that_collect", [
        Step("""
            features = []
            net = nn.Identity()
            def keep(module, inputs, output):
                features.append(output + 1)  # leaks
            handle = net.register_forward_hook(keep)
            """),
        Step("y = net(block(%d))" % size(2), 3)], [Leak(GROWTH, 3 * size(2), None, "keep", TORCH, says="features[")]),
    Notebook("output", [Step("block(%d)  # leaks" % size(3))], [Leak(OUTPUT, size(3), 1, meter=TORCH, says="Out[")]),
    Notebook("module_cache", [
        Step("""
            helpers = types.ModuleType("helpers")
            sys.modules["helpers"] = helpers
            helpers.cache = {}
            """),
        Step("helpers.cache['batch'] = block(%d)  # leaks" % size(4)), Step("del helpers")],
             [Leak(AFTER, size(4), 1, meter=TORCH, says="helpers.cache['batch']")]),
    Notebook("numpy_view_of_a_tensor", [Step("views = []"), Step(
        "views.append(block(%d).numpy()[:10])  # leaks" % size(5), 3)],
             [Leak(GROWTH, 3 * size(5), 3, meter=TORCH, says="views[")]),
    stolen_reference(size(6), TORCH),
    waiting_thread(size(7), TORCH),
    collected_traceback(size(10), TORCH),
    Notebook("traceback_of_the_last", [
        Step("""
            def train():
                activations = block(%d)  # leaks
                raise ValueError("bad batch")
            train()
            """ % size(8), fails=True)], [Leak(TRACEBACK, size(8), 1, "train", TORCH, says="activations")]),
    reference_cycle(size(9), TORCH),
]

HEALTHY = [
    Notebook("training", [
        Step("""
            model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
            optimizer = torch.optim.Adam(model.parameters())
            data = torch.randn(1024, 512)
            """),
        Step("""
            for step in range(3):
                optimizer.zero_grad()
                loss = (model(data) - data).pow(2).mean()
                loss.backward()
                optimizer.step()
            """, 4)]),
    Notebook("evaluation", [Step("with torch.no_grad():\n    score = float(model(data).sum())", 4)]),
    Notebook("rebinding", [Step("x = block(%d)\ny = x * 2" % (20 * MIB), 4)]),
    Notebook("history_of_numbers", [Step("history = []"), Step(
        "history.append(float((model(data) - data).abs().mean()))", 4)]),
]
