"""The processor time of `tracer agent` beside kernels that do nothing and beside a busy class, and its memory."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
import urllib.request

from estimate import estimate
from kernel import Kernel
from table import Row
from tracing import Failure, cpu_seconds

PATIENCE = 180      # seconds
IDLE, MANY = 10, 50
SETTLED = 30        # seconds after which names of processes are read rarely
CLASS_CELL = "x = [bytearray(1 << 20) for _ in range(20)]; del x"
CLASS_EVERY = 5     # seconds: each kernel of the class runs a cell
CLASS_ROUNDS = 3    # of a measurement
CONFIGURATION = "version: 1\nper_user: 64\n"
KERNELS = "ipytracer_kernels "


class Agent:
    """`tracer agent` with its usual intervals. Use it with `with`."""

    def __init__(self, tracer):
        self.tracer = tracer

    def __enter__(self):
        self._place = tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp")
        config, ready = (os.path.join(self._place.name, name) for name in ("agent.yaml", "ready"))
        with open(config, "w") as f:
            f.write(CONFIGURATION)
        self.process = subprocess.Popen(
            [self.tracer, "agent", "--config", config, "--listen", "127.0.0.1:0", "--ready-file", ready],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._until("the agent did not start", lambda: os.path.exists(ready))
        with open(ready) as f:
            self.address = f.read().strip()
        return self

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        finally:
            self._place.cleanup()

    def _until(self, otherwise, so):
        end = time.monotonic() + PATIENCE
        while not so():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure(otherwise)
            time.sleep(0.1)

    def scrape(self):
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def kernels(self):
        return next(int(line[len(KERNELS):]) for line in self.scrape().splitlines() if line.startswith(KERNELS))

    def until_it_has(self, count):
        self._until(f"the agent did not find {count} kernels", lambda: self.kernels() >= count)

    def cpu_share(self, seconds):
        """Returns its processor time for so many seconds with a scrape at the beginning, in percent of a core."""
        begun, before = time.monotonic(), cpu_seconds(self.process.pid)
        self.scrape()
        time.sleep(seconds)
        return 100 * (cpu_seconds(self.process.pid) - before) / (time.monotonic() - begun)

    def class_share(self, kernels):
        """Returns its processor time, in percent of a core, while each kernel runs a cell each CLASS_EVERY seconds."""
        begun, before = time.monotonic(), cpu_seconds(self.process.pid)
        self.scrape()
        for n in range(CLASS_ROUNDS * len(kernels)):
            kernels[n % len(kernels)].run(CLASS_CELL)
            time.sleep(max(0, begun + (n + 1) * CLASS_EVERY / len(kernels) - time.monotonic()))
        return 100 * (cpu_seconds(self.process.pid) - before) / (time.monotonic() - begun)

    def resident(self):
        """Returns its resident memory in MiB: now, its own pages now, and the highest."""
        with open(f"/proc/{self.process.pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon", "VmHWM"))


def repeated(share, count, progress):
    """Returns the results of as many calls of share."""
    shares = []
    for i in range(count):
        shares.append(share())
        progress(i + 1, count)
    return shares


def measure(settings):
    count, seconds = settings.rounds(7, 2), 15
    progress = settings.progress("agent")
    many = 20 if settings.quick else MANY
    section = "`tracer agent`"
    with contextlib.ExitStack() as stack:
        all_kernels = [stack.enter_context(Kernel()) for _ in range(IDLE)]
        with Agent(settings.tracer) as agent:
            agent.until_it_has(IDLE)
            time.sleep(SETTLED)
            shares = repeated(lambda: agent.cpu_share(seconds), count, progress)
            yield Row(section, f"processor time, {IDLE} idle kernels, a scrape each {seconds} s", "% of a core",
                      estimate(shares), 0.1)
            all_kernels += [stack.enter_context(Kernel()) for _ in range(many - IDLE)]
            agent.until_it_has(many)
            for kernel in all_kernels:
                kernel.run(CLASS_CELL)
            agent.scrape()
            now, own, highest = agent.resident()
            shares = repeated(lambda: agent.class_share(all_kernels), count, progress)
            yield Row(section, f"processor time, {many} kernels with a cell each {CLASS_EVERY} s each", "% of a core",
                      estimate(shares), 3)
    yield Row(section, f"resident memory, highest, {many} kernels", "MiB", estimate([highest]), 256)
    yield Row(section, "the same, now", "MiB", estimate([now]))
    yield Row(section, "of it memory of its own, not files", "MiB", estimate([own]))
