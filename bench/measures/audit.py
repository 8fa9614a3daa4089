"""How long an audit of a large recording takes, and how much memory: 10 million events of a busy notebook."""

import os
import shutil
import subprocess
import tempfile
import time

from estimate import estimate
from table import Row
from tracing import Failure

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def measure(settings):
    events, count, progress = (
        (1_000_000 if settings.quick else 10_000_000),
        settings.rounds(7, 1),
        settings.progress("audit"),
    )
    if not shutil.which("go"):
        raise Failure("Go is needed to write the recording")
    with tempfile.TemporaryDirectory() as directory:
        recording = os.path.join(directory, "big.arrows")
        made = subprocess.run(
            ["go", "run", "./bench", "sessions", "-kind", "busy", "-n", str(events), "-o", recording],
            cwd=_ROOT,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise Failure("no recording: " + made.stderr.strip())
        seconds, memory = [], []
        for i in range(count):
            begin = time.monotonic()
            audit = subprocess.Popen(
                [settings.tracer, "audit", "--quiet", "-o", os.path.join(directory, "audit.txt"), recording]
            )
            _, status, usage = os.wait4(audit.pid, 0)
            if status:
                raise Failure("tracer audit failed")
            seconds.append(time.monotonic() - begin)
            memory.append(usage.ru_maxrss / 1024)
            progress(i + 1, count)
    section = "Audit of a recording of %s events" % format(events, ",")
    yield Row(section, "time", "s", estimate(seconds), 10)
    yield Row(section, "memory, at most", "MiB", estimate(memory), 477)
