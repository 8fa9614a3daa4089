#!/usr/bin/env python3
"""Runs the cells in a fresh ipykernel on the stand-ins, and writes the true memory of each.

    stdout  {"pid": N, "ready": true}     the kernel is up, has run no cell and loaded no CUDA library
    stdin   a line (or end of file)       go
    stdout  {"done": true, "cells": N}    every result is in --out
    stdin   a line (or end of file)       the session is shut down

Results are JSON lines. The first is {"session": {pid, devices, ...}}; then one a cell: {name, source, status, error,
execution_count, requested_ns, idle_ns, truth, between, children} or {name, skipped: why}. Times are of CLOCK_MONOTONIC.
`truth` is {meter: {start, peak, end}} from the request to idle; `between` the same from there to the next request;
`children`: [{pid, truth}]. Exit status: 0 all cells ran, 1 one did not (a sentence on stderr says why), 2 usage.
"""

import argparse
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cells as workload
import model
from build import build
from truth import Truth, segment

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """An error, with a sentence for the caller."""


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, metavar="FILE", help="results, JSON lines")
    parser.add_argument("--cells", metavar="A,B", help="only these, and those that all count on")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="the interpreter (default: the one that runs this)"
    )
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for each cell (60)")
    parser.add_argument(
        "--begin", metavar="A", help="the cells before A run before the kernel is said to be ready, and have no results"
    )
    parser.add_argument(
        "--hidden", action="store_true", help="the libraries lie where the dynamic linker does not look"
    )
    parser.add_argument("--settle", type=float, default=0, metavar="S", help="the least time after each cell (0)")
    parser.add_argument("--visible", metavar="1,0", help="CUDA_VISIBLE_DEVICES of the kernel (default: not set)")
    parser.add_argument("--libraries", metavar="DIR", help="where build.py has put the libraries; else they are built")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for lines on standard input")
    return parser.parse_args()


class Workspace:
    """A directory under /tmp with everything the session needs."""

    def __init__(self, opts):
        self.path, self.settle = tempfile.mkdtemp(prefix="ipytracer-gpu-", dir="/tmp"), opts.settle
        try:
            self.libraries = os.path.abspath(opts.libraries) if opts.libraries else os.path.join(self.path, "lib")
            if not opts.libraries:
                os.mkdir(self.libraries)
                build(self.libraries)
            shutil.copy(os.path.join(HERE, "gpu.py"), self.path)
        except (OSError, subprocess.CalledProcessError) as e:
            self.remove()
            raise Failure("no stand-ins: %s" % e) from e
        truth = os.path.join(self.path, "truth")
        self.truth = Truth(truth, os.path.join(self.libraries, "libtruth_reader.so"))
        self.env = dict(os.environ, PYTHONPATH=self.path, IPYTHONDIR=os.path.join(self.path, "ipython"),
                        JUPYTER_RUNTIME_DIR=os.path.join(self.path, "jupyter"), PYTHONDONTWRITEBYTECODE="1",
                        STANDIN_LIBRARIES=self.libraries, LD_LIBRARY_PATH=self.libraries, STANDIN_TRUTH=truth,
                        STANDIN_DEVICES=str(model.DEVICES), STANDIN_MEMORY=str(model.MEMORY))
        for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "STANDIN_FASTEST"):
            self.env.pop(name, None)
        if opts.hidden:
            del self.env["LD_LIBRARY_PATH"]
        if opts.visible is not None:
            self.env["CUDA_VISIBLE_DEVICES"] = opts.visible

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Kernel:
    def __init__(self, opts, workspace):
        from jupyter_client import BlockingKernelClient

        self.timeout, self.client = opts.timeout, None
        connection = os.path.join(workspace.path, "connection.json")
        self.errors = open(os.path.join(workspace.path, "stderr"), "w+b")
        # Of its own session: a signal for the driver's terminal is not one for the kernel.
        self.process = subprocess.Popen(
            [opts.python, "-m", "ipykernel_launcher", "-f", connection],
            cwd=workspace.path,
            env=dict(workspace.env, JPY_PARENT_PID=str(os.getpid())),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=self.errors,
            stderr=self.errors,
        )
        self.pid = self.process.pid
        try:
            self._await_connection_file(connection)
            self.client = BlockingKernelClient(connection_file=connection)
            self.client.load_connection_file()
            self.client.start_channels()
            self.client.wait_for_ready(timeout=self.timeout)
        except BaseException as e:
            self.close()
            if isinstance(e, RuntimeError):
                raise Failure("the kernel does not answer: %s" % e) from e
            raise

    def _await_connection_file(self, path):
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            self.alive()
            try:
                with open(path) as f:
                    json.load(f)
                return
            except (OSError, ValueError):
                time.sleep(0.02)
        raise Failure("the kernel wrote no connection file")

    def alive(self):
        if self.process.poll() is not None:
            self.errors.seek(0)
            raise Failure("the kernel ended with status %d: %s"
                          % (self.process.returncode, self.errors.read().decode("utf-8", "replace").strip()[-500:]))

    def run(self, source):
        """The fields of a result that the kernel knows."""
        result = {"requested_ns": now()}
        message = self.client.execute(source, allow_stdin=False, stop_on_error=False)
        result["execution_count"] = self._until_idle(message)
        result["idle_ns"] = now()
        while True:
            try:
                reply = self.client.get_shell_msg(timeout=self.timeout)
            except queue.Empty:
                raise Failure("idle, but no reply") from None
            if reply["parent_header"].get("msg_id") == message:
                break
        result["status"] = reply["content"]["status"]
        if result["status"] != "ok":
            result["error"] = "%s: %s" % (reply["content"].get("ename"), reply["content"].get("evalue"))
        return result

    def _until_idle(self, message):
        count, end = None, time.monotonic() + self.timeout
        while True:
            try:
                got = self.client.get_iopub_msg(timeout=0.5)
            except queue.Empty:
                self.alive()
                if time.monotonic() > end:
                    raise Failure("not done after %g s" % self.timeout) from None
                continue
            if got["parent_header"].get("msg_id") != message:
                continue
            if got["msg_type"] == "execute_input":
                count = got["content"]["execution_count"]
            elif got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return count

    def close(self):
        if self.client:
            if self.process.poll() is None:
                self.client.shutdown()
            self.client.stop_channels()
        for act in (lambda: None, self.process.terminate, self.process.kill):
            act()
            try:
                self.process.wait(5)
                break
            except subprocess.TimeoutExpired:
                pass
        self.errors.close()


