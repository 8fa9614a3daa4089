"""Cells that only ask: the last cell is the one before them, and tables leave them out."""

import unittest
import warnings

import ipytracer
from ipytracer import _asking

from . import fake
from .shells import ShellTest

MIB = 1 << 20


class Only(unittest.TestCase):
    def test_cells_that_only_ask(self):
        for text in (
            "%tracer",
            "%tracer last",
            "  %tracer table\n",
            "# how?\n%tracer lines\n\n%tracer table",
            "%tracer limit 5GiB",
            "%tracer off",
            "ipytracer.last()",
            "import ipytracer\nipytracer.cells()",
            "w = ipytracer.last()",
            "ipytracer.lines(w)",
            "ipytracer.audit(wait=5)[0].advice",
            "print('need', ipytracer.last().meters['cpu.resident'].need)",
            "ipytracer.cells().to_dataframe()",
            "print(ipytracer.last().meters['cpu.resident'].need / 2**20, 'MiB')",
            "f'{ipytracer.last().duration_ns / 1e9:.2f} s'",
            "ipytracer.last(), ipytracer.cells()[-3:]",
            "len(ipytracer.cells()) > 5",
            "%tracer last\nipytracer.vars()",
        ):
            self.assertTrue(_asking.only(text), text)

    def test_others(self):
        for text in (
            "",
            "x = 1",
            "tracer = 1",
            "# %tracer",
            "%%tracer\nx = 1",
            "%tracer last\nx = 1",
            "ipytracer.last()\n1/0",
            "import ipytracer",
            "import numpy, ipytracer\nipytracer.last()",
            "ipytracer.lines(make())",
            "work(ipytracer.last())",
            "ipytracer.cells()[work()]",
            "w.x = ipytracer.last()",
            "ipytracer.experiment('x')",
            "%memit x",
            "if x:\n    %tracer last",
            "ipytracer.last() or work()",
            "big * ipytracer.last().duration_ns",
            "[x for x in ipytracer.cells()]",
            "1 + 1",
            "print('ipytracer')",
            "'%tracer' + ipytracer",
            "%tracer last\n" + "#" * 5000,
            "(" * 1000 + "ipytracer.last()",
            None,
            5,
        ):
            self.assertFalse(_asking.only(text), text)


class Asked(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.tracer.settle()

    def cell(self, count, source, need=MIB):
        """Add a cell to the tracer's windows."""
        meters = {"cpu.resident": fake.figure(0, need, 0)}
        self.tracer.windows.append(fake.window(100 + count, execution_count=count, source=source, meters=meters))

    def test_last_is_the_cell_before(self):
        self.cell(2, "x = 1")
        self.cell(3, "%tracer table")
        self.cell(4, "ipytracer.last()")
        self.assertEqual(self.run_cell("%tracer last")[0].split("  ")[0], "In[2]")
        self.assertEqual(ipytracer.last().execution_count, 2)
        self.run_cell("%tracer lines")
        self.assertEqual([r["window"] for r in self.tracer.requests if r["ask"] == "lines"], [102])

    def test_last_before_there_was_a_line(self):
        """Cells that ended before the line are reported only on request."""
        self.cell(2, "x = 1")
        self.cell(3, "%tracer")
        self.tracer.told = 2
        self.assertEqual(ipytracer.last().execution_count, 2)

    def test_table(self):
        self.cell(2, "x = 1", 3 * MIB)
        self.cell(3, "%tracer lines", 9 * MIB)
        self.cell(4, "y = 1", 5 * MIB)
        rows = self.run_cell("%tracer table")[0].split("\n")
        self.assertEqual([row.split()[0] for row in rows[:3]], ["cell", "In[4]", "In[2]"])
        self.assertEqual(rows[3:], ["without 1 cell that only asks"])
        self.assertEqual([w.execution_count for w in ipytracer.cells()], [2, 3, 4])

    def test_hidden_sources(self):
        """Where the tracer hides sources, a cell's source comes from the history."""
        self.shell.history_manager.input_hist_raw[:] = ["", "%load_ext ipytracer", "x = 1", "%tracer last"]
        self.cell(2, "")
        self.cell(3, "")
        self.assertEqual(ipytracer.last().execution_count, 2)

    def test_unanswered(self):
        self.cell(2, "x = 1")
        self.run_cell("pass")
        self.tracer.answers = False
        self.patience(0.05)
        for word in ("last", "lines", "table"):
            self.assertEqual(
                self.run_cell("%tracer " + word)[-1],
                "ipytracer: the tracer did not answer within 0.05 s: it is stopped, or very busy; ask again, or see "
                "its report",
            )
        for ask in (ipytracer.last, ipytracer.cells, ipytracer.lines):
            with self.subTest(ask), warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                ask()
                self.assertEqual([w.category for w in seen], [RuntimeWarning])
                self.assertIn("did not answer within 0.05 s", str(seen[0].message))
                self.assertEqual(seen[0].filename, __file__)
