#!/usr/bin/python3
"""Draws each panel of deploy/grafana/dashboard.json of a real Prometheus' answers to the panel's own queries, for
docs/agent-dashboard.md. Two agents, each in a process id namespace as a node of its own, trace kernels of three users
that run cells, end, and are killed for want of memory.

    pictures.py TRACER PROMETHEUS OUT [MINUTES]     needs root, python3-matplotlib

They are no screenshots of Grafana: lines, bars, numbers and tables are drawn by matplotlib.
"""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "testdata/workloads"))
NODES = {"node-1": ("nobody", "daemon"), "node-2": ("games", "nobody")}
LIMIT = 700 << 20
MEMORY = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory/cgroup.procs") else "/sys/fs/cgroup"
PROMETHEUS = """
global: {scrape_interval: 2s}
scrape_configs:
  - job_name: ipytracer-agent
    static_configs:
      - {targets: ["127.0.0.1:9501"], labels: {instance: node-1}}
      - {targets: ["127.0.0.1:9502"], labels: {instance: node-2}}
"""


def port(node):
    return 9500 + int(node[-1])


class Kernel:
    """A user's kernel, in a control group with a limit."""

    def __init__(self, user, number):
        import pwd
        self.who = pwd.getpwnam(user)
        self.group = "%s/ipytracer-pictures-%d-%d" % (MEMORY, os.getppid(), number)
        self.folder = tempfile.TemporaryDirectory()
        os.chown(self.folder.name, self.who.pw_uid, -1)
        self.start()

    def limit(self):
        os.makedirs(self.group, exist_ok=True)
        for name in ("memory.limit_in_bytes", "memory.max"):
            if os.path.exists(os.path.join(self.group, name)):
                with open(os.path.join(self.group, name), "w") as f:
                    f.write(str(LIMIT))
        with open(os.path.join(self.group, "cgroup.procs"), "w") as f:
            f.write(str(os.getpid()))

    def start(self):
        here = dict(os.environ, HOME=self.folder.name, IPYTHONDIR=self.folder.name, TMPDIR=self.folder.name,
                    JUPYTER_RUNTIME_DIR=self.folder.name, PYDEVD_DISABLE_FILE_VALIDATION="1")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", ROOT / "testdata/workloads/run_notebook.py"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.folder.name, env=here,
            preexec_fn=lambda: (self.limit(), os.setgroups([]), os.setgid(self.who.pw_gid), os.setuid(self.who.pw_uid)))
        self.pid = json.loads(self.process.stdout.readline())["pid"]

    def run(self, code):
        self.process.stdin.write(json.dumps({"code": code}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def goes_on(self, until, fate):
        """Runs cells until a time; the kernel with a fate ends in the middle, and another one comes."""
        chance = random.Random(self.group)
        middle = time.monotonic() + (until - time.monotonic()) / 2
        self.run("import numpy as np, time; kept = []")
        while time.monotonic() < until:
            size = int(2 ** chance.uniform(20, 28))
            self.run(chance.choice((
                "x = np.ones(%d); y = x * 2; time.sleep(1); del x, y" % (size // 16),
                "kept = kept[-1:] + [np.ones(%d)]; time.sleep(0.5)" % (size // 8),
                "time.sleep(1); 1 / 0",
            )))
            if fate and time.monotonic() > middle:
                if fate == "oom":
                    self.process.stdin.write(json.dumps({"code": "x = b'1' * %d" % (LIMIT * 2)}) + "\n")
                    self.process.stdin.flush()
                    while os.path.exists("/proc/%d/exe" % self.pid):
                        time.sleep(0.2)
                else:
                    os.kill(self.pid, signal.SIGKILL)
                self.process.kill()
                self.process.wait()
                fate = ""
                self.start()
                self.run("import numpy as np, time; kept = []")


def node(tracer, name, minutes):
    """What happens on a node, in its process id namespace."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        # Nobody takes the spans: the agents drop them.
        config.write("version: 1\nrefresh: 2s\nlook: 300ms\notlp: {endpoint: 'http://127.0.0.1:9599'}\n")
        config.flush()
        subprocess.Popen([tracer, "agent", "--config", config.name, "--listen", "127.0.0.1:%d" % port(name)],
                         stderr=subprocess.DEVNULL)
        kernels = [Kernel(user, port(name) * 10 + i) for i, user in enumerate(NODES[name] + NODES[name][:1])]
        until = time.monotonic() + minutes * 60
        fates = ("oom", "sigkill", "") if name == "node-1" else ("oom", "", "")
        all_of_them = [threading.Thread(target=k.goes_on, args=(until, f)) for k, f in zip(kernels, fates)]
        for t in all_of_them:
            t.start()
        for t in all_of_them:
            t.join()
        print("done", flush=True)
        sys.stdin.read()
        os._exit(0)


class Answers:
    """A Prometheus' answers to the queries of panels."""

    def __init__(self, began):
        self.began, self.ended = began, time.time()

    def ask(self, path, **fields):
        url = "http://127.0.0.1:9500/api/v1/%s?%s" % (path, urllib.parse.urlencode(fields))
        with urllib.request.urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]["result"]

    @staticmethod
    def plain(query):
        return re.sub(r"\$(node|namespace|user)", ".*", query).replace("$__rate_interval", "30s")

    def now(self, query):
        return [(one["metric"], float(one["value"][1]))
                for one in self.ask("query", query=self.plain(query), time=self.ended)]

    def over_time(self, query):
        return [(one["metric"], [(float(t) - self.began, float(v)) for t, v in one["values"]]) for one in
                self.ask("query_range", query=self.plain(query), start=self.began, end=self.ended, step=2)]


def shown(value, unit):
    if unit == "bytes":
        for size, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= size:
                return "%.3g %s" % (value / size, name)
        return "%.0f B" % value
    return "%.3g %%" % (value * 100) if unit == "percentunit" else "%.3g" % value


def legend(form, labels):
    return re.sub(r"{{(\w+)}}", lambda m: labels.get(m[1], ""), form) or ", ".join(labels.values())


def draw(panel, answers, out):
    """Draws a panel. Returns whether there was anything to draw."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plot
    from matplotlib.ticker import FuncFormatter

    kind, unit = panel["type"], panel["fieldConfig"]["defaults"]["unit"]
    wide = panel["gridPos"]["w"] > 4
    figure, axes = plot.subplots(figsize=(6, 3.2) if wide else (2, 1.2), dpi=80)
    axes.set_title(panel["title"], fontsize=9 if wide else 7, loc="left")
    numbers = FuncFormatter(lambda v, _: shown(v, unit))
    found = False
    if kind == "timeseries":
        lines = []
        for target in panel["targets"]:
            lines += [(legend(target["legendFormat"], labels), points)
                      for labels, points in answers.over_time(target["expr"])]
        found = bool(lines)
        for name, points in sorted(lines):
            axes.plot([t / 60 for t, _ in points], [v for _, v in points], label=name, linewidth=1.2)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(numbers)
        axes.set_xlabel("minutes", fontsize=7)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        if 0 < len(lines) <= 10:
            axes.legend(fontsize=6, loc="upper left")
    else:
        rows = answers.now(panel["targets"][0]["expr"])
        rows = sorted(rows, key=lambda r: -r[1])[:10]
        found = bool(rows)
        if kind == "bargauge":
            names = [legend(panel["targets"][0]["legendFormat"], labels) for labels, _ in rows]
            axes.barh(names[::-1], [v for _, v in rows[::-1]])
            axes.xaxis.set_major_formatter(numbers)
            axes.tick_params(labelsize=7)
        else:
            axes.axis("off")
        if kind == "stat":
            axes.text(0.5, 0.4, shown(rows[0][1], unit) if rows else "no data", ha="center", va="center", fontsize=15)
        if kind == "table" and rows:
            columns = [c for c in ("instance", "user", "kernel", "gpu", "kind") if any(c in m for m, _ in rows)]
            table = axes.table([[m.get(c, "") for c in columns] + [shown(v, unit)] for m, v in rows],
                               colLabels=columns + ["value"], loc="upper center", cellLoc="left")
            table.auto_set_font_size(False)
            table.set_fontsize(7)
    figure.tight_layout()
    if found:
        figure.savefig(out, metadata={"Software": None})
    plot.close(figure)
    return found


def main(tracer, prometheus, out, minutes="5"):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "p.yaml"), "w") as config:
        config.write(PROMETHEUS)
        config.flush()
        began = time.time()
        engine = subprocess.Popen([prometheus, "--config.file", config.name, "--storage.tsdb.path", folder + "/data",
                                   "--web.listen-address", "127.0.0.1:9500",
                                   "--enable-feature=native-histograms"], stderr=subprocess.DEVNULL)
        nodes = [subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "/usr/bin/python3",
                                   __file__, "--node", tracer, name, minutes], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) for name in NODES]
        try:
            for n in nodes:
                if n.stdout.readline() != "done\n":
                    sys.exit("a node has ended early")
            answers = Answers(began)
            for panel in json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())["panels"]:
                if panel["type"] != "row":
                    name = "panel-%02d.png" % panel["id"]
                    if not draw(panel, answers, os.path.join(out, name)):
                        print("no data: %s %s" % (name, panel["title"]))
        finally:
            for n in nodes:
                n.stdin.close()
                n.wait()
            engine.terminate()
            engine.wait()
            for group in pathlib.Path(MEMORY).glob("ipytracer-pictures-*"):
                group.rmdir()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--node"]:
        node(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        main(*map(os.path.abspath, sys.argv[1:4]), *sys.argv[4:])
