#!/usr/bin/env python3
"""Two cells at once: a kernel with a subshell (ipykernel 7), driven from the outside. Needs jupyter_client here.

    run_subshell.py PYTHON [CHROOT]

stdout {"pid": N, "ready": true}; a line on stdin starts it; it ends when every cell has been answered.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from jupyter_client import BlockingKernelClient

FIRST = "import numpy as np, time, threading\nover = threading.Event()"
LONG = "x = np.ones(32 << 20)\nprint('begun', flush=True)\nover.wait(120)\ndel x"
SHORT = "y = np.ones(16 << 20)\ntime.sleep(0.2)\ndel y"
AWAITED = "import asyncio\nz = np.ones(8 << 20)\nawait asyncio.sleep(0.2)\ndel z"
LAST = "over.set()"
PATIENCE = 120  # seconds


def main():
    python, chroot = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="ipytracer-subshell-", dir="/tmp") as folder:
        connection = os.path.join(folder, "connection.json")
        inside = ["chroot", chroot[0]] if chroot else []
        kernel = subprocess.Popen(inside + [python, "-m", "ipykernel_launcher", "-f", connection], stdout=sys.stderr)
        try:
            client = connect(connection)
            print(json.dumps({"pid": kernel.pid, "ready": True}), flush=True)
            sys.stdin.readline()
            cells(client)
            client.shutdown()
            kernel.wait(20)
        finally:
            kernel.kill()


def connect(connection):
    end = time.monotonic() + PATIENCE
    while not os.path.exists(connection) or not os.path.getsize(connection):
        if time.monotonic() > end:
            raise SystemExit("the kernel wrote no connection file")
        time.sleep(0.05)
    client = BlockingKernelClient(connection_file=connection)
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    return client


def cells(client):
    client.execute_interactive(FIRST, output_hook=lambda message: None)
    client.control_channel.send(client.session.msg("create_subshell_request", {}))
    reply = client.get_control_msg(timeout=PATIENCE)["content"]
    if reply.get("status") != "ok":
        raise SystemExit("this ipykernel has no subshells")
    waiting = {send(client, LONG)}
    while client.get_iopub_msg(timeout=PATIENCE)["content"].get("text") != "begun\n":
        pass
    for code in SHORT, AWAITED, LAST:
        waiting.add(send(client, code, reply["subshell_id"]))
    end = time.monotonic() + PATIENCE
    while waiting and time.monotonic() < end:
        waiting.discard(client.get_shell_msg(timeout=PATIENCE)["parent_header"]["msg_id"])


def send(client, code, subshell=None):
    message = client.session.msg(
        "execute_request",
        {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        },
    )
    if subshell:
        message["header"]["subshell_id"] = subshell
    client.shell_channel.send(message)
    return message["header"]["msg_id"]


if __name__ == "__main__":
    main()
