"""Experiments: the memory that they took, the memory that came back, the names that were deleted."""

import asyncio
import unittest

import ipytracer
from ipytracer import _experiment, _line

from . import fake
from .shells import ShellTest

MIB = fake.MIB


class Experiments(ShellTest):
    """The fake tracer's memory is the argument of take() in cells."""

    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer()
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.load()
        self.tracer.settle()
        self.run_cell("import ipytracer")
        memory = self.tracer.memory

        class Block:
            def __init__(self, mib):
                self.mib = mib
                memory["cpu.resident"] += mib * MIB

            def __del__(self):
                memory["cpu.resident"] -= self.mib * MIB
        self.shell.user_ns["take"] = Block

    def test_figures(self):
        self.run_cell("e = ipytracer.start('load')")
        self.run_cell("a, b = take(30), take(12)")
        self.run_cell("r = e.finish()")
        r = self.shell.user_ns["r"]
        self.assertEqual(
            (r.name, r.consumed, r.reclaimed, r.available),
            ("load", {"cpu.resident": 42 * MIB}, {"cpu.resident": 42 * MIB}, {"cpu.resident": 924 * MIB}),
        )
        self.assertEqual((r.deleted, r.kept, r.reassigned), (("a", "b"), (), ()))
        self.assertEqual(r.window.kind, "experiment")
        self.assertIs(self.shell.user_ns["e"].finish(), r)
        self.assertEqual(
            repr(r),
            "experiment load\n  resident consumed 42.00 MiB · reclaimed 42.00 MiB (100 %) · available 924.00 MiB\n"
            "  deleted: a, b",
        )

    def test_names(self):
        """Names in keep, modules, functions and classes are kept. Older names with new values are reported, and left
        alone."""
        self.run_cell("old = take(5); listed = [1]; same = take(1)")
        shown = self.run_cell(
            "with ipytracer.experiment('x', keep=['k']) as e:\n"
            "    k = take(2); gone = take(3); old = take(7); listed = [2]\n"
            "    import math\n    def f(): pass\n    class C: pass\n    _hidden = 1"
        )
        r = self.shell.user_ns["e"].result
        self.assertEqual(
            (r.deleted, set(r.kept), set(r.reassigned)), (("gone",), {"k", "math", "f", "C"}, {"old", "listed"})
        )
        self.assertEqual((r.consumed, r.reclaimed), ({"cpu.resident": 7 * MIB}, {"cpu.resident": 3 * MIB}))
        self.assertEqual(shown[0], repr(r))
        self.assertNotIn("gone", self.shell.user_ns)
        self.assertEqual(self.shell.user_ns["old"].mib, 7)

    def test_collect(self):
        self.run_cell("with ipytracer.experiment('x') as e:\n    a = take(4); a.self = a")
        self.assertEqual(self.shell.user_ns["e"].result.reclaimed["cpu.resident"], 0)
        self.run_cell("with ipytracer.experiment('x', collect=True) as e:\n    a = take(4); a.self = a")
        self.assertGreaterEqual(self.shell.user_ns["e"].result.reclaimed["cpu.resident"], 4 * MIB)
        self.assertGreater(self.shell.user_ns["e"].result.collected, 0)

    def test_nested_and_overlapping(self):
        self.run_cell("a = ipytracer.start('a'); x = take(1)")
        self.run_cell("b = ipytracer.start('b'); y = take(2)")
        self.run_cell("ra = a.finish()")      # deletes x and y as well
        self.run_cell("z = take(4)")
        self.run_cell("rb = b.finish()")
        ra, rb = self.shell.user_ns["ra"], self.shell.user_ns["rb"]
        self.assertEqual((ra.consumed["cpu.resident"], ra.deleted), (3 * MIB, ("x", "y")))
        self.assertEqual(
            (rb.consumed["cpu.resident"], rb.reclaimed["cpu.resident"], rb.deleted), (3 * MIB, 4 * MIB, ("z",))
        )
        self.run_cell(
            "with ipytracer.experiment('n') as o:\n    p = take(1)\n    with ipytracer.experiment('n') as i:\n"
            "        q = take(2)"
        )
        inner, outer = self.shell.user_ns["i"].result, self.shell.user_ns["o"].result
        self.assertEqual((inner.consumed["cpu.resident"], inner.deleted), (2 * MIB, ("q",)))
        self.assertEqual((outer.consumed["cpu.resident"], outer.deleted), (1 * MIB, ("p",)))

    def test_exception(self):
        self.run_cell("with ipytracer.experiment('x') as e:\n    a = 5\n    raise KeyError('mine')")
        self.assertIsInstance(self.result.error_in_exec, KeyError)
        self.assertEqual(self.shell.user_ns["e"].result.deleted, ("a",))

    def test_decorator(self):
        self.run_cell(
            "@ipytracer.experiment('call')\ndef f(n):\n    'doc'\n    block = take(n)\n    return n\ng = f(8), f(9)"
        )
        f = self.shell.user_ns["f"]
        self.assertEqual((self.shell.user_ns["g"], f.__name__, f.__doc__, f.result.name), ((8, 9), "f", "doc", "call"))
        self.assertEqual([m for m in self.tracer.markers if "call" in m], ["begin call", "end call"] * 2)

    def test_decorator_of_a_coroutine(self):
        @ipytracer.experiment("async")
        async def work():
            await asyncio.sleep(0)
            raise KeyError
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        with self.assertRaises(KeyError):
            loop.run_until_complete(work())
        self.assertEqual(work.result.name, "async")

    def test_stalled(self):
        self.run_cell("e = ipytracer.start('x'); a = 1")
        self.tracer.answers = False
        self.patience(0.15)
        self.run_cell("r = e.finish()")
        self.assertEqual((self.shell.user_ns["r"].consumed, self.shell.user_ns["r"].deleted), (None, ("a",)))


class Without(ShellTest):
    def test_no_tracer(self):
        self.run_cell("import ipytracer\nwith ipytracer.experiment('x') as e:\n    a = 1")
        r = self.shell.user_ns["e"].result
        self.assertEqual((r.consumed, r.reclaimed, r.available, r.window, r.deleted), (None, None, None, None, ("a",)))
        self.assertEqual(repr(r).split("\n")[0], "experiment x: no figures, no tracer listens; deleted: a")
        self.assertIn("for figures, in a terminal, type: sudo tracer attach", repr(r).split("\n")[1])
        _line.LINE.close()

    def test_keep(self):
        self.assertRaises(ValueError, ipytracer.experiment, "x", keep=(1,))
        self.assertEqual(ipytracer.experiment("x", keep="name").keep, {"name"})


class Names(unittest.TestCase):
    def test_marker_names(self):
        for name, want in {
            "a b": "a b",
            "x" * 300: "x" * 160,
            "é" * 300: "é" * 80,
            "日" * 100: "日" * 53,
            "\U0001f600" * 50: "\U0001f600" * 30,
            "a\x00b\nc\udc80": "a?b?c?",
            "": "experiment",
            7: "7",
        }.items():
            self.assertEqual(_experiment._marker_name(name), want)
            _line.marker("begin " + want)
