"""ipyexperiments: the assertions of its own tests (test_basic, test_exp_cpu and the notebook test_cl_gpu), and its
bugs. test_compat_ipyexperiments_gpu has its GPU and its utils."""

import gc
import random
import re
import sys
import types
from unittest import mock

from ipytracer import _line
from ipytracer.compat.ipyexperiments import __version__, cell_logger

from .fake_memory import MIB, CompatTest

SIZES = r"･ %s: +([-\d,]+) +([-\d,]+) +([-\d,]+) MB"


def sizes(output, what="CPU"):
    return tuple(int(n.replace(",", "")) for n in re.findall(SIZES % what, output)[0])


class Cells(CompatTest):
    def setUp(self):
        super().setUp()
        self.printed_by("from ipytracer.compat.ipyexperiments import IPyExperimentsCPU")

    def logger(self, how=""):
        return self.printed_by("exp = IPyExperimentsCPU(exp_enable=False%s)" % how)

    def test_report(self):
        self.logger()
        out = self.printed_by("a = Block(128)")
        self.assertIn("Consumed", out)
        self.assertIn("Peaked", out)
        self.assertEqual(sizes(out), (128, 0, 228))
        self.assertRegex(
            out,
            r"^･ RAM:  △Consumed    △Peaked    Used Total \| Exec time \d:\d\d:\d\d\.\d{3}\n･ CPU:        128          "
            r"0        228 MB \|\n$",
        )

    def test_peak_memory_usage(self):
        self.logger()
        self.assertEqual(sizes(self.printed_by("a = Block(128); b = Block(128); del a")), (128, 128, 228))
        self.assertEqual(sizes(self.printed_by("del b")), (-128, 0, 100))
        self.assertEqual(sizes(self.printed_by("c = Block(255.99)")), (256, 0, 356))      # the original cuts that off

    def test_data_accessor(self):
        self.logger()
        self.printed_by("a = Block(128); b = Block(128); del a")
        self.printed_by("data, window = exp.cl.data, exp.cl.window")
        data, window = self.shell.user_ns["data"], self.shell.user_ns["window"]
        self.assertEqual((data.cpu, data.gpu), ((128 * MIB, 128 * MIB, 228 * MIB), (0, -1, -1)))
        self.assertLess(0, data.time.time_delta)
        self.assertEqual((window.kind, window.meters["cpu.resident"].consumed), ("cell", 128 * MIB))

    def test_stop(self):
        self.logger()
        self.assertEqual(sizes(self.printed_by("a = Block(5); exp.cl.stop(); b = Block(7)")), (5, 0, 105))
        self.assertEqual(self.printed_by("c = Block(1)"), "")
        self.assertEqual(self.printed_by("exp.cl.start(); d = Block(3)").count("CPU"), 1)

    def test_first_cell(self):
        """The cell that it starts in counts from there on."""
        self.assertEqual(
            sizes(self.printed_by("a = Block(64); exp = IPyExperimentsCPU(exp_enable=False); b = Block(3)")),
            (3, 0, 167),
        )

    def test_compact(self):
        self.logger(", cl_compact=True")
        self.assertRegex(self.printed_by("a = Block(1128); b = Block(5); del b"),
                         r"^CPU: 1128/5/1228 MB \| Time \d:\d\d:\d\d\.\d{3} \| \(Consumed/Peaked/Used Total\)\n$")

    def test_failing_cells(self):
        self.logger()
        self.run_cell("a = Block(9); 1/0")
        self.assertEqual(sizes(self.printed), (9, 0, 109))
        self.run_cell("(")
        self.assertEqual(self.printed.count("CPU:"), 1)
        self.run_cell("")
        self.assertEqual(self.printed, "")

    def test_gc_collect(self):
        source = "a = Block(64); a.itself = a; del a"
        self.logger()
        self.assertEqual(sizes(self.printed_by(source)), (0, 64, 100))
        self.printed_by("exp.cl.stop()")
        gc.disable()
        self.addCleanup(gc.enable)
        self.logger(", cl_gc_collect=False")
        self.assertEqual(sizes(self.printed_by(source)), (64, 0, 164))

    def test_random_reset(self):
        for seed, same in ((0, False), (42, True)):
            self.logger(", cl_set_seed=%d" % seed)
            self.printed_by("import random; one = random.random()")
            self.printed_by("two = random.random()")
            self.assertEqual(self.shell.user_ns["one"] == self.shell.user_ns["two"], same)
            self.printed_by("exp.cl.stop()")

    def test_set_seed(self):
        numpy = types.SimpleNamespace(random=mock.Mock())
        torch = types.SimpleNamespace(manual_seed=mock.Mock(), cuda=mock.Mock(), backends=mock.Mock())
        with mock.patch.dict(sys.modules, numpy=numpy, torch=torch):
            cell_logger.set_seed(7)
        numpy.random.seed.assert_called_once_with(7)
        torch.cuda.manual_seed_all.assert_called_once_with(7)
        self.assertEqual(random.random(), random.Random(7).random())

    def test_inexact(self):
        self.logger()
        self.tracer.inexact["cpu.resident"] = None
        self.assertIn("  5         ≥0        105 MB | ≈", self.printed_by("a = Block(5)"))

    def test_beside_the_companion(self):
        """Both show the same figures of a cell."""
        self.logger()
        self.printed_by("%load_ext ipytracer")
        shown = self.run_cell("a = Block(40)")
        self.assertEqual(sizes(self.printed), (40, 0, 140))
        self.assertIn("consumed 40.00 MiB", shown[0])

    def test_other_hooks(self):
        """Memory that other hooks take belongs to the cell."""
        self.logger()
        self.shell.events.register("post_run_cell", lambda *_: self.shell.user_ns.update(drawn=self.Block(30)))
        self.addCleanup(lambda: self.shell.events.callbacks["post_run_cell"].clear())
        self.assertEqual(sizes(self.printed_by("a = Block(40)")), (70, 0, 170))

    def test_a_missed_end(self):
        """A cell within another one that lacks an end ends with that one, and leaves no experiment open."""
        self.logger()
        out = self.printed_by("get_ipython().events.trigger('pre_run_cell', object())\na = Block(40)")
        self.assertEqual((sizes(out), self.tracer.open), ((40, 0, 140), []))
        self.assertEqual(sizes(self.printed_by("b = Block(8)")), (8, 0, 148))
        self.printed_by("get_ipython().events.trigger('pre_run_cell', object())\nexp.cl.stop()")
        self.assertEqual(self.tracer.open, [])

    def test_stalled(self):
        """A tracer that does not answer costs a moment, and then there are no figures."""
        self.logger()
        self.tracer.answers = False
        self.patience(0.1)
        self.assertIn("･ CPU:          –          –          – MB |", self.printed_by("a = Block(5)"))

    def test_text(self):
        for n, want in ((0, "0:00:00.000"), (0.1774, "0:00:00.177"), (3661.9996, "1:01:02.000")):
            self.assertEqual(cell_logger.secs2time(n), want)
        self.assertEqual([cell_logger.int2width(n) for n in (1, 999, 1000, 999999, 1000000)], [1, 3, 5, 7, 9])
        self.assertEqual(
            [cell_logger.b2mb(n) for n in (None, 0, MIB - 1, -MIB + 1, -(MIB >> 1) + 1)], [None, 0, 1, -1, 0]
        )


