"""An engine that runs as a process of its own, and answers HTTP on this machine."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../testdata/workloads"))

from run_agent import holds, until


class Engine:
    """A subclass names the engine, its version, its address, a page that answers once it is ready, and its command."""

    name = version = address = ready = ""
    restarted = False      # it is down for a while
    runs = None            # the class of the agent, where that does not run as usual

    def __init__(self, engines, folder):
        self.engines, self.folder = engines, os.path.join(folder, self.name)
        os.mkdir(self.folder)
        self.process = None
        self.start()

    def command(self):
        raise NotImplementedError

    def kernels(self):
        """Returns functions, each of which makes a notebook with a kernel that the engine needs."""
        return []

    def agent(self):
        """Returns what the agent's configuration needs for this engine."""
        return ""

    def after(self, n):
        """Sees the n-th cell end. An engine that is restarted is down for the second ten of them."""
        if self.restarted and n == 10:
            self.stop()
        if self.restarted and n == 20:
            self.start()

    def check(self, session):
        """Compares what the engine has with the session's reports."""
        raise NotImplementedError

    def program(self, name):
        """Returns the path of a program that get.sh has put below the folder of engines."""
        path = os.path.join(self.engines, "%s-%s" % (name, self.version), name)
        if not os.path.exists(path):
            holds("%s is there" % path, False)
        return path

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def start(self):
        with open(os.path.join(self.folder, "log"), "a") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.folder, env=dict(os.environ, HOME=self.folder)
            )
        until("%s is ready" % self.name, self.answers)

    def answers(self):
        if self.process.poll() is not None:
            holds("%s runs" % self.name, False, self.said())
        try:
            self.get(self.ready)
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def said(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()[-5000:]

    def get(self, path, **parameters):
        """Returns the body of a page, as bytes."""
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with urllib.request.urlopen("http://%s%s%s" % (self.address, path, query), timeout=60) as answer:
            return answer.read()

    def ask(self, path, **parameters):
        return json.loads(self.get(path, **parameters))

    def post(self, path, body, **headers):
        """Sends JSON, and returns the JSON that comes back."""
        request = urllib.request.Request(
            "http://%s%s" % (self.address, path), json.dumps(body).encode(),
            dict({"Content-Type": "application/json"}, **headers)
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as e:
            raise OSError("%s: %s" % (e, e.read()[:2000])) from e


def exact(text):
    """Returns the number that an engine has written. It must be an integer, written with all its digits."""
    if not text.isdigit():
        holds("an engine answers with an integer", False, text)
    return int(text)
