"""A shell of IPython's that runs what comes on a pipe, for `tracer try` where Jupyter's packages are not installed.

_try_run hands this file to a Python as text, with the descriptors of requests and of messages as arguments.
"""

from __future__ import annotations

import json
import os
import sys

if sys.path[:1] == [""]:
    del sys.path[0]

from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _main(requests: int, messages: int) -> None:
    out = os.fdopen(messages, "w")

    def send(kind: str, content: dict[str, Any]) -> None:
        out.write(json.dumps([kind, content], default=repr) + "\n")
        out.flush()

    class Stream:
        encoding, errors, closed = "utf-8", "replace", False

        def __init__(self, name: str) -> None:
            self.name = name

        def write(self, text: str) -> int:
            send("stream", {"name": self.name, "text": text})
            return len(text)

        def writelines(self, lines: Any) -> None:
            for line in lines:
                self.write(line)

        def flush(self) -> None:
            pass

        def isatty(self) -> bool:
            return False

    class Publisher(DisplayPublisher):  # type: ignore[misc]
        def publish(self, data: Any, metadata: Any = None, *args: Any, **more: Any) -> None:
            send("update_display_data" if more.get("update") else "display_data", {"data": data})

        def clear_output(self, wait: bool = False) -> None:
            send("clear_output", {"wait": wait})

    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")  # type: ignore[assignment]
    sys.path.insert(0, "")
    shell = InteractiveShell.instance(colors="NoColor", display_pub_class=Publisher)
    shell.showtraceback = lambda *args, **more: None
    shell.displayhook.write_output_prompt = lambda: None
    shell.displayhook.write_format_data = lambda data, meta=None: send("execute_result", {"data": data})
    send("ready", {})
    for line in os.fdopen(requests):
        code, silent = json.loads(line)
        result = shell.run_cell(code, store_history=not silent, silent=silent)
        failed = result.error_before_exec or result.error_in_exec
        if failed is not None:
            send("error", {"ename": type(failed).__name__, "evalue": str(failed)})
        send("idle", {})


_main(int(sys.argv[1]), int(sys.argv[2]))
