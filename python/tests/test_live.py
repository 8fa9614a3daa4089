"""The display of a cell while it runs."""

import os
import time

from ipytracer import _shell, _show

from . import fake
from .shells import ShellTest


def until(true):
    """Wait for another thread's effect."""
    end = time.monotonic() + 120
    while not true():
        if time.monotonic() > end:
            raise AssertionError("it has not come")
        time.sleep(0.002)


class Live(ShellTest):
    def setUp(self):
        super().setUp()
        self.shell.kernel = object()     # the shell of a kernel has it, and a terminal's has not
        self.addCleanup(delattr, self.shell, "kernel")
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.run_cell("pass")
        until(lambda: self.tracer.live is not None)
        self.shell.user_ns.update(tracer=self.tracer, until=until, shown=self.published.outputs)

    def long(self, ticks, ns=3_200_000_000):
        """Run a cell during which the tracer reports so many times that it still runs."""
        self.tracer.running = [
            fake.window(70, duration_ns=ns, status="incomplete", execution_count=self.shell.execution_count)
        ]
        return self.run_cell(
            "for n in range(%d):\n    before = len(shown); tracer.tick(); until(lambda: len(shown) > before)" % ticks
        )

    def test_shown_and_replaced(self):
        before = len(self.published.outputs)
        shown = self.long(2)
        self.assertEqual(shown[0], "In[3]  runs 3.20 s · resident 101.00 MiB (at most 612.00 MiB)")
        self.assertEqual(shown[1], shown[0])
        self.assertTrue(shown[2].startswith("In[3]  need 512.00 MiB"), shown)
        self.assertEqual(len(shown), 3)
        displays = self.published.outputs[before:]
        self.assertEqual([out["update"] for out in displays], [False, True, True])
        self.assertEqual(len({out["transient"]["display_id"] for out in displays}), 1)
        self.assertIn("runs", displays[0]["data"]["text/html"])
        figures = [set(out["data"][_show.FIGURES]) & {"running", "cell"} for out in displays]
        self.assertEqual(figures, [{"running"}, {"running"}, {"cell"}])

    def test_the_next_has_its_own(self):
        before = len(self.published.outputs)
        self.long(1)
        self.assertEqual(len(self.run_cell("x = 1")), 1)
        self.long(1)
        displays = self.published.outputs[before:]
        self.assertEqual([out["update"] for out in displays], [False, True, False, False, True])

    def test_too_early(self):
        """A tick for the cell before shows nothing of the next one."""
        self.tracer.running = [fake.window(70, duration_ns=5_000_000, status="incomplete")]
        shown = self.run_cell(
            "asked = len(tracer.requests); tracer.tick(); until(lambda: len(tracer.requests) > asked)"
        )
        self.assertEqual(len(shown), 1)
        self.assertIn("need", shown[0])

    def test_silent(self):
        """Code that a front end runs silently beside the cells shows nothing, however long it runs."""
        self.tracer.running = [fake.window(70, duration_ns=3_200_000_000, status="incomplete", silent=True)]
        shown = self.run_cell(
            "for n in range(2):\n    asked = len(tracer.requests); tracer.tick(); "
            "until(lambda: len(tracer.requests) > asked)"
        )
        self.assertEqual(len(shown), 1)
        self.assertIn("need", shown[0])

    def test_off(self):
        self.run_cell("%tracer off")
        self.tracer.running = [fake.window(70, duration_ns=3_200_000_000, status="incomplete")]
        self.assertEqual(
            self.run_cell("asked = len(tracer.requests); tracer.tick(); until(lambda: len(tracer.requests) > asked)"),
            [],
        )

    def test_the_thread_goes_with_the_tracer(self):
        live = _shell.of(self.shell).live
        self.assertTrue(live._thread.is_alive())
        self.tracer.kill()
        until(lambda: not live._thread.is_alive())

    def test_a_forked_child_that_runs_cells(self):
        """The thread that shows is missing, and held the lock at the fork; the tracer that listened was the
        parent's."""
        live, before = _shell.of(self.shell).live, len(self.published.outputs)
        with live._lock:
            child = os.fork()
            if not child:
                status = 1
                try:
                    self.run_cell("x = 1", store_history=False)
                    status = 0 if len(self.published.outputs) == before else 2
                finally:
                    os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("need", self.run_cell("x = 2")[0])

    def test_unloaded(self):
        live = _shell.of(self.shell).live
        self.run_cell("%unload_ext ipytracer")
        until(lambda: not live._thread.is_alive())

    def test_nonsense(self):
        live = _shell.of(self.shell).live
        self.tracer.put(b"nonsense", self.tracer.live)
        until(lambda: not live._thread.is_alive())
        self.assertEqual(len(self.run_cell("x = 1")), 1)