class Experiments(CompatTest):
    def setUp(self):
        super().setUp()
        self.printed_by("from ipytracer.compat.ipyexperiments import IPyExperimentsCPU")

    def check_reclaimed(self, output, consumed, reclaimed):
        for part in ("Experiment finished in 00:00:0", "x1, x2", "Current state"):
            self.assertIn(part, output)
        found = re.search(r"Consumed\s+Reclaimed\nCPU:\s+([\d,]+)\s+([\d,]+) MB\s+\(\s*([\d.]+)%\)", output)
        self.assertEqual((int(found[1]), int(found[2])), (consumed, reclaimed))
        self.assertEqual(float(found[3]), round(100 * reclaimed / consumed, 2))

    def test_version(self):
        self.assertTrue(__version__)

    def test_basic_container(self):
        out = self.printed_by("exp1 = IPyExperimentsCPU(cl_enable=False)\nx1 = Block(128); x2 = Block(128)\ndel exp1")
        self.check_reclaimed(out, 256, 256)
        self.assertIn("*** Experiment started with the CPU-only backend\n", out)
        self.assertNotIn("x1", self.shell.user_ns)

    def test_data_and_keep_var_names(self):
        self.printed_by("exp = IPyExperimentsCPU(cl_enable=False)\nx1 = Block(128)\nkept = exp.data.cpu")
        self.printed_by("exp.keep_var_names('kept')\nx2 = Block(64)\nagain = exp.data.cpu")
        self.assertEqual(self.shell.user_ns["kept"][:2], (128 * MIB, 0))
        self.assertEqual(self.shell.user_ns["again"][:2], (192 * MIB, 0))
        out = self.printed_by("final = exp.finish()")
        self.check_reclaimed(out.replace("again, x1, x2", "x1, x2"), 192, 192)
        self.assertIn("Kept:    kept", out)
        self.assertEqual(
            (self.shell.user_ns["final"].cpu[:2], self.shell.user_ns["final"].gpu), ((192 * MIB, 192 * MIB), (0, 0, 0))
        )
        self.assertEqual(self.shell.user_ns["exp"].data, self.shell.user_ns["final"])
        self.assertIs(self.shell.user_ns["exp"].finish(), self.shell.user_ns["final"])
        self.assertEqual(self.shell.user_ns["exp"].window.meters["cpu.resident"].peak, 292 * MIB)
        self.assertTrue({"kept", "final"} <= set(self.shell.user_ns) and "x1" not in self.shell.user_ns)
        with self.assertRaises(ValueError):
            self.shell.user_ns["exp"].keep_var_names(5)

    def test_context_manager(self):
        out = self.printed_by(
            "with IPyExperimentsCPU(cl_enable=False) as exp:\n"
            "    x1 = Block(3); x2 = Block(4); z = 'data'; exp.keep_var_names('z')"
        )
        self.check_reclaimed(out, 7, 7)
        self.assertEqual(self.shell.user_ns["z"], "data")

    def test_names_defined_before(self):
        out = self.printed_by(
            "x3, x4 = 10, Block(20)\nwith IPyExperimentsCPU(cl_enable=True):\n"
            "    x1 = Block(5); x2 = Block(3); x3 = 10; x4 = Block(30)"
        )
        self.check_reclaimed(out, 18, 8)
        self.assertEqual((self.shell.user_ns["x3"], self.shell.user_ns["x4"].mib), (10, 30))
        self.assertEqual(sizes(out), (18, 20, 138))

    def test_what_is_no_data_stays(self):
        """The original deletes imports, functions and classes, too."""
        out = self.printed_by(
            "with IPyExperimentsCPU(cl_enable=False):\n    import math\n    def f(): pass\n    class C: pass\n"
            "    c = C()\n    _hidden = 1"
        )
        self.assertIn("Deleted: c\n", out)
        self.assertIn("Kept:    C, f, math\n", out)
        self.assertEqual((self.shell.user_ns["math"].sqrt(4), self.shell.user_ns["_hidden"]), (2, 1))

    def test_an_older_name_of_the_same_value(self):
        """The original deletes that, too."""
        self.printed_by("old = Block(5)")
        self.printed_by("with IPyExperimentsCPU(cl_enable=False):\n    alias = old; nothing = None; text = ''")
        self.assertEqual(self.shell.user_ns["old"].mib, 5)
        self.assertIn("__name__", self.shell.user_ns)

    def test_displayed(self):
        """Out does not keep the result that a cell displayed."""
        self.printed_by("exp = IPyExperimentsCPU(cl_enable=False)\nx1 = Block(8); x2 = Block(1)")
        self.printed_by("x1")
        self.check_reclaimed(self.printed_by("r = exp.finish()"), 9, 9)

    def test_garbage(self):
        out = self.printed_by(
            "with IPyExperimentsCPU(cl_enable=False):\n    x1 = Block(3); x2 = Block(4); x1.itself = x1"
        )
        self.assertRegex(out, r"cleared \d+ objects \(only temporary leakage\)")
        self.check_reclaimed(out, 7, 7)

    def test_implicit_destroy(self):
        source = "exp = IPyExperimentsCPU(exp_enable=%s, cl_enable=True)\n"
        out = self.printed_by((source % True) * 2)
        self.assertEqual((out.count("started"), out.count("Finishing"), out.count("Error")), (2, 1, 0))
        self.assertEqual(self.printed_by("del exp").count("Finishing"), 1)
        out = self.printed_by((source % False) * 2)
        self.assertEqual((out.count("started"), out.count("Finishing"), out.count("Error")), (2, 0, 0))
        self.printed_by("del exp")
        self.assertEqual(self.printed_by("pass"), "")

    def test_reset(self):
        """The original fails if %reset deletes the names."""
        self.printed_by(
            "exp = IPyExperimentsCPU(cl_enable=False)\nx1 = Block(3); zz = [Block(1) for _ in range(9)]; aa = 1"
        )
        self.assertEqual(self.printed_by("%reset -f").count("Finishing"), 1)
        self.assertNotIn("x1", self.shell.user_ns)

    def test_forked_child(self):
        """In a forked child the experiment belongs to the parent."""
        out = self.printed_by(
            "import os\nexp = IPyExperimentsCPU(cl_enable=False)\nx1 = Block(3)\nread, write = os.pipe()\n"
            "pid = os.fork()\n"
            "if not pid:\n    del exp\n    os.write(write, b'x1' if 'x1' in globals() else b'--')\n    os._exit(0)\n"
            "os.waitpid(pid, 0); told = os.read(read, 2); os.close(read); os.close(write)\nexp.keep_var_names('told')"
        )
        self.assertEqual((self.shell.user_ns["told"], out.count("Finishing")), (b"x1", 0))
        self.assertIn("x1", self.printed_by("del exp"))

    def test_in_a_terminal(self):
        """The original needs a kernel."""
        self.assertFalse(hasattr(self.shell, "kernel"))
        self.assertIn(
            "*** Current state:\nRAM:    Used    Free   Total       Util\nCPU:     100 ",
            self.printed_by("exp = IPyExperimentsCPU(cl_enable=False)"),
        )
        self.printed_by("exp.finish()")

    def test_fails(self):
        self.run_cell("with IPyExperimentsCPU(cl_enable=False):\n    x1 = Block(3); x2 = Block(4); 1/0")
        self.assertIsInstance(self.result.error_in_exec, ZeroDivisionError)
        self.check_reclaimed(self.printed, 7, 7)


class WithoutTracer(CompatTest):
    greets = False

    def test_no_figures(self):
        self.printed_by("from ipytracer.compat.ipyexperiments import IPyExperimentsCPU")
        out = self.printed_by("exp = IPyExperimentsCPU()")
        self.assertEqual(
            out.count("no tracer listens yet, so there are no figures; in a terminal, type: sudo tracer attach"), 1
        )
        self.assertIn("･ CPU:          –          –          – MB |", out)
        self.printed_by("a = 1; data = exp.cl.data, exp.data")
        cells, whole = self.shell.user_ns["data"]
        self.assertEqual((cells.cpu, whole.cpu[0]), ((None, None, None), None))
        out = self.printed_by("r = exp.finish()")
        self.assertIn("CPU:        –        – MB (      –)", out)
        self.assertNotIn("no tracer", out)
        self.assertEqual(self.shell.user_ns["r"].cpu[:2], (None, None))
        self.assertNotIn("a", self.shell.user_ns)
        _line.LINE.close()
