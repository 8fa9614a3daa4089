#!/usr/bin/env python3
"""Attacks the addresses of `tracer agent`, in namespaces of its own, and prints how long figures took beside each.
It prints a line for what holds, and ends with status 1 where something does not.

    unshare --pid --mount --net --fork --mount-proc --kill-child run_agent_doors.py TRACER
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from run_agent import holds, until

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/src")
STRANGER = 61111    # a user
TOKEN = "0123456789abcdef" * 4
PORT = 9464
HERE = "127.0.0.1:%d" % PORT

# What a stranger runs. Each prints a line once it has begun, and goes on until it is killed.
SQUATTER = """
import http.server, sys
class Squats(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("GOT", self.path, self.headers.get("Authorization"), flush=True)
        self.send_response(200); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Squats)
print("listens", flush=True)
server.serve_forever()
"""
IDLE = """
import socket, sys, time
def begins(i):
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        path, more = (b"healthz", b"\\r\\n") if i % 2 else (b"metrics", b"X: ")
        s.sendall(b"GET /%s HTTP/1.1\\r\\nHost: x\\r\\n%s" % (path, more))
        return s
    except OSError: pass
held = [begins(i) for i in range(int(sys.argv[2]))]
print("holds", flush=True)
while True:
    time.sleep(0.5)
    for i, s in enumerate(held):
        try: s.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        except Exception: held[i] = begins(i)     # it was closed
"""
CROWD = """
import http.client, sys, threading
def asks():
    while True:
        try:
            c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
            while True:
                c.request("GET", "/metrics"); c.getresponse().read()
        except Exception: pass
for _ in range(int(sys.argv[2])):
    threading.Thread(target=asks, daemon=True).start()
print("asks", flush=True)
threading.Event().wait()
"""
SLOW = """
import socket, sys
held = []
while True:
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.setblocking(False)
        held.append(s)
        s.send(b"GET /metrics HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" * 50)
    except OSError: pass
    if len(held) == int(sys.argv[2]): print("reads nothing", flush=True)
    if len(held) > 500: held.pop(0).close()
"""


class Stranger:
    """A program of another user's."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            ["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", "/usr/bin/python3", "-c",
             program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        holds("a stranger %s" % self.process.stdout.readline().strip(), True)

    def end(self):
        self.process.kill()
        return self.process.communicate()[0]


class Agent:
    """An agent with its configuration; sockets: those that are listened at for it, as by systemd."""

    def __init__(self, tracer, folder, text, sockets=()):
        self.log = os.path.join(folder, "log")
        config = os.path.join(folder, "agent.yaml")
        with open(config, "w") as f:
            f.write("version: 1\ndeaths: {off: true}\n" + text)
        words = [tracer, "agent", "--config", config]
        before = None
        if sockets:
            def before():
                for i, s in enumerate(sockets):
                    os.dup2(s.fileno(), 100 + i)
                for i in range(len(sockets)):
                    os.dup2(100 + i, 3 + i)
                    os.close(100 + i)
                os.environ.update(LISTEN_FDS=str(len(sockets)), LISTEN_PID=str(os.getpid()))
                os.execv(tracer, words)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stderr=log, preexec_fn=before, close_fds=not sockets)

    def said(self):
        with open(self.log) as f:
            return f.read()

    def ends(self, how=signal.SIGTERM):
        began = time.monotonic()
        self.process.send_signal(how)
        status = self.process.wait(60)
        return status, time.monotonic() - began


def get(path, at=HERE):
    """Returns the status, the text and how long it took, on a connection of its own."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen("http://%s%s" % (at, path), timeout=60) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        status, text = e.code, e.read().decode()
    except OSError as e:
        status, text = 0, str(e)
    return status, text, time.monotonic() - began


def answers():
    status, text, _ = get("/metrics")
    return status == 200 and "ipytracer_kernels" in text


def asks_hub(target, token_file):
    """Returns what JupyterHub's service finds about a user: how many agents were asked, and how many were silent."""
    sys.path.insert(0, SOURCES)
    from ipytracer import _hub_ask

    async def ask():
        return await _hub_ask.Agents([_hub_ask.Target(target)], token_file).about("ada")
    found = asyncio.run(ask())
    return found.asked, found.silent


