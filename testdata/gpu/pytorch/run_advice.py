#!/usr/bin/env python3
"""Follows the first advice on notebooks of testdata/advice/gpu in a real PyTorch for CUDA, on the stand-ins of driver,
runtime and NVIDIA's libraries: scripts/advise.py, with the kernels of run_pytorch.py.

    run_advice.py --chroot DIR [--keep DIR] [--check] NOTEBOOK…

PyTorch's caching allocator works as on a GPU of --memory bytes; no kernel computes anything, and no copy has contents.
Needs root.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "scripts")]

import run_pytorch  # noqa: E402, I001 (first: both folders have a module truth, and one model)
import advise  # noqa: E402


class Run(advise.Run):
    """A run of cells in a fresh kernel of run_pytorch.py, under a tracer that counts everything."""

    flags = ("--budget", "off")

    def start(self, held):
        place = run_pytorch.parser().parse_args(["--out", os.devnull, "--chroot", self.opts.chroot,
                                                 "--timeout", str(self.opts.timeout)])
        workspace = run_pytorch.Workspace(place)
        held.callback(workspace.remove)
        workspace.env["STANDIN_MEMORY"] = str(self.opts.memory << 20)
        del workspace.env["PYTORCH_CUDA_ALLOC_CONF"]
        versions = run_pytorch.versions_of(workspace)
        place.chroot = place.chroot if place.chroot != "/" else None
        kernel = advise.Listener(place, workspace, versions)
        held.callback(kernel.close)
        return kernel


def main():
    parser = advise.options()
    parser.description = __doc__.split("\n")[0]
    parser.add_argument("--chroot", default="/", metavar="DIR",
                        help="where PyTorch is; /proc, /dev, /sys and /tmp must be bind-mounted into it")
    parser.add_argument("--memory", type=int, default=8192, metavar="MIB", help="of a GPU (8192)")
    parser.set_defaults(run=Run)
    return advise.main(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
