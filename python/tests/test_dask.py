"""Tasks of Dask as windows, without Dask: names, hooks in a worker, figures from a tracer that the tests play, sums."""

import asyncio
import concurrent.futures
import random
import threading
import types
import unittest

from ipytracer import _dask_figures, _dask_marks, _dask_report, _dask_sum, _dask_worker, _line

from . import fake


class Names(unittest.TestCase):
    def setUp(self):
        self.tracer = fake.Tracer(greets=False)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.marks = _dask_marks.Marks()

    def test_tasks_at_once_have_names_of_their_own(self):
        names = [self.marks.begin("inc", "In[3]") for _ in range(3)]
        self.assertEqual(names, ["dask:inc In[3]", "dask:inc In[3] #2", "dask:inc In[3] #3"])
        self.marks.end(names[1])
        self.assertEqual(self.marks.begin("inc", "In[3]"), names[1])
        self.assertEqual({self.marks.task(name) for name in names}, {("inc", "In[3]")})
        for name in names:
            self.marks.end(name)
        self.assertEqual(next(m for m in self.tracer.markers if "dask:" in m), "begin dask:inc In[3]")
        self.assertEqual((self.marks.begun, self.marks.ended), (4, 4))

    def test_hostile_prefixes(self):
        for text in ("a\n\x1b[31m", "é" * 500, "x #2", "\U0001f600", "", ">"):
            name = self.marks.begin(text, text)
            self.assertLess(len(name), 170)
            self.assertTrue(name.isascii() and name.isprintable(), name)
            self.assertNotIn("#", name)
            self.marks.end(name)

    def test_names_are_bounded(self):
        for i in range(_dask_marks.MOST_NAMES + 9):
            self.marks.end(self.marks.begin("task%d" % i))
        self.assertEqual(len({name for name in self.tracer.markers if name.startswith("begin ")}),
                         _dask_marks.MOST_NAMES + 1)
        self.assertEqual(self.marks.task(self.marks.begin("another")), ("(others)", ""))

    def test_no_instant_is_in_no_window(self):
        self.marks.hear(True)
        name = self.marks.begin("a")
        other = self.marks.begin("b")
        self.marks.end(name)
        self.marks.end(other)
        self.marks.close()
        between = _dask_marks.BETWEEN
        marked = [m for m in self.tracer.markers if not m.startswith("line ")]  # a companion of another test offers one
        self.assertEqual(marked, [
            "begin " + between, "begin dask:a", "end " + between, "begin dask:b", "end dask:a",
            "begin " + between, "end dask:b", "end " + between,
        ])


class Worker:
    """The part of a worker that is hooked into."""

    def __init__(self):
        self.executors = {
            "default": concurrent.futures.ThreadPoolExecutor(4), "offload": concurrent.futures.ThreadPoolExecutor(1),
            "actor": concurrent.futures.ThreadPoolExecutor(1),
        }
        self.state = types.SimpleNamespace(tasks={})
        self.name = "w1"
        self.ran = []

    async def execute(self, key, *, stimulus_id):
        loop, function = asyncio.get_running_loop(), self.state.tasks[key].function
        await loop.run_in_executor(self.executors["offload"], int)
        return await loop.run_in_executor(self.executors["default"], function)


