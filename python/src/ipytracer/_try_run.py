"""Runs the code cells of a notebook in a fresh kernel, for `tracer try` (docs/try.md).

The tracer hands this file to a Python as text (python -c): it uses nothing of the package. A request, one object of
JSON in a line, comes from standard input; standard output gets one object a line: begin with the kernel's process, each
cell with its outputs, cells over, the values of the variables, end. A line of standard input must come behind begin,
when the tracer has attached, and behind cells over, when it has detached.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import time

if sys.path[:1] == [""]:
    del sys.path[0]  # a file json.py beside the notebook is the notebook's, not this program's

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DIGEST = "application/x-ipytracer-digest+json"
_PICTURE = 8 << 20   # bytes of an encoded picture that are sent whole
_TEXT = 256 << 10    # bytes of a text that are sent whole
_HEAD = 4 << 10      # bytes of a longer text that are sent, with its hash
_OUTPUTS = 1000      # outputs of a cell


class Ended(Exception):
    """The kernel is no longer there, or does not come up."""


class Budget:
    """The bytes that a run may still send."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, n: int) -> bool:
        """Report whether n bytes are left, and take them."""
        if n > self.left:
            return False
        self.left -= n
        return True


class Text:
    """A text that grows: its beginning, its size and its hash."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._kept, self._whole = budget, bytearray(), True
        self._hash, self._size = hashlib.blake2b(digest_size=16), 0

    def add(self, text: str, most: int = _TEXT) -> None:
        """Append a text. What is beyond the limit goes into the hash only."""
        data = text.encode("utf-8", "replace")
        self._hash.update(data)
        self._size += len(data)
        if self._whole and len(self._kept) + len(data) <= most and self._budget.take(len(data)):
            self._kept += data
        else:
            if self._whole:
                self._kept = (self._kept + data)[:_HEAD]
            self._whole = False

    def sent(self) -> dict[str, Any]:
        """Return it as it is sent."""
        text = bytes(self._kept).decode("utf-8", "replace")
        if self._whole:
            return {"text": text}
        return {"head": text, "size": self._size, "hash": self._hash.hexdigest()}


class Outputs:
    """The outputs of a cell, streams of one name in one piece."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._all: list[dict[str, Any]] = []
        self._clear = False
        self.more = 0
        self.failed: dict[str, str] | None = None
        self.digest: Any = None

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take a message of the kernel's."""
        if kind == "clear_output":
            self._clear = bool(content.get("wait"))
            if not self._clear:
                self._all = []
            return
        if kind not in ("stream", "display_data", "execute_result", "update_display_data", "error"):
            return
        if self._clear:
            self._all, self._clear = [], False
        if kind == "stream":
            self._stream(str(content.get("name")), str(content.get("text")))
        elif kind == "error":
            self.failed = {"name": str(content.get("ename"))[:200], "value": str(content.get("evalue"))[:2000]}
        else:
            self._data(kind, content.get("data") or {})

    def _stream(self, name: str, text: str) -> None:
        for one in reversed(self._all):
            if one.get("name") == name:
                one["data"]["text/plain"].add(text)
                return
        new = Text(self._budget)
        new.add(text)
        self._put({"type": "stream", "name": name, "data": {"text/plain": new}})

    def _data(self, kind: str, data: dict[str, Any]) -> None:
        if DIGEST in data:
            self.digest = data[DIGEST]
            return
        made = {}
        for mime in sorted(data)[:20]:
            value = data[mime]
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            made[str(mime)[:200]] = new = Text(self._budget)
            new.add(text, _PICTURE if str(mime).startswith("image/") else _TEXT)
        self._put({"type": kind, "data": made})

    def _put(self, one: dict[str, Any]) -> None:
        if len(self._all) < _OUTPUTS:
            self._all.append(one)
        else:
            self.more += 1

    def sent(self) -> list[dict[str, Any]]:
        """Return them as they are sent."""
        return [{**one, "data": {m: t.sent() for m, t in one["data"].items()}} for one in self._all]


class Jupyter:
    """A kernel of jupyter_client's."""

    def __init__(self, name: str, folder: str, env: dict[str, str]) -> None:
        import jupyter_client
        import jupyter_client.kernelspec
        try:
            spec = jupyter_client.kernelspec.KernelSpecManager().get_kernel_spec(name)
            if spec.language.lower() != "python":
                raise Ended("the notebook's kernel %s is not a Python" % name)
        except jupyter_client.kernelspec.NoSuchKernel:
            name = "python3"
        self._kernel = jupyter_client.KernelManager(kernel_name=name)
        self._kernel.start_kernel(cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self._client = self._kernel.client()
        self._client.start_channels()
        try:
            self._client.wait_for_ready(timeout=300)
        except RuntimeError as e:
            raise Ended("the kernel does not start: %s" % e) from e
        self.what = "kernel %s" % name
        self.pid = self._process()

    def _process(self) -> int:
        """Return the kernel's process: what Jupyter has started may be a program that started it."""
        asked = self._client.execute("", silent=True, user_expressions={"pid": "__import__('os').getpid()"})
        while True:
            try:
                message = self._client.get_shell_msg(timeout=60)
            except queue.Empty:
                raise Ended("the kernel does not answer") from None
            if message.get("parent_header", {}).get("msg_id") == asked:
                break
        pid = message["content"]["user_expressions"]["pid"]
        return int(pid["data"]["text/plain"])

    def run(self, code: str, outputs: Outputs, silent: bool = False) -> None:
        """Run code to its end."""
        asked = self._client.execute(code, silent=silent, store_history=not silent, allow_stdin=False,
                                     stop_on_error=False)
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=1)
            except queue.Empty:
                if not self._kernel.is_alive():
                    raise Ended("the kernel has ended") from None
                continue
            if message.get("parent_header", {}).get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content.get("execution_state") == "idle":
                return
            outputs.take(kind, content)

    def end(self) -> None:
        """End the kernel: by a request, and then by force."""
        with contextlib.suppress(Exception):
            self._client.stop_channels()
        with contextlib.suppress(Exception):
            self._kernel.shutdown_kernel(now=True)


