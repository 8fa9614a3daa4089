#!/usr/bin/env python3
"""Runs some tasks on a Dask worker that joins, and asks for their figures: `run_dask_client.py ADDRESS-FILE` writes the
scheduler's address to that file, and the figures as JSON to standard output. The package ipytracer is importable."""

import json
import os
import sys


def main():
    import dask
    from distributed import Client, LocalCluster

    import ipytracer.dask
    dask.config.set({"distributed.worker.use-file-locking": False})
    path = sys.argv[1]
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, Client(cluster) as client:
        with open(path + ".new", "w") as f:
            f.write(cluster.scheduler_address)
        os.rename(path + ".new", path)
        client.wait_for_workers(1)
        ipytracer.dask.install(client)
        while ipytracer.dask.report(client).silent:
            pass     # the tracer listens to the worker before the first task
        client.gather(client.map(bytearray, [10 << 20, 20 << 20]))
        found = ipytracer.dask.report(client)
        print(json.dumps([[t.prefix, t.count] for t in found.tasks]), flush=True)
        client.shutdown()


if __name__ == "__main__":
    main()
