"""The time until a storm of arrays that has spent the budget makes the tracer step its NumPy probes down."""

import datetime
import os
import re
import subprocess
import tempfile
import time

from estimate import estimate
from kernel import Kernel
from table import Row, Skipped
from tracing import Failure, Tracer

SECTION = (
    "Budget: from the first np.ones(2000) of a storm, in a cell, with --budget 0.1% (17 ms of probe time saved up)"
)

STORM = """import time, numpy
def _storm(seconds):
    print(time.monotonic_ns(), time.time_ns())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        numpy.ones(2000)
_storm(0.4)
"""
# slog's text handler: time=2026-01-02T03:04:05.678+01:00 level=INFO msg="stepped down …" probes=numpy …
SAID = re.compile(r'^time=(\S+) .*msg="stepped down[^"]*".* probes=numpy\b', re.M)

# Run by a Python that has pyarrow: the time of the first meter-shed in a recording, CLOCK_MONOTONIC.
SHED = """import sys, pyarrow.ipc as ipc
table = ipc.open_stream(sys.argv[1]).read_all()
kinds, times = table.column("kind").to_pylist(), table.column("time_ns").to_pylist()
texts = table.column("text").to_pylist() if "text" in table.column_names else [""] * len(kinds)
print(min(int(getattr(t, "value", t)) for k, t, text in zip(kinds, times, texts) if k == "meter-shed" and not text))"""


class Timing:
    """Returns milliseconds from the first array until the kernel dropped the meter, and until the probes were out."""

    def __init__(self, dropped, out):
        self.dropped, self.out = dropped, out


def once(settings, kernel, reader, record):
    with Tracer(settings.tracer, kernel.pid, "--verbose", "--budget", "0.1%", "--record", record, "--force") as tracer:
        monotonic, wall = (int(field) / 1e9 for field in kernel.run(STORM).text.split())
        out = said_at(tracer) - wall
    if not reader:
        return Timing(None, 1000 * out)
    shed = subprocess.run(reader + [record], capture_output=True, text=True)
    if shed.returncode:
        raise Failure("the recording could not be read: " + shed.stderr.strip()[-200:])
    return Timing(1000 * (int(shed.stdout) / 1e9 - monotonic), 1000 * out)


def said_at(tracer):
    """Returns the wall-clock time at which the tracer logged that the probes are out."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        found = SAID.search(tracer.said())
        if found:
            return datetime.datetime.fromisoformat(found[1].replace("Z", "+00:00")).timestamp()
        time.sleep(0.01)
    raise Failure("the tracer never stepped the NumPy probes down")


def arrow_reader(settings):
    """Returns the command that runs SHED, or None: Debian 12 has no pyarrow, but the sid of scripts/pythons.sh has."""
    try:
        import pyarrow  # noqa: F401
        return ["/usr/bin/python3", "-c", SHED]
    except ImportError:
        pass
    root = os.path.join(settings.pythons, "sid")
    if not os.path.exists(os.path.join(root, ".complete")):
        return None
    enter = 'mount --rbind /tmp "$1/tmp" && exec chroot "$@"'
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        enter,
        "sh",
        root,
        "/usr/bin/python3",
        "-c",
        SHED,
    ]


def measure(settings):
    progress, count, found = settings.progress("budget"), settings.rounds(21, 3), []
    reader = arrow_reader(settings)
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place, Kernel() as kernel:
        kernel.run(STORM)
        for i in range(count):
            found.append(once(settings, kernel, reader, os.path.join(place, "run.arrows")))
            progress(i + 1, count)
    if reader:
        yield Row(SECTION, "the kernel has stepped down (MeterShed): the handler returns at once", "ms",
                  estimate([f.dropped for f in found]), 100)
    else:
        yield Skipped(SECTION, "when the kernel stepped down: no pyarrow to read the recording with")
    yield Row(
        SECTION, "the probes are out of the process: no trap any more", "ms", estimate([f.out for f in found]), 100
    )
