"""The waits of a user at a terminal after Ctrl-C: for the report's first screen, and for its end."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import tempfile
import termios
import time

from estimate import estimate
from kernel import Kernel
from measures.notebooks import LONG_ONE, STEADY, books
from table import Row
from tracing import Failure, cpu_seconds

SUBJECTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "subjects")
TRACKED = 580_000      # objects of the garbage collector if a look finds 800,000, as after `import torch, transformers`
IMPORTS = "import numpy, pandas, sklearn.ensemble, matplotlib.pyplot, torch"


class Terminal:
    """`tracer attach --record` on one process, on a terminal of its own. Use it with `with`: inside, every probe is in
    place."""

    def __init__(self, binary, pid, place):
        self.ready, self.out = os.path.join(place, "ready"), b""
        self.command = [
            binary,
            "attach",
            "--record",
            os.path.join(place, "run.arrows"),
            "--force",
            "--ready-file",
            self.ready,
            str(pid),
        ]

    def __enter__(self):
        self.main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        self.process = subprocess.Popen(self.command, stdin=other, stdout=other, stderr=other, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(other)
        end = time.monotonic() + 60
        while not os.path.exists(self.ready):
            if not self.read(0.02) or time.monotonic() > end:
                raise Failure("the tracer did not attach: " + self.out.decode(errors="replace")[-300:])
        os.unlink(self.ready)
        return self

    def read(self, patience):
        """Reads the tracer's output for that time. Returns False once it has ended."""
        if select.select([self.main], [], [], patience)[0]:
            try:
                self.out += os.read(self.main, 1 << 16)
            except OSError:
                return False
        return True

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.read(0.05):
            pass

    def interrupt(self):
        """Presses Ctrl-C. Returns seconds until the table of cells and until the tracer's end, and its CPU seconds."""
        self.rest(0.7)    # like a user who looks at the result: the tracer has caught up
        before, self.out, first = cpu_seconds(self.process.pid), b"", None
        asked = time.perf_counter()
        os.write(self.main, b"\x03")
        while self.read(1):
            if first is None and b"Cells, by what they need" in self.out:
                first = time.perf_counter() - asked
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode or first is None:
            raise Failure("no report: " + self.out.decode(errors="replace")[-300:])
        return first, time.perf_counter() - asked, usage.ru_utime + usage.ru_stime - before

    def __exit__(self, *failure):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)


def ends(settings, what, prepare, cells, limit):
    """Yields rows of a kernel that runs some cells before the attach and some after it."""
    section, found, rounds = f"The end of a session on a terminal: {what}", ([], [], []), settings.rounds(6, 1)
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
        for i in range(rounds):
            with Kernel(path=[SUBJECTS], env=STEADY) as kernel:
                for source in prepare:
                    kernel.run(source)
                with Terminal(settings.tracer, kernel.pid, place) as terminal:
                    for source in cells:
                        kernel.cpu_of(source)
                        terminal.rest(0)
                    for values, value in zip(found, terminal.interrupt()):
                        values.append(value)
            settings.progress(what)(i + 1, rounds)
    yield Row(section, "from Ctrl-C to the first screen", "s", estimate(found[0]), 0.5)
    yield Row(section, "from Ctrl-C to the end", "s", estimate(found[1]), limit)
    yield Row(section, "the tracer's CPU time meanwhile", "s", estimate(found[2]))


def measure(settings):
    cells = [cell.source for name in LONG_ONE for cell in books.read(name)]
    yield from ends(settings, f"a notebook of {len(cells)} cells", [], cells, 1.2)
    yield from ends(
        settings,
        "800,000 objects",
        [IMPORTS, f"import objects; objects.make({TRACKED})"],
        ["import numpy; x = numpy.ones(1 << 20)"],
        2.5,
    )
