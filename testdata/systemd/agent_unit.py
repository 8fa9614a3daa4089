"""Checks scripts/packaging/ipytracer-agent.service beside a notebook of another user's."""

import json
import os
import signal
import stat
import subprocess
import urllib.request

from checks import PATIENCE, Notebook, command, holds, shown, until

AGENT, FIGURES = "ipytracer-agent", "http://127.0.0.1:9464/metrics"


def figures_of_agent(name, **labels):
    """Returns the values of the agent's series with a name and some labels."""
    with urllib.request.urlopen(FIGURES, timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    return [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{")
            and all('%s="%s"' % pair in line for pair in labels.items())]


def follows(nobody):
    """scripts/packaging/ipytracer-agent.service: the kernels of two users, with four capabilities and no root."""
    command("systemctl", "start", AGENT)
    pid = shown(AGENT, "MainPID")
    with open("/proc/%s/status" % pid) as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    four = 1 << 2 | 1 << 19 | 1 << 38 | 1 << 39     # DAC_READ_SEARCH, SYS_PTRACE, PERFMON, BPF
    holds("the agent has started when it answers, as a user of its own with four capabilities",
          status["Uid"].split()[0] != "0" and int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == four
          and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status)
    until("the notebook among its kernels", lambda: figures_of_agent("ipytracer_kernel_info", pid=nobody.pid))
    nobody.run("x = bytearray(48 << 20); del x")
    need = until("the need of its cell", lambda: sum(figures_of_agent("ipytracer_kernel_highest_bytes", user="nobody")))
    holds("it has the need of another user's cell", 48 << 20 <= need < 50 << 20, need)
    command("systemctl", "reload", AGENT)
    remembers()
    command("systemctl", "stop", AGENT)
    how = shown(AGENT, "Result"), shown(AGENT, "ExecMainStatus"), shown(AGENT, "ActiveState")
    holds("systemctl stop ends the agent well", how == ("success", "0", "inactive"), how)


def deaths_of(user):
    """Returns the reports that the agent gives a user."""
    words = "/usr/local/bin/tracer", "deaths", "--format", "json"
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, cwd="/", user=user,
                          group="nogroup", extra_groups=[])
    return json.loads(done.stdout) if done.returncode == 0 else []


def remembers():
    """Reports of deaths outlive the agent, in a folder that is not everybody's; each user gets the own ones."""
    killed = Notebook("games")
    until("the other notebook among its kernels", lambda: figures_of_agent("ipytracer_kernel_info", pid=killed.pid))
    os.kill(killed.pid, signal.SIGKILL)
    before = until("a report of its death", lambda: deaths_of("games"))
    command("systemctl", "restart", AGENT)
    after = until("the report after a restart", lambda: deaths_of("games"))
    holds("a report of a death outlives the agent, and its user gets it",
          len(before) == 1 and before == after and before[0]["cause"] == "SIGKILL", (before, after))
    holds("nobody else does", deaths_of("nobody") == [])
    folder = os.stat("/var/lib/private/ipytracer-agent")
    holds("the folder is the agent's alone", folder.st_uid != 0 and stat.S_IMODE(folder.st_mode) == 0o700, folder)