class Shell:
    """A process with a shell of IPython's, where Jupyter's packages are not there."""

    def __init__(self, source: str, folder: str, env: dict[str, str]) -> None:
        here, there = os.pipe(), os.pipe()
        self._process = subprocess.Popen([sys.executable, "-c", source, str(there[0]), str(here[1])], cwd=folder,
                                         env=env, pass_fds=(there[0], here[1]), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there[0])
        os.close(here[1])
        self._to, self._from = os.fdopen(there[1], "w"), os.fdopen(here[0])
        if not self._from.readline():
            raise Ended("%s has no IPython" % sys.executable)
        self.what, self.pid = "IPython's shell", self._process.pid

    def run(self, code: str, outputs: Outputs, silent: bool = False) -> None:
        """Run code to its end."""
        self._to.write(json.dumps([code, silent]) + "\n")
        self._to.flush()
        for line in self._from:
            kind, content = json.loads(line)
            if kind == "idle":
                return
            outputs.take(kind, content)
        raise Ended("the kernel has ended")

    def end(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def _kernel(asked: dict[str, Any]) -> Iterator[Jupyter | Shell]:
    """Start a kernel, and end it."""
    folder, env = asked["folder"], dict(os.environ)
    if asked.get("seed") is not None:
        env["PYTHONHASHSEED"] = str(asked["seed"] % (1 << 32))
    kernel: Jupyter | Shell
    try:
        import ipykernel  # noqa: F401
        import jupyter_client  # noqa: F401
    except ImportError:
        kernel = Shell(asked["shell"], folder, env)
    else:
        kernel = Jupyter(asked.get("kernel") or "python3", folder, env)
    try:
        yield kernel
    finally:
        kernel.end()


class Run:
    """A run of a notebook."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked, self._budget = asked, Budget(asked["bytes"])
        self._to = os.fdopen(os.dup(1), "w", encoding="ascii")

    def _say(self, event: str, **more: Any) -> None:
        self._to.write(json.dumps({"event": event, **more}) + "\n")
        self._to.flush()

    def whole(self) -> None:
        """Run it."""
        try:
            with _kernel(self._asked) as kernel:
                self._say("begin", what=kernel.what, python="%d.%d.%d" % sys.version_info[:3], pid=kernel.pid)
                _wait()
                if self._asked.get("seed") is not None:
                    kernel.run(_seeded(self._asked["seed"], "\n".join(self._asked["cells"])), Outputs(self._budget),
                               silent=True)
                self._cells(kernel)
                self._say("cells over")
                _wait()
                self._values(kernel)
        except Ended as e:
            self._say("end", why=str(e))
        except Exception as e:
            self._say("end", why=("%s: %s" % (type(e).__name__, e))[:500])
        else:
            self._say("end", why="")

    def _cells(self, kernel: Jupyter | Shell) -> None:
        for number, source in enumerate(self._asked["cells"], 1):
            self._say("cell begins", cell=number)
            outputs, begun = Outputs(self._budget), time.monotonic_ns()
            kernel.run(source, outputs)
            self._say("cell", cell=number, ns=time.monotonic_ns() - begun, outputs=outputs.sent(), more=outputs.more,
                      failed=outputs.failed)
            if outputs.failed and not self._asked["allow_errors"] and number not in self._asked["may_fail"]:
                return

    def _values(self, kernel: Jupyter | Shell) -> None:
        outputs = Outputs(self._budget)
        packed = base64.b85encode(self._asked["digest"].encode()).decode()
        kernel.run("exec(__import__('base64').b85decode(%r), {'__name__': '_ipytracer_digest'})" % packed, outputs,
                   silent=True)
        self._say("values", values=outputs.digest or {}, failed=outputs.failed)


def _wait() -> None:
    """Wait for the tracer."""
    if not sys.stdin.buffer.readline():
        raise Ended("the tracer has ended")


def _seeded(seed: int, sources: str) -> str:
    """Return code that seeds the generators of random numbers that the notebook may use."""
    lines = ["import random as _ipytracer", "_ipytracer.seed(%d)" % seed]
    if any(name in sources for name in ("numpy", "pandas", "sklearn", "scipy", "seaborn", "matplotlib")):
        lines += ["try:", "    import numpy.random as _ipytracer", "    _ipytracer.seed(%d)" % (seed % (1 << 32)),
                  "except ImportError: pass"]
    if "torch" in sources or "lightning" in sources or "transformers" in sources:
        lines += ["try:", "    import torch as _ipytracer", "    _ipytracer.manual_seed(%d)" % seed,
                  "except ImportError: pass"]
    return "\n".join([*lines, "del _ipytracer"])


def main() -> None:
    """Do what standard input asks."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    asked = json.loads(sys.stdin.buffer.readline())
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        Run(asked).whole()


if __name__ == "__main__":
    main()
