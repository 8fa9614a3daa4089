#!/usr/bin/env python3
"""Runs tasks of known memory on four Dask workers, and writes down what ipytracer.dask says of them.

The first line on standard output is a JSON list of the workers' pids. A line on standard input lets the tasks run. The
second line on standard output is the report, as JSON. At the end of standard input the cluster ends. The last task
kills its worker.
"""

import asyncio
import json
import os
import sys
import tempfile
import threading

import numpy as np

MIB = 1 << 20


def alone(n):
    return np.ones(n, dtype=np.uint8)[-1]


def pair(n):
    """Two of them in one process: each ends when both have their memory."""
    both = threading.__dict__.setdefault("_ipytracer_pair", threading.Barrier(2))
    block = np.ones(n, dtype=np.uint8)
    both.wait(60)
    both.wait(60)
    return block[-1]


def fails(n):
    block = np.ones(n, dtype=np.uint8)
    raise RuntimeError("after %d bytes" % len(block))


def second(n, path):
    """Fails at the first try."""
    block = np.ones(n, dtype=np.uint8)
    if os.path.exists(path):
        return block[-1]
    with open(path, "w"):
        raise RuntimeError("try again")


async def awaits(n):
    block = np.ones(n, dtype=np.uint8)
    await asyncio.sleep(0)
    return block[-1]


class Counter:
    def add(self, n):
        return len(np.ones(n, dtype=np.uint8))


def submits(n):
    from distributed import worker_client
    with worker_client() as client:
        return client.submit(inner, n, pure=False).result()


def inner(n):
    return np.ones(n, dtype=np.uint8)[-1]


def dies(n):
    block = np.ones(n, dtype=np.uint8)
    os._exit(len(block) % 7)


CELL = """
client.gather([client.submit(alone, (8 + i) * MIB, workers=[w], pure=False) for i, w in enumerate(workers)])[-1];
client.gather([client.submit(pair, (20 + i) * MIB, workers=[workers[0]], pure=False) for i in range(2)])[-1];
caught = client.submit(fails, 30 * MIB).exception()
client.submit(second, 31 * MIB, path, retries=1).result()
client.submit(awaits, 32 * MIB).result()
counter = client.submit(Counter, actor=True).result()
counter.add(33 * MIB).result()
client.submit(submits, 34 * MIB).result()
"""


def display(shell, cell):
    """Run a cell, and return the texts that it displays."""
    from IPython.utils.capture import capture_output
    with capture_output() as captured:
        shell.run_cell(cell, store_history=True).raise_error()
    return [output.data["text/plain"] for output in captured.outputs]


def main():
    import dask
    from distributed import Client, LocalCluster
    from distributed.scheduler import KilledWorker
    from IPython.core.interactiveshell import InteractiveShell

    import ipytracer.dask
    dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.work-stealing": False})
    with LocalCluster(n_workers=4, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
        pids = client.run(os.getpid)
        print(json.dumps(sorted(pids.values())), flush=True)
        sys.stdin.readline()
        ipytracer.dask.install(client)
        while ipytracer.dask.report(client).silent:
            pass     # the tracer listens to all workers before the first task
        shell = InteractiveShell.instance()
        path = os.path.join(tempfile.mkdtemp(), "tried")
        shell.user_ns.update(globals(), client=client, workers=sorted(pids), path=path)
        display(shell, "%load_ext ipytracer")
        shown = display(shell, CELL)
        found = ipytracer.dask.report(client, "In[2]")
        died = isinstance(client.submit(dies, 40 * MIB).exception(), KilledWorker)
        print(json.dumps({
            "shown": shown,
            "line": repr(found).split("\n")[0],
            "died": died,
            "failed": str(shell.user_ns["caught"]),
            "missing": found.missing,
            "together": found.together,
            "silent": found.silent,
            "tasks": [dict(t._asdict(), window=t.window.to_dict()) for t in found.tasks],
        }), flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
