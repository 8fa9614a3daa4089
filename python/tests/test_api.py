"""The questions that Python code can ask."""

import json
import unittest

import ipytracer
from ipytracer import _line

from . import fake
from .shells import ShellTest


class Api(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer()
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.load()
        self.tracer.settle()

    def test_last(self):
        self.assertIsNone(ipytracer.last())
        self.run_cell("x = 1")
        window = ipytracer.last()
        self.assertEqual(
            (window.execution, window.status, window.duration_ns, window.error), (2, "ok", 1_470_000_000, None)
        )
        f = window.meters["cpu.resident"]
        self.assertEqual(f, (100 << 20, 612 << 20, 101 << 20, 1 << 20, 511 << 20, True, 0))
        self.assertEqual(f.need, 512 << 20)
        self.assertEqual(window.top["cpu.numpy"].where, "In[2] line 1 › ones")
        self.assertRaises(AttributeError, lambda: window.nothing)

    def test_last_while_off(self):
        self.run_cell("%tracer off")
        self.tracer.windows.append(fake.window(40))
        self.assertEqual(ipytracer.last().id, 40)

    def test_to_dict(self):
        """The result has exactly the names and integers of the JSON."""
        self.tracer.coming = [
            {"meters": {"cpu.resident": fake.figure(1, 2**62 + 1, 2, False, None)}, "note": "special"}
        ]
        self.run_cell("x = 1")
        want = dict(self.tracer.windows[-1])
        del want["top"]
        got = ipytracer.last().to_dict()
        self.assertEqual(json.dumps(got), json.dumps(want))
        got["meters"].clear()
        self.assertEqual(len(ipytracer.last().to_dict()["meters"]), 1)

    def test_cells(self):
        self.tracer.windows = [fake.window(n) for n in range(2, 652)]
        found = ipytracer.cells()
        self.assertEqual([w.id for w in found], list(range(2, 652)))
        self.assertEqual([w.id for w in ipytracer.cells(after=649)], [650, 651])

    def test_lines(self):
        self.run_cell("x = 1")
        line = ipytracer.lines()[0]
        self.assertEqual((line.meter, line.at_peak, line.stack[0].function), ("cpu.numpy", 512 << 20, "ones"))
        ipytracer.lines(ipytracer.last()), ipytracer.lines(7)
        self.assertEqual([r["window"] for r in self.tracer.requests if r["ask"] == "lines"], [2, 2, 7])
        self.assertRaises(TypeError, ipytracer.lines, "x")

    def test_to_dataframe(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("there is no pandas here")
        self.tracer.windows = [
            fake.window(2),
            fake.window(3, execution_count=None, meters={"cpu.resident": fake.figure(1, 2**62 + 1, 2)}),
        ]
        frame = ipytracer.cells().to_dataframe()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame["id"]), [2, 3])
        self.assertEqual(int(frame["cpu.resident.peak"][1]), 2**62 + 1)
        self.assertEqual(int(frame["cpu.numpy.need"][0]), 512 << 20)
        self.assertTrue(pandas.isna(frame["cpu.numpy.need"][1]) and pandas.isna(frame["execution_count"][1]))
        self.assertEqual(int(ipytracer.lines(2).to_dataframe()["count"][0]), 1)

    def test_a_table_without_rows(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("there is no pandas here")
        self.assertEqual((len(ipytracer.cells().to_dataframe()), "id" in ipytracer.cells().to_dataframe()), (0, True))


class Without(unittest.TestCase):
    def test_nothing(self):
        """Everything works without a tracer, and without a shell that has the extension."""
        self.addCleanup(_line.LINE.close)
        self.assertEqual(
            (ipytracer.attached(), ipytracer.last(), ipytracer.cells(), ipytracer.lines(), ipytracer.lines(3)),
            (False, None, [], [], []),
        )
