#!/usr/bin/env python3
"""Runs cells in the kernels of a Jupyter server: one that it has, one that it starts, one that it starts again. The pid
that is said is the server's; cells run in a kernel before. See driver.py for the protocol with the caller and the
options.

Results are JSON lines: {"session": …}, one for each cell {name, kernel, source, status, execution_count, …}, where
kernel is the pid of the process that ran it."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import driver
from run_kernel import Kernel

CELL = """
import numpy as np
def make(n):
    return np.ones(n, dtype=np.uint8)
{name} = make({size})
"""


class Cell:
    request = {}

    def __init__(self, name, size):
        self.name, self.source = name, CELL.format(name=name, size=size).strip("\n")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, opts, workspace):
        self.opts, self.workspace = opts, workspace
        self.errors = open(os.path.join(workspace.path, "server"), "w+b")
        env = dict(workspace.env, JPY_PARENT_PID=str(os.getpid()), HOME=workspace.path)
        self.process = subprocess.Popen(
            workspace.command(
                "-m",
                "jupyter_server",
                "--no-browser",
                "--allow-root",
                "--port=%d" % free_port(),
                "--ServerApp.token=",
                "--ServerApp.password=",
                "--ServerApp.disable_check_xsrf=True",
                "--ServerApp.root_dir=" + workspace.path,
            ),
            env=env,
            cwd=workspace.path,
            stdin=subprocess.DEVNULL,
            stdout=self.errors,
            stderr=self.errors,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.runtime = workspace.env["JUPYTER_RUNTIME_DIR"]
        self.url = self._wait(self._running, "the server did not start")

    def _wait(self, condition, message):
        end = time.monotonic() + self.opts.timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.errors.seek(0)
        raise driver.Failure("%s: %s" % (message, self.errors.read().decode("utf-8", "replace")[-800:]))

    def _running(self):
        try:
            with open(os.path.join(self.runtime, "jpserver-%d.json" % self.pid)) as f:
                url = json.load(f)["url"]
            urllib.request.urlopen(url + "api/kernels", timeout=5).close()
            return url
        except (OSError, ValueError, KeyError):
            return None

    def ask(self, path, **body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self.opts.timeout) as answer:
                return json.load(answer)
        except (OSError, ValueError) as e:
            raise driver.Failure("%s: %s" % (path, e)) from e

    def start(self):
        return ServersKernel(self, self.ask("api/kernels", name="python3")["id"])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ServersKernel(Kernel):
    """A kernel that the server has started."""

    def __init__(self, server, number):
        self.opts, self.workspace, self.server, self.number, self.client = (
            server.opts,
            server.workspace,
            server,
            number,
            None,
        )
        self.process, self.errors = server.process, server.errors
        self.connection = os.path.join(server.runtime, "kernel-%s.json" % number)
        self.connect(None)

    def connect(self, before):
        """Waits for the kernel's process, another one than before."""
        self.pid = self.server._wait(lambda: self._process(before), "no process of the kernel")
        self._await_connection_file(self.connection)
        self._await_answer(self.connection)

    def _process(self, before):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    command = f.read().split(b"\0")
            except OSError:
                continue
            if self.connection.encode() in command and int(pid) != before:
                return int(pid)
        return None

    def restart(self):
        before = self.pid
        self.server.ask("api/kernels/%s/restart" % self.number)
        self.connect(before)


def run(held, opts):
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    workspace.probe()
    server = Server(opts, workspace)
    held.callback(server.close)
    first = server.start()
    with driver.create(opts.out) as out:
        def step(kernel, name, size):
            cell = Cell(name, size)
            result = dict({"name": name, "kernel": kernel.pid, "size": size}, **kernel.run(cell, []))
            if result["status"] != "ok":
                raise driver.Failure("cell %s: %s" % (name, result.get("error")))
            driver.write(out, result)

        first.run(Cell("before", 1_000_000), [])
        driver.write(out, {"session": {"pid": server.pid}})
        driver.say({"pid": server.pid, "ready": True}, opts)
        step(first, "had", 10_000_001)
        second = server.start()
        step(second, "started", 20_000_001)
        step(first, "again", 11_000_001)
        first.restart()
        step(first, "restarted", 30_000_001)
        step(second, "other", 21_000_001)
    driver.say({"done": True, "cells": 5}, opts)
    return 0


if __name__ == "__main__":
    opts = driver.options(__doc__.split("\n")[0]).parse_args()
    sys.exit(driver.guarded(lambda held: run(held, opts)))
