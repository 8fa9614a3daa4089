"""malloc: the cost of --heap, beside memray, tracemalloc, and bcc's memleak (its probes, as a bpftrace script)."""

import contextlib
import functools
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from estimate import estimate
from pairing import interleave
from table import Row, Skipped
from tracing import Failure, Tracer
from worker import Worker

SECTION = "malloc and free of 600 bytes, from Python (a bytearray), beside other tools"
COUNT, SIZE = 50_000, 600

# memleak keeps the size of a call on its way in and the stack on its way out, by address, until the block is freed.
MEMLEAK = """
uprobe:{libc}:malloc /pid == {pid}/ {{ @size[tid] = arg0; }}
uretprobe:{libc}:malloc /@size[tid]/ {{ @live[retval] = @size[tid]; @who[retval] = ustack(); delete(@size[tid]); }}
uprobe:{libc}:calloc /pid == {pid}/ {{ @size[tid] = arg0 * arg1; }}
uretprobe:{libc}:calloc /@size[tid]/ {{ @live[retval] = @size[tid]; @who[retval] = ustack(); delete(@size[tid]); }}
uprobe:{libc}:realloc /pid == {pid}/ {{ @size[tid] = arg1; delete(@live[arg0]); delete(@who[arg0]); }}
uretprobe:{libc}:realloc /@size[tid]/ {{ @live[retval] = @size[tid]; @who[retval] = ustack(); delete(@size[tid]); }}
uprobe:{libc}:free /pid == {pid}/ {{ delete(@live[arg0]); delete(@who[arg0]); }}
END {{ clear(@live); clear(@who); clear(@size); }}
"""


@contextlib.contextmanager
def memleak(worker):
    with open(f"/proc/{worker.pid}/maps") as f:
        libc = next(line.split()[-1] for line in f if "/libc.so.6" in line)
    script = MEMLEAK.format(libc=libc, pid=worker.pid)
    # Its probes need tracefs, which is not mounted everywhere: a mount namespace of its own has it.
    tool = subprocess.Popen(
        [
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec bpftrace "$@"',
            "sh",
            "-B",
            "line",
            "-e",
            script,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(os.environ, BPFTRACE_MAP_KEYS_MAX="1000000"),
    )
    try:
        if not any("Attaching" in line for line in tool.stdout):
            raise Failure("bpftrace does not attach")
        time.sleep(1)    # it says so before its probes are in
        yield functools.partial(plain, worker)
    finally:
        tool.kill()    # its result is not needed
        tool.wait()
        tool.stdout.close()


def plain(worker):
    return worker.run("objects", count=COUNT, size=SIZE)


def conditions(settings, worker, capture):
    @contextlib.contextmanager
    def traced(*flags):
        with Tracer(settings.tracer, worker.pid, *flags):
            yield functools.partial(plain, worker)

    def tool(name):
        run = functools.partial(
            worker.run, "beside", tool=name, path=capture, what="objects", arguments={"count": COUNT, "size": SIZE}
        )
        return lambda: contextlib.nullcontext(run)

    known = {
        "off": lambda: contextlib.nullcontext(functools.partial(plain, worker)),
        "attached, without --heap": traced,
        "--heap": lambda: traced("--heap"),
        "--heap --budget off": lambda: traced("--heap", "--budget", "off"),
        "tracemalloc": tool("tracemalloc"),
    }
    if "memray" in worker.about:
        known["memray"] = tool("memray")
    if shutil.which("bpftrace"):
        known["memleak, as a bpftrace script"] = lambda: memleak(worker)
    return known


def measure(settings):
    root = settings.other_root()
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp"))
        try:
            worker = stack.enter_context(Worker(python="/usr/bin/python3", root=root, cpu=0))
        except Failure as e:
            yield Skipped(SECTION, str(e))
            return
        known = conditions(settings, worker, os.path.join(place, "memray.bin"))
        found = interleave(settings.rounds(10, 2), known, lambda run: {"time": min(run() for _ in range(3))},
                           warm_up=not settings.quick, progress=settings.progress("heap"))["time"]
    bare = 1e6 * statistics.median(found.values["off"]) / COUNT
    for name in list(known)[1:]:
        yield Row(SECTION, f"{name}: added to each", "µs", estimate(found.differences(name, "off", 1e6 / COUNT)), None,
                  f"{bare:.2f} µs without any tool" if name.startswith("attached") else "")
