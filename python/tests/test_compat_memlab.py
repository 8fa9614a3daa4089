"""pytorch_memlab, line by line: the calls of test_line_profiler, with further assertions, and fixed bugs. Lines take
memory of the fake tracer's."""

import io
import os
import re
import sys
import tempfile
import threading
import unittest
import warnings
from contextlib import redirect_stdout
from unittest import mock

from ipytracer import _line
from ipytracer.compat import _figures, _gpu, pytorch_memlab
from ipytracer.compat.pytorch_memlab import LineProfiler, _events, _line_profiler, _profile, _sizes

from . import fake_memory
from .fake_memory import MIB, CompatTest

MEMORY = ("resident_bytes.all.peak",)


class LineTest(unittest.TestCase):
    """Functions of this module, with a fake tracer and memory that take() changes."""

    greets = True

    def setUp(self):
        self.before = sys.gettrace()
        self.addCleanup(
            lambda: self.assertEqual((sys.gettrace(), _events._hooks, _events._listeners), (self.before, [], []))
        )
        for module, name, value in ((_line, "ASKED_FOR", 20), (_figures, "_NEW", 20 if self.greets else 0.01)):
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        _line.LINE.close()
        _line.LINE.said = False
        self.addCleanup(_line.LINE.close)
        self.tracer = fake_memory.Tracer(greets=self.greets)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.addCleanup(pytorch_memlab.clear_global_line_profiler)
        self.addCleanup(_profile.global_line_profiler.disable)

    def peaks(self, profiler, func, column=MEMORY[0]):
        """Return [MiB of each line of a function], None for those that did not run."""
        text = str(profiler.display(func, [column])).splitlines()
        rows = [re.match(r"\s*([≥≈]?[-\d.]+[BKMGT]|[≥?]+)?\s+(\d+)  ", row) for row in text[5:]]
        return [row[1] for row in rows if row]


