"""%tracer and %%tracer."""

from . import fake
from .shells import ShellTest


class Magic(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.load()
        self.tracer.settle()

    def test_off_and_on(self):
        self.assertEqual(self.run_cell("%tracer off"), [])
        self.assertEqual(self.run_cell("x = 1"), [])
        self.tracer.windows.append(fake.window(50, execution_count=3))     # the tracer still saw it
        self.assertEqual(self.run_cell("%tracer"), ["ipytracer: tracer 0.1.0 listens, figures under cells: off"])
        self.assertEqual(self.run_cell("%tracer on"), [])
        self.assertEqual(self.run_cell("%tracer"), ["ipytracer: tracer 0.1.0 listens, figures under cells: compact"])
        self.assertEqual(len(self.run_cell("y = 1")), 1)

    def test_full_and_compact(self):
        """A cell of %tracer lines alone has no figures of its own."""
        self.assertEqual(self.run_cell("%tracer full\n\n%tracer full"), [])
        shown = self.run_cell("x = 1")[0].split("\n")
        self.assertEqual(shown[1].split(), "meter start peak end consumed peaked need line at the peak".split())
        self.assertEqual(shown[2].split("  ")[0], "resident")
        self.assertTrue(shown[4].endswith("512.00 MiB  line 1 › ones"))
        self.assertEqual(self.run_cell("%tracer compact"), [])
        self.assertEqual(len(self.run_cell("%tracer compact\ny = 1")[0].split("\n")), 1)

    def test_of_one_cell(self):
        """The cell runs as it would without the magic, and its figures appear also while they are off."""
        self.run_cell("%tracer off")
        self.assertEqual([s.count("\n") for s in self.run_cell("%%tracer\nx = 5\nx + 1")], [0])
        self.assertEqual(self.shell.user_ns["_"], 6)
        self.assertEqual(
            [s.count("\n") for s in self.run_cell("%%tracer full\nimport asyncio\nawait asyncio.sleep(0)")], [4]
        )
        self.assertTrue(self.result.success)
        self.run_cell("%%tracer\n\n1/0")
        self.assertFalse(self.result.success)
        self.assertIn("line 3", self.printed.replace("----> 3", "line 3"))
        self.assertEqual(self.run_cell("x = 1"), [])

    def test_of_a_cell_with_another_magic(self):
        self.run_cell("%tracer off")
        self.assertEqual(len(self.run_cell("%%tracer\n%%time\ny = 7")), 1)
        self.assertEqual(self.shell.user_ns["y"], 7)
        self.assertIn("Wall time", self.printed)

    def test_last_table_lines(self):
        self.tracer.coming = [
            {"source": "a = 1\nb = 2", "meters": {"cpu.resident": fake.figure(0, 1 << 20, 0)}},
            {"status": "error"},
        ]
        self.run_cell("x = 1")
        self.run_cell("x = 2")
        self.assertEqual(self.run_cell("%tracer last")[0].split("  ")[0], "In[3]")
        table = self.run_cell("%tracer table")[0].split("\n")
        # the fake sends a cell when it is asked
        self.assertEqual([row.split()[0] for row in table], ["cell", "In[3]", "In[2]"])
        self.assertTrue(table[1].endswith("error · x = 1") and table[2].endswith("a = 1 ⏎ b = 2"), table)
        self.assertIn("In[2] line 1 › ones", self.run_cell("%tracer lines")[0])

    def test_unknown_words(self):
        self.run_cell("%tracer sideways")
        self.assertEqual(
            self.printed.strip(),
            "UsageError: 'sideways' is none of: start, stop, on, off, compact, full, last, table, lines, vars, audit, "
            "advise, counts on|off|gpu, live on|off|SECONDS, limit SIZE, guard on|error|off, help",
        )
        self.run_cell("%%tracer \x1b[2Jsideways\nx = 1")
        self.assertIn("is none of: compact, full", self.printed)
        self.assertNotIn("\x1b", self.printed.replace("\x1b[0m", ""))

    def test_help(self):
        self.assertIn("%%tracer", self.run_cell("%tracer help")[0])

    def test_what_was_asked_for_stands_alone(self):
        self.run_cell("x = 1")
        for asked in ("%tracer", "%tracer last", " %tracer table\n", "%tracer lines", "%tracer help"):
            self.assertEqual(len(self.run_cell(asked)), 1, asked)
        self.assertEqual(len(self.run_cell("%tracer last\nx = 2")), 2)

    def test_no_tracer(self):
        self.tracer.greets = False
        self.tracer.kill()
        for word in ("", "last", "table", "lines"):
            self.assertIn("sudo tracer attach", self.run_cell("%tracer " + word)[-1])
