"""%memit, %mlrun and %tracer limit."""

import resource
import unittest
from unittest import mock

from ipytracer import _limit, _run, _window

from . import fake
from .shells import ShellTest

MIB = fake.MIB


class Traced(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.load()
        self.tracer.settle()
        memory = self.tracer.memory

        def take(mib):
            memory["cpu.resident"] += mib * MIB
            return mib
        self.shell.user_ns["take"] = take

    def test_memit(self):
        self.assertTrue(
            self.run_cell("%memit x = take(3)")[0].startswith("memit  need 3.00 MiB · consumed 3.00 MiB · ")
        )
        self.assertEqual(self.shell.user_ns["x"], 3)
        shown = self.run_cell("sizes = [1, 5, 2]\n%memit -r 3 take(sizes.pop())")
        self.assertTrue(shown[0].startswith("memit  need 5.00 MiB"), shown)
        self.assertTrue(shown[0].endswith(" · the most of 3 runs"), shown)
        self.assertTrue(self.run_cell("%%memit n = 4\ntake(n)\ntake(n)")[0].startswith("memit  need 8.00 MiB"))
        self.run_cell("w = %memit -o take(2)")
        self.assertEqual(self.shell.user_ns["w"].meters["cpu.resident"].need, 2 * MIB)
        self.run_cell("%memit -r 2 take(1)")
        self.assertEqual(
            [m for m in self.tracer.markers if m.endswith(" memit")][-4:], ["begin memit", "end memit"] * 2
        )

    def test_wrong(self):
        for line in (
            "%memit",
            "%memit -r 0 1",
            "%memit -r x 1",
            "%memit -r 9999 1",
            "%memit -q 1",
            "%memit -r",
            "%mlrun 1",
            "%mlrun -f f",
            "%mlrun -f nobody 1",
            "%mlrun -f take.x 1",
            "%mlrun -f a()b 1",
            "%mlrun -f len 1",
            "%tracer limit 1 KB",
            "%tracer limit lots",
            "%tracer limit auto",
        ):
            self.run_cell(line)
            self.assertEqual(type(self.result.error_in_exec).__name__, "UsageError", line)

    def test_error(self):
        """A statement's exception stays the same, and the window ends."""
        self.run_cell("%memit 1/0")
        self.assertIsInstance(self.result.error_in_exec, ZeroDivisionError)
        self.assertEqual(self.tracer.open, [])

    def test_mlrun(self):
        def reply(request):
            if request["ask"] != "lines":
                return None

            def line(meter, n, *calls):
                return {
                    "meter": meter,
                    "at_peak": n,
                    "allocated": 2 * n,
                    "freed": n,
                    "net": n,
                    "count": 2,
                    "where": "",
                    "stack": [
                        {"function": f, "file": file, "line": at, "execution": execution}
                        for f, file, at, execution in calls
                    ],
                }
            return [
                {
                    "id": request["id"],
                    "lines": [
                        line("cpu.numpy", MIB, ("ones", "numeric.py", 2, None), ("work", "In[2]", 2, 2)),
                        line("cpu.numpy", MIB, ("work", "In[2]", 2, 2)),
                        line(
                            "cpu.torch", 3 * MIB, ("work.<locals>.<listcomp>", "In[2]", 3, 2), ("work", "In[2]", 3, 2)
                        ),
                        line("cpu.numpy", 7 * MIB, ("other", "In[2]", 2, 2)),
                        line("cpu.numpy", 9 * MIB, ("work", "elsewhere.py", 2, None)),
                    ],
                }
            ]
        self.tracer.reply = reply
        self.run_cell("def work(n):\n    a = take(n)\n    return [a for _ in range(2)]")
        shown = self.run_cell("%mlrun -f work x = work(5)")[0].split("\n")
        self.assertTrue(shown[0].startswith("mlrun  need 5.00 MiB"), shown)
        self.assertEqual([row.split(None, 9) for row in shown[2:]], [
            ["work"], ["line", "meter", "at", "peak", "allocated", "net", "times", "source"],
            ["2", "numpy", "2.00", "MiB", "4.00", "MiB", "2.00", "MiB", "4", "a = take(n)"],
            ["3", "torch", "3.00", "MiB", "6.00", "MiB", "3.00", "MiB", "2", "return [a for _ in range(2)]"]], shown)
        self.assertEqual(self.shell.user_ns["x"], [5, 5])

    def test_somebody_elses(self):
        """A %memit that was registered before stays."""
        self.run_cell("%unload_ext ipytracer")
        self.assertIsNone(self.shell.find_line_magic("memit"))
        calls = []

        def mine(line):
            calls.append(line)
        self.shell.register_magic_function(mine, "line", "memit")
        self.addCleanup(self.shell.magics_manager.magics["line"].pop, "memit", None)
        self.run_cell("%load_ext ipytracer")
        self.run_cell("%memit 5")
        self.assertEqual(calls, ["5"])
        self.run_cell("%unload_ext ipytracer")
        self.run_cell("%memit 6")
        self.assertEqual(calls, ["5", "6"])

    def test_limit(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_DATA, (soft, hard))
        size = _limit.mapped() + (64 << 20)
        self.assertIn("it may map", self.run_cell("%%tracer limit %d" % size)[0])
        self.assertEqual(resource.getrlimit(resource.RLIMIT_DATA), (size, hard))
        self.run_cell("x = bytearray(128 << 20)")
        self.assertIsInstance(self.result.error_in_exec, MemoryError)
        for _ in range(2):       # a cell maps memory itself, so the first figure may differ
            shown = self.run_cell("%tracer limit")
            self.assertRegex(shown[0], r"has mapped [0-9.]+ MiB, it may map %.2f MiB$" % (size / (1 << 20)))
            self.assertEqual(resource.getrlimit(resource.RLIMIT_DATA), (size, hard))
        self.run_cell("%tracer limit off")
        self.assertEqual(resource.getrlimit(resource.RLIMIT_DATA), (hard, hard))


class Without(ShellTest):
    def test_no_tracer(self):
        self.load()
        shown = self.run_cell("%memit x = 7")
        self.assertIn("the statement has run, without figures: no tracer listens", shown[0])
        self.assertEqual(self.shell.user_ns["x"], 7)
        self.run_cell("def f(): pass\n%mlrun -f f f()")
        self.assertTrue(self.result.success)


class Options(unittest.TestCase):
    def test_options(self):
        for line, want in {
            "-r 5 x": ([("-r", "5")], "x"),
            "-r5 -o x -y": ([("-r", "5"), ("-o", "")], "x -y"),
            "x = -r": ([], "x = -r"),
            "  f('-o')": ([], "f('-o')"),
        }.items():
            self.assertEqual(_run._options(line, "r:o", ""), want, line)

    def test_top(self):
        top = _window.Top(1, "In[4] line 6 › … › _run.py line 44 _window › <memit> line 1 › ones", 6, 4)
        from ipytracer import _text
        self.assertEqual(_text.place(top, mock.Mock(execution=9)), "ones")
