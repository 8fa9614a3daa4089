"""JupyterHub with two users, in a tree of Debian. Each user's server runs as that user of the machine, and starts the
kernel that cells are run in.
"""

import json
import os
import subprocess
import urllib.error
import urllib.request

import hubpage
from cells import Elsewhere, need
from engine import Engine, holds, until

USERS = {"ada": 3001, "bob": 3002}
TOKEN = "of-the-test-alone"
CONFIG = """
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:8081"
c.JupyterHub.authenticator_class = "jupyterhub.auth.DummyAuthenticator"
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.cookie_secret_file = "/run/cookie"
c.ConfigurableHTTPProxy.pid_file = "/run/proxy.pid"
c.JupyterHub.services = [{"name": "test", "api_token": "%s"}, %r]
c.JupyterHub.load_roles = [
    {"name": "test", "services": ["test"], "scopes": ["admin:users", "admin:servers", "access:servers"]}, %r
]
""" % (TOKEN, hubpage.SERVICE, hubpage.ROLE)


class OfServer:
    """A kernel that a user's server has started."""

    def __init__(self, hub, user):
        self.hub = hub
        made = hub.api("POST", "/user/%s/api/kernels" % user, {"name": "python3"})
        self.path = "/user/%s/api/kernels/%s" % (user, made["id"])
        self.file = os.path.join(hub.tree, "home", user, ".local/share/jupyter/runtime/kernel-%s.json" % made["id"])
        until("the kernel of %s has its file" % user, lambda: os.path.exists(self.file))

    def interrupt(self):
        self.hub.api("POST", self.path + "/interrupt", {})


class JupyterHub(Engine):
    name, version, address, ready = "JupyterHub", "3.0.0", "127.0.0.1:8000", "/hub/health"

    def command(self):
        self.tree = os.path.join(self.engines, "jupyterhub-" + self.version, "tree")
        holds("%s is there" % self.tree, os.path.isdir(self.tree))
        for one in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", "/" + one, os.path.join(self.tree, one)], check=True)
        for one in ("run", "tmp", "home"):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", os.path.join(self.tree, one)],
                           check=True)
        os.chmod(os.path.join(self.tree, "tmp"), 0o1777)
        # The machine has these users as well, so that they have names for the agent. All of it ends with the namespace.
        with open("/etc/passwd") as f:
            users = self.write("passwd", f.read() + "".join(
                "%s:x:%d:%d::/home/%s:/bin/sh\n" % (name, number, number, name) for name, number in USERS.items()))
        subprocess.run(["mount", "--bind", users, "/etc/passwd"], check=True)
        for name, number in USERS.items():
            home = os.path.join(self.tree, "home", name)
            os.mkdir(home, 0o700)
            os.chown(home, number, number)
            hubpage.name_notebook(home, number)
        with open(os.path.join(self.tree, "run/config.py"), "w") as f:
            f.write(CONFIG)
        hubpage.install(self.tree)
        return ["chroot", self.tree, "env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/run",
                "sh", "-c", "cd /run && exec jupyterhub -f config.py"]

    def api(self, method, path, body=None):
        """Returns the answer to a request with the test's token."""
        request = urllib.request.Request(
            "http://%s%s" % (self.address, path), None if body is None else json.dumps(body).encode(),
            {"Authorization": "token " + TOKEN, "Content-Type": "application/json"}, method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as e:
            holds("%s answers %s %s" % (self.name, method, path), False, e, e.read()[:2000], self.said())

    def agent(self):
        return hubpage.section(self.tree)

    def kernels(self):
        return [lambda user=user: self.notebook(user) for user in USERS]

    def notebook(self, user):
        self.api("POST", "/hub/api/users/" + user, {})
        self.api("POST", "/hub/api/users/%s/server" % user, {})
        until("the server of %s is ready" % user, lambda: self.api("GET", "/hub/api/users/" + user)["server"])
        return Elsewhere(OfServer(self, user))

    def check(self, session):
        for kernel, user in zip(session.kernels, USERS):
            with open("/proc/%d/status" % kernel.pid) as f:
                number = int(next(line for line in f if line.startswith("Uid:")).split()[1])
            holds("%s: the kernel of %s is that user's process" % (self.name, user), number == USERS[user], number)
            labels = next(labels for labels, _ in session.agent.series("ipytracer_kernel_info")
                          if labels["pid"] == str(kernel.pid))
            holds("%s: the agent's label is %s" % (self.name, user), labels["user"] == user, labels)
            cells = [w for k, w in session.cells if k is kernel]
            found = [session.agent.value(name, user=user)
                     for name in ("ipytracer_cells_total", "ipytracer_cell_need_bytes_sum")]
            holds("%s: %s has the number and the needs of these cells, and of no others: %d bytes" % (
                self.name, user, sum(map(need, cells))), found == [len(cells), sum(map(need, cells))], found)
        hubpage.check(self.address, session.agent, dict(zip(USERS, session.kernels)), {
            user: [w for k, w in session.cells if k is kernel] for kernel, user in zip(session.kernels, USERS)
        })
