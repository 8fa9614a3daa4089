"""A real PyTorch for CUDA, on stand-ins of NVIDIA's libraries: the cost for a training loop, and of an attach to a
process this large.

Nothing is computed. The time of a kernel is a parameter: with 60 µs each a step of this loop takes as long as on an
H200 (15.9 ms); with 0 it is over when the CPU has asked for all of it, which is the most that a loop can pay."""

import functools
import os
import statistics

from estimate import estimate, estimate_of
from kernel import Kernel
from measures.gpu import stand_ins
from pairing import interleave, nothing, undisturbed
from table import Row, Skipped
from tracing import Tracer

SECTION = "PyTorch for CUDA on stand-ins of driver and runtime"
KERNEL_NS = 60_000
PREPARE = """
import ctypes, os, torch
from torch import nn
torch.set_num_threads(1)
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, batch_first=True, dropout=0.0), 6).cuda()
optimizer = torch.optim.Adam(model.parameters())
batch = torch.randn(32, 128, 512, device="cuda")
losses = []
def steps(n):
    for _ in range(n):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
steps(20)
"""
TENSORS = """
def tensors(n):
    for _ in range(n):
        torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
tensors(1000)
"""


def cells(kernel, source, repeat, tracer):
    found = [kernel.run(source) for _ in range(repeat)]
    return {"wall": min(c.inside for c in found), "all": [min(c.inside for c in found)],
            "attach": tracer.attach_seconds if tracer else 0, "high": tracer.memory()[1] if tracer else 0}


def training(settings, kernel, what, count, *flags):
    conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid, *flags)}
    return interleave(settings.rounds(count, 2), conditions, functools.partial(cells, kernel, "steps(40)", 4),
                      warm_up=not settings.quick, progress=settings.progress(what))


def measure(settings):
    root = settings.other_root("torch")
    if not root:
        yield Skipped(SECTION, "no PyTorch for CUDA: make pythons")
        return
    with stand_ins(os.path.join("pytorch", "stubs.py"), root):
        os.environ["STANDIN_KERNEL_NS"] = str(KERNEL_NS)
        with Kernel(root=root) as kernel:
            kernel.run(PREPARE)
            busy = training(settings, kernel, "training loop", 20)
            lines = training(settings, kernel, "training loop, every line", 20, "--budget", "15%")
        del os.environ["STANDIN_KERNEL_NS"]
        with Kernel(root=root) as kernel:
            kernel.run(PREPARE)
            kernel.run(TENSORS)
            idle = training(settings, kernel, "training loop, kernels that take no time", 20)
            conditions = {"off": nothing, "attached": lambda: Tracer(settings.tracer, kernel.pid, "--budget", "off")}
            storm = interleave(
                settings.rounds(15, 2),
                conditions,
                functools.partial(cells, kernel, "tensors(20_000)", 3),
                warm_up=not settings.quick,
                progress=settings.progress("tensors"),
            )
    for found, what, limit in (
        (busy, "training loop, kernels as long as on an H200", 1),
        (lines, "the same with --budget 15%: who made every tensor is known", 3),
        (idle, "training loop, kernels that take no time", None),
    ):
        yield Row(
            SECTION,
            what,
            "%",
            estimate(found["wall"].percents("attached", "off")),
            limit,
            (
                f"quickest of 4; {1000 * statistics.median(found['wall'].values['off']) / 40:.2f} ms a step without "
                f"the tracer"
            ),
        )
        yield Row(SECTION, what + ", undisturbed", "%",
                  estimate_of(undisturbed(found["all"], "attached", "off"), len(found["all"].values["off"])), limit)
    off, on = (statistics.median(storm["wall"].values[c]) / 20_000 * 1e6 for c in ("off", "attached"))
    yield Row(
        SECTION,
        "torch.empty on the GPU, dropped at once, --budget off",
        "%",
        estimate(storm["wall"].percents("attached", "off")),
        None,
        f"{off:.2f} µs → {on:.2f} µs",
    )
    yield Row(
        SECTION,
        "from exec of `tracer attach` to every probe in place",
        "s",
        estimate(busy["attach"].values["attached"]),
        1,
    )
    yield Row(SECTION, "the tracer's memory at its highest", "MiB", estimate(busy["high"].values["attached"]), 120)
