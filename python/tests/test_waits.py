"""How long the notebook may wait, by a clock of the test's own: for as long as the line says. So a busy machine makes
no difference."""

import json
import time
import types
import warnings
from unittest import mock

from ipytracer import _api, _line, _packets
from ipytracer._experiment import experiment

from . import fake
from .test_line import LineTest

CELL = _line.ASKED_FOR


class Waits(LineTest):
    def setUp(self):
        super().setUp()
        self.now, self.waits, self.arrives = 1000.0, [], lambda seconds: None
        patches = (
            mock.patch.object(_line, "ASKED_FOR", CELL),  # as it is: by this clock no machine is busy
            mock.patch.object(_line, "time", types.SimpleNamespace(monotonic=lambda: self.now)),
            mock.patch.object(_api, "LINE", self.line),
            mock.patch.object(_line.Line, "_readable", lambda line, seconds: self.wait(seconds)),
            mock.patch("ipytracer._experiment.LINE", self.line),
        )
        self.tracer = fake.Tracer().__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.attached(self.tracer)
        self.tracer.answers = False
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def wait(self, seconds):
        """Act as a poll of so many seconds: they pass, or a message has come before."""
        self.tracer.settle()
        self.waits.append(seconds)
        self.now += seconds
        return self.arrives(seconds)

    def cell(self, *asked):
        """Run a cell that asks. Return how long it waited, including the display below it."""
        before = self.now
        self.line.look(cell=True)
        for ask in asked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask()
        self.line.look()
        self.line.ask("cell", _line.AFTER_CELL)
        return self.now - before

    def test_a_tracer_that_is_stopped(self):
        """Two cells wait, each for less than it may; the others hardly."""
        took = [self.cell() for _ in range(50)]
        self.assertLessEqual(max(took), CELL)
        self.assertLessEqual(max(took[2:]), _line._IMPATIENT)
        self.assertEqual(self.line.hello is None, False)

    def test_a_cell_that_asks_much(self):
        """All vain waits of one cell together take the time that it may wait once, and then next to nothing for each
        question."""
        def measured():
            with experiment("e"):
                pass
        self.line.newest = _packets.window(json.loads(json.dumps(fake.window(5))))
        for asked in (
            (_api.last,),
            (_api.lines,),
            (_api.cells, _api.cells),
            (_api.last, _api.lines, _api.cells),
            (measured,),
        ):
            with self.subTest(asked):
                self.line._missed = 0
                del self.waits[:]
                took = self.cell(*asked)
                self.assertLessEqual(took, CELL + len(self.waits) * _line._IMPATIENT)

    def test_a_tracer_that_trickles(self):
        """Packets that come just in time prolong only long answers, and not beyond their limit."""
        def trickle(seconds):
            self.tracer.put({"id": self.line._next - 1, "windows": [], "more": True})
            return [1]
        self.arrives = trickle
        self.assertLessEqual(self.cell(), CELL)
        before = self.now
        self.line.ask("cells", most=_line.IN_ALL, after=0, limit=5)
        self.assertLessEqual(self.now - before, _line.IN_ALL + CELL)

    def test_a_tracer_that_chatters(self):
        """Packets that are no answer do not prolong it, however many lie there."""
        for _ in range(100):
            self.tracer.put({"tick": 1})
        self.assertLessEqual(self.cell(), CELL)

    def test_who_waits_gets_it(self):
        """A test run that asks for ten seconds waits for that time, once."""
        before = self.now
        self.line.look(cell=True)
        self.line.ask("running", 10)
        self.assertEqual(round(self.now - before, 3), 10)

    def test_late(self):
        """A late answer, before the next question, makes the line as patient as before."""
        self.line.look(cell=True)
        self.assertIsNone(self.line.ask("cell"))
        self.tracer.put({"id": self.line._next - 1, "windows": []})
        before = self.now
        self.assertIsNone(self.line.ask("cell"))
        self.assertEqual(round(self.now - before, 3), CELL)

    def test_the_clock_is_the_lines(self):
        """All of these tests rely on that clock: nothing else in the line waits."""
        began = time.monotonic()
        for _ in range(200):
            self.cell()
        self.assertGreater(self.now - 1000, 0.3)
        self.assertLess(time.monotonic() - began, 60)