class Hooks(unittest.TestCase):
    def setUp(self):
        self.tracer = fake.Tracer(greets=False)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.worker = Worker()
        _dask_worker.setup(self.worker)
        self.addCleanup(_dask_worker.teardown, self.worker)

    def run_tasks(self, *functions):
        for i, function in enumerate(functions):
            self.worker.state.tasks["task%d" % i] = types.SimpleNamespace(
                function=function, annotations={"ipytracer": "In[%d]" % (i + 1)})

        async def all_of_them():
            return await asyncio.gather(
                *(self.worker.execute("task%d" % i, stimulus_id="s") for i in range(len(functions))),
                return_exceptions=True)
        return asyncio.run(all_of_them())

    def marked(self):
        return [m for m in self.tracer.markers if "dask:" in m and _dask_marks.BETWEEN not in m]

    def test_marks_are_on_the_thread_of_the_task(self):
        seen = []
        self.tracer.marked = lambda text, marked=self.tracer.marked: (seen.append(threading.get_ident()), marked(text))
        where = self.run_tasks(threading.get_ident)
        self.assertEqual(len(self.marked()), 2)
        self.assertIn(where[0], seen)
        self.assertIn("In[1]", self.marked()[0])
        self.assertEqual(self.marked()[1], self.marked()[0].replace("begin", "end"))

    def test_failures_end_as_well(self):
        def fails():
            raise RuntimeError("fails")
        both = threading.Barrier(2)
        found = self.run_tasks(fails, both.wait, both.wait)
        self.assertIsInstance(found[0], RuntimeError)
        self.assertEqual(len(self.marked()), 6)
        self.assertEqual(sorted(m[4:] for m in self.marked() if m.startswith("end ")),
                         sorted(m[6:] for m in self.marked() if m.startswith("begin ")))

    def test_the_cell_is_known_in_the_task(self):
        self.assertEqual(self.run_tasks(_dask_worker.submitter, _dask_worker.submitter), [("In[1]", ""), ("In[2]", "")])
        self.assertIsNone(_dask_worker.submitter())

    def test_an_actor(self):
        def apply(function, args, kwargs, state, name, active, lock):
            return function(*args)
        done = self.worker.executors["actor"].submit(apply, abs, (-3,), {}, None, "Counter.add", {}, None)
        self.assertEqual(done.result(), 3)
        self.assertEqual(self.marked(), ["begin dask:Counter.add", "end dask:Counter.add"])

    def test_other_work_has_no_window(self):
        self.worker.executors["default"].submit(int).result()
        self.assertEqual(self.marked(), [])

    def test_code_of_a_task_that_submits(self):
        """It has the task's context in newer versions, and is no second task."""
        self.run_tasks(lambda: self.worker.executors["default"].submit(int).result())
        self.assertEqual(len(self.marked()), 2)

    def test_teardown(self):
        _dask_worker.teardown(self.worker)
        self.run_tasks(int)
        self.assertEqual(self.marked(), [])
        self.assertNotIn("execute", vars(self.worker))

    def test_annotations_of_other_types(self):
        for value in (None, 7, {"a": 1}, "x" * 10**6):
            self.worker.state.tasks["k"] = types.SimpleNamespace(function=int, annotations={"ipytracer": value})
            asyncio.run(self.worker.execute("k", stimulus_id="s"))
        self.assertEqual(len(self.marked()), 8)
        self.assertLess(max(map(len, self.marked())), 170)


class Figures(unittest.TestCase):
    def setUp(self):
        self.tracer = fake.Tracer()
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.line = _line.Line()
        self.addCleanup(self.line.close)
        self.marks = _dask_marks.Marks()
        self.figures = _dask_figures.Figures(self.marks, self.line)
        while not self.figures.take(patience=1):
            pass

    def task(self, prefix, mib, cell="In[1]"):
        name = self.marks.begin(prefix, cell)
        self.tracer.memory["cpu.resident"] += mib * fake.MIB
        self.marks.end(name)
        self.tracer.memory["cpu.resident"] -= mib * fake.MIB

    def test_the_highest_of_each_kind(self):
        for mib in (3, 9, 5):
            self.task("merge", mib)
        self.task("load", 7, "In[2]")
        found = self.figures.report()
        self.assertEqual([(k["task"], k["cell"], k["count"], k["window"]["meters"]["cpu.resident"]["peak"])
                          for k in found["kinds"]],
                         [("merge", "In[1]", 3, 109 * fake.MIB), ("load", "In[2]", 1, 107 * fake.MIB)])
        self.assertEqual((found["missing"], found["listens"]), (0, True))
        self.assertEqual([k["task"] for k in self.figures.report("In[2]")["kinds"]], ["load"])

    def test_lost_windows_are_counted(self):
        self.task("merge", 1)
        self.tracer.reply = lambda r: [{"id": r["id"], "windows": [], "lost": 0 if r.get("after") else 1}]
        self.assertEqual(self.figures.report()["missing"], 1)

    def test_an_older_tracer(self):
        self.task("merge", 1)
        self.tracer.reply = lambda r: [{"id": r["id"], "error": "no such question"}]
        found = self.figures.report()
        self.assertEqual((found["kinds"], found["missing"]), ([], 1))

    def test_a_tracer_that_ends(self):
        self.task("merge", 1)
        self.figures.take()
        self.tracer.kill()
        found = self.figures.report()
        self.assertEqual((found["listens"], found["kinds"], found["missing"]), (False, [], 0))
        before = len(self.tracer.markers)
        self.task("merge", 1)
        self.assertNotIn("end " + _dask_marks.BETWEEN, self.tracer.markers[before:])

    def test_kinds_are_bounded(self):
        for i in range(_dask_figures._MOST_KINDS + 5):
            self.task("task%d" % i, 0)
        found = self.figures.report()
        self.assertEqual(len(found["kinds"]), _dask_figures._MOST_KINDS)
        self.assertEqual(found["kinds"][-1]["task"], "task%d" % (_dask_figures._MOST_KINDS + 4))


def answer(name="w1", pid=7, boot="b", host="h", peak=100, times=(0, 10), **more):
    window = fake.window(3, "experiment", name="dask:x", meters={"cpu.resident": fake.figure(10, peak, 10)}, top={})
    return dict({
        "name": name, "pid": pid, "boot": boot, "host": host, "now_ns": 10, "listens": True, "missing": 0,
        "levels": [[0, 10, peak]], "error_ns": 0,
        "kinds": [{"task": "x", "cell": "In[1]", "count": 2, "first_ns": times[0], "last_ns": times[1],
                   "window": window}],
    }, **more)


