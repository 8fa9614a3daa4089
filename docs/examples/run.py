#!/usr/bin/env python3
"""Runs the examples with the tracer attached, and compares their outputs with those that are committed; --update writes
them instead.

    sudo python3 docs/examples/run.py [--tracer bin/tracer] [--update] [NAME …]

Sizes agree if they differ by at most a fifth or 4 MiB, whichever is more. Times, percentages, pids, folders, versions,
bars, and the order of lines in an output do not count. Everything else must be the same. With other versions than those
of versions.txt, which the committed outputs are from, the examples run and are not compared. Exit status: 0 they agree,
1 they do not or one could not run, 2 usage.
"""

import argparse
import copy
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import nbformat

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NOTEBOOKS = ("cpu", "experiments", "gpu", "leak-hunt")
NAMES = NOTEBOOKS + ("pytest",)
AUDITED = "leak-hunt"
AUDIT_ENDS = "\nVariables at the end"   # what follows depends on the machine
SHARE, LEAST = 0.2, 4 << 20     # by how much sizes may differ
LIMIT = 900                     # seconds that one may take

# So that no figure is missing or late on a busy machine: in a notebook of your own a line that is late stands below the
# next cell.
PATIENT = "import ipytracer._line, ipytracer._shell\nipytracer._shell.AFTER_CELL = ipytracer._line.ASKED_FOR = 120.0\n"

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"(-?\d+(?:\.\d+)?) (B|KiB|MiB|GiB|TiB)\b")
_IRRELEVANT = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"(?: · )?[█▏▎▍▌▋▊▉░]+ .*"), ""),                                    # the bar, to the end of its line
    (re.compile(r" · available [\d.]+ \w+"), ""),
    # libraries: what an import maps is shown where it is much beside the need
    (re.compile(r" · mapped [\d.]+ \w+ \(line \d+ › import[^)]*\)"), ""),
    (re.compile(r"\d+ min \d\d s|\d+(?:\.\d+)? ?(?:ns|µs|ms|s)\b"), "TIME"),
    (re.compile(r"-?\d+(?:\.\d+)? ?%"), "PERCENT"),
    (re.compile(r"(?:/tmp|/root|/home)/[^\s'\"]*/"), ""),
    (re.compile(r"\bpid \d+|process \d+|[\d,]+ objects looked at"), "NUMBER"),
    (re.compile(r"(?:Python|pytest|pluggy|tracer|Linux|IPython)[- ]\d[^\s,]*"), "VERSION"),
    (re.compile(r"[-─━=]{3,}"), "---"),
    (re.compile(r"\s+"), " "),
)
# lines about it
_MACHINES = (
    "plugins:",
    "rootdir:",
    "command ",
    "process ",
    "objects looked at",
    "- ",
    "nothing; try",
    "Python's other objects",
)


def normal(text):
    """The lines of a text without what may differ, sorted, each with the sizes in it, of which each has become the word
    SIZE."""
    def size(found):
        sizes.append(float(found.group(1)) * _UNITS[found.group(2)])
        return "SIZE"
    for pattern, word in _IRRELEVANT[:4]:
        text = pattern.sub(word, text)
    out = []
    for line in text.split("\n"):
        sizes = []
        line = _SIZE.sub(size, line)
        for pattern, word in _IRRELEVANT[4:]:
            line = pattern.sub(word, line)
        line = line.strip()
        if line and not line.startswith(_MACHINES):
            out.append((line, sizes))
    return sorted(out)


def differences(committed, now):
    """What differs, in lines; nothing if they agree."""
    before, after = normal(committed), normal(now)
    found = list(
        difflib.unified_diff(
            [line for line, _ in before], [line for line, _ in after], "committed", "now", lineterm="", n=0
        )
    )
    if not found:
        for (line, sizes), (_, others) in zip(before, after):
            for a, b in zip(sizes, others):
                if abs(a - b) > max(LEAST, SHARE * abs(a)):
                    found.append("a size of %.2f MiB is now %.2f MiB in: %s" % (a / (1 << 20), b / (1 << 20), line))
    return found


def outputs(cell):
    """What a code cell shows, as text."""
    out = []
    for one in cell.get("outputs", ()):
        if one["output_type"] == "stream":
            out.append(one["text"])
        elif one["output_type"] == "error":
            out.append("%s: %s" % (one["ename"], one["evalue"]))
        else:
            out.append(one["data"].get("text/plain", ""))
    return "\n".join(out)


def compare_notebooks(name, committed, now):
    """What differs in the outputs of two runs of a notebook."""
    found = []
    for number, (a, b) in enumerate(zip(committed.cells, now.cells), 1):
        if a.cell_type == "code":
            found += ["%s, cell %d: %s" % (name, number, line) for line in differences(outputs(a), outputs(b))]
    return found


