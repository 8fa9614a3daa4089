#!/usr/bin/env python3
"""Runs cells in a fresh ipykernel, as they are asked for on standard input: a line of JSON each. Says first {"pid": …},
then for each line {"outputs": [text/plain, …], "status": …, "seconds": …}. Needs jupyter_client.

    run_notebook.py [--chroot DIR --python PATH]

A line is a cell's text, or what a front end may do besides:

    {"code": …, "silent": true, "store_history": false}    a request as of an extension, or of a variables' view
    {"code": …, "subshell": true}                          beside the cells of the main shell (ipykernel 7)
    {"code": …, "interrupt_at": "begun"}                   SIGINT as soon as the cell has printed that
    {"code": …, "until": "runs "}                          a line UNTIL_SHOWN of it waits until that is shown below the
                                                           cell
    {"restart": true}                                      a new kernel; the answer has its "pid", too
"""

import json
import os
import sys
import tempfile
import time

from jupyter_client.manager import KernelManager

PATIENCE = 180       # seconds
CHROOTED = "chrooted"
# It waits for as long as is needed, on a busy machine too.
WAIT = (
    "import os, time; end = time.monotonic() + %d\n"
    "while not os.path.exists(%r) and time.monotonic() < end: time.sleep(0.01)"
)


def say(**what):
    print(json.dumps(what), flush=True)


def text_of(message):
    """What a message shows, None for nothing."""
    content = message["content"]
    if message["msg_type"] == "stream":
        return content["text"]
    if message["msg_type"] == "error":
        return "%s: %s" % (content["ename"], content["evalue"])
    if message["msg_type"] in ("display_data", "execute_result", "update_display_data"):
        return content["data"].get("text/plain", "")
    return None


class Notebook:
    def __init__(self, chroot=None, python=None):
        self.manager = KernelManager(kernel_name="python3" if chroot is None else CHROOTED)
        if chroot is not None:
            self._spec(["chroot", chroot, python])
        # The kernel of a chroot must find its connection file under the same name: /tmp is mounted there.
        self.folder = tempfile.TemporaryDirectory(prefix="ipytracer-notebook-", dir="/tmp" if chroot else None)
        self.manager.connection_file = os.path.join(self.folder.name, "connection.json")
        self.manager.start_kernel(env=dict(os.environ, PYDEVD_DISABLE_FILE_VALIDATION="1"))
        self._connect()

    def _spec(self, command):
        from jupyter_client.kernelspec import KernelSpec
        self.manager._kernel_spec = KernelSpec(
            argv=command + ["-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name=CHROOTED,
            language="python",
        )

    def _connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self._wait()
        self.subshell = None
        shown, _ = self.run({"code": "import os; print(os.getpid())"})
        self.pid = int(shown[0])

    def _wait(self):
        self.client.wait_for_ready(timeout=PATIENCE)

    def run(self, request):
        """Run a cell: what was shown below it, as text, and how it ended."""
        until, flag = request.get("until"), os.path.join(self.folder.name, "shown")
        if until:
            request = dict(request, code=request["code"].replace("UNTIL_SHOWN", WAIT % (PATIENCE, flag)))
        message = self.client.session.msg(
            "execute_request",
            {
                "code": request["code"],
                "silent": request.get("silent", False),
                "store_history": request.get("store_history", True),
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
            },
        )
        if request.get("subshell"):
            message["header"]["subshell_id"] = self._subshell()
        self.client.shell_channel.send(message)
        number, shown, interrupt = message["header"]["msg_id"], [], request.get("interrupt_at")
        while True:
            got = self.client.get_iopub_msg(timeout=PATIENCE)
            if got["parent_header"].get("msg_id") != number:
                continue
            text = text_of(got)
            if text is not None:
                shown.append(text)
            if until and until in (text or ""):
                open(flag, "w").close()
            if interrupt and interrupt in (text or ""):
                interrupt = None
                self.manager.interrupt_kernel()
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                break
        while True:
            got = self.client.get_shell_msg(timeout=PATIENCE)
            if got["parent_header"].get("msg_id") == number:
                if os.path.exists(flag):
                    os.remove(flag)
                return shown, got["content"]["status"]

    def _subshell(self):
        if self.subshell is None:
            self.client.control_channel.send(self.client.session.msg("create_subshell_request", {}))
            self.subshell = self.client.get_control_msg(timeout=PATIENCE)["content"]["subshell_id"]
        return self.subshell

    def restart(self):
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self._connect()

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.folder.cleanup()


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    notebook = Notebook(options.get("--chroot"), options.get("--python"))
    try:
        say(pid=notebook.pid)
        for line in sys.stdin:
            request = json.loads(line)
            began = time.monotonic()
            if isinstance(request, dict) and request.get("restart"):
                notebook.restart()
                say(outputs=[], status="ok", pid=notebook.pid, seconds=time.monotonic() - began)
                continue
            shown, status = notebook.run(request if isinstance(request, dict) else {"code": request})
            say(outputs=shown, status=status, seconds=time.monotonic() - began)
    finally:
        notebook.close()


if __name__ == "__main__":
    main()
