"""What checks of units under boot.sh's systemd need: commands, facts that hold, notebooks of other users."""

import json
import os
import subprocess
import time

HERE = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/opt/check", "LANG": "C.UTF-8", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
PATIENCE = 180       # seconds, as a time limit; no result depends on it
# As a JupyterHub does that gives each user a service.
HUB = """[Service]
User=daemon
PrivateTmp=yes
PrivateDevices=yes
ProtectHome=yes
NoNewPrivileges=yes
Environment=%s
StandardInput=file:%s
StandardOutput=file:%s
StandardError=journal
ExecStart=%s
"""


def command(*words, status=0):
    """Runs a command, and returns its output."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    if done.returncode != status:
        raise AssertionError("%s: status %d: %s" % (" ".join(words), done.returncode, done.stdout))
    return done.stdout


def shown(unit, name):
    return command("systemctl", "show", "--value", "--property=" + name, unit).strip()


def until(what, condition, instead=lambda: ""):
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError("not seen: %s %s" % (what, instead()))
        time.sleep(0.05)


def holds(sentence, condition=True, seen=""):
    if not condition:
        raise AssertionError("does not hold: %s %s" % (sentence, seen))
    print(sentence, flush=True)


class Notebook:
    """A kernel of a user, which runs cells on request. service: systemd runs it."""

    def __init__(self, user, service=False):
        home = "/var/tmp/home-" + user
        os.mkdir(home)
        command("chown", user, home)
        here = dict(HERE, HOME=home)
        words = ["/usr/bin/python3", "/opt/check/run_notebook.py"]
        if service:
            ends = home + "/in", home + "/out"
            for end in ends:
                os.mkfifo(end)
            with open("/etc/systemd/system/notebook.service", "w") as unit:
                unit.write(HUB % (" ".join("%s=%s" % pair for pair in here.items()), *ends, " ".join(words)))
            command("systemctl", "daemon-reload")
            command("systemctl", "start", "--no-block", "notebook")
            self.ends = open(ends[0], "w"), open(ends[1])
        else:
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                                       env=here, user=user, group="nogroup", extra_groups=[])
            self.ends = process.stdin, process.stdout
        self.pid = self._next()["pid"]
        self.run("%load_ext ipytracer")

    def _next(self):
        line = self.ends[1].readline()
        if not line:
            raise AssertionError("the notebook has ended")
        return json.loads(line)

    def run(self, cell):
        self.ends[0].write(json.dumps(cell) + "\n")
        self.ends[0].flush()
        return "".join(self._next()["outputs"])

    def shows(self, cell, want):
        said = [""]

        def run():
            said.append(self.run(cell))
            return want in said[-1]

        return until("%r shows %r" % (cell, want), run, lambda: said[-1])

    def end(self):
        self.ends[0].close()
        self.ends[1].read()
