"""Pyroscope: the agent pushes profiles to it. What it merges of them is compared with the reports: the peaks and
allocations of each cell, found by the id of the cell's span, and what each kernel has allocated in all intervals. The
same profiles are pulled by `go tool pprof`.
"""

import os
import subprocess
import time

from collector import Receiver
from engine import Engine, exact, holds, until
from scrapers import AGENT

RINGS = (
    "compactor.ring.instance-addr", "distributor.ring.instance-addr", "ingester.lifecycler.addr",
    "memberlist.advertise-addr", "memberlist.bind-addr", "overrides-exporter.ring.instance-addr",
    "query-frontend.instance-addr", "query-scheduler.ring.instance-addr", "store-gateway.sharding-ring.instance-addr",
)
INTERVAL = 10      # seconds, the shortest that the agent has
KEPT = 3_000_001   # numbers


class Pyroscope(Engine):
    name, version, address, ready = "Pyroscope", "1.21.0", "127.0.0.1:4040", "/ready"

    def command(self):
        # It would give the address of the machine's interface to its own parts, and there is none here.
        return [
            self.program("pyroscope"), *("-%s=127.0.0.1" % ring for ring in RINGS),
            "-server.http-listen-address=127.0.0.1", "-server.grpc-listen-address=127.0.0.1",
            "-usage-stats.enabled=false", "-self-profiling.disable-push=true",
        ]

    def agent(self):
        return "profiles: {url: \"http://%s\", every: %ds, pull: true, otlp: true}\n" % (self.address, INTERVAL)

    def check(self, session):
        holds("%s: the ids of %d spans are known, from the collector" % (self.name, len(session.cells)),
              len(session.spans) == len(session.cells))
        for kernel in session.kernels:
            self.intervals(kernel, [w for k, w in session.cells if k is kernel])
        meters = sorted({t.removesuffix(".cell_peak_space") for t in self.types() if t.endswith(".cell_peak_space")})
        holds("%s: it has peaks of cpu.numpy and cpu.mapped" % self.name, {"cpu.numpy", "cpu.mapped"} <= set(meters),
              meters)
        peaks = [self.same(w, meter, session.spans[i]) for i, (_, w) in enumerate(session.cells) for meter in meters]
        print("ok: %s: %d peaks of cells, %d bytes together, are the report's, to the byte" % (
            self.name, len(peaks), sum(peaks)), flush=True)
        self.relayed(session, meters)
        self.pulled(session.kernels[0])
        for engine in "pyroscope", "otlp profiles":
            until("every profile was sent: " + engine,
                  lambda engine=engine: session.agent.value("ipytracer_export_sent_total", engine=engine) >=
                  len(session.cells))
            dropped = session.agent.value("ipytracer_export_dropped_total", engine=engine)
            holds("no profile was dropped: " + engine, dropped == 0, dropped)

    def intervals(self, kernel, cells):
        """The arrays of all intervals of a kernel are those of its cells: no code runs between them."""
        want = sum(allocated(w, "cpu.numpy") for w in cells)
        selected = '{kernel="%s"}' % kernel.slot
        until("%s: it has the arrays of all intervals of kernel %s: %d bytes" % (self.name, kernel.slot, want),
              lambda: self.total("cpu.numpy.alloc_space", selected) == want)
        print("ok: %s: kernel %s has allocated arrays of %d bytes in all intervals" % (
            self.name, kernel.slot, want), flush=True)

    def relayed(self, session, meters):
        """What the collector has passed on as OTLP profiles are the same figures, with links to spans."""
        compared = 0
        for i, (_, window) in enumerate(session.cells):
            span = session.spans[i]
            for meter in meters:
                want = [window["meters"].get(meter, {"peak": 0})["peak"], allocated(window, meter)]
                has = [Receiver.profiles[meter + kind, span] for kind in (".cell_peak_space", ".cell_alloc_space")]
                if has != want:
                    holds("OTLP profiles: %s in %r" % (meter, window.get("source")), False, has, want)
                compared += 1
        traces = {s["spanId"]: s["traceId"] for s in Receiver.spans}
        wrong = {span: trace for span, trace in Receiver.traces.items() if span and traces.get(span) != trace}
        holds("OTLP profiles: through the collector, %d peaks of cells are the report's, and lead to spans" % compared,
              not wrong and len(Receiver.traces) > 1, wrong)
        want = sum(allocated(w, "cpu.numpy") for _, w in session.cells)
        has = Receiver.profiles["cpu.numpy.alloc_space", ""]
        holds("OTLP profiles: the arrays of all intervals are %d bytes" % want, has == want, has)

    def pulled(self, kernel):
        """An array that a further cell makes is what the kernel holds at the end of a pulled interval."""
        kernel.run("kept = np.ones(%d)" % KEPT)
        address = "http://%s/debug/pprof/kernel/%s" % (AGENT, kernel.slot)
        until("go tool pprof pulls what the kernel holds",
              lambda: pprof(address, self.folder).get("cpu.numpy.inuse_space") == 8 * KEPT)
        print("ok: go tool pprof pulls arrays of %d bytes, which kernel %s holds" % (8 * KEPT, kernel.slot), flush=True)

    def same(self, window, meter, span):
        """Compares the peak of a cell with the report's, and what it has allocated. Returns the peak."""
        want = [window["meters"].get(meter, {"peak": 0})["peak"], allocated(window, meter)]
        has = [self.total(meter + kind, "{}", span) for kind in (".cell_peak_space", ".cell_alloc_space")]
        if has != want:
            holds("%s: peak and allocations of %s in %r" % (self.name, meter, window.get("source")), False, has, want)
        return want[0]

    def types(self):
        """Returns the types of values that there are, with Pyroscope's names for them."""
        answer = self.post("/querier.v1.QuerierService/ProfileTypes", self.range())
        return {one["sampleType"]: one["ID"] for one in answer.get("profileTypes", [])}

    def range(self):
        now = int(time.time() * 1000)
        return {"start": now - 3_600_000, "end": now + 60_000}

    def total(self, type_, selected, span=None):
        """Returns the sum of all stacks of a type of values, or of the stacks of one span. Without any it is 0."""
        name = self.types().get(type_)
        if name is None:
            return 0
        question = dict(self.range(), profile_typeID=name, label_selector=selected, max_nodes=65536)
        if span:
            question["span_selector"] = [span]
        answer = self.post(
            "/querier.v1.QuerierService/SelectMerge%s" % ("SpanProfile" if span else "Stacktraces"), question
        )
        return exact(answer.get("flamegraph", {}).get("total", "0"))


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


def allocated(window, meter):
    """Returns what a cell has allocated of a meter, by the stacks of its report and those that it does not list."""
    listed = sum(a["allocated"] for a in window.get("allocations", ()) if a["meter"] == meter)
    return listed + window.get("coverage", {}).get(meter, {}).get("unlisted_allocated", 0)