class Reports(unittest.TestCase):
    def join(self, *answers, begun=10, ended=10, boot="b"):
        return _dask_report.join([("tcp://%d" % i, a) for i, a in enumerate(answers)], begun, ended, boot)

    def test_workers(self):
        r = self.join(answer(), answer("w5", 8, peak=3 << 30))
        self.assertEqual((r.processes, r.together, r.missing, r.error), (2, (3 << 30) + 100, 0, 0))
        self.assertEqual(_dask_report.line(r),
                         "dask on 2 workers: highest 3.00 GiB on w5 in x, together at most 3.00 GiB at once")
        self.assertEqual(r.tasks[0].need, (3 << 30) - 10)

    def test_several_workers_in_a_process(self):
        r = self.join(answer(), answer("w2"))
        self.assertEqual((r.processes, r.together, len(r.tasks)), (1, 100, 1))

    def test_what_is_not_known(self):
        r = self.join(answer(), answer("w2", 8, listens=False), OSError("gone\x1b"), {"name": "x"}, answer("w3", 9,
                      levels=[], missing=4))
        self.assertEqual((r.silent, len(r.failed), r.together, r.missing), (("w2",), 2, None, 4))
        text = _dask_report.line(r)
        for part in ("together not known", "1 worker without a tracer", "no answer of 2 workers", "gone\\x1b",
                     "4 tasks without a figure"):
            self.assertIn(part, text)

    def test_hostile_answers(self):
        for bad in (None, 7, [], {"boot": []}, answer(kinds=[{}]), answer(levels=[[1]]), answer(pid=-1),
                    answer(now_ns="x", boot="other"), answer(kinds=7), answer(levels=[[0, 1, 2**70]])):
            self.assertEqual((len(self.join(bad).failed), self.join(bad).tasks), (1, ()), bad)

    def test_another_machine(self):
        """Its clock is five seconds ahead; the question took 4 ns."""
        far = answer("w2", 8, boot="c", now_ns=5_000_000_010, times=(5_000_000_000, 5_000_000_010),
                     levels=[[5_000_000_000, 5_000_000_010, 50]])
        r = self.join(answer(), far, begun=8, ended=12)
        self.assertEqual((r.together, r.error), (150, 2))

    def test_nothing(self):
        self.assertEqual(_dask_report.line(self.join()), "dask no task has a figure")


class Sums(unittest.TestCase):
    def test_a_bound(self):
        """Of random histories of several processes, seen through windows and clocks that are off, the sum is never too
        low, and it is exact where windows are as short as the levels last and clocks agree."""
        random.seed(7)
        for _ in range(200):
            off = random.randrange(3)
            length, processes, truth = 30, [], [0] * 30
            for _ in range(random.randrange(1, 4)):
                values = [random.randrange(100) for _ in range(length)]
                truth = [a + b for a, b in zip(truth, values)]
                levels = [(0, length, max(values))]
                for _ in range(12):
                    a = random.randrange(length)
                    b = random.randrange(a + 1, length + 1)
                    levels.append((a, b, max(values[a:b])))
                shift = random.randint(-off, off)
                processes.append(([(a + shift, b + shift, n) for a, b, n in levels], off))
            found, covered = _dask_sum.together(processes, off, length - off)
            self.assertGreaterEqual(found, max(truth[off:length - off]))
            self.assertTrue(covered)

    def test_exact(self):
        one = [(0, 5, 10), (5, 9, 70), (9, 20, 30)]
        other = [(0, 8, 5), (8, 20, 50)]
        self.assertEqual(_dask_sum.together([(one, 0), (other, 0)], 0, 20), (120, True))
        self.assertEqual(_dask_sum.together([(one, 0), (other, 0)], 0, 8), (75, True))

    def test_gaps(self):
        self.assertEqual(_dask_sum.together([([(0, 5, 10), (6, 9, 10)], 0)], 0, 9), (10, False))
        self.assertEqual(_dask_sum.together([([], 0)], 0, 9), (0, False))

    def test_envelope(self):
        self.assertEqual(_dask_sum.envelope([(0, 10, 5), (2, 4, 3), (3, 6, 9)], highest=False),
                         [(0, 2, 5), (2, 4, 3), (4, 10, 5)])
        self.assertEqual(_dask_sum.envelope([(0, 10, 5), (2, 4, 3), (3, 6, 9)], highest=True),
                         [(0, 3, 5), (3, 6, 9), (6, 10, 5)])


if __name__ == "__main__":
    unittest.main()
