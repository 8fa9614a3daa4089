"""The extension in a shell: the displays below each cell, and the cells without any."""

import threading
import time

from ipytracer import _line, _shell, _show

from . import fake
from .shells import ShellTest

LINE = (
    "need 512.00 MiB · consumed 1.00 MiB · peaked 511.00 MiB · total 101.00 MiB · numpy 512.00 MiB "
    "(line 1 › ones) · 1.47 s"
)


class WithTracer(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.tracer.settle()

    def test_one_line(self):
        shown = self.run_cell("x = 1")
        self.assertEqual(shown, ["In[2]  " + LINE])
        self.assertEqual(set(self.published.outputs[-1]["data"]), {"text/plain", "text/html", _show.FIGURES})
        self.assertEqual(self.tracer.markers[-2:], ["cell", "ask"])

    def test_slower(self):
        """The reason for a slower notebook is shown once, and %tracer shows it again."""
        self.tracer.slower = "each array is traced\x1b[2J: 1,000 hits"
        self.assertEqual(
            self.run_cell("x = 1"), ["ipytracer: slower: each array is traced\\x1b[2J: 1,000 hits", "In[2]  " + LINE]
        )
        self.tracer.slower = "each array is traced: 2,000 hits"
        self.assertEqual(self.run_cell("x = 1"), ["In[3]  " + LINE])
        self.assertEqual(
            self.run_cell("%tracer"),
            ["ipytracer: tracer 0.1.0 listens, figures under cells: compact; slower: each array is traced: 2,000 hits"],
        )

    def test_the_cell_that_loads(self):
        """Figures of this cell, and of others that were not asked for, are not below the next one, though the tracer
        reports them."""
        self.tracer.windows += [fake.window(n, execution_count=1) for n in (900, 901)]
        self.assertEqual([s[:5] for s in self.run_cell("x = 1")], ["In[2]"])

    def test_failed_cells(self):
        self.tracer.coming = [
            {"status": "error", "error": "ZeroDivisionError"},
            {"status": "error", "error": "SyntaxError"},
        ]
        self.assertEqual(self.run_cell("1/0"), ["In[2]  %s · error (ZeroDivisionError)" % LINE])
        self.assertEqual(self.run_cell("1 +"), ["In[3]  %s · error (SyntaxError)" % LINE])

    def test_cells_without_figures(self):
        """Silent cells, cells that are not stored, and empty ones have no figures."""
        for how in (dict(silent=True), dict(store_history=False)):
            self.assertEqual(self.run_cell("x = 1", **how), [])
        self.assertEqual(self.run_cell(" "), [])
        self.assertNotIn("cell", self.tracer.markers)

    def test_cells_within(self):
        """There is one line, of the outer cell; the output of inner ones is not mixed with it."""
        self.assertEqual(len(self.run_cell("get_ipython().run_cell('y = 2', store_history=True)\nz = 3")), 1)
        self.assertEqual(self.run_cell("%%capture seen\nprint(5)")[0][:3], "In[")
        self.run_cell("text = seen.stdout, len(seen.outputs)")
        self.assertEqual(self.shell.user_ns["text"], ("5\n", 0))
        self.assertEqual(self.tracer.markers.count("cell"), 3)

    def test_a_cell_that_nobody_ended(self):
        """A run_cell that was given up does not make later cells count as cells within it."""
        companion = _shell.of(self.shell)
        companion._cells().append(object())
        self.assertEqual(len(self.run_cell("x = 1")), 1)

    def test_loaded_twice(self):
        self.assertEqual(
            self.run_cell("%load_ext ipytracer\nimport ipytracer; ipytracer.load_ipython_extension(get_ipython())"),
            ["In[2]  " + LINE],
        )
        self.assertEqual(len(self.run_cell("x = 1")), 1)

    def test_reloaded(self):
        self.assertEqual(self.run_cell("%reload_ext ipytracer"), [])
        self.run_cell("y = 1")
        self.tracer.settle()
        self.assertEqual(len([f for f in self.shell.events.callbacks["post_run_cell"]]), 1)

    def test_hooks_of_others(self):
        """Figures that other hooks draw belong to the cell: our line comes behind them."""
        seen = []
        def late(result):
            seen.append(self.tracer.markers.count("cell"))
        self.shell.events.register("post_run_cell", late)
        self.addCleanup(self.shell.events.unregister, "post_run_cell", late)
        self.run_cell("x = 1")
        self.run_cell("x = 1")
        self.assertEqual(seen, [0, 1])

    def test_killed(self):
        """One sentence appears, once; and the next tracer is heard again."""
        self.run_cell("x = 1")
        self.tracer.greets = False
        self.tracer.kill()
        self.assertEqual([s[:31] for s in self.run_cell("x = 2")], ["ipytracer: the tracer has ended"])
        self.assertEqual(self.run_cell("x = 3"), [])
        self.tracer.greets = True
        _line.LINE._offered = 0.0
        self.run_cell("x = 4")
        self.tracer.settle()
        self.assertEqual(len(self.run_cell("x = 5")), 1)

    def test_killed_in_a_cell(self):
        self.shell.user_ns["kill"] = self.tracer.kill
        self.tracer.greets = False
        self.assertEqual(len(self.run_cell("kill()")), 1)
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertEqual(self.printed, "")

    def test_stalled(self):
        """A tracer that does not answer costs at most its time, and late figures appear below the next cell."""
        self.patience(0.15)
        self.tracer.answers = False
        start = time.monotonic()
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertLess(time.monotonic() - start, 15)     # a test waits for 20 otherwise
        self.tracer.settle()
        self.tracer.put({"id": 1, "windows": [fake.window(2)]})
        self.patience(20)
        self.tracer.answers, self.tracer.told = True, 1
        self.assertEqual([s[:5] for s in self.run_cell("x = 2")], ["In[2]", "In[3]"])

    def test_told_to_somebody_else(self):
        """A window that came too late for its own cell, and was then returned by last(), is shown below that cell."""
        self.patience(0.15)
        self.tracer.answers = False
        self.run_cell("x = 1")
        self.tracer.settle()
        self.tracer.put({"id": 1})
        self.patience(20)
        self.tracer.answers, self.tracer.told = True, 0
        shown = self.run_cell("import ipytracer; seen = ipytracer.last().execution_count")
        self.assertEqual(self.shell.user_ns["seen"], 2)
        self.assertEqual([s[:5] for s in shown], ["In[2]", "In[3]"])

    def test_hostile(self):
        """With any answer, the cell runs as it would without a tracer."""
        for packet in (b"\x00", b'{"id": 1, "windows": [3]}', b"x" * 70000):
            self.tracer.reply = lambda r, packet=packet: [packet]
            self.run_cell("x = 5")
            self.assertEqual((self.printed, self.result.success), ("", True))
            self.tracer.kill()
            self.run_cell("pass")
            self.tracer.settle()

    def test_escapes(self):
        self.tracer.coming = [
            {
                "status": "error",
                "error": "<script>\x1b[2J",
                "top": {
                    "cpu.numpy": {"at_peak": 1 << 29, "where": "f\x1b]0;x\x07<img src=x>", "line": 1, "execution": 9}
                },
            }
        ]
        shown = self.run_cell("x = 1")[0]
        html = self.published.outputs[-1]["data"]["text/html"]
        self.assertNotIn("\x1b", shown + html)
        self.assertIn("\\x1b]0;x\\x07", shown)
        self.assertNotIn("<script", html)
        self.assertNotIn("<img", html)

    def test_threads(self):
        """Cells of two threads at once, as of ipykernel's subshells: two outer ones."""
        inside, go_on = threading.Event(), threading.Event()
        self.shell.user_ns.update(inside=inside, go_on=go_on)
        other = threading.Thread(
            target=lambda: self.shell.run_cell("inside.set(); go_on.wait(10);", store_history=True)
        )
        other.start()
        inside.wait(10)
        self.assertEqual(len(self.run_cell("x = 1")), 1)
        go_on.set()
        other.join()
        self.assertEqual(len(self.published.outputs), 2)


class Slow(ShellTest):
    def test_a_tracer_that_takes_its_time(self):
        """No text says that there is none while it is about to answer."""
        with fake.Tracer() as tracer:
            put = tracer.put
            tracer.put = lambda packet: threading.Timer(0.01, put, (packet,)).start()
            self.assertEqual(self.load(), [])
            self.assertTrue(_line.LINE.listens())


class WithoutTracer(ShellTest):
    def test_waits_once(self):
        """A missing tracer is not waited for a second time either."""
        _line.LINE.said = True
        waited = []
        _line.LINE._readable = waited.append
        self.addCleanup(delattr, _line.LINE, "_readable")
        self.load()
        for _ in range(3):
            self.run_cell("x = 1")
        self.assertEqual(waited, [])

    def test_said_once(self):
        shown = self.load()
        self.assertEqual(len(shown), 1)
        self.assertRegex(
            shown[0],
            r"^ipytracer: no tracer listens yet; in a terminal, type: sudo tracer attach( \d+)? \(without root, ask "
            r"the administrator to run: sudo "
            r"tracer serve; then %tracer start works here\)$",
        )
        for source in ("x = 1", "%reload_ext ipytracer", "1/0", "x = 2"):
            self.assertEqual(self.run_cell(source), [])

    def test_unload(self):
        before = {k: list(v) for k, v in self.shell.events.callbacks.items()}
        self.load()
        self.run_cell("%unload_ext ipytracer")
        self.assertEqual({k: list(v) for k, v in self.shell.events.callbacks.items()}, before)
        self.assertIsNone(_line.LINE._ours)
        self.assertIsNone(self.shell.find_line_magic("tracer"))
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertEqual(self.printed, "")

    def test_nothing_of_ours_fails_in_the_cell(self):
        self.load()
        def broken(cell=False):
            raise RuntimeError("ours")
        _line.LINE.look = broken
        try:
            self.assertEqual(self.run_cell("print(1)"), [])
        finally:
            del _line.LINE.look
        self.assertEqual(self.printed, "1\n")
