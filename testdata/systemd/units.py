"""Checks scripts/packaging/*.service under a real systemd, as a service of boot.sh's. Each line that it prints is a
fact that held; the first failure ends it, with the messages of systemd and the units."""

import fcntl
import glob
import json
import os
import socket
import struct
import subprocess
import sys
import time

from agent_unit import follows
from checks import Notebook, command, holds, shown, until

SERVE, SOCKET = "ipytracer-serve", "/run/ipytracer/serve.sock"
GROUP = "/sys/fs/cgroup/system.slice/%s.service/cgroup.procs" % SERVE
# seconds that systemctl stop may take under attack; 62 is the limit for killing a session, which takes 3
ENDS = 20
# A third user attacks the server: descriptors that take hours to close, with a request, after one and alone;
# connections that send nothing, and that never read. It prints the number of each, and keeps them.
ATTACK = r"""
import array, os, resource, socket, struct, sys
resource.setrlimit(resource.RLIMIT_NOFILE, [resource.getrlimit(resource.RLIMIT_NOFILE)[1]] * 2)
def connection():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect("%s")
    return s
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
listening.bind(("127.0.0.1", 0))
listening.listen()
def slow():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    s.connect(listening.getsockname())
    end, _ = listening.accept()
    s.setblocking(False)
    try:
        while True: s.send(bytes(1 << 16))
    except BlockingIOError: pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30000))
    return s, end
kept, made = [], {}
def once(name, n):
    c = connection()
    kept.append(c)
    if name == "silent": return
    if name in ("behind", "unread"): c.send(b'{"ask": "stop"}')
    if name == "unread": return
    s, end = slow()
    kept.append((s, end))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()] * 200))]
    c.sendmsg([b"" if name == "alone" else b'{"ask": "stop"}'], rights)
for n in range(200):
    for name in "request", "behind", "alone", "silent", "unread":
        try: once(name, n); how = name
        except OSError as e: how = name + ": " + type(e).__name__
        made[how] = made.get(how, 0) + 1
print(made, flush=True)
sys.stdin.read()
""" % SOCKET
def of_service():
    """Returns the processes of the service's control group, with the fields of /proc/PID/status of each."""
    found = {}
    try:
        with open(GROUP) as group:
            pids = group.read().split()
    except FileNotFoundError:
        return found
    for pid in pids:
        try:
            with open("/proc/%s/status" % pid) as status, open("/proc/%s/cmdline" % pid) as words:
                facts = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
                found[int(pid)] = facts, words.read().split("\0")[:-1]
        except OSError:
            pass     # it has just ended
    return found


def session_of(notebook):
    for pid, (status, words) in of_service().items():
        if words[1:2] == ["attach"] and words[-1] == str(notebook.pid):
            return pid, status
    return None


def well_formed():
    for unit in sorted(glob.glob("/etc/systemd/system/ipytracer*.service")):
        name = os.path.basename(unit).replace("@", "@1")
        answer = command("systemd-analyze", "verify", "--man=no", "/etc/systemd/system/" + name)
        complaints = [line for line in answer.splitlines() if "ipytracer" in line]
        holds("systemd has nothing to say against %s" % os.path.basename(unit), not complaints, complaints)
        exposure = command("systemd-analyze", "security", "--no-pager", "--offline=true", unit).splitlines()[-1]
        print("  " + exposure.encode("ascii", "ignore").decode().strip(" >:"), flush=True)


HOME = "/home/ipytracer-units"


def give_home(user):
    """Sets, in the user database, the user's home to the one that reports go to."""
    with open("/etc/passwd") as f:
        rows = [line.split(":") for line in f]
    for row in rows:
        if row[0] == user:
            row[5] = HOME
    with open("/etc/passwd", "w") as f:
        f.writelines(":".join(row) for row in rows)
    os.makedirs(HOME)
    command("chown", user, HOME)


def figures(nobody, hub):
    """A plain user's notebook, and one that is itself a service."""
    for notebook, user, what in ((nobody, "nobody", "a plain user's notebook"),
                                 (hub, "daemon", "a notebook in a service with a /tmp and /dev of its own")):
        began = time.monotonic()
        # "begins", or "was begun already" where the first answer came too late on a busy machine
        notebook.shows("%tracer start", "a session ")
        holds("%s begins a session" % what)
        notebook.shows("x = bytearray(64 << 20); del x", "need 64.0")
        print("  its first figure came after %.1f s" % (time.monotonic() - began), flush=True)
        uid = command("id", "-u", user).strip()
        pid, status = session_of(notebook)
        holds("its session is that user's, without capabilities, in the service's control group",
              status["Uid"].split() == [uid] * 4 and int(status["CapEff"], 16) == 0 and status["Seccomp"] == "2",
              status)


def stops(nobody, hub):
    began = time.monotonic()
    command("systemctl", "stop", SERVE)
    print("  systemctl stop took %.1f s" % (time.monotonic() - began), flush=True)
    how = shown(SERVE, "Result"), shown(SERVE, "ExecMainStatus"), shown(SERVE, "ActiveState")
    holds("systemctl stop ends the server well, and nothing of it is left",
          how == ("success", "0", "inactive") and not of_service() and not os.path.exists(SOCKET), (how, of_service()))
    for notebook in nobody, hub:
        notebook.shows("pass", "the tracer has ended")
    holds("its notebooks say that the tracer has ended")
    left = glob.glob(HOME + "/.local/state/ipytracer/*-%d.txt" % nobody.pid)
    told = open(left[0]).read() if left else ""
    whose = (lambda st: (st.st_uid, oct(st.st_mode)))(os.stat(left[0])) if left else None
    holds("the session has left its report in its user's home, for that user alone",
          len(left) == 1 and "x = bytearray(64 << 20)" in told
          and whose == (int(command("id", "-u", "nobody")), "0o100600"), (left, told, whose))
    holds("and without a server, what to type", "sudo tracer attach" in nobody.run("%tracer start"))


