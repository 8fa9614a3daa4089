"""What both front ends share: the place a session runs in, the interpreter it runs, the protocol with the caller, the
results.

    stdout  {"pid": N, "ready": true}     the process to trace is up and has run no cell yet
    stdin   a line (or end of file)       go
    stdout  {"done": true, "cells": N}    every result is in --out
    stdin   a line (or end of file)       the session is shut down

Results are JSON lines. The first is {"session": {...}}: front end, pid, versions, what the machine answers (machine.h).
Then one a cell: {name, source, requested_ns, idle_ns, execution_count, status, marks: [...]}: times of CLOCK_MONOTONIC,
marks as read_log gives them; with --high-water also before and after: what /proc says from outside while no cell runs
(mapped exact, resident by the page tables); or {name, skipped: why}. Exit status: 0 all cells ran, 1 one did not (a
sentence on stderr says which and why), 2 usage.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cells as workload
import still
from build import build
from marks import read_log

HERE = os.path.dirname(os.path.abspath(__file__))

# Installed packages have their version in metadata; importing one takes half a second of a CPU, for each session.
_PROBE = """
import importlib.metadata, importlib.util, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({"python": platform.python_version(), "ipython": version("ipython"), "numpy": version("numpy"),
                  "ipykernel": version("ipykernel"), "pandas": bool(importlib.util.find_spec("pandas")),
                  "kernel": platform.release()}))
