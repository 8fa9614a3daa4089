"""Traces of cells that submit tasks, without Dask: ids, markers of both ends, and contexts of strangers."""

import asyncio
import re
import types
import unittest

from ipytracer import _dask_marks, _dask_trace, _dask_worker

from . import fake
from .test_dask import Worker

MARKER = re.compile(r"(begin|end) dask:submit ([0-9a-f]{32})\.(\d+)@sent:(00-[0-9a-f]{32}-[0-9a-f]{16}-01)\Z")
CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Marked(unittest.TestCase):
    def setUp(self):
        self.tracer = fake.Tracer(greets=False)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()

    def marked(self):
        found = [m for m in self.tracer.markers if "dask:" in m and _dask_marks.BETWEEN not in m]
        del self.tracer.markers[:]
        return found


class Cells(Marked):
    def test_ids_are_those_of_the_agent(self):
        """The same as in cmd/tracer/internal/agent."""
        self.assertEqual(_dask_trace.ids("ab" * 16, 3), ("30d46f36efd64f3403543b630f5f07f9", "9b0cf8547e575b32"))

    def test_a_cell_is_marked_once(self):
        traces = _dask_trace.Traces()
        first = traces.of("In[1]")
        self.assertEqual(traces.of("In[1]"), first)
        second = traces.of("In[2]")
        self.assertNotEqual(second, first)
        self.assertEqual(second[:35], first[:35], "one trace")
        found = [MARKER.match(m).groups() for m in self.marked()]
        self.assertEqual([(kind, number, context) for kind, _, number, context in found],
                         [(kind, n, c) for n, c in (("1", first), ("2", second)) for kind in ("begin", "end")])
        for _, key, number, context in found:
            self.assertEqual("00-%s-%s-01" % _dask_trace.ids(key, int(number)), context)
            self.assertNotIn(key, context)
        self.assertLess(len("dask:submit %s.%d@sent:%s" % ("0" * 32, _dask_trace._MOST_CELLS, CONTEXT)), 160)

    def test_a_trace_ends(self):
        traces = _dask_trace.Traces()
        first = traces.of("In[1]")
        traces._last -= _dask_trace._IDLE + 1
        second = traces.of("In[2]")
        self.assertNotEqual(second[:35], first[:35])
        seen = {traces.of("cell %d" % i)[:35] for i in range(_dask_trace._MOST_CELLS)}
        self.assertEqual(len(seen), 2)


class Tasks(Marked):
    def run_tasks(self, *traces):
        worker = Worker()
        _dask_worker.setup(worker)
        self.addCleanup(_dask_worker.teardown, worker)
        _dask_worker.MARKS.hear(False)
        for trace in traces:
            worker.state.tasks["k"] = types.SimpleNamespace(
                function=_dask_worker.submitter, annotations={"ipytracer": "In[1]", "ipytracer_trace": trace})
            self.submitted = asyncio.run(worker.execute("k", stimulus_id="s"))
        return [m[len("begin dask:"):] for m in self.marked() if m.startswith("begin ")]

    def test_the_context_is_before_its_tasks(self):
        other = CONTEXT.replace("b7", "b8")
        self.assertEqual(self.run_tasks(CONTEXT, CONTEXT, other, None, None, CONTEXT), [
            "from@got:" + CONTEXT, "k In[1]", "k In[1]", "from@got:" + other, "k In[1]", "from@got:none", "k In[1]",
            "k In[1]", "from@got:" + CONTEXT, "k In[1]",
        ])
        self.assertEqual(self.submitted, ("In[1]", CONTEXT))

    def test_another_tracer_learns_the_context(self):
        self.run_tasks(CONTEXT)
        _dask_worker.MARKS.hear(False)
        self.assertEqual(self.run_tasks(CONTEXT), ["from@got:" + CONTEXT, "k In[1]"])

    def test_strangers(self):
        bad = ["", 7, {"a": 1}, "x" * 10**6, CONTEXT + "0", CONTEXT[:-1], CONTEXT.upper(), CONTEXT + "\n", "none",
               CONTEXT.replace("-", ">")]
        self.assertEqual(self.run_tasks(*bad), ["k In[1]"] * len(bad))

    def test_contexts_are_bounded(self):
        marks = _dask_marks.Marks()
        for i in range(_dask_marks.MOST_NAMES + 9):
            marks.end(marks.begin("a", "", "00-%032x-%016x-01" % (i + 1, i + 1)))
        found = {m for m in self.marked() if m.startswith("begin dask:from")}
        self.assertEqual(len(found), _dask_marks.MOST_NAMES + 1)


if __name__ == "__main__":
    unittest.main()
