"""Kubernetes: etcd and an API server, without a kubelet. Pods are created through the API, and their containers are
control groups made as a runtime makes them. The agent, as its service account, finds their names.
"""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request

from cells import inside
from engine import Engine, holds, until

NODE, NAMESPACE = "node-1", "ipytracer"
ADMIN = "admin-of-the-test"
CONTAINER = "notebook"
# Names of the pods that the first two kernels are in, and labels: the second is a user's server of JupyterHub's.
PODS = (
    ("jobs", "train-0", {}, {}),
    ("hub", "jupyter-ada", {"app.kubernetes.io/component": "singleuser-server"},
     {"hub.jupyter.org/username": "ada@example.org", "hub.jupyter.org/servername": ""}),
)
MEMORY = "/sys/fs/cgroup/memory" if os.path.exists("/sys/fs/cgroup/memory/cgroup.procs") else "/sys/fs/cgroup"
MANIFESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/kubernetes/agent.yaml")


class Etcd(Engine):
    name, version, address, ready = "etcd", "3.5.30", "127.0.0.1:2379", "/health"

    def command(self):
        return [
            self.program("etcd"), "--data-dir", "data", "--listen-client-urls", "http://127.0.0.1:2379",
            "--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:2380",
            "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
            "--initial-cluster", "default=http://127.0.0.1:2380",
        ]


