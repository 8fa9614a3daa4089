"""An ipykernel and a client that times its cells."""

import os
import queue
import subprocess
import tempfile
import time

from dateutil.parser import parse
from tracing import Failure, cpu_seconds

# A mount namespace of its own: nothing to clean up however it ends. exec all the way: the pid is Python's.
_ENTER = 'for d in proc dev sys tmp; do mount --rbind /$d "$1/$d" || exit 1; done; exec chroot "$@"'


def inside(root, command):
    """The command as it runs in another root, or as it is where there is none."""
    return (
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", root] + command
        if root
        else command
    )


class Cell:
    """One execution: as the client waits for it, as the kernel's own clock sees it, and the kernel's CPU time."""

    def __init__(self, waited, inside, cpu, text):
        self.waited, self.inside, self.cpu, self.text = waited, inside, cpu, text


class Kernel:
    """Use it with `with`."""

    def __init__(self, python="/usr/bin/python3", path=(), arguments=(), root=None, env=None):
        self.command = inside(root, [python, "-m", "ipykernel_launcher", *arguments])
        self.env = env or {}
        self.path = [str(p) for p in path]

    def __enter__(self):
        from jupyter_client import BlockingKernelClient

        self._place = tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp")
        connection = os.path.join(self._place.name, "connection.json")
        env = dict(os.environ, IPYTHONDIR=os.path.join(self._place.name, "ipython"), JPY_PARENT_PID=str(os.getpid()),
                   PYTHONPATH=os.pathsep.join(self.path), PYTHONWARNINGS="ignore", **self.env)
        self.process = subprocess.Popen(self.command + ["-f", connection], cwd=self._place.name, env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        end = time.monotonic() + 60
        while not (os.path.exists(connection) and os.path.getsize(connection)):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure("the kernel did not start")
            time.sleep(0.02)
        self.client = BlockingKernelClient(connection_file=connection)
        self.client.load_connection_file()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        return self

    def __exit__(self, *failure):
        self.client.stop_channels()
        if self.process.returncode is None:
            self.end()
        self._place.cleanup()

    def end(self):
        """Kills it. Returns the CPU seconds of it and of the children that it has waited for."""
        self.process.kill()
        _, self.process.returncode, usage = os.wait4(self.pid, 0)
        return usage.ru_utime + usage.ru_stime

    def run(self, source):
        """Runs a cell; Failure if it raises."""
        cpu, start = cpu_seconds(self.pid), time.perf_counter()
        message = self.client.execute(source, allow_stdin=False)
        reply = self._reply(message)
        waited, cpu = time.perf_counter() - start, cpu_seconds(self.pid) - cpu
        text = self._until_idle(message)
        if reply["content"]["status"] != "ok":
            raise Failure(f"{reply['content'].get('ename')}: {reply['content'].get('evalue')} in {source[:60]!r}")
        inside = reply["header"]["date"] - parse(reply["metadata"]["started"])
        return Cell(waited, inside.total_seconds(), cpu, text)

    def cpu_of(self, source):
        """Returns the kernel's CPU seconds for a cell until it is idle again: figures are drawn after the reply."""
        cpu = cpu_seconds(self.pid)
        message = self.client.execute(source, allow_stdin=False, stop_on_error=False)
        self._reply(message)
        self._until_idle(message)
        return cpu_seconds(self.pid) - cpu

    def _reply(self, message):
        while True:
            try:
                got = self.client.get_shell_msg(timeout=120)
            except queue.Empty:
                raise Failure("the kernel does not reply") from None
            if got["parent_header"].get("msg_id") == message:
                return got

    def _until_idle(self, message):
        """Returns the cell's output."""
        text = ""
        while True:
            got = self.client.get_iopub_msg(timeout=120)
            if got["parent_header"].get("msg_id") != message:
                continue
            if got["msg_type"] == "stream":
                text += got["content"]["text"]
            elif got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return text
