"""`go tool pprof` pulls the agent's profiles, as Parca and Grafana's Alloy do."""

import os
import subprocess

from engine import Engine, exact, holds, until
from scrapers import AGENT

INTERVAL = 10      # seconds, the shortest that the agent has
KEPT = 3_000_001   # numbers


class Pull(Engine):
    name, version = "go tool pprof", "of Go"

    def start(self):
        """There is no process: it is run for each pull."""

    def stop(self):
        pass

    def agent(self):
        return "profiles: {every: %ds, pull: true}\n" % INTERVAL

    def check(self, session):
        """An array that a further cell makes is what the kernel holds at the end of a pulled interval."""
        kernel = session.kernels[0]
        kernel.run("kept = np.ones(%d)" % KEPT)
        address = "http://%s/debug/pprof/kernel/%s" % (AGENT, kernel.slot)
        until("%s pulls what the kernel holds" % self.name,
              lambda: pprof(address, self.folder).get("cpu.numpy.inuse_space") == 8 * KEPT)
        print("ok: %s pulls arrays of %d bytes, which kernel %s holds" % (self.name, 8 * KEPT, kernel.slot), flush=True)
        dropped = session.agent.value("ipytracer_export_dropped_total", engine="pull")
        holds("no profile was dropped", dropped == 0, dropped)


def pprof(address, folder):
    """Returns the sums of the values of a profile that `go tool pprof` pulls into a folder, by their names. -raw prints
    each value with all its digits."""
    done = subprocess.run(["go", "tool", "pprof", "-raw", address], capture_output=True, text=True,
                          env=dict(os.environ, PPROF_TMPDIR=folder))
    lines = done.stdout.splitlines()
    if done.returncode or "Samples:" not in lines:      # there is no interval yet
        return {}
    lines = lines[lines.index("Samples:") + 1:lines.index("Locations")]
    names = [name.split("/")[0] for name in lines[0].split()]
    sums = dict.fromkeys(names, 0)
    for line in lines[1:]:
        values, found, _ = line.partition(": ")
        if found and all(v.isdigit() for v in values.split()):
            for name, value in zip(names, values.split()):
                sums[name] += exact(value)
    return sums