class Kubernetes(Engine):
    name, version, address = "kube-apiserver", "1.36.3", "127.0.0.1:6443"

    def __init__(self, engines, folder):
        self.etcd = Etcd(engines, folder)
        super().__init__(engines, folder)
        self.containers = [self.pod(i, *pod) for i, pod in enumerate(PODS)]
        self.account()

    def kernels(self):
        return [lambda group=group: inside(group) for group in self.containers]

    def command(self):
        key = os.path.join(self.folder, "accounts.key")
        if not os.path.exists(key):
            subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        return [
            self.program("kube-apiserver"), "--etcd-servers", "http://127.0.0.1:2379", "--cert-dir", "certs",
            "--bind-address", "127.0.0.1", "--advertise-address", "192.0.2.1", "--secure-port", "6443",
            "--endpoint-reconciler-type", "none", "--authorization-mode", "RBAC",
            "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key,
            "--service-account-signing-key-file", key, "--service-cluster-ip-range", "10.0.0.0/24",
            "--disable-admission-plugins", "ServiceAccount",
            "--token-auth-file", self.write("tokens.csv", '%s,admin,1,"system:masters"\n' % ADMIN),
        ]

    def answers(self):
        if self.process.poll() is not None:
            holds("%s runs" % self.name, False, self.said())
        return os.path.exists(self.file("certs/apiserver.crt")) and self.call("GET", "/readyz")[0] == 200

    def file(self, name):
        return os.path.join(self.folder, name)

    def call(self, method, path, body=None, token=ADMIN, kind="application/json"):
        """Returns the status of a request, 0 if there was no answer, and what came back."""
        request = urllib.request.Request(
            "https://%s%s" % (self.address, path), json.dumps(body).encode() if body is not None else None,
            {"Authorization": "Bearer " + token, "Content-Type": kind}, method=method,
        )
        try:
            trust = ssl.create_default_context(cafile=self.file("certs/apiserver.crt"))      # it may be half written
            with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()
        except OSError as e:
            return 0, str(e)

    def make(self, path, body):
        status, text = self.call("POST", path, body)
        holds("%s makes %s" % (self.name, body["metadata"].get("name")), status in (200, 201), text)
        return json.loads(text)

    def namespace(self, name):
        if self.call("GET", "/api/v1/namespaces/" + name)[0] == 404:
            self.make("/api/v1/namespaces", {"metadata": {"name": name}})

    def pod(self, i, namespace, name, labels, annotations):
        """Makes a pod on this node. Returns its container, as contain does."""
        self.namespace(namespace)
        pods = "/api/v1/namespaces/%s/pods" % namespace
        made = self.make(pods, {
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": {"nodeName": NODE, "containers": [{"name": CONTAINER, "image": "none"}]},
        })
        number = ("%x" % (i + 10)) * 64
        status, text = self.call("PATCH", "%s/%s/status" % (pods, name), {"status": {
            "phase": "Running", "containerStatuses": [{
                "name": CONTAINER, "image": "none", "imageID": "none", "ready": True, "restartCount": 0,
                "containerID": "containerd://" + number, "state": {"running": {}}}]}},
            kind="application/strategic-merge-patch+json")
        holds("%s has the container of %s" % (self.name, name), status == 200, text)
        return self.contain(made["metadata"]["uid"], number)

    def contain(self, uid, number):
        """Makes the control group of a container of a pod. Returns what kernels need of it."""
        group = os.path.join(MEMORY, "ipytracer-fleet/kubepods/pod%s/%s" % (uid, number))
        os.makedirs(group)
        return group

    def account(self):
        """Applies the manifests as an administrator does, and makes a token of the agent's service account."""
        self.namespace(NAMESPACE)      # a dry run does not make it for what comes after it
        admin = self.config("admin", ADMIN)
        for options in (["--dry-run=server"], []):
            said = self.kubectl("--kubeconfig", admin, "apply", *options, "-f", MANIFESTS)
            holds("%s: kubectl apply %s of deploy/kubernetes: %d objects" % (
                self.name, " ".join(options), len(said.splitlines())), len(said.splitlines()) >= 6, said)
        self.token = self.kubectl("--kubeconfig", admin, "--namespace", NAMESPACE, "create", "token",
                                  "ipytracer-agent").strip()
        self.kubeconfig = self.config("agent", self.token)

    def kubectl(self, *arguments):
        """Returns what kubectl prints."""
        done = subprocess.run([os.path.join(self.engines, "kubectl-1.36.4", "kubectl"), *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            holds("kubectl %s" % " ".join(arguments), False, done.stdout)
        return done.stdout

    def config(self, name, token):
        """Writes a kubeconfig, and returns its path."""
        return self.write(name + ".kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": "here", "cluster": {
                "server": "https://" + self.address, "certificate-authority": self.file("certs/apiserver.crt")}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "here", "user": name}}],
        }))

    def agent(self):
        """Returns the section of the agent's configuration."""
        return "kubernetes: {enabled: true, node: %s, kubeconfig: %s}\n" % (NODE, self.kubeconfig)

    def check(self, session):
        for i, (namespace, name, _, annotations) in enumerate(PODS):
            kernel = session.kernels[i]
            want = {"namespace": namespace, "pod": name, "container": CONTAINER}
            if annotations:
                want["user"] = annotations["hub.jupyter.org/username"]

            def named(pid=str(kernel.pid), want=want):
                return any(labels["pid"] == pid and want.items() <= labels.items()
                           for labels, _ in session.agent.series("ipytracer_kernel_info"))

            until("%s: kernel %d has the labels %s" % (self.name, kernel.pid, want), named)
            print("ok: %s: a kernel has the names of its pod: %s" % (self.name, want), flush=True)
            cells = [w for k, w in session.cells if k is kernel]
            counted = session.agent.value("ipytracer_cells_total", **want)
            holds("%s: all of its %d cells are counted under them" % (self.name, len(cells)), counted == len(cells),
                  counted)
        self.rights()

    def rights(self):
        """The agent's rights are those that it needs, and no others."""
        pods = "/api/v1/pods?fieldSelector=spec.nodeName=" + NODE
        status, text = self.call("GET", pods, token=self.token)
        holds("%s: the agent's account may list pods" % self.name, status == 200, text)
        for method, path, body in (
            ("GET", "/api/v1/secrets", None), ("GET", "/api/v1/nodes", None), ("GET", "/api/v1/configmaps", None),
            ("GET", "/api/v1/nodes/%s/proxy/pods" % NODE, None),
            ("POST", "/api/v1/namespaces/jobs/pods/train-0/exec?command=id", None),
            ("DELETE", "/api/v1/namespaces/jobs/pods/train-0", None),
            ("POST", "/api/v1/namespaces/jobs/pods", {"metadata": {"name": "more"}}),
        ):
            status, text = self.call(method, path, body, token=self.token)
            holds("%s: it may not %s %s" % (self.name, method, path), status == 403, status, text)
