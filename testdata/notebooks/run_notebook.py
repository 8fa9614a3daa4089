#!/usr/bin/env python3
"""Runs notebooks cell by cell in one fresh ipykernel ("Run All"). See ../workloads/driver.py for the protocol with the
caller.

--cells NAME,NAME says which of the notebooks here, or files. Results are JSON lines: {"session": …} and one a cell:
{name, source, requested_ns, idle_ns, execution_count, status, expected, error, markers, before, after}. before and
after are of the kernel's process while it is idle, from /proc: resident, and after also high_water, its highest
resident set since just before the cell (VmHWM, reset). High water is off by up to some hundred KiB on 2 CPUs: the
kernel keeps a part of the counters on each CPU and does not add them up for it.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "workloads"))

import driver  # noqa: E402
import notebook_text  # noqa: E402
import notebooks  # noqa: E402
from run_kernel import Kernel  # noqa: E402


def status(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            fields = {key: int(value) * 1024 for key, value in re.findall(r"^(Vm\w+):\s+(\d+) kB$", f.read(), re.M)}
    except OSError as e:
        raise driver.Failure("process %d: %s" % (pid, e.strerror)) from e
    return {"resident": fields["VmRSS"], "high_water": fields["VmHWM"]}


def reset_high_water(pid):
    with open("/proc/%d/clear_refs" % pid, "w") as f:
        f.write("5")


def run_cell(kernel, cell):
    reset_high_water(kernel.pid)
    before = status(kernel.pid)
    result = kernel.run(cell, [])
    after = status(kernel.pid)
    expected = cell.status or result["status"]
    if result["status"] != expected:
        raise driver.Failure("cell %s: %s %s" % (cell.name, result["status"], result.get("error", "")))
    return dict({"name": cell.name, "expected": expected, "markers": cell.markers}, **result,
                before={"resident": before["resident"]}, after=after)


def run(held, opts):
    try:
        cells = [cell for name in opts.cells.split(",") for cell in notebook_text.read(name)]
    except OSError as e:
        raise driver.Failure(str(e)) from e
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    kernel = Kernel(opts, workspace, workspace.probe())
    held.callback(kernel.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": {"pid": kernel.pid}})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for cell in cells:
            driver.write(out, run_cell(kernel, cell))
    notebooks.goes_on(opts, kernel, driver.say({"done": True, "cells": len(cells)}, opts))
    return 0


if __name__ == "__main__":
    options = driver.options(__doc__.split("\n")[0]).parse_args()
    options.cells = options.cells or ",".join(notebook_text.names())
    sys.exit(driver.guarded(lambda held: run(held, options)))