class InATerminal(ShellTest):
    def test_no_thread(self):
        with fake.Tracer(limit=None) as tracer:
            self.load()
            self.run_cell("pass")
            tracer.settle()
            self.assertIsNone(_shell.of(self.shell).live._thread)
            self.assertIsNone(tracer.live)


class Kernel:
    """The relevant parts of a kernel: how it takes requests, and the request that it handles."""

    def __init__(self):
        self.answered = []
        self.shell_handlers = {"is_complete_request": lambda *request: self.answered.append(request)}
        self.session = "console"

    def get_parent(self):
        return {"header": {"session": self.session}}


class InAConsole(ShellTest):
    """A front end that asks whether code is complete cannot change its displays, so a cell is displayed there only once
    it has ended."""

    def setUp(self):
        super().setUp()
        self.shell.kernel = self.kernel = Kernel()
        self.addCleanup(delattr, self.shell, "kernel")
        self.plain_handler = self.kernel.shell_handlers["is_complete_request"]
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.run_cell("pass")
        until(lambda: self.tracer.live is not None)
        self.shell.user_ns.update(tracer=self.tracer, until=until)
        self.tracer.running = [fake.window(70, duration_ns=3_200_000_000, status="incomplete")]
        self.kernel.shell_handlers["is_complete_request"](
            "stream", "ident", {"header": {"session": "console"}, "content": {"code": "x"}}
        )

    def long(self):
        """Run a cell that is reported to run long, until the companion has asked about that. Return its displays."""
        before = len(self.published.outputs)
        shown = self.run_cell(
            "asked = len(tracer.requests); tracer.tick(); until(lambda: len(tracer.requests) > asked)\n"
            "tracer.settle(); asked = len(tracer.requests); tracer.tick(); until(lambda: len(tracer.requests) > asked)"
        )
        return shown, [out["update"] for out in self.published.outputs[before:]]

    def test_shown_when_it_is_over(self):
        shown, updates = self.long()
        self.assertEqual(([s[:11] for s in shown], updates), (["In[3]  need"], [False]))
        self.assertEqual(len(self.kernel.answered), 1)

    def test_a_notebook_beside_it(self):
        self.kernel.session = "notebook"
        before = len(self.published.outputs)
        self.shell.user_ns["shown"] = self.published.outputs
        shown = self.run_cell("before = len(shown); tracer.tick(); until(lambda: len(shown) > before)")
        self.assertIn("runs 3.20 s", shown[0])
        self.assertIn("need", shown[1])
        self.assertEqual([out["update"] for out in self.published.outputs[before:]], [False, True])

    def test_unload(self):
        self.run_cell("%unload_ext ipytracer")
        self.assertIs(self.kernel.shell_handlers["is_complete_request"], self.plain_handler)

    def test_a_strange_kernel(self):
        """A kernel that cannot be asked counts as no console."""
        self.kernel.get_parent = lambda: {}
        self.assertIn(False, self.long()[1])
        self.kernel.shell_handlers["is_complete_request"]("stream", "ident", {})
        self.assertEqual(len(self.kernel.answered), 2)
