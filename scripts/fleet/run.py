#!/usr/bin/env python3
"""Runs `tracer agent` beside three kernels and real engines, and compares the figures of thirty cells: in each engine
they must be those of `tracer report`, to the byte. It prints a line for each comparison, and ends with status 1 where
one fails.

    unshare --pid --net --fork --mount-proc --kill-child run.py TRACER ENGINES [--down] NAME ...

ENGINES is the folder that get.sh fills. --down: the engines are stopped, and started again ten cells later. It runs in
a process id namespace, because an agent traces every kernel that it sees, and in a network namespace, which has no way
out: ports are free, and no engine reaches anything else.
"""

import fcntl
import os
import signal
import socket
import struct
import sys
import tempfile

from cells import COUNT, Session
from collector import Collector
from engine import holds, until
from jupyterhub import JupyterHub
from kubernetes import Kubernetes
from pull import Pull
from run_agent import Agent
from runc import Runc
from scrapers import AGENT, Prometheus, VictoriaMetrics, serve_edges

ENGINES = {
    "prometheus": Prometheus, "victoria-metrics": VictoriaMetrics, "otelcol": Collector, "kubernetes": Kubernetes,
    "jupyterhub": JupyterHub, "pull": Pull, "runc": Runc,
}
CONFIG = "refresh: 1s\nlook: 200ms\n"


def loopback():
    """Switches on the network that leads to this machine alone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        up, running, get, set_ = 0x1, 0x40, 0x8913, 0x8914      # SIOCGIFFLAGS, SIOCSIFFLAGS
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(s, get, request))[0]
        fcntl.ioctl(s, set_, struct.pack("16sH14x", b"lo", flags | up | running))


def main():
    tracer, folder_of_engines, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    loopback()
    with tempfile.TemporaryDirectory() as folder:
        serve_edges()
        engines = [of(folder_of_engines, folder) for name, of in ENGINES.items() if name in names]
        for e in engines:
            e.restarted = "--down" in names
        session = Session([make for e in engines for make in e.kernels()])
        of = next((e.runs for e in engines if e.runs), Agent)
        agent = of(tracer, folder, CONFIG + "".join(e.agent() for e in engines), AGENT)
        session.attach(tracer, agent, folder)
        session.run(lambda n: [e.after(n) for e in engines])
        until("the agent has counted all cells", lambda: agent.value("ipytracer_cells_total") == COUNT)
        for e in engines:
            e.check(session)
        holds("nothing was lost", agent.value("ipytracer_lost_total", reason="change ring full") == 0)
        agent.process.send_signal(signal.SIGINT)
        holds("the agent ends well", agent.process.wait(60) == 0, agent.said())
        for e in engines:
            print("%s %s: all holds" % (e.name, e.version), flush=True)
        os._exit(0)      # the namespace ends, and every process with it


if __name__ == "__main__":
    main()