"""


class Failure(Exception):
    """What went wrong, as a sentence for the caller."""


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", required=True, metavar="FILE", help="results, JSON lines")
    parser.add_argument("--cells", metavar="A,B", help="only these (and the prelude, always first)")
    parser.add_argument("--python", default=sys.executable, metavar="PATH",
                        help="the interpreter, as seen inside --chroot (default: the one that runs this)")
    parser.add_argument(
        "--chroot", metavar="DIR", help="run in there; /proc, /dev, /sys and /tmp must be bind-mounted into it"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=float(os.environ.get("CELL_TIMEOUT", 180)),
        metavar="S",
        help="for each cell ($CELL_TIMEOUT, or 180)",
    )
    parser.add_argument("--library", metavar="FILE", help="libtruth.so that was built before; else gcc builds it")
    parser.add_argument(
        "--high-water",
        action="store_true",
        help="also record what the process holds before and after "
        "each cell, which takes walks of its page tables, and VmHWM, reset before: a rough resident peak, hundreds of "
        "KiB off either way",
    )
    parser.add_argument(
        "--without",
        default="",
        metavar="A,B",
        help="modules that this interpreter cannot load, whatever is installed beside "
        "it (numpy): cells that need them are left out, and nothing else",
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait for lines on standard input")
    return parser


class Workspace:
    """A directory under /tmp with everything a session needs, the same path inside and outside a chroot."""

    def __init__(self, opts):
        self.opts = opts
        # A chroot must see it: not $TMPDIR, which may lie outside what the caller has bound.
        self.path = tempfile.mkdtemp(prefix="ipytracer-workload-", dir="/tmp")
        self.log, self.read = os.path.join(self.path, "marks"), 0
        self.over = self.log + ".over"      # is there when a cell is over whose work comes behind it: truth.is_over
        try:
            self._fill()
        except BaseException:
            self.remove()
            raise

    def _fill(self):
        opts = self.opts
        if opts.chroot and not os.path.isdir(opts.chroot + self.path):
            raise Failure("%s%s is not there: bind-mount /tmp into the chroot" % (opts.chroot, self.path))
        for name in ("truth.py", "still.py", "run_me.py"):
            shutil.copy(os.path.join(HERE, name), self.path)
        try:
            library = (
                shutil.copy(opts.library, os.path.join(self.path, "libtruth.so")) if opts.library else build(self.path)
            )
        except (OSError, subprocess.CalledProcessError) as e:
            raise Failure("no truth library: %s" % e) from e
        libraries = [self.path] + ([os.environ["IPYTRACER_LIBRARIES"]] if os.environ.get("IPYTRACER_LIBRARIES") else [])
        self.env = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(libraries),
            IPYTHONDIR=os.path.join(self.path, "ipython"),
            JUPYTER_RUNTIME_DIR=os.path.join(self.path, "jupyter"),
            IPYTRACER_TRUTH_LIBRARY=library,
            IPYTRACER_TRUTH_LOG=self.log,
            IPYTRACER_PYTHON=opts.python,
            PYTHONDONTWRITEBYTECODE="1",
        )

    def command(self, *arguments):
        inside = ["chroot", self.opts.chroot] if self.opts.chroot else []
        return inside + [self.opts.python] + list(arguments)

    def probe(self):
        """Versions of what is installed; Failure when the interpreter does not run or lacks what every cell needs."""
        try:
            ran = subprocess.run(self.command("-c", _PROBE), env=self.env, cwd="/", capture_output=True)
        except OSError as e:
            raise Failure("%s does not run: %s" % (self.opts.python, e.strerror)) from e
        if ran.returncode:
            raise Failure(
                "%s does not run: %s" % (self.opts.python, ran.stderr.decode("utf-8", "replace").strip()[-300:])
            )
        versions = json.loads(ran.stdout.decode().splitlines()[-1])
        absent = self.opts.without.split(",")
        versions.update((module, None) for module in absent)
        for module in ("ipython", "numpy"):
            if not versions[module] and module not in absent:
                raise Failure("%s has no %s" % (self.opts.python, module))
        return versions

    def machine(self):
        """What the machine answers the interpreter, with the settings that it inherits."""
        ask = "import json, truth; print(json.dumps(truth.machine()))"
        env = dict(self.env)
        del env["IPYTRACER_TRUTH_LOG"]
        return json.loads(subprocess.run(self.command("-c", ask), env=env, cwd="/", stdout=subprocess.PIPE,
                                         check=True).stdout)

    def new_marks(self):
        marks = read_log(self.log, self.read) if os.path.exists(self.log) else []
        self.read += len(marks)
        return marks

    def wait_for_mark(self, label, marks, timeout, meanwhile=time.sleep):
        """Collects marks into `marks` until one has the label."""
        end = time.monotonic() + timeout
        while True:
            marks.extend(self.new_marks())
            if any(mark["label"] == label for mark in marks):
                return
            if time.monotonic() > end:
                raise Failure("no mark %r after %g s" % (label, timeout))
            meanwhile(0.005)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def guarded(body):
    """The exit status of a driver: body(held)'s, or 1 and a sentence on stderr for a Failure. What is pushed on held,
    an ExitStack, is undone in the end, also when a signal stops the driver."""
    def stop(signum, frame):
        raise Failure("stopped by signal %d" % signum)

    signal.signal(signal.SIGTERM, stop)
    # Shells start what runs in the background with SIGINT ignored; IPython must not inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as held:
            return body(held)
    except Failure as e:
        print("%s: %s" % (os.path.basename(sys.argv[0]), e), file=sys.stderr)
        return 1


def script(held, workspace, text):
    """Starts a Python program that talks over its standard input and output, and waits until it says that it is
    ready."""
    process = subprocess.Popen(
        workspace.command("-c", text),
        env=workspace.env,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    held.callback(end_process, process)
    held.callback(process.stdin.close)
    if process.stdout.readline() != "ready\n":
        raise Failure("the script ended with status %s" % process.wait())
    return process


def drive(opts, front_end, open_session):
    """Runs the cells. open_session(opts, workspace, versions) gives an object with pid, run(cell, marks) -> fields of
    the result, settle(seconds) and close()."""
    return guarded(lambda held: drive_in(held, opts, front_end, open_session))


def drive_in(held, opts, front_end, open_session):
    workspace = Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    try:
        names = opts.cells.split(",") if opts.cells else None
        wanted = workload.select(front_end, names)
    except KeyError as e:
        raise Failure("no cell %s: python3 cells.py lists them" % e) from e
    session = open_session(opts, workspace, versions)
    held.callback(session.close)
    with create(opts.out) as out:
        write(out, {"session": dict(versions, front_end=front_end, pid=session.pid, machine=workspace.machine())})
        say({"pid": session.pid, "ready": True}, opts)
        ran = set()
        for cell in wanted:
            missing = [module for module in cell.requires if not versions.get(module)]
            missing += [name for name in cell.needs if name not in ran]
            if missing:
                write(out, {"name": cell.name, "skipped": "no " + ", ".join(missing)})
            elif one_cell(workspace, session, cell, out):
                ran.add(cell.name)
    say({"done": True, "cells": len(ran)}, opts)
    return 0


def one_cell(workspace, session, cell, out):
    marks = workspace.new_marks()       # late ones of the cell before: they are in the log, not in its result
    marks.clear()
    measured = workspace.opts.high_water
    if measured:
        with open("/proc/%d/clear_refs" % session.pid, "w") as f:
            f.write("5")
    still.wait(session.pid)
    before = sizes(session.pid) if measured else None
    try:
        result = session.run(cell, marks)
        if "skipped" not in result and "wait_for" in cell.request:
            open(workspace.over, "w").close()
            workspace.wait_for_mark(cell.request["wait_for"], marks, workspace.opts.timeout, session.settle)
            os.remove(workspace.over)
    except Failure as e:
        shows = "; the terminal shows " + session.shows() if hasattr(session, "shows") else ""
        raise Failure("cell %s: %s%s" % (cell.name, e, shows)) from e
    if cell.name == "prelude" and result["status"] != "ok":
        raise Failure("the prelude ended with %s: %s" % (result["status"], result.get("error", "")))
    marks.extend(workspace.new_marks())
    if "skipped" not in result:
        result["marks"] = marks
        if measured:
            result.update(before=before, after=sizes(session.pid, high_water=True))
    write(out, dict({"name": cell.name}, **result))
    return "skipped" not in result


def sizes(pid, high_water=False):
    fields = {}
    try:
        for name in ("status", "smaps_rollup"):
            with open("/proc/%d/%s" % (pid, name)) as f:
                for line in f:
                    key, _, value = line.partition(":")
                    if value.endswith(" kB\n"):
                        fields[key] = int(value[:-4]) * 1024
    except OSError as e:
        raise Failure("process %d: %s" % (pid, e.strerror)) from e
    found = {"mapped": fields["VmData"], "resident": fields["Rss"]}
    if high_water:
        found["high_water"] = fields["VmHWM"]
    return found


def create(path):
    try:
        return open(path, "w")
    except OSError as e:
        raise Failure("%s: %s" % (path, e.strerror)) from e


def write(out, record):
    out.write(json.dumps(record) + "\n")
    out.flush()


def say(message, opts):
    """A line to the caller, then wait for one of theirs, which it returns."""
    print(json.dumps(message), flush=True)
    return "" if opts.no_wait else sys.stdin.readline()


def end_process(process, seconds=5):
    """Waits for it, then terminates it, then kills it."""
    for act in (lambda: None, process.terminate, process.kill):
        act()
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    return None


# How many times as long as usual everything takes: an emulated processor is slow.
SLOWNESS = int(os.environ.get("TRACER_SLOWNESS") or 1)

# The numbers of nanosleep, pselect6 and clock_nanosleep, and of select, which x86-64 has as well (asm/unistd_64.h,
# asm-generic/unistd.h).
_SLEEPS = ("101", "72", "115") if os.uname().machine == "aarch64" else ("35", "270", "230", "23")


def asleep(pid):
    """Is the main thread in time.sleep?"""
    with open("/proc/%d/syscall" % pid) as f:
        return f.read().split()[0] in _SLEEPS


def wait_until_asleep(pid, timeout, meanwhile=time.sleep):
    end = time.monotonic() + timeout
    while not asleep(pid):
        if time.monotonic() > end:
            raise Failure("not asleep after %g s" % timeout)
        meanwhile(0.005)


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
