#!/usr/bin/env python3
"""Runs the cells in a fresh ipykernel. See driver.py for the protocol with the caller; needs jupyter_client here."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import time

import driver
from model import Cell


class Kernel:
    def __init__(self, opts, workspace, versions):
        if not versions["ipykernel"]:
            raise driver.Failure("%s has no ipykernel" % opts.python)
        self.opts, self.workspace = opts, workspace
        connection = os.path.join(workspace.path, "connection.json")
        self.errors = open(os.path.join(workspace.path, "stderr"), "w+b")
        # Of its own session: a signal for the driver's terminal is not one for the kernel.
        self.process = subprocess.Popen(workspace.command("-m", "ipykernel_launcher", "-f", connection),
                                        # it ends when this does
                                        env=dict(workspace.env, JPY_PARENT_PID=str(os.getpid())),
                                        cwd=workspace.path if not opts.chroot else "/", start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        self.pid = self.process.pid
        self.client = None
        try:
            self._await_connection_file(connection)
            self._await_answer(connection)
        except BaseException:
            self.close()
            raise

    def _await_connection_file(self, path):
        end = time.monotonic() + self.opts.timeout
        while time.monotonic() < end:
            self._alive()
            try:
                with open(path) as f:
                    json.load(f)
                return
            except (OSError, ValueError):
                time.sleep(0.02)
        raise driver.Failure("the kernel wrote no connection file")

    def _await_answer(self, connection):
        from jupyter_client import BlockingKernelClient

        end = time.monotonic() + self.opts.timeout
        while True:
            self._alive()
            if self.client:
                self.client.stop_channels()
            self.client = BlockingKernelClient(connection_file=connection)
            self.client.load_connection_file()
            self.client.start_channels()
            try:
                return self.client.wait_for_ready(timeout=self.opts.timeout)
            except RuntimeError as e:   # a heart that does not beat for a second, as on a busy machine, is dead to it
                if time.monotonic() > end:
                    raise driver.Failure("the kernel does not answer: %s" % e) from e
                time.sleep(0.5)

    def _alive(self):
        if self.process.poll() is not None:
            self.errors.seek(0)
            raise driver.Failure(
                "the kernel ended with status %d: %s"
                % (self.process.returncode, self.errors.read().decode("utf-8", "replace").strip()[-500:])
            )

    def run(self, cell, marks):
        request = cell.request
        result = {"source": cell.source, "requested_ns": driver.now()}
        message = self.client.execute(cell.source, silent=request.get("silent", False), allow_stdin=False,
                                      store_history=request.get("store_history", True), stop_on_error=False)
        if "interrupt_at" in request:
            self.workspace.wait_for_mark(request["interrupt_at"], marks, self.opts.timeout)
            driver.wait_until_asleep(self.pid, self.opts.timeout)     # in the statement behind the mark
            os.kill(self.pid, signal.SIGINT)
        result["execution_count"] = self._until_idle(message)
        result["idle_ns"] = driver.now()
        reply = self._reply(message)["content"]
        result["status"] = reply["status"]
        if reply["status"] != "ok":
            result["error"] = "%s: %s" % (reply.get("ename"), reply.get("evalue"))
        if reply.get("ename") == "KeyboardInterrupt":
            result["status"] = "interrupted"
        if not request.get("store_history", True) or request.get("silent"):
            result["execution_count"] = None
        return result

    def _until_idle(self, message):
        """The execution count execute_input gave, once the kernel is idle again; None when it gave none."""
        count, end = None, time.monotonic() + self.opts.timeout
        while True:
            try:
                got = self.client.get_iopub_msg(timeout=0.5)
            except queue.Empty:
                self._alive()
                if time.monotonic() > end:
                    raise driver.Failure("not done after %g s" % self.opts.timeout) from None
                continue
            if got["parent_header"].get("msg_id") != message:
                continue
            if got["msg_type"] == "execute_input":
                count = got["content"]["execution_count"]
            elif got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return count

    def _reply(self, message):
        while True:
            try:
                got = self.client.get_shell_msg(timeout=self.opts.timeout)
            except queue.Empty:
                raise driver.Failure("idle, but no reply") from None
            if got["parent_header"].get("msg_id") == message:
                return got

    def settle(self, seconds):
        time.sleep(seconds)

    def close(self):
        if self.client:
            if self.process.poll() is None:
                self.client.shutdown()
            self.client.stop_channels()
        driver.end_process(self.process)
        self.errors.close()


@contextlib.contextmanager
def all_ran(held, opts, workspace, versions, cells):
    """Runs cells in a kernel of their own, one after the other; all must be ok. Gives where results go, and the cells'
    results."""
    kernel = Kernel(opts, workspace, versions)
    held.callback(kernel.close)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        results = []
        for cell in cells:
            result = dict({"name": cell.name}, **kernel.run(cell, []))
            if result["status"] != "ok":
                raise driver.Failure("cell %s: %s" % (cell.name, result.get("error")))
            results.append(result)
        yield out, results
    driver.say({"done": True, "cells": len(cells)}, opts)


def noted(path):
    """What the last cell has left behind."""
    try:
        with open(path) as f:
            return json.load(f)
    except OSError as e:
        raise driver.Failure("no notes: %s" % e) from e


def started(held, opts):
    """A fresh kernel that ends with what holds it, and the versions of what runs in it."""
    workspace = driver.Workspace(opts)
    held.callback(workspace.remove)
    versions = workspace.probe()
    kernel = Kernel(opts, workspace, versions)
    held.callback(kernel.close)
    return kernel, versions


def run_cells(held, opts, cells, before=0):
    """Runs cells, names with sources, one after the other and writes what the kernel replied to each; so many of them
    before it says that it is ready."""
    kernel, versions = started(held, opts)
    with driver.create(opts.out) as out:
        driver.write(out, {"session": dict(versions, pid=kernel.pid)})
        for i, (name, source) in enumerate(cells):
            if i == before:
                driver.say({"pid": kernel.pid, "ready": True}, opts)
            driver.write(out, dict({"name": name}, **kernel.run(Cell(name, source, statements=[]), [])))
    driver.say({"done": True, "cells": len(cells)}, opts)
    return 0


if __name__ == "__main__":
    sys.exit(driver.drive(driver.options(__doc__.split("\n")[0]).parse_args(), "kernel", Kernel))
