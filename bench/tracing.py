"""The tracer as a user starts it, and its own cost."""

import os
import re
import signal
import subprocess
import tempfile
import time


class Failure(Exception):
    """An error, as a sentence."""


class Tracer:
    """`tracer attach` on one process. Use it with `with`: inside, every probe is in place and the tracer has come to
    rest."""

    def __init__(self, binary, pid, *flags, env=None):
        self.command = [binary, "attach", "--quiet", "--format", "json", *flags]
        self.pid, self.attach_seconds, self.env = pid, None, dict(os.environ, **(env or {}))

    def __enter__(self):
        self._place = tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp")
        ready = os.path.join(self._place.name, "ready")
        self.errors = open(os.path.join(self._place.name, "stderr"), "w+")
        start = time.perf_counter()
        self.process = subprocess.Popen(self.command + ["--ready-file", ready, str(self.pid)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.errors, env=self.env)
        while not os.path.exists(ready):
            if self.process.poll() is not None or time.perf_counter() - start > 30:
                raise Failure("the tracer did not attach: " + self.said())
            time.sleep(0.0005)
        self.attach_seconds = time.perf_counter() - start
        self._settle()
        return self

    def _settle(self, quiet=0.001, over=0.05, patience=2):
        """Waits until the tracer uses no CPU: its work right after the attach is no part of a session's cost."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            before = cpu_seconds(self.process.pid)
            time.sleep(over)
            if cpu_seconds(self.process.pid) - before < quiet:
                return

    def end(self):
        """Ends it and waits. Returns its highest resident set in MiB, the report included."""
        self.process.send_signal(signal.SIGINT)
        high, end = 0, time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            try:
                high = max(high, self.memory()[1])
            except (OSError, KeyError):    # it has ended meanwhile
                pass
            time.sleep(0.002)
        return high

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        said = self.said()
        self.errors.close()
        self._place.cleanup()
        if status and failure == (None, None, None):
            raise Failure(f"the tracer ended with status {status}: {said}")

    def said(self):
        self.errors.seek(0)
        return self.errors.read().strip()

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def memory(self):
        """Returns (resident now, its peak) in MiB."""
        with open(f"/proc/{self.process.pid}/status") as f:
            fields = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB$", f.read(), re.M))
        return int(fields["VmRSS"]) / 1024, int(fields["VmHWM"]) / 1024


def cpu_seconds(pid):
    """Returns the user and system time of all threads of a process, to the nanosecond (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9
