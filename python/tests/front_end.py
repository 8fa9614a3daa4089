"""Print as JSON what a front end gets of the companion, for the tests of VS Code's extension: the displays of cells
beside a fake tracer, and then the messages on a comm. `python3 -m tests.front_end`."""

import json
import sys
import types

from . import fake
from .shells import ShellTest
from .test_lab import Comm, Manager
from .test_live import until

LONG = "before = len(shown)\ntracer.tick(); until(lambda: len(shown) > before)"


class Session(ShellTest):
    """A notebook in VS Code, with cells that a tracer has seen."""

    def runTest(self):
        """Run cells, and print what has been sent."""
        self.manager, self.cell = Manager(), ""
        self.shell.kernel = types.SimpleNamespace(
            comm_manager=self.manager,
            get_parent=lambda: {"metadata": {"cellId": "vscode-notebook-cell:/a.ipynb#" + self.cell}},
        )
        self.addCleanup(delattr, self.shell, "kernel")
        with fake.Tracer() as tracer:
            self.load()
            self.run_cell("pass")
            until(lambda: tracer.live is not None)
            found = {"once": self.displays("x = 1")}
            tracer.coming = [{"meters": {"cpu.resident": fake.figure(101 << 20, 701 << 20, 102 << 20)}}]
            found["again"] = self.displays("x = 1")
            self.shell.user_ns.update(tracer=tracer, until=until, shown=self.published.outputs)
            count = self.shell.execution_count
            long = dict(duration_ns=3_200_000_000, status="incomplete", execution_count=count, source=LONG)
            tracer.running = [fake.window(tracer.next, **long)]
            tracer.coming = [{"source": LONG}]
            found["long"] = self.displays(LONG)
            tracer.running = []
            found["comm"] = self.comm(tracer)
            self.run_cell("%unload_ext ipytracer")
        json.dump(found, sys.__stdout__)

    def displays(self, source):
        before = len(self.published.outputs)
        self.run_cell(source)
        return [out["data"] for out in self.published.outputs[before:]]

    def comm(self, tracer):
        """Return the messages on a comm: of the cells so far, and of one more."""
        comm = Comm()
        self.manager.targets["ipytracer"](comm, {"content": {"data": {"protocol": "ipytracer/lab/v1"}}})
        before, self.cell = len(comm.sent), "W0sZmlsZQ%3D%3D"
        tracer.coming = [{"source": "y = 2"}]
        self.run_cell("y = 2")
        return {"opened": comm.sent[:before], "ran": comm.sent[before:]}


if __name__ == "__main__":
    problem = Session().run()
    for _, why in problem.errors + problem.failures:
        sys.exit(why)