def killed(nobody):
    """The server dies by SIGKILL: systemd ends its sessions, and begins another server."""
    command("systemctl", "start", SERVE)
    nobody.shows("%tracer start", "a session begins")
    nobody.shows("x = bytearray(64 << 20); del x", "need 64.0")
    session, _ = session_of(nobody)
    first = shown(SERVE, "MainPID")
    os.kill(int(first), 9)
    until("another server", lambda: shown(SERVE, "ActiveState") == "active"
          and shown(SERVE, "MainPID") not in (first, "0"))
    holds("a server that was killed begins again, and its sessions are gone", not os.path.exists("/proc/%d" % session))
    nobody.shows("pass", "the tracer has ended")
    nobody.shows("%tracer start", "a session begins")
    nobody.shows("x = bytearray(32 << 20); del x", "need 32.0")
    holds("the same notebook has its figures again")
    command("systemctl", "stop", SERVE)


def loopback():
    """This network namespace's own, which is down at first."""
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))   # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING


def attacked(nobody):
    """A third user attacks the server, and the notebook's own user stops its session: others have their figures, and
    the server ends."""
    loopback()
    command("systemctl", "start", SERVE)
    nobody.shows("%tracer start", "a session begins")
    with subprocess.Popen(["/usr/bin/python3", "-c", ATTACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          user="games", group="nogroup", extra_groups=[], cwd="/") as attacker:
        made = attacker.stdout.readline().strip()
        holds("1,000 connections of a third user's: descriptors that take hours to close, silence, no reading", made)
        print("  made: " + made, flush=True)
        nobody.shows("x = bytearray(48 << 20); del x", "need 48.0")
        nobody.run("%tracer stop")
        nobody.shows("%tracer start", "a session begins")
        nobody.shows("x = bytearray(64 << 20); del x", "need 64.0")
        holds("beside them another user's notebook has its figures, ends its session and begins another")
        main = shown(SERVE, "MainPID")
        threads, files = len(os.listdir("/proc/%s/task" % main)), len(os.listdir("/proc/%s/fd" % main))
        holds("the server has fewer than 100 threads and 1,100 descriptors", threads < 100 and files < 1100,
              (threads, files))
        print("  %d threads, %d descriptors" % (threads, files), flush=True)
        session, _ = session_of(nobody)
        subprocess.run(["kill", "-STOP", str(session)], user="nobody", group="nogroup", extra_groups=[], check=True)
        began = time.monotonic()
        command("systemctl", "stop", SERVE)
        took = time.monotonic() - began
        print("  systemctl stop took %.1f s" % took, flush=True)
        how = shown(SERVE, "Result"), shown(SERVE, "ExecMainStatus"), shown(SERVE, "ActiveState")
        holds("systemctl stop ends it all the same, with a session that its user has stopped",
              how == ("success", "0", "inactive") and not of_service() and took < ENDS, (how, of_service(), took))
        attacker.stdin.close()
    nobody.shows("pass", "the tracer has ended")


def records(nobody):
    """scripts/packaging/ipytracer@.service, on the same kernel."""
    unit = "ipytracer@%d" % nobody.pid

    def recorded():
        return glob.glob("/var/lib/ipytracer/%d-*.arrows" % nobody.pid)

    command("systemctl", "start", unit)
    # a cell that runs meanwhile is seen in part
    until("its recording, which has its name once the probes are in place", recorded)
    nobody.shows("x = bytearray(48 << 20); del x", "need 48.0")
    command("systemctl", "stop", unit)
    how = shown(unit, "Result"), shown(unit, "ExecMainStatus")
    recordings = recorded()
    holds("ipytracer@PID ends well and leaves one recording", how == ("success", "0") and len(recordings) == 1,
          (how, recordings))
    report = json.loads(command("/usr/local/bin/tracer", "report", "--format", "json", recordings[0]))
    cells = [w for w in report["windows"] if w["kind"] == "cell" and w["source"].startswith("x = bytearray(48")]
    certificate = report["certificate"]
    holds("with the cell in it, exactly",
          cells and cells[-1]["meters"]["cpu.resident"]["exact"] and certificate["complete"], certificate)


def main():
    well_formed()
    command("systemctl", "enable", "--now", SERVE)
    holds("systemctl enable --now enables and starts it",
          shown(SERVE, "UnitFileState") == "enabled" and shown(SERVE, "ActiveState") == "active")
    holds("it listens when it has started", os.path.exists(SOCKET))
    give_home("nobody")
    nobody, hub = Notebook("nobody"), Notebook("daemon", service=True)
    figures(nobody, hub)
    stops(nobody, hub)
    hub.end()
    killed(nobody)
    attacked(nobody)
    follows(nobody)
    records(nobody)
    nobody.end()


try:
    main()
except Exception as e:
    print("%s: %s" % (type(e).__name__, e), flush=True)
    subprocess.run("systemctl status --no-pager ipytracer*; journalctl --no-pager --quiet --lines 60",
                   shell=True, stderr=subprocess.STDOUT)
    sys.exit(1)
