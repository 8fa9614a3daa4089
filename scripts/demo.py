"""Runs a few cells in a fresh Jupyter kernel: python3 demo.py DIR [CELLS], a file in which "# %%" begins each. Writes
the kernel's pid to DIR/pid, waits for a line on standard input, runs the cells one after the other, creates DIR/ran,
waits for another line, shuts the kernel down."""

import os
import sys

from jupyter_client.manager import KernelManager

CELLS = [
    "import numpy as np",
    "x = np.ones((64, 1024, 1024))          # 512 MiB that stay",
    "y = (x * 2 + 1).mean()                 # two temporaries that come and go",
    "%%time\nlen(b'x' * (1 << 29))                  # half a GiB for a moment, with the GIL held",
    "def total(n):\n    a = np.zeros(n)\n    a += 1\n    raise ValueError(n)\n"
    "total(1 << 24)          # its locals live on in the traceback",
    "compile('', '<ipytracer:begin features>', 'exec')\nf = [np.sqrt(x[i]) for i in range(8)]",
    "g = np.concatenate(f)\ndel f\ncompile('', '<ipytracer:end features>', 'exec')",
    "!/usr/bin/python3 -c \"b = bytes(200 << 20)\"",
    "pass",
]


def main():
    cells = CELLS
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as f:
            cells = [cell.strip("\n") for cell in f.read().split("# %%\n")[1:]]
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(stdout=sys.stderr)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    provisioner = getattr(manager, "provisioner", None)
    pid = provisioner.process.pid if provisioner else manager.kernel.pid
    with open(os.path.join(sys.argv[1], "pid.new"), "w") as f:
        f.write(str(pid))
    os.rename(os.path.join(sys.argv[1], "pid.new"), os.path.join(sys.argv[1], "pid"))
    sys.stdin.readline()
    for cell in cells:
        client.execute_interactive(cell, timeout=120, output_hook=lambda message: None, stop_on_error=False)
    open(os.path.join(sys.argv[1], "ran"), "w").close()
    sys.stdin.readline()  # meanwhile the tracer attaches
    client.stop_channels()
    manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
