"""The OpenTelemetry collector: the agent's spans go through it to a receiver of the test's own, which keeps them as
they came.
"""

import http.server
import json
import threading

from cells import COUNT, need
from engine import Engine, exact, holds, until

RECEIVER = ("127.0.0.1", 4320)
CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:4318"}, grpc: {endpoint: "127.0.0.1:4317"}}}}
exporters:
  otlphttp:
    endpoint: http://127.0.0.1:4320
    encoding: json
    compression: none
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [otlphttp]}
  telemetry: {metrics: {level: none}}
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes OTLP in JSON."""

    spans = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for group in body.get("resourceSpans", []):
            resource = attributes(group["resource"])
            for scope in group["scopeSpans"]:
                Receiver.spans += [dict(span, resource=resource) for span in scope["spans"]]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def attributes(of):
    """Returns attributes by their names: integers as they were written, in decimal."""
    found = {}
    for one in of.get("attributes", []):
        (kind, value), = one["value"].items()
        found[one["key"]] = exact(value) if kind == "intValue" else value
    return found


class Collector(Engine):
    name, version, address = "OpenTelemetry collector", "0.160.0", "127.0.0.1:4318"

    def command(self):
        if self.process is None:
            server = http.server.ThreadingHTTPServer(RECEIVER, Receiver)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self.of(CONFIG)

    def of(self, config):
        """Returns the command for a configuration."""
        return [self.program("otelcol"), "--config", self.write("otelcol.yaml", config)]

    def answers(self):
        if self.process.poll() is not None:
            holds("%s runs" % self.name, False, self.said())
        try:
            self.post("/v1/traces", {})
            return True
        except OSError:
            return False

    def agent(self):
        return "otlp: {endpoint: \"http://%s\", timeout: 1s}\n" % self.address

    def check(self, session):
        spans = self.spans(session)
        places = {(k.pid, w["execution_count"]): i for i, (k, w) in enumerate(session.cells)}
        figures = 0
        for span in spans:
            place = places[span["resource"]["process.pid"], attributes(span)["ipytracer.execution_count"]]
            figures += self.same(span, session.cells[place][1])
            session.spans[place] = span["spanId"]
        for kernel in session.kernels:
            of = {s["traceId"] for s in spans if s["resource"]["process.pid"] == kernel.pid}
            holds("%s: the spans of kernel %d are one trace" % (self.name, kernel.pid), len(of) == 1, of)
        last = next(s for s in spans if s["spanId"] == session.spans[COUNT - 1])
        holds("%s: the cell that was killed has the end of its kernel as an event" % self.name,
              "SIGKILL" in [attributes(e).get("ipytracer.ending.signal") for e in last.get("events", [])], last)
        print("ok: %s: %d figures of %d cells are the report's, to the byte" % (
            self.name, figures, len(session.spans)), flush=True)

    def spans(self, session):
        """Returns the spans of cells once each has been sent or dropped. One whose answer was lost may come again."""
        def settled():
            counts = [session.agent.value("ipytracer_export_%s_total" % what, engine="otlp")
                      for what in ("sent", "dropped")]
            return counts if sum(counts) == COUNT else None

        sent, dropped = until("%s: each cell was sent or counted as dropped" % self.name, settled)
        spans = {s["spanId"]: s for s in Receiver.spans}
        holds("%s: it has the %d cells of %d that were sent; %d were dropped" % (self.name, sent, COUNT, dropped),
              len(spans) == sent or self.restarted and len(spans) > sent, len(spans))
        if not self.restarted:
            holds("%s: each came once, and none was dropped" % self.name, len(Receiver.spans) == COUNT)
        return spans.values()

    def same(self, span, window):
        """Compares the figures of a cell, and returns their number."""
        has = attributes(span)
        want = {"ipytracer.need": need(window)}
        for prefix, meters in (("ipytracer.", window["meters"]), ("ipytracer.tree.", window.get("tree", {}))):
            for meter, f in meters.items():
                for name in ("start", "peak", "end"):
                    want["%s%s.%s" % (prefix, meter, name)] = f[name]
                want["%s%s.exact" % (prefix, meter)] = f["exact"]
        wrong = {k: (has.get(k), v) for k, v in want.items() if has.get(k) != v}
        if wrong:
            holds("%s: the figures of %r are the report's" % (self.name, window.get("source")), False, wrong)
        if has["ipytracer.status"] != window["status"]:
            holds("%s: the status of %r is the report's" % (self.name, window.get("source")), False, has)
        return len(want)
