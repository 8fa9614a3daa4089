#!/usr/bin/env python3
"""Runs `tracer agent` with the four capabilities of its unit and without each of them, beside another user's kernel, in
a process id namespace of its own. It prints a line for each fact that holds, and ends with status 1 where one does not.

    unshare --pid --mount --fork --mount-proc --kill-child run_agent_confined.py TRACER CAPABILITY…

The agent has no new privileges, and all files are read-only for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from run_agent import LABEL, PATIENCE, SERIES, holds, until

NOBODY = 65534
ADDRESS = re.compile(r"figures are at (http://\S+/metrics);")
READ_ONLY = 'mount --make-rprivate / && mount -o remount,bind,ro / && exec "$0" "$@"'


def agent_with(tracer, capabilities):
    """Returns the command of an agent that has these capabilities and no others, as root with a read-only root."""
    only = "--bounding-set=-all,+" + ",+".join(capabilities)
    return ["unshare", "--mount", "sh", "-c", READ_ONLY, "setpriv", "--no-new-privs", "--inh-caps=-all", only,
            tracer, "agent", "--listen", "127.0.0.1:0"]


def kernel_of_another_user(folder):
    """Returns a notebook of nobody's: requests in, answers out. Nobody may not read this folder, if it is in a home."""
    program = shutil.copy(os.path.join(os.path.dirname(__file__), "run_notebook.py"), folder)
    os.chown(folder, NOBODY, NOBODY)
    kernel = subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder,
        env=dict(os.environ, HOME=folder, JUPYTER_RUNTIME_DIR=folder, IPYTHONDIR=folder, TMPDIR=folder,
                 PYDEVD_DISABLE_FILE_VALIDATION="1"))
    kernel.number = json.loads(kernel.stdout.readline())["pid"]
    return kernel


def refused(tracer, capabilities):
    """Without one of the capabilities the agent ends with status 3 and one sentence that names that one."""
    for lacking in capabilities:
        rest = [c for c in capabilities if c != lacking]
        done = subprocess.run(agent_with(tracer, rest), capture_output=True, text=True, timeout=PATIENCE)
        named = re.findall(r"CAP_[A-Z_]+[A-Z]", done.stderr.replace("CapabilityBoundingSet", ""))
        holds("without %s: status 3, and one sentence that names it" % lacking,
              done.returncode == 3 and done.stderr.count("\n") == 1 and named == ["CAP_" + lacking.upper()],
              done.returncode, done.stderr)
        print(done.stderr, end="")


def traces(tracer, capabilities, folder):
    """With all of them it has the figures of another user's kernel."""
    log = os.path.join(folder, "log")
    with open(log, "w") as out:
        agent = subprocess.Popen(agent_with(tracer, capabilities), stderr=out)
    match = until("the agent is ready", lambda: ADDRESS.search(open(log).read()))

    def series(name):
        with urllib.request.urlopen(match[1], timeout=60) as answer:
            lines = map(SERIES.match, answer.read().decode().splitlines())
            return [(dict(LABEL.findall(line[2] or "")), float(line[3])) for line in lines if line and line[1] == name]

    kernel = kernel_of_another_user(folder)
    until("the kernel is traced", lambda: series("ipytracer_kernel_info"))
    kernel.stdin.write('{"code": "x = bytearray(77 << 20)"}\n')
    kernel.stdin.flush()
    labels, need = until("with all four, another user's cell of 77 MiB is seen",
                         lambda: [s for s in series("ipytracer_kernel_highest_bytes") if s[1] >= 77 << 20])[0]
    holds("and has its need", need < 79 << 20, need)
    holds("its user is shown", labels["user"] == "nobody", labels)
    status = open("/proc/%d/status" % agent.pid).read()
    holds("the agent has no new privileges", "NoNewPrivs:\t1" in status, status)
    holds("and its files are read-only", os.statvfs("/proc/%d/root/" % agent.pid).f_flag & os.ST_RDONLY)
    agent.terminate()
    holds("it ends well", agent.wait(60) == 0, open(log).read())


def main():
    tracer, capabilities = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        refused(tracer, capabilities)
        traces(tracer, capabilities, folder)
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every kernel with it


if __name__ == "__main__":
    main()