def taken(tracer, folder, token_file):
    """Another program has the port: the agent traces, says so once, and answers once the port is free. Whoever listens
    gets nothing from JupyterHub's service."""
    squatter = Stranger(SQUATTER, PORT)
    agent = Agent(tracer, folder, "health: 127.0.0.1:9465\nhub_page:\n  listen: 127.0.0.1:9466\n"
                  "  hubs: [{token_file: %s}]\n" % token_file)
    until("the agent says that it lives, and does not answer", lambda: get("/healthz", "127.0.0.1:9465")[1].startswith(
        "ok\nthere are no answers at %s: " % HERE))
    status, text, _ = get("/readyz", "127.0.0.1:9465")
    holds("it is not ready", status == 503 and "address already in use" in text, status, text)
    time.sleep(3)
    holds("it says so once, and goes on", agent.said().count("another program has it") == 1
          and agent.process.poll() is None, agent.said())
    holds("JupyterHub's service gets no answer from the stranger", asks_hub("http://" + HERE, token_file) == (1, 1))
    got = squatter.end()
    holds("and does not send the token", "GOT /hub/prove" in got and TOKEN not in got and "hub/user" not in got, got)
    until("it answers once the port is free", answers)
    holds("and is ready", get("/readyz", "127.0.0.1:9465")[:2] == (200, "ok\n"))
    holds("the hub's page is not at the public address", get("/hub/user?name=ada")[0] == 404)
    holds("over the network both prove themselves", asks_hub("http://127.0.0.1:9466", token_file) == (1, 0))
    holds("at a socket of root's the service is answered",
          asks_hub("unix:/run/ipytracer-hub/agent.sock", token_file) == (1, 0))
    stranger = subprocess.run(
        ["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", "/usr/bin/python3", "-c",
         "import socket; socket.socket(socket.AF_UNIX).connect('/run/ipytracer-hub/agent.sock')"],
        stderr=subprocess.PIPE, text=True)
    holds("a stranger cannot connect to it", "PermissionError" in stranger.stderr, stranger.stderr)
    return agent


def beside(what, attack):
    """Prints how long figures and probes take beside an attack, of 30 each."""
    took, all_of = {}, {}
    for path, at in ("/metrics", HERE), ("/healthz", HERE), ("/healthz", "127.0.0.1:9465"):
        found = []
        for _ in range(30):
            status, text, long = get(path, at)
            if status != 200:
                holds("%s%s answers beside %s" % (at, path, what), False, status, text[:200])
            found.append(long)
            time.sleep(0.02)
        all_of[at + path], took[at + path] = found, max(found)
    attack.end()
    holds("beside %s: %s" % (what, ", ".join("%s after %.3f s at most, %.3f s as the median" % (
        where, long, sorted(all_of[where])[15]) for where, long in took.items())),
        max(took.values()) < float(os.environ.get("DOORS_LIMIT", "20")))


def resident(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:")) >> 10


def attacked(agent):
    usual = resident(agent.process.pid)
    beside("nobody", Stranger("print('does nothing', flush=True)"))
    beside("192 connections that are idle or never end a request", Stranger(IDLE, PORT, 192))
    beside("40 threads that ask for figures", Stranger(CROWD, PORT, 40))
    beside("200 connections that ask 50 times and read nothing, and more", Stranger(SLOW, PORT, 200))
    now = resident(agent.process.pid)
    holds("resident memory: %d MiB before, %d MiB now" % (usual, now), now < usual + 128)


def activated(tracer, folder, token_file):
    """systemd listens: the addresses are there before the agent, and after it."""
    tcp, unix = socket.socket(), socket.socket(socket.AF_UNIX)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind(("127.0.0.1", PORT))
    path = "/run/ipytracer-hub/agent.sock"
    if os.path.exists(path):
        os.remove(path)
    unix.bind(path)
    for s in tcp, unix:
        s.listen(128)
    text = "hub_page: {hubs: [{token_file: %s}]}\n" % token_file
    agent = Agent(tracer, folder, text, (tcp, unix))
    holds("who connects before the agent answers is answered", answers(), agent.said())
    holds("the hub as well", asks_hub("unix:" + path, token_file) == (1, 0), agent.said())
    agent.ends(signal.SIGKILL)
    found = []
    waits = threading.Thread(target=lambda: found.append(answers()))
    waits.start()
    agent = Agent(tracer, folder, text, (tcp, unix))
    waits.join(60)
    holds("who connects while there is no agent is answered by the next one", found == [True], agent.said())
    holds("the socket of systemd stays", os.path.exists(path))
    status, _ = agent.ends()
    holds("it ends well", status == 0 and os.path.exists(path), status, agent.said())


def main():
    tracer = sys.argv[1]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        token_file = os.path.join(folder, "token")
        with open(token_file, "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(TOKEN + "\n")
        agent = taken(tracer, folder, token_file)
        attacked(agent)
        attack = Stranger(IDLE, PORT, 64)
        status, long = agent.ends()
        attack.end()
        holds("beside idle connections it ends %.1f s after SIGTERM" % long, status == 0 and long < 30, agent.said())
        activated(tracer, folder, token_file)
        print("all holds", flush=True)
        os._exit(0)      # the namespace ends, and every process in it


if __name__ == "__main__":
    main()
