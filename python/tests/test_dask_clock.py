"""Markers of messages between a notebook and its workers, without Dask: both ends, and answers of strangers."""

import re
import unittest

from ipytracer import _dask_clock

from . import fake

MARKER = re.compile(r"(begin|end) dask:clock((?:@(?:sent|got):[0-9a-f]{16})+)\Z")


class Clocks(unittest.TestCase):
    def setUp(self):
        self.tracer = fake.Tracer(greets=False)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.clock = _dask_clock.Clock()

    def marked(self):
        """Returns the markers so far, each (begin or end, messages), in order, and forgets them."""
        found = [MARKER.match(m).groups() for m in self.tracer.markers if "dask:" in m]
        del self.tracer.markers[:]
        return found

    def test_both_ends(self):
        question = self.clock.asks()
        self.assertEqual(self.marked(), [("begin", "@sent:" + question), ("end", "@sent:" + question)])
        answer = _dask_clock.Answer(question)
        name = "@got:%s@sent:%s" % (question, answer.sent)
        self.assertEqual(self.marked(), [("begin", name)])
        self.assertEqual(answer.leaves(), answer.sent)
        self.assertEqual(self.marked(), [("end", name)])
        self.clock.hears(question, [("w", {"sent": answer.sent, "listens": True})])
        self.assertEqual(self.marked(), [("begin", "@got:" + answer.sent), ("end", "@got:" + answer.sent)])

    def test_most_questions_have_no_mark(self):
        question = self.clock.asks()
        self.clock.hears(question, [("w", {"sent": _dask_clock.new(), "listens": True})])
        self.marked()
        self.assertEqual(self.clock.asks(), "")
        self.assertEqual(_dask_clock.Answer("").leaves(), "")
        self.clock.hears("", [("w", {"sent": _dask_clock.new(), "listens": True})])
        self.assertEqual(self.marked(), [])
        self.assertEqual(self.clock.asks(), "")
        self.clock.hears("", [("w", {"listens": True}), ("v", {"listens": True})])
        self.assertTrue(self.clock.asks(), "a tracer listens to one more worker")
        _dask_clock._INTERVAL, before = 0, _dask_clock._INTERVAL
        self.addCleanup(setattr, _dask_clock, "_INTERVAL", before)
        clock = _dask_clock.Clock()
        self.assertTrue(clock.asks() and clock.asks())

    def test_names_of_many_workers_fit(self):
        question = self.clock.asks()
        self.clock.hears(question, [(str(i), {"sent": _dask_clock.new()}) for i in range(1000)])
        names = [m for m in self.tracer.markers if m.startswith("begin ")]
        self.assertLess(max(map(len, names)), 160)
        self.assertEqual("".join(names).count("@got:"), _dask_clock._MOST_ANSWERS)

    def test_strangers(self):
        question = self.clock.asks()
        self.marked()
        for bad in (None, 7, "", "x" * 16, "0" * 15, "0" * 17, "0" * 16 + "\n", "0" * 15 + "@", ["0" * 16]):
            self.clock.hears(question, [("w", {"sent": bad}), ("v", OSError()), ("u", None), ("t", [])])
            self.assertEqual(_dask_clock.Answer(bad).leaves(), "")
        self.assertEqual(self.marked(), [])


if __name__ == "__main__":
    unittest.main()