class Run:
    """One run of the examples, in a folder of its own."""

    def __init__(self, tracer, folder):
        self.tracer, self.folder = os.path.abspath(tracer), folder
        self.environment = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join([os.path.join(ROOT, "python", "src"), os.path.join(ROOT, "testdata", "gpu")]),
            IPYTHONDIR=os.path.join(folder, "ipython"),
            JUPYTER_RUNTIME_DIR=os.path.join(folder, "runtime"),
            PYTHONDONTWRITEBYTECODE="1",
            NO_COLOR="1",
            COLUMNS="120",
        )
        startup = os.path.join(folder, "ipython", "profile_default", "startup")
        os.makedirs(startup)
        with open(os.path.join(startup, "patient.py"), "w") as f:
            f.write(PATIENT)

    def _do(self, command, statuses=(0,), **more):
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            cwd=self.folder,
            env=self.environment,
            **more,
        )
        if done.returncode not in statuses:
            sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stdout))
        return done.stdout

    def _traced(self, command, statuses=(0,)):
        return self._do([self.tracer, "run", "-q", "--budget", "off", "-o", os.devnull, "--"] + command, statuses)

    def notebook(self, name):
        """Run a notebook; it with its outputs, and the text of the audit for one that has it."""
        nb = nbformat.read(os.path.join(HERE, name + ".ipynb"), 4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        path, record = os.path.join(self.folder, name + ".ipynb"), os.path.join(self.folder, name + ".arrows")
        nbformat.write(nb, path)
        if name == "gpu":
            libraries = os.path.join(self.folder, "lib")
            os.mkdir(libraries)
            self._do([sys.executable, os.path.join(ROOT, "testdata", "gpu", "build.py"), libraries])
            self.environment.update(STANDIN_LIBRARIES=libraries, LD_LIBRARY_PATH=libraries)
        if name == AUDITED:
            self._attached(path, record)
            return cleaned(nbformat.read(path, 4)), self._do([self.tracer, "audit", record]).split(AUDIT_ENDS)[0]
        self._traced(
            [
                sys.executable,
                "-m",
                "nbconvert",
                "--to",
                "notebook",
                "--execute",
                "--ExecutePreprocessor.timeout=%d" % LIMIT,
                path,
                "--output",
                path,
            ]
        )
        return cleaned(nbformat.read(path, 4)), None

    def _attached(self, path, record):
        """Run a notebook in a kernel that the tracer attaches to, and detach while it lives: who holds what is found
        out then."""
        from nbclient import NotebookClient
        nb, ready = nbformat.read(path, 4), os.path.join(self.folder, "ready")
        # NotebookClient looks there
        os.environ.update({k: self.environment[k] for k in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")})
        client = NotebookClient(nb, timeout=LIMIT, kernel_name="python3")
        with client.setup_kernel(env=self.environment):
            tracer = subprocess.Popen(
                [
                    self.tracer,
                    "attach",
                    str(client.km.provisioner.pid),
                    "-q",
                    "--budget",
                    "off",
                    "--record",
                    record,
                    "--ready-file",
                    ready,
                    "-o",
                    os.devnull,
                ],
                env=self.environment,
            )
            end = time.monotonic() + LIMIT
            while not os.path.exists(ready):
                if tracer.poll() is not None or time.monotonic() > end:
                    tracer.kill()
                    sys.exit("the tracer has not attached")
                time.sleep(0.05)
            try:
                for i, cell in enumerate(nb.cells):
                    client.execute_cell(cell, i)
            finally:
                tracer.send_signal(signal.SIGINT)
                status = tracer.wait(LIMIT)
        if status:
            sys.exit("tracer attach: status %d" % status)
        nbformat.write(nb, path)

    def pytest(self):
        """Run the suite; what it prints."""
        shutil.copy(os.path.join(HERE, "pytest", "test_example.py"), self.folder)
        return self._traced(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "ipytracer.pytest_plugin",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "--ipytracer",
                "--ipytracer-strict",
                "--ipytracer-wait=300",
                "test_example.py",
            ],
            statuses=(1,),
        )


def cleaned(nb):
    """A notebook without what is new each time it runs and nobody reads."""
    nb = copy.deepcopy(nb)
    nb.metadata = nbformat.NotebookNode(kernelspec=nb.metadata.get("kernelspec", {}), language_info={"name": "python"})
    for cell in nb.cells:
        cell.metadata = nbformat.NotebookNode({k: v for k, v in cell.metadata.items() if k == "tags"})
    return nb


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def one(run, name, update):
    """Run one; what differs."""
    if name == "pytest":
        path, now = os.path.join(HERE, "pytest", "output.txt"), run.pytest()
        if update:
            put(path, now)
        return ["pytest: " + line for line in differences(read(path), now)]
    path, (nb, audit) = os.path.join(HERE, name + ".ipynb"), run.notebook(name)
    beside = os.path.join(HERE, name + ".audit.txt")
    if update:
        put(path, nbformat.writes(nb) + "\n")
        if audit is not None:
            put(beside, audit)
    found = compare_notebooks(name, nbformat.read(path, 4), nb)
    if audit is not None:
        found += [name + ", audit: " + line for line in differences(read(beside), audit)]
    return found


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def versions():
    """Returns the versions, without their last parts, of the programs that outputs depend on."""
    import IPython
    import numpy
    import pytest

    return "".join(
        "%s %s\n" % (name, ".".join(version.split(".")[:2]))
        for name, version in (
            ("Python", "%d.%d" % sys.version_info[:2]),
            ("IPython", IPython.__version__),
            ("NumPy", numpy.__version__),
            ("pytest", pytest.__version__),
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--tracer", default=os.path.join(ROOT, "bin", "tracer"), metavar="PATH", help="the program (bin/tracer)"
    )
    parser.add_argument("--update", action="store_true", help="write the outputs instead of comparing them")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these: " + ", ".join(NAMES))
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in NAMES]
    if unknown:
        parser.error("there is no example %s" % ", ".join(unknown))
    found, committed = [], os.path.join(HERE, "versions.txt")
    if options.update:
        put(committed, versions())
    for name in options.names or NAMES:
        with tempfile.TemporaryDirectory(prefix="ipytracer-example-") as folder:
            found += one(Run(options.tracer, folder), name, options.update)
    if found and read(committed) != versions():
        print("not compared: the outputs are from\n%sand here are\n%s" % (read(committed), versions()))
        return 0
    if found:
        print("\n".join(found))
        print("If that is meant: sudo python3 docs/examples/run.py --update, and look at the difference.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
