#!/usr/bin/env python3
"""Runs Dask on two nodes with an agent each, which send spans to a real collector on one of them. A node is a process
id namespace with a network namespace, and a cable leads from one to the other. What is compared is run_agent_dask.py's.

    unshare --net dask_nodes.py TRACER ENGINES
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/workloads"))

import run_agent_dask as nodes
from collector import CONFIG, RECEIVER, Collector, Receiver, attributes
from engine import holds, until

HERE, THERE = "10.93.0.1", "10.93.0.2"
WORKERS = 4
NODE = ["unshare", "--pid", "--net", "--fork", "--mount-proc", "--kill-child", sys.executable,
        os.path.abspath(__file__)]


class Everywhere(Collector):
    """The collector, which takes spans from the other node, too."""

    address = HERE + ":4318"

    def command(self):
        server = http.server.ThreadingHTTPServer(RECEIVER, Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config = CONFIG.replace("127.0.0.1:4318", self.address)
        holds("the collector listens to the other node", config != CONFIG)
        return self.of(config)


class Collected:
    """What the collector has passed on, as otlp_receiver.py has it."""

    address = "http://" + Everywhere.address

    @property
    def spans(self):
        return [
            {
                "resource": span["resource"], "name": span["name"], "trace": span["traceId"], "id": span["spanId"],
                "parent": span.get("parentSpanId") or None, "start": int(span["startTimeUnixNano"]),
                "end": int(span["endTimeUnixNano"]), "attributes": attributes(span),
            }
            for span in list(Receiver.spans)
        ]

    def of(self, pid, name):
        return sorted((s for s in self.spans if s["resource"]["process.pid"] == pid and s["name"] == name),
                      key=lambda s: s["start"])


def ip(*arguments, of=None):
    inside = ["nsenter", "--net", "--target", str(of)] if of else []
    subprocess.run(inside + ["ip", *arguments], check=True)


def connect(here, there):
    """Lays a cable between the networks of two processes, once each has its own."""
    own = os.readlink("/proc/self/ns/net")
    for pid in here, there:
        until("a node has a network", lambda pid=pid: os.readlink("/proc/%d/ns/net" % pid) != own)
    ip("link", "add", "here", "type", "veth", "peer", "name", "there")
    for name, pid, address in ("here", here, HERE), ("there", there, THERE):
        ip("link", "set", name, "netns", str(pid))
        ip("address", "add", address + "/24", "dev", name, of=pid)
        ip("link", "set", "lo", "up", of=pid)
        ip("link", "set", name, "up", of=pid)


def has(address):
    return address in subprocess.run(["ip", "address"], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    tracer, engines = os.path.abspath(sys.argv[1]), sys.argv[2]
    nodes.WORKERS = WORKERS
    if not sys.argv[3:]:
        sys.exit(nodes.run(NODE + [tracer, engines], connect))
    if sys.argv[3] == "workers":
        nodes.worker_node(tracer, *sys.argv[4:])
    until("the cable is there", lambda: has(HERE))
    with tempfile.TemporaryDirectory() as folder:
        Everywhere(engines, folder)
        nodes.notebook_node(tracer, *sys.argv[4:], receiver=Collected(), host=HERE)


if __name__ == "__main__":
    main()
