"""A plain Python process that runs a storm on request, here or in another root."""

import json
import os
import shutil
import subprocess
import tempfile

from kernel import inside
from tracing import Failure

HERE = os.path.dirname(os.path.abspath(__file__))

class Worker:
    """Use it with `with`. run(function, **arguments) is subjects/serve.py's function of that name."""

    def __init__(self, python="/usr/bin/python3", root=None, cpu=None):
        self.python, self.root, self.cpu = python, root, cpu

    def __enter__(self):
        self._place = tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp")
        for name in os.listdir(os.path.join(HERE, "subjects")):
            if name.endswith((".py", ".c")):
                shutil.copy(os.path.join(HERE, "subjects", name), self._place.name)
        library = os.path.join(self._place.name, "storms.so")
        built = subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC",
                                "-o", library, os.path.join(self._place.name, "storms.c")],
                               capture_output=True, text=True)
        if built.returncode:
            raise Failure("the C storms do not compile: " + built.stderr.strip()[-300:])
        self._errors = open(os.path.join(self._place.name, "stderr"), "w+")
        command = inside(self.root, [self.python, os.path.join(self._place.name, "serve.py"), library])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=self._errors, cwd="/", env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        self.pid = self.process.pid
        self.about = self._answer()
        if self.cpu is not None:
            os.sched_setaffinity(self.pid, {self.cpu})
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self._errors.close()
        self._place.cleanup()

    def run(self, function, **arguments):
        self.process.stdin.write(json.dumps([function, arguments]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise Failure(
                f"the process that was measured ended with status {self.process.wait()}: {self._errors.read()[-300:]}")
        return json.loads(line)
