"""A tracer that does not answer in time: the texts about it, their number, and that it is heard again."""

from ipytracer import _line, _silence

from . import fake
from .shells import ShellTest


class Silent(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.tracer.settle()
        self.assertEqual(len(self.run_cell("x = 1")), 1)     # In[2]

    def silent(self, cells):
        """Run so many cells while the tracer answers nothing, from In[3] on. Return all displays."""
        self.patience(0.05)
        self.tracer.answers = False
        return [s for _ in range(cells) for s in self.run_cell("x = 1")]

    def comes_back(self):
        """Have the tracer answer again, first the requests so far, all at once."""
        self.tracer.settle()
        asked, self.tracer.answers = [r for r in self.tracer.requests if r["id"] in _line.LINE._open], True
        self.patience(20)
        for request in asked:
            for packet in fake._packets(self.tracer._usual(request)):
                self.tracer.put(packet)

    def test_a_few_cells_are_shown_late(self):
        self.assertEqual(self.silent(3), [])
        self.comes_back()
        shown = self.run_cell("x = 1")
        self.assertEqual([s[:5] for s in shown[:-1]], ["In[4]", "In[5]", "In[6]"])
        self.assertEqual(
            shown[-1],
            "ipytracer: the tracer did not answer within 20 s; figures of In[3] are missing here, the report has them",
        )
        self.assertEqual(self.run_cell("x = 1")[0][:5], "In[7]")

    def test_many_cells_are_named_once(self):
        shown = self.silent(20)                                      # In[3] to In[22]
        self.assertEqual(
            shown,
            [
                "ipytracer: the tracer did not answer within 0.05 s: cells from In[3] on have no figures here until it "
                "does, the report has them"
            ],
        )
        self.assertEqual(self.run_cell("%tracer")[-1].split("; ")[-1], "it has not answered in time since In[3]")
        self.assertEqual(len(_line.LINE._open), 1, "each cell has asked anew")
        self.comes_back()
        shown = self.run_cell("x = 1")                               # In[24]
        self.assertIn("In[24]", shown[-2][:6])
        self.assertRegex(
            shown[-1],
            r"^ipytracer: the tracer did not answer within 20 s; figures of In\[3\] to In\[20\] are missing here, the "
            r"report has them$",
        )
        self.assertEqual([s[:6] for s in self.run_cell("x = 1")], ["In[25]"])
        self.assertNotIn("has not answered", self.run_cell("%tracer")[-1])

    def test_again(self):
        """Another silence is reported again."""
        for _ in range(2):
            self.assertEqual(len(self.silent(5)), 1)
            self.comes_back()
            self.assertEqual(sum("are missing here" in s for s in self.run_cell("x = 1") + self.run_cell("x = 1")), 1)

    def test_reminded(self):
        """A tracer that has not seen a request is reminded, and answers."""
        self.silent(6)
        self.tracer.settle()
        del self.tracer.markers[:]
        self.run_cell("x = 1")
        self.assertEqual(self.tracer.markers[-2:], ["cell", "ask"])

    def test_full(self):
        """With as many open requests as possible, one without an answer is repeated, and all are answered later."""
        self.patience(0.01)
        self.tracer.answers = False
        for _ in range(2 * _line._MOST_OPEN):
            _line.LINE.ask("running")
        self.assertEqual(len(_line.LINE._open), _line._MOST_OPEN)
        del self.tracer.markers[:]
        self.assertIsNone(_line.LINE.ask("running"))
        self.assertEqual(self.tracer.markers, ["ask"])
        self.comes_back()
        self.assertEqual(_line.LINE.ask("running"), [])

    def test_gone(self):
        """The missing figures of a tracer that has ended are not reported about the next one."""
        self.silent(5)
        self.tracer.greets = False
        self.tracer.kill()
        shown = self.run_cell("x = 1")
        self.assertEqual([s[:31] for s in shown], ["ipytracer: the tracer has ended"])


class Lost(ShellTest):
    def test_in_a_late_answer(self):
        """Cells that a late answer leaves out are missing, also where a later answer is the first one in time."""
        silence = _silence.Silence()
        for count in range(3, 9):
            silence.asks(count)
        silence.asked(False)
        for count in range(5, 8):
            silence.told(count, False)
        self.assertEqual(silence.asked(False, lost=2), "")
        silence.told(8, True)
        self.assertIn("In[3] to In[7] are missing here", silence.asked(True))
        silence.asks(9)
        self.assertEqual(silence.asked(True), "", "another silence has the first one's losses")


class Words(ShellTest):
    def test_cells(self):
        for counts, want in (([5], "In[5]"), ([5, 6, 7], "In[5] to In[7]"), ([5, 7, 9], "3 cells from In[5] to In[9]")):
            self.assertEqual(_silence._cells(counts), want)
