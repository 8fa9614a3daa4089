#!/usr/bin/env python3
"""Runs cells in a fresh ipykernel with a real PyTorch for CUDA, on the stand-ins of driver, runtime and NVIDIA's
libraries: PyTorch's own allocator works as on a GPU, and only the results of computations are nonsense.

    stdout  {"pid": N, "ready": true}     the kernel is up and has run no cell
    stdin   a line (or end of file)       go
    stdout  {"done": true, "cells": N}    every result is in --out
    stdin   a line (or end of file)       the session is shut down

Results are JSON lines. The first is {"session": {pid, python, torch, devices}}; then one a cell: {name, source, status,
expected, error?, execution_count, requested_ns, idle_ns, truth}. `truth` is {meter: {start, peak, end}}: driver and
pinned from the stand-in, active and reserved from torch.cuda (not for cudaMallocAsync, which reports no
totals). Exit status: 0 all cells ran, 1 one did not (a sentence on stderr says why), 2 usage.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.dirname(HERE)
sys.path[1:1] = [HERE, GPU, os.path.join(os.path.dirname(GPU), "workloads")]

import driver
import model
import stubs
from cells import CELLS
from run_kernel import Kernel
from truth import Truth, segment

_CONFIGURATIONS = {"default": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}
_PROBE = (
    "import importlib.metadata, json; print(json.dumps({name: importlib.metadata.version(name) for name in "
    "('ipykernel', 'torch')}))"
)


def parser():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, metavar="FILE", help="results, JSON lines")
    parser.add_argument("--allocator", choices=sorted(_CONFIGURATIONS), default="default")
    parser.add_argument("--cells", metavar="A,B", help="only these, and the first two")
    parser.add_argument(
        "--begin", metavar="A", help="the cells before A run before the kernel is said to be ready, and have no results"
    )
    parser.add_argument(
        "--chroot",
        metavar="DIR",
        default="/",
        help="where PyTorch is; /proc, /dev, /sys and /tmp must be bind-mounted into it",
    )
    parser.add_argument(
        "--python", default="/usr/bin/python3", metavar="PATH", help="the interpreter in there (/usr/bin/python3)"
    )
    parser.add_argument("--libraries", metavar="DIR", help="where stubs.py has put the stand-ins; else they are built")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="for each cell (120)")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for lines on standard input")
    return parser


def select(names):
    if names is None:
        return CELLS
    known = {cell.name for cell in CELLS}
    if set(names) - known:
        raise driver.Failure("no cell %s" % sorted(set(names) - known)[0])
    return [cell for cell in CELLS if cell.name in names or cell in CELLS[:2]]


class Workspace:
    """A directory under /tmp with everything the session needs, the same path inside and outside a chroot."""

    def __init__(self, opts):
        self.opts = opts
        self.path = tempfile.mkdtemp(prefix="ipytracer-pytorch-", dir="/tmp")
        try:
            self._fill()
        except (OSError, subprocess.CalledProcessError) as e:
            self.remove()
            raise driver.Failure("no stand-ins: %s" % e) from e
        except BaseException:
            self.remove()
            raise

    def _fill(self):
        standins, profile = (
            os.path.join(self.path, "lib"),
            os.path.join(self.path, "ipython", "profile_default", "startup"),
        )
        if self.opts.libraries:
            shutil.copytree(self.opts.libraries, standins, symlinks=True)
        else:
            os.mkdir(standins)
            stubs.make(standins, self.opts.chroot)
        os.makedirs(profile)
        shutil.copy(os.path.join(HERE, "watch.py"), profile)
        truth, self.notes_path = os.path.join(self.path, "truth"), os.path.join(self.path, "notes")
        self.truth = Truth(truth, os.path.join(standins, "libtruth_reader.so"))
        self.env = dict(
            os.environ,
            IPYTHONDIR=os.path.join(self.path, "ipython"),
            JUPYTER_RUNTIME_DIR=os.path.join(self.path, "jupyter"),
            PYTHONDONTWRITEBYTECODE="1",
            LD_LIBRARY_PATH=standins,
            STANDIN_TRUTH=truth,
            PYTORCH_TRUTH=self.notes_path,
            STANDIN_DEVICES=str(model.DEVICES),
            STANDIN_MEMORY=str(model.MEMORY),
            PYTORCH_CUDA_ALLOC_CONF=_CONFIGURATIONS[self.opts.allocator],
        )
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "STANDIN_FASTEST"):
            self.env.pop(name, None)

    def command(self, *arguments):
        inside = ["chroot", self.opts.chroot] if self.opts.chroot != "/" else []
        return inside + [self.opts.python] + list(arguments)

    def notes(self):
        """Returns the lines of watch.py, one for each cell."""
        with open(self.notes_path) as f:
            return [json.loads(line) for line in f]

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Session:
    """Runs the cells one after another; the stand-in's truth is cut before and after each."""

    def __init__(self, opts, workspace, kernel):
        self.opts, self.workspace, self.kernel = opts, workspace, kernel
        self.cut = workspace.truth.cut(kernel.pid)

    def _next_cut(self):
        before, self.cut = self.cut, self.workspace.truth.cut(self.kernel.pid)
        return segment(before, self.cut)

    def run(self, cell):
        self._next_cut()
        result = dict({"name": cell.name, "expected": cell.status}, **self.kernel.run(cell, []))
        truth = self._next_cut()
        for meter in list(truth):
            if meter.endswith((".active", ".reserved")):
                del truth[meter]
        result["truth"] = dict(truth, **self._pytorch())
        return result

    def _pytorch(self):
        note, found = self.workspace.notes()[-1], {}
        if not note["end"] or self.opts.allocator == "async":
            return found
        for device, (peak, end) in enumerate(zip(note["peak"], note["end"])):
            start = note["start"][device] if note["start"] else [0, 0]
            for i, name in enumerate(("active", "reserved")):
                found["gpu.%d.%s" % (device, name)] = {"start": start[i], "peak": peak[i], "end": end[i]}
        return found


def start(held, opts):
    workspace = Workspace(opts)
    held.callback(workspace.remove)
    versions = versions_of(workspace)
    kernel = Kernel(
        argparse.Namespace(
            chroot=opts.chroot if opts.chroot != "/" else None, python=opts.python, timeout=opts.timeout
        ),
        workspace,
        versions,
    )
    held.callback(kernel.close)
    return workspace, kernel, versions


def run(held, opts):
    cells = select(opts.cells.split(",") if opts.cells else None)
    workspace, kernel, versions = start(held, opts)
    session = Session(opts, workspace, kernel)
    first = [cell.name for cell in cells].index(opts.begin) if opts.begin else 0
    for cell in cells[:first]:
        session.run(cell)
    with driver.create(opts.out) as out:
        driver.write(
            out, {"session": dict(versions, pid=kernel.pid, python=opts.python, devices=workspace.truth.devices())}
        )
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for cell in cells[first:]:
            driver.write(out, session.run(cell))
    driver.say({"done": True, "cells": len(cells) - first}, opts)
    return 0


def versions_of(workspace):
    try:
        ran = subprocess.run(
            workspace.command("-c", _PROBE), env=workspace.env, cwd="/", stdout=subprocess.PIPE, check=True
        )
    except (OSError, subprocess.CalledProcessError) as e:
        raise driver.Failure("%s has no ipykernel and torch: %s" % (workspace.opts.python, e)) from e
    return json.loads(ran.stdout.decode().splitlines()[-1])


if __name__ == "__main__":
    opts = parser().parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