class Session:
    """Runs the cells one after another; the truth is cut before and after each."""

    def __init__(self, workspace, kernel):
        self.truth, self.kernel, self.settle = workspace.truth, kernel, workspace.settle
        self.children = set()
        self.last = None        # the result that still lacks the time after it
        self.cut = self.truth.cut(kernel.pid)

    def next_cut(self):
        before, self.cut = self.cut, self.truth.cut(self.kernel.pid)
        return segment(before, self.cut)

    def run(self, cell):
        between = self.next_cut()
        if self.last:
            self.last["between"] = between
        result = dict({"name": cell.name, "source": cell.source}, **self.kernel.run(cell.source))
        result["truth"] = self.next_cut()
        result["children"] = [{"pid": pid, "truth": segment({}, self.truth.cut(pid))} for pid in self.new_children()]
        time.sleep(max(cell.settle, self.settle))
        self.last = result
        return result

    def new_children(self):
        found = [pid for pid in self.truth.pids() if pid != self.kernel.pid and pid not in self.children]
        self.children.update(found)
        return found


def drive(opts):
    def stop(signum, frame):
        raise Failure("stopped by signal %d" % signum)

    signal.signal(signal.SIGTERM, stop)
    workspace = kernel = None
    try:
        wanted = workload.select(opts.cells.split(",") if opts.cells else None)
        workspace = Workspace(opts)
        kernel = Kernel(opts, workspace)
        first = [cell.name for cell in wanted].index(opts.begin) if opts.begin else 0
        session, results = Session(workspace, kernel), []
        run_cells(opts, wanted[:first], session, [])
        say({"pid": kernel.pid, "ready": True}, opts)
        try:
            run_cells(opts, wanted[first:], session, results)
        finally:        # writes the results, even if a cell ended the kernel
            write(opts, kernel, workspace, results)
        say({"done": True, "cells": sum("skipped" not in r for r in results)}, opts)
        return 0
    except KeyError as e:
        print("%s: no cell %s: python3 cells.py lists them" % (os.path.basename(sys.argv[0]), e), file=sys.stderr)
        return 2
    except (Failure, OSError) as e:
        print("%s: %s" % (os.path.basename(sys.argv[0]), e), file=sys.stderr)
        return 1
    finally:
        if kernel:
            kernel.close()
        if workspace:
            workspace.remove()


def run_cells(opts, wanted, session, results):
    for cell in wanted:
        missing = [
            m for m in cell.requires if subprocess.call([opts.python, "-c", "import " + m], stderr=subprocess.DEVNULL)
        ]
        try:
            results.append({"name": cell.name, "skipped": "no " + ", ".join(missing)} if missing else session.run(cell))
        except Failure as e:
            raise Failure("cell %s: %s" % (cell.name, e)) from e
    if session.last:
        session.last["between"] = session.next_cut()


def write(opts, kernel, workspace, results):
    session = {"pid": kernel.pid, "python": opts.python, "devices": workspace.truth.devices()}
    with open(opts.out, "w") as out:
        for record in [{"session": session}] + results:
            out.write(json.dumps(record) + "\n")


def say(message, opts):
    """Writes a line to the caller, then waits for a line."""
    print(json.dumps(message), flush=True)
    if not opts.no_wait:
        sys.stdin.readline()


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


if __name__ == "__main__":
    sys.exit(drive(options()))
