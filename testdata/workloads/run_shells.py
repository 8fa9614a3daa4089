#!/usr/bin/env python3
"""Runs cells in many shells at once. Each is a process of its own, forked from this one, which has imported IPython and
NumPy. A line of JSON on standard input asks, and one on standard output answers:

    {"fork": 10}                 ends all shells, and begins new ones: {"pids": […]}
    {"cells": ["…", …]}          runs one cell in each: {"results": [{"status": …, "told": …}, …]}

told is the value of the name `told` in the shell, which it then has no more. The status of a shell that has died is
"died", and what waitpid says is told.
"""

import json
import os
import signal
import sys

import numpy  # noqa: F401
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


def serve(requests, results):
    """Run the cells that come, in this process."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    sys.stdout = open(os.devnull, "w")
    for line in requests:
        done = shell.run_cell(json.loads(line), store_history=True)
        error = done.error_in_exec or done.error_before_exec
        told = repr(error) if error else shell.user_ns.pop("told", None)
        print(json.dumps({"status": "error" if error else "ok", "told": told}), file=results, flush=True)


class Shell:
    def __init__(self, others):
        asked, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for other in others:             # a shell ends when this process does
                other.close()
            for ours in (self._ask, self._answers):
                os.close(ours)
            serve(os.fdopen(asked), os.fdopen(answer, "w"))
            os._exit(0)
        os.close(asked)
        os.close(answer)
        self.requests, self.results = os.fdopen(self._ask, "w"), os.fdopen(self._answers)

    def close(self):
        for end in (self.requests, self.results):
            try:
                end.close()
            except BrokenPipeError:
                pass

    def end(self):
        self.close()
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def ask(self, cell):
        try:
            print(json.dumps(cell), file=self.requests, flush=True)
        except BrokenPipeError:
            pass

    def result(self):
        line = self.results.readline()
        if line:
            return json.loads(line)
        return {"status": "died", "told": os.waitpid(self.pid, 0)[1]}


def main():
    shells = []
    for line in sys.stdin:
        request = json.loads(line)
        if "fork" in request:
            for shell in shells:
                shell.end()
            shells = []
            for _ in range(request["fork"]):
                shells.append(Shell(shells))
            answer = {"pids": [shell.pid for shell in shells]}
        else:
            for shell, cell in zip(shells, request["cells"]):
                shell.ask(cell)
            answer = {"results": [shell.result() for shell in shells]}
        print(json.dumps(answer), flush=True)
    for shell in shells:
        shell.end()


if __name__ == "__main__":
    main()