class Lines(LineTest):
    def test_line_report(self):
        take = self.tracer.take

        def work():
            # comment
            take(5 * MIB)
            take(20 * MIB), take(-20 * MIB)
            take(-5 * MIB)
            return other()

        def other():
            take(1 * MIB), take(-1 * MIB)

        profiler = LineProfiler(work, other)
        profiler.enable()
        work()
        profiler.disable()
        self.assertEqual(self.peaks(profiler, work), ["100.00M", None, "105.00M", "125.00M", "105.00M", "101.00M"])
        self.assertEqual(self.peaks(profiler, other), ["100.00M", "101.00M"])
        self.assertEqual(self.peaks(profiler, work, "resident_bytes.all.current")[2:4], ["105.00M", "105.00M"])
        out = io.StringIO()
        profiler.print_stats(columns=MEMORY, stream=out)
        self.assertEqual(out.getvalue(), str(profiler.display(columns=MEMORY)))

    def test_display(self):
        def part(n):
            self.tracer.take(n), self.tracer.take(-n)

        def main():
            part(3 * MIB)
            part(2 * MIB)
        with LineProfiler(part) as profiler:
            main()
        text, html = str(profiler.display()), profiler.display()._repr_html_()
        self.assertRegex(text, r"^## .*part\n\n")
        self.assertIn("def part(n):", text)
        self.assertNotIn("def main", text)
        self.assertEqual(self.peaks(profiler, part), ["100.00M", "103.00M"])      # the most of both calls
        self.assertIn("103.00M", html)
        self.assertIn("self.tracer.take(n)", html)
        self.assertEqual(str(profiler.display("nothing")), "No data collected\n")
        self.assertEqual(profiler.display("nothing")._repr_html_(), "<p>No data collected</p>")
        self.assertEqual(str(profiler.display(part)), str(profiler.display([part.__qualname__])))

    def test_columns(self):
        profiler = LineProfiler()
        for columns in (["active_bytes"], ["nothing.all.peak"], ["active_bytes.all.mean"]):
            self.assertRaises(ValueError, profiler.display, None, columns)
        with self.assertRaisesRegex(ValueError, "Options are: active_bytes.all.current"):
            profiler.display(columns=["x.y.z"])
        for column in (
            "active_bytes.small_pool.peak",
            "reserved_bytes.all.freed",
            "segment.all.current",
            "requested_bytes.all.peak",
        ):
            with self.assertRaisesRegex(ValueError, "is not counted: of PyTorch's own statistics .* Options are: "):
                profiler.display(columns=[column])

    def test_gpu_columns(self):
        """The default columns are those of the target GPU, where there is one."""
        def work():
            self.tracer.take(4 * MIB, "gpu.1.active"), self.tracer.take(20 * MIB, "gpu.1.reserved")
            self.tracer.take(-4 * MIB, "gpu.1.active"), self.tracer.take(3 * MIB, "gpu.0.active")
        with mock.patch.object(_gpu, "index_of", lambda n: n), LineProfiler(work, target_gpu=1) as profiler:
            work()
        self.assertRegex(str(profiler.display()), r"active_bytes reserved_bytes line  code\n +all +all\n +peak +peak\n")
        self.assertEqual(self.peaks(profiler, work, "active_bytes.all.peak"), ["0.00B", "4.00M", "4.00M"])
        self.assertEqual(self.peaks(profiler, work, "reserved_bytes.all.current"), ["0.00B", "20.00M", "20.00M"])

    def test_set_target_gpu(self):
        @pytorch_memlab.profile_every(10)
        def work():
            pytorch_memlab.set_target_gpu(1)
            self.tracer.take(8 * MIB, "gpu.1.active")
            pytorch_memlab.set_target_gpu(0)
            self.tracer.take(8 * MIB, "gpu.1.active")
        with mock.patch.object(_gpu, "index_of", lambda n: n):
            work()
        # as each line ends
        self.assertEqual(
            self.peaks(_profile.global_line_profiler, work, "active_bytes.all.peak")[2:],
            ["0.00B", "8.00M", "0.00B", "0.00B"],
        )
        self.assertEqual([_line_profiler._ordinal(d) for d in (2, "cuda:3", mock.Mock(index=1))], [2, 3, 1])

    def test_decorators(self):
        @pytorch_memlab.profile_every(output_interval=3)
        def work():
            self.tracer.take(MIB), self.tracer.take(-MIB)
            return 5

        @pytorch_memlab.profile_every(enable=False)
        def other():
            pass
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual([work() for _ in range(7)], [5] * 7)
            other()
        self.assertEqual(out.getvalue().count("## "), 2)
        self.assertNotIn("other", out.getvalue())

    def test_profile_prints_at_the_end(self):
        with mock.patch("atexit.register") as register:
            @pytorch_memlab.profile
            def work():
                self.tracer.take(MIB)
                raise KeyboardInterrupt
        self.assertRaises(KeyboardInterrupt, work)
        out = io.StringIO()
        with redirect_stdout(out):
            register.call_args[0][0]()
        self.assertIn("101.00M", out.getvalue())
        self.assertIn("raise KeyboardInterrupt", out.getvalue())

    def test_method(self):
        class Net:
            @pytorch_memlab.profile_every(1)
            def forward(self, inp):
                return inp * 2
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(Net().forward(4), 8)
        self.assertRegex(out.getvalue(), r"## .*Net\.forward\n")

    def test_recursion_generators_and_errors(self):
        take = self.tracer.take

        def down(n):
            take(MIB)
            if n:
                down(n - 1)
            take(-MIB)

        def items():
            take(2 * MIB)
            yield 1
            take(-2 * MIB)

        def fails():
            take(3 * MIB)
            raise ValueError
        with LineProfiler(down, items, fails) as profiler:
            down(2)
            for _ in items():
                take(7 * MIB), take(-7 * MIB)       # while it is suspended: in no line
            with self.assertRaises(ValueError):
                fails()
            self.assertEqual(profiler._running, {})
        self.assertEqual(self.peaks(profiler, down), ["102.00M", "103.00M", "103.00M", "103.00M", "103.00M"])
        self.assertEqual(self.peaks(profiler, items), ["100.00M", "102.00M", "102.00M", "102.00M"])
        self.assertEqual(self.peaks(profiler, fails), ["100.00M", "103.00M", "103.00M"])
        self.assertEqual(self.tracer.open, [])

    def test_two_profilers(self):
        """With the original the second one collects nothing."""
        def work():
            self.tracer.take(MIB), self.tracer.take(-MIB)
        with LineProfiler(work) as outer, LineProfiler(work) as inner:
            work()
        self.assertEqual((self.peaks(outer, work), self.peaks(inner, work)), (["100.00M", "101.00M"],) * 2)

    def test_a_debugger_beside_it(self):
        """An older trace function keeps tracing, meanwhile and afterwards."""
        seen = []

        def tracer(frame, event, arg):
            if frame.f_code.co_name == "work":
                seen.append(event)
            return tracer

        def work():
            return 1
        sys.settrace(tracer)
        try:
            with LineProfiler(work) as profiler:
                work()
            work()
            self.assertIs(sys.gettrace(), tracer)
        finally:
            sys.settrace(self.before)
        self.assertEqual(seen, ["call", "line", "return"] * 2)
        self.assertEqual(len(self.peaks(profiler, work)), 2)

    def test_other_threads(self):
        def work():
            self.tracer.take(MIB), self.tracer.take(-MIB)
        with LineProfiler(work) as profiler:
            other = threading.Thread(target=work)
            other.start()
            other.join()
        self.assertEqual(str(profiler.display()), "No data collected\n")

    def test_unmeasured(self):
        """For executions beyond the limit the display says that there were more."""
        def work():
            for _ in range(20):
                pass
        with mock.patch.object(_line_profiler, "MOST", 10), LineProfiler(work) as profiler:
            work()
        self.assertEqual(self.peaks(profiler, work), ["100.00M", "≥100.00M", "≥100.00M"])

    def test_inexact(self):
        self.tracer.inexact["cpu.resident"] = 4096

        def work():
            pass
        with LineProfiler(work) as profiler:
            work()
        self.assertEqual(self.peaks(profiler, work), ["≈100.00M"] * 2)

    def test_no_code(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            LineProfiler(len)
        self.assertIn("no function written in Python", str(caught[0].message))

    def test_sizes(self):
        self.assertEqual(
            [_sizes.readable_size(n) for n in (0, 40 << 10, 2 << 20, 3 << 39, None, float("nan"), 1 << 60)],
            ["0.00B", "40.00K", "2.00M", "1.50T", "", "", "1048576.00T"],
        )


class WithoutTracer(LineTest):
    greets = False

    def test_nothing(self):
        def work():
            return 3
        out = io.StringIO()
        with redirect_stdout(out), LineProfiler(work) as profiler:
            self.assertEqual(work(), 3)
        self.assertEqual(out.getvalue().count("sudo tracer attach"), 1)
        self.assertEqual(str(profiler.display()), "No data collected\n")


class Magic(CompatTest):
    def setUp(self):
        super().setUp()
        self.printed_by("%load_ext ipytracer.compat.pytorch_memlab")
        self.addCleanup(self.shell.run_line_magic, "unload_ext", "ipytracer.compat.pytorch_memlab")
        self.printed_by("def work(n=1):\n    b = Block(n)\n    return b")

    def test_line_and_cell(self):
        out = self.printed_by("%mlrun -f work -D -c resident_bytes.all.peak x = work(4)")
        self.assertRegex(out, r"(?s)## work.*104\.00M +2      b = Block\(n\)")
        self.assertEqual(self.shell.user_ns["x"].mib, 4)
        out = self.printed_by("%%mlrun -f work -c mapped_bytes.all.peak\ny = work(2)\n%time z = 1")
        self.assertRegex(out, r"resident_bytes torch_bytes numpy_bytes|active_bytes")
        self.assertEqual(self.shell.user_ns["z"], 1)

    def test_options(self):
        self.assertNotIn("##", self.printed_by("%mlrun -q -f work work()"))
        self.printed_by("p = %mlrun -r -f work work()")
        self.assertIsInstance(self.shell.user_ns["p"], LineProfiler)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.txt")
            self.printed_by("%%mlrun -q -f work -T %s work()" % path)
            with open(path) as f:
                self.assertIn("## work", f.read())
            self.run_cell("%%mlrun -f work -T %s/no/such work()" % folder)
            self.assertIn("No such file or directory", self.printed)
        self.run_cell("%mlrun -f nothing work()")
        self.assertIn("Could not find function 'nothing'", self.printed)
