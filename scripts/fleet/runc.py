"""Containers as containerd has runc make them: the first two kernels, each in a container of a pod that a real API
server knows, and the agent in one with the rights of its manifest. In the end the OOM killer ends a kernel.
"""

import json
import os
import signal
import subprocess

from cells import Elsewhere
from collector import Receiver, attributes
from engine import holds, until
from jupyter_client.connect import write_connection_file
from kubernetes import CONTAINER, PODS, Kubernetes
from run_agent import Agent

LIMIT = 1 << 30      # bytes, of each container with a kernel
USER = 1000          # of kernels
RIGHTS = {"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39}
PODS_GROUP = "/ipytracer-fleet/kubepods.slice/kubepods-burstable.slice"
GROUP = PODS_GROUP + "/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope"


class Bundle:
    """A container to be. It has the machine's programs, and can write to none of its files. Only runc mounts anything,
    within the container: no folder here leads to a file of the machine."""

    def __init__(self, folder, number, group):
        self.folder, self.number = os.path.join(folder, number), number
        os.makedirs(os.path.join(self.folder, "root"))
        for link in ("bin", "lib", "lib64", "sbin"):
            os.symlink("usr/" + link, os.path.join(self.folder, "root", link))
        subprocess.run(["runc", "spec", "--bundle", self.folder], check=True)
        with open(os.path.join(self.folder, "config.json")) as f:
            self.spec = json.load(f)
        self.spec["root"] = {"path": "root", "readonly": True}
        self.spec["linux"]["cgroupsPath"] = group
        self.process = self.spec["process"]
        self.process.update(terminal=False, rlimits=[], noNewPrivileges=True)
        for one in ("/usr", "/etc"):
            self.sees(one, "ro")
        # The network is the test's: a host network of a pod.
        self.without("network")

    def without(self, *namespaces):
        self.spec["linux"]["namespaces"] = [
            one for one in self.spec["linux"]["namespaces"] if one["type"] not in namespaces
        ]

    def may(self, rights):
        self.process["capabilities"] = dict.fromkeys(("bounding", "effective", "permitted"), sorted(rights))

    def sees(self, folder, *options):
        """Adds a folder of the machine, at the same place."""
        self.spec["mounts"].append({
            "destination": folder, "type": "bind", "source": folder, "options": ["bind", *options]})

    def command(self, *options):
        """Returns the command that runs the container, with the number of its first process in a file."""
        with open(os.path.join(self.folder, "config.json"), "w") as f:
            json.dump(self.spec, f)
        return ["runc", "--root", os.path.join(os.path.dirname(self.folder), "state"), "run", *options,
                "--bundle", self.folder, "--pid-file", os.path.join(self.folder, "pid"), self.number]

    def pid(self):
        with open(os.path.join(self.folder, "pid")) as f:
            return int(f.read())


class Kernel:
    """A kernel that is the first process of a container, with process ids and mounts of its own."""

    def __init__(self, folder, number, group):
        bundle = Bundle(folder, number, group)
        shared = os.path.join(bundle.folder, "shared")
        os.mkdir(shared)
        self.file = os.path.join(shared, "connection.json")
        write_connection_file(self.file, ip="127.0.0.1")
        for one in (shared, self.file):
            os.chown(one, USER, USER)
        bundle.may([])
        bundle.process.update(
            user={"uid": USER, "gid": USER}, args=["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", self.file],
            env=["PATH=/usr/bin:/bin", "HOME=/tmp", "PYDEVD_DISABLE_FILE_VALIDATION=1"],
        )
        bundle.spec["mounts"].append({
            "destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]})
        bundle.sees(shared, "rw")      # it writes the file again
        # Without more of swap: the limit is one of memory.
        bundle.spec["linux"]["resources"]["memory"] = {"limit": LIMIT, "swap": LIMIT}
        with open(os.path.join(bundle.folder, "log"), "w") as log:
            done = subprocess.run(bundle.command("--detach"), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with open(log.name) as f:
            holds("runc makes the container %.12s" % number, done.returncode == 0, f.read())
        self.pid = bundle.pid()

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)


class ContainedAgent(Agent):
    """The agent in a container: the four rights of its manifest, a root that is read-only, no new rights, and the
    processes of the machine."""

    def command(self, tracer, listen, ready):
        folder = os.path.dirname(self.config)
        self.bundle = Bundle(os.path.join(folder, "runc"), "a" * 63 + "9", GROUP % ("agent", "a" * 63 + "9"))
        self.bundle.without("network", "pid")
        self.bundle.may(RIGHTS)
        self.bundle.sees(os.path.dirname(tracer), "ro")
        self.bundle.sees(folder, "rw")      # for the file that says it is ready
        # The limits of other containers are in their control groups, which a container does not see of its own.
        self.bundle.spec["mounts"].append({
            "destination": "/host/sys/fs/cgroup", "type": "bind", "source": "/sys/fs/cgroup",
            "options": ["rbind", "rprivate", "ro"]})
        self.bundle.process["args"] = super().command(tracer, listen, ready)
        return self.bundle.command()


class Runc(Kubernetes):
    runs = ContainedAgent

    def contain(self, uid, number):
        return number, GROUP % (uid.replace("-", "_"), number)

    def kernels(self):
        folder = os.path.join(os.path.dirname(self.folder), "runc")
        return [lambda c=c: Elsewhere(Kernel(folder, *c)) for c in self.containers]

    def check(self, session):
        super().check(session)
        version = subprocess.run(["runc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.rights_of(session.agent)
        self.out_of_memory(session)
        print("ok: runc %s" % version.split()[2], flush=True)

    def rights_of(self, agent):
        """The agent has the rights of its manifest, whole and from the start, and no others."""
        with open("/proc/%d/status" % agent.bundle.pid()) as f:
            status = dict(line.rstrip("\n").split(":", 1) for line in f)
        want = sum(1 << n for n in RIGHTS.values())
        has = {name: int(status[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
        holds("runc: the agent has %s, and may have no others" % ", ".join(RIGHTS),
              has["CapPrm"] == has["CapEff"] == want and has["CapBnd"] == want and not has["CapInh"] | has["CapAmb"] and
              status["NoNewPrivs"].strip() == "1", has)
        root = "/proc/%d/root/" % agent.bundle.pid()
        holds("runc: its root is read-only", os.statvfs(root).f_flag & os.ST_RDONLY)

    def out_of_memory(self, session):
        """A cell takes more than its container may have."""
        kernel, (namespace, pod, _, _) = session.kernels[1], PODS[1]
        kernel.notebook.client.execute("data = b'x' * %d" % (2 * LIMIT))
        names = {"namespace": namespace, "pod": pod, "container": CONTAINER}
        until("runc: a death by the OOM killer is counted for %s" % names, lambda: session.agent.value(
            "ipytracer_kernel_deaths_total", cause="oom", **names) == 1)

        def killed():
            return [attributes(e) for s in Receiver.spans if s["resource"]["process.pid"] == kernel.pid
                    for e in s.get("events", []) if e["name"] == "kernel end"]

        ends = until("runc: the end of the kernel is an event of its cell", killed)
        want = {"ipytracer.ending.out_of_memory": True, "ipytracer.ending.signal": "SIGKILL",
                "ipytracer.ending.limit.kind": "cgroup", "ipytracer.ending.limit.bytes": LIMIT}
        holds("runc: the OOM killer has ended it, at the container's limit of %d bytes" % LIMIT,
              len(ends) == 1 and want.items() <= ends[0].items(), ends)
