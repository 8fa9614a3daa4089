#!/usr/bin/env python3
"""Plays a recording cell by cell in a fresh ipykernel: python3 run_replay.py torch-default --out results.jsonl

    stdout  {"pid": N, "ready": true}     the process to trace is up and has run no cell yet
    stdin   a line (or end of file)       go
    stdout  {"done": true, "cells": N}    every cell has run; their results are in --out
    stdin   a line (or end of file)       the session is shut down; the step after the last cell is played and written

Results are JSON lines. The first is {"session": {...}}. Then one a cell: {name, source, requested_ns, idle_ns,
execution_count, status, error?, expected: status that the cell had when it was recorded, recorded: its source then,
truth, step, played, of, threads}; the last is named "exit" and has no source. truth is the result of oracle.truth. Exit
status: 0 all was played as recorded, 1 it was not, 2 usage.
"""

import argparse
import collections
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "workloads")]

import driver
import libraries
import oracle
import recordings
from run_kernel import Kernel

# The target interpreter prints this for Kernel.
_PROBE = "import importlib.metadata, json; print(json.dumps({'ipykernel': importlib.metadata.version('ipykernel')}))"


class Cell:
    """The argument of Kernel.run."""

    def __init__(self, source, **request):
        self.source, self.request = source, request


class Workspace:
    """A directory under /tmp with the libraries and the environment that the kernel runs in."""

    def __init__(self, opts):
        self.opts = opts
        self.path = tempfile.mkdtemp(prefix="ipytracer-replay-", dir="/tmp")
        self.log = os.path.join(self.path, "log")
        try:
            self.libraries = opts.libraries or libraries.build(os.path.join(self.path, "libraries"))
        except BaseException:
            self.remove()
            raise
        make_modules(self.path, opts.modules)
        paths = [HERE, os.path.join(self.libraries, "site"), self.path]
        if os.environ.get("IPYTRACER_LIBRARIES"):
            paths.append(os.environ["IPYTRACER_LIBRARIES"])
        self.env = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join(paths),
            LD_LIBRARY_PATH=os.path.join(self.libraries, "driver"),
            IPYTHONDIR=os.path.join(self.path, "ipython"),
            JUPYTER_RUNTIME_DIR=os.path.join(self.path, "jupyter"),
            REPLAY_RECORDING=opts.recording,
            REPLAY_LIBRARIES=self.libraries,
            REPLAY_LOG=self.log,
            PYTHONDONTWRITEBYTECODE="1",
        )

    def command(self, *arguments):
        return [self.opts.python] + list(arguments)

    def notes(self):
        """Returns the output of replay.py: {step: {...}}."""
        if not os.path.exists(self.log):
            return {}
        with open(self.log) as f:
            return {note["step"]: note for note in map(json.loads, f)}

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recording", choices=recordings.NAMES)
    parser.add_argument("--out", required=True, metavar="FILE", help="results, JSON lines")
    parser.add_argument(
        "--late", action="store_true", help="the first cell loads the libraries; else they are there before it"
    )
    parser.add_argument(
        "--modules", type=int, default=0, metavar="N", help="the cell before the busiest one imports N modules first"
    )
    parser.add_argument(
        "--execs",
        type=int,
        default=0,
        metavar="N",
        help="the busiest cell runs compiled code N times behind each 100 events, and 1000 N times at its end",
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="the interpreter (default: the one that runs this)"
    )
    parser.add_argument("--libraries", metavar="DIR", help="built before by libraries.build; else gcc builds them")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for each cell (60)")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for lines on standard input")
    opts = parser.parse_args()
    opts.chroot = None
    return opts


def make_modules(directory, count):
    """Writes modules that are imported as generated.m0, m1 ..."""
    package = os.path.join(directory, "generated")
    os.makedirs(package)
    for name in ["__init__"] + ["m%d" % i for i in range(count)]:
        with open(os.path.join(package, name + ".py"), "w") as f:
            f.write("SIZES = [1 << i for i in range(32)]\n" if name != "__init__" else "")


def source_of(step, cell, opts):
    """The recorded source as a comment, so that reports show it, and the call that plays it."""
    shown = "".join("# %s\n" % line for line in cell["source"].split("\n"))
    if opts.late and step == 1:
        shown += "import replay\n"
    if cell.get("imports"):
        shown += "import importlib\nfor i in range(%d): importlib.import_module('generated.m%%d' %% i)\n" % opts.modules
    return "%sreplay.play(%d, %d)" % (shown, step, opts.execs if cell.get("execs") else 0)


def run_cells(session, workspace, recording, opts, out):
    """Reports whether every cell was played as recorded."""
    ok, truth = True, oracle.truth(recording)
    for step, cell in enumerate(recording.cells, 1):
        result = session.run(Cell(source_of(step, cell, opts)), [])
        note = workspace.notes().get(step, {})
        expected = "error" if cell["raised"] else "ok"
        driver.write(
            out,
            dict(
                {"name": "cell%d" % step, "recorded": cell["source"], "expected": expected, "truth": truth[step - 1]},
                **dict(note, **result),
            ),
        )
        if not as_recorded(note) or result["status"] != expected:
            print("cell %d was not played as recorded: %s" % (step, result.get("error", note)), file=sys.stderr)
            ok = False
    return ok


def as_recorded(note):
    return bool(note) and note["played"] == note["of"]


def run(held, opts):
    recording = recordings.read(opts.recording)
    busiest = collections.Counter(event.step for event in recording.events).most_common(1)[0][0] - 1
    recording.cells[busiest]["execs"] = True
    if opts.modules:
        recording.cells[busiest - 1]["imports"] = True
    workspace = Workspace(opts)
    held.callback(workspace.remove)
    versions = versions_of(workspace)
    with driver.create(opts.out) as out:
        with contextlib.closing(Kernel(opts, workspace, versions)) as session:
            if not opts.late:
                got = session.run(Cell("import replay; replay.load()", silent=True, store_history=False), [])
                if got["status"] != "ok":
                    raise driver.Failure("the libraries were not loaded: %s" % got.get("error"))
            driver.write(
                out,
                {
                    "session": dict(
                        versions,
                        recording=recording.name,
                        pid=session.pid,
                        late=opts.late,
                        libraries=workspace.libraries,
                        truth_from=recording.header["truth_from"],
                    )
                },
            )
            driver.say({"pid": session.pid, "ready": True}, opts)
            ok = run_cells(session, workspace, recording, opts, out)
            driver.say({"done": True, "cells": len(recording.cells)}, opts)
        note = workspace.notes().get(recording.after, {})
        driver.write(out, dict({"name": "exit", "source": None, "truth": oracle.truth(recording)[-1],
                                "status": "ok" if as_recorded(note) else "error"}, **note))
    return 0 if ok and as_recorded(note) else 1


def versions_of(workspace):
    try:
        return json.loads(subprocess.check_output(workspace.command("-c", _PROBE), env=workspace.env))
    except (OSError, subprocess.CalledProcessError) as e:
        raise driver.Failure("%s has no ipykernel: %s" % (workspace.opts.python, e)) from e


if __name__ == "__main__":
    opts = options()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
