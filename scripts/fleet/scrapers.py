"""Engines that collect /metrics: Prometheus and VictoriaMetrics. What they answer must be the agent's figures, and
those must be the reports'.
"""

import http.server
import threading

from cells import COUNT, need
from engine import Engine, exact, holds, until

AGENT = "127.0.0.1:9464"
EDGES = "127.0.0.1:9465"
# Sizes that a float64 has exactly, and the last that it has.
SIZES = (0, 1, 4095, 2**31 - 1, 2**32 + 1, 3 * 2**40 + 4096, 2**53 - 1, 2**53)
INTERVAL = "250ms"


class Edges(http.server.BaseHTTPRequestHandler):
    """Sizes at the edges of what a number of an engine can hold, as if an agent had them."""

    def do_GET(self):
        body = "".join('edge_bytes{n="%d"} %d\n' % (i, size) for i, size in enumerate(SIZES)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_edges():
    host, port = EDGES.split(":")
    threading.Thread(target=http.server.HTTPServer((host, int(port)), Edges).serve_forever, daemon=True).start()


class Scraper(Engine):
    """What both engines have in common: how they are asked, and what must hold."""

    section = ""
    jobs = """
scrape_configs:
- job_name: ipytracer
%s  static_configs: [{targets: ["%s"]}]
- job_name: edges
  static_configs: [{targets: ["%s"]}]
"""

    def config(self, more=""):
        return "global: {scrape_interval: %s, scrape_timeout: %s}%s" % (
            INTERVAL, INTERVAL, self.jobs % (more, AGENT, EDGES)
        )

    def query(self, text):
        """Returns the series that a query gives: labels, and the value as the engine has written it."""
        answer = self.ask("/api/v1/query", query=text)
        if answer["status"] != "success":
            holds("%s answers %s" % (self.name, text), False, answer)
        return [(r["metric"], r.get("histogram", r.get("value"))[1]) for r in answer["data"]["result"]]

    def total(self, text):
        return sum(exact(value) for _, value in self.query(text))

    def needs(self):
        """Returns the number of cells and the sum of their needs, both of one scrape."""
        raise NotImplementedError

    def after(self, n):
        """Waits until the engine has n cells, and keeps the sum of their needs."""
        if n == 1:
            self.sums = [0]
        self.sums.append(until("%s has %d cells" % (self.name, n), lambda: self.sum_of(n)))

    def sum_of(self, n):
        count, total = self.needs()
        return total if count == n else None

    def check(self, session):
        found = [b - a for a, b in zip(self.sums, self.sums[1:])]
        wanted = [need(w) for _, w in session.cells]
        holds("%s: the need of each of %d cells is the report's, to the byte (%d bytes together)" % (
            self.name, COUNT, sum(wanted)), found == wanted, *zip(found, wanted))
        for outcome, statuses in (("ok", ["ok"]), ("error", ["error"]), ("interrupted", ["interrupted"])):
            want = sum(w["status"] in statuses for _, w in session.cells)
            holds("%s: %d cells with the outcome %s" % (self.name, want, outcome), want == self.total(
                'sum(ipytracer_cells_total{outcome="%s"})' % outcome))
        rest = COUNT - self.total('sum(ipytracer_cells_total{outcome!="incomplete"})')
        holds("%s: and one incomplete" % self.name, rest == self.total(
            'ipytracer_cells_total{outcome="incomplete"}') == 1)
        until("%s: one death, by SIGKILL" % self.name,
              lambda: self.total('ipytracer_kernel_deaths_total{cause="sigkill"}') == 1)
        for kernel in session.kernels[:2]:
            want = max(need(w) for k, w in session.cells if k is kernel)
            holds("%s: the highest need of kernel %s is the report's: %d" % (self.name, kernel.slot, want), want ==
                  self.total('ipytracer_kernel_highest_bytes{kernel="%s"}' % kernel.slot))
        until("%s: the killed kernel has no series of now" % self.name,
              lambda: not self.query('ipytracer_kernel_info{pid="%d"}' % session.kernels[2].pid))
        self.same_series(session.agent)
        edges = {labels["n"]: exact(value) for labels, value in self.query("edge_bytes")}
        holds("%s: sizes up to 2^53 are as they were" % self.name,
              edges == {str(i): size for i, size in enumerate(SIZES)}, edges)

    def same_series(self, agent):
        """Each series of the agent is in the engine, with the same value and labels. Those of now change while this
        asks, so they are asked for until they agree."""
        compared = {}

        def differ():
            for name in ("ipytracer_kernel_resident_bytes", "ipytracer_kernel_highest_bytes",
                         "ipytracer_kernel_limit_bytes", "ipytracer_kernel_info", "ipytracer_kernels",
                         "ipytracer_cells_total", "ipytracer_kernel_deaths_total", "ipytracer_lost_total",
                         "ipytracer_kernels_refused_total", "ipytracer_series_folded_total"):
                has = {key({"__name__": name, **labels}): int(value) for labels, value in agent.series(name)}
                if has != {key(labels): exact(value) for labels, value in self.query(name)}:
                    return name
                compared.update(has)
            return None

        until("%s: all series are the agent's" % self.name, lambda: differ() is None)
        print("ok: %s: %d series have the agent's labels and values" % (self.name, len(compared)), flush=True)


def key(labels):
    """Returns the labels that the agent gave a series. An empty one is none."""
    return tuple(sorted((k, v) for k, v in labels.items() if v and k not in ("job", "instance")))


class Prometheus(Scraper):
    name, version, address, ready = "Prometheus", "3.5.3", "127.0.0.1:9090", "/-/ready"

    def command(self):
        return [
            self.program("prometheus"), "--config.file", self.write("prometheus.yml", self.config()),
            "--storage.tsdb.path", "data", "--web.listen-address", self.address,
            "--enable-feature=native-histograms,exemplar-storage",
        ]

    def needs(self):
        each = [value for _, value in self.query("ipytracer_cell_need_bytes")]
        return sum(exact(h["count"]) for h in each), sum(exact(h["sum"]) for h in each)


class VictoriaMetrics(Scraper):
    name, version, address, ready = "VictoriaMetrics", "1.145.0", "127.0.0.1:8428", "/-/healthy"

    def command(self):
        return [
            self.program("victoria-metrics"),
            "-promscrape.config", self.write("scrape.yml", self.config()), "-storageDataPath", "data",
            "-httpListenAddr", self.address, "-search.latencyOffset", "0s", "-retentionPeriod", "1d",
        ]

    def needs(self):
        each = {"count": 0, "sum": 0}
        for labels, value in self.query('{__name__=~"ipytracer_cell_need_bytes_(sum|count)"}'):
            each[labels["__name__"].rsplit("_")[-1]] += exact(value)
        return each["count"], each["sum"]
