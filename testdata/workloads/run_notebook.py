#!/usr/bin/env python3
"""Runs cells in a fresh ipykernel, as they are asked for on standard input: a line of JSON each, the cell's text. Says first
{"pid": …}, then for each cell {"outputs": [text/plain, …], "status": …, "seconds": …}. Needs jupyter_client."""

import json
import os
import sys
import time

from jupyter_client.manager import KernelManager


def say(**what):
    print(json.dumps(what), flush=True)


def outputs_of(client, code):
    """Runs a cell: what was shown below it, as text, and how it ended."""
    shown = []

    def show(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            shown.append(content["text"])
        elif message["msg_type"] == "error":
            shown.append("%s: %s" % (content["ename"], content["evalue"]))
        elif message["msg_type"] in ("display_data", "execute_result", "update_display_data"):
            shown.append(content["data"].get("text/plain", ""))

    reply = client.execute_interactive(code, timeout=120, output_hook=show)
    return shown, reply["content"]["status"]


def main():
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(extra_arguments=sys.argv[1:], env=dict(os.environ, PYDEVD_DISABLE_FILE_VALIDATION="1"))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        shown, _ = outputs_of(client, "import os; print(os.getpid())")
        say(pid=int(shown[0]))
        for line in sys.stdin:
            began = time.monotonic()
            shown, status = outputs_of(client, json.loads(line))
            say(outputs=shown, status=status, seconds=time.monotonic() - began)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
