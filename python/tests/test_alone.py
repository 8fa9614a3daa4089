"""The companion without a tracer: what cells, magics, Python code, the compatible modules and pytest show then."""

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import ipytracer
from ipytracer import _line
from ipytracer._inside import INSIDE
from ipytracer._window import Figure

from . import counting
from .fake import Tracer
from .shells import ShellTest

_NEED = re.compile(r"need ([≈≥]?)([\d.]+) (B|KiB|MiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
_TAKE = "block = bytearray(%d << 20); block[::4096] = b'x' * len(block[::4096])"


def need(line):
    """Return the mark and the bytes of the need in a line under a cell."""
    mark, number, unit = _NEED.search(line).groups()
    return mark, float(number) * _UNITS[unit]


class AloneTest(ShellTest):
    def setUp(self):
        super().setUp()
        INSIDE.end()
        patch = mock.patch.object(INSIDE, "on", True)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(INSIDE.end)

    def tracer(self):
        found = Tracer().__enter__()
        self.addCleanup(found.__exit__)
        return found


class Cells(AloneTest):
    def test_a_line_under_each_cell(self):
        [said] = self.load()
        self.assertRegex(said, "^ipytracer: no tracer listens yet; until then figures are read inside this process "
                               r"\(≈, ≥\); for exact ones, in a terminal, type: sudo tracer attach")
        [line] = self.run_cell(_TAKE % 50)
        mark, size = need(line)
        self.assertTrue(line.startswith("In[2]  need ≈") and " (machine)" in line or "(container)" in line, line)
        self.assertEqual(mark, "≈")
        self.assertAlmostEqual(size, 50 << 20, delta=4 << 20)
        [line] = self.run_cell("del block")
        self.assertIn("consumed ≈-4", line.replace("≈-5", "≈-4"))
        [line] = self.run_cell("1 / 0")
        self.assertIn(" · error (ZeroDivisionError)", line)

    def test_last_and_table_and_state(self):
        self.load()
        self.run_cell(_TAKE % 45)
        self.run_cell("x = 1")
        last = self.run_cell("%tracer last")[0].split("\n")
        self.assertTrue(last[0].startswith("In[3]  need "), last)
        self.assertEqual([row.split()[0] for row in last[2:]][:2], ["resident", "mapped"])
        table = self.run_cell("%tracer table")[0].split("\n")
        self.assertEqual([row.split()[0] for row in table[:3]], ["cell", "In[2]", "In[3]"])
        self.assertRegex(self.run_cell("%tracer")[0], "^ipytracer: no tracer listens; figures are read inside this "
                         "process, NumPy's arrays and PyTorch's tensors are not counted; figures under cells: compact; "
                         "in a terminal, type: ")
        for asked in ("%tracer lines", "%mlrun -f f f()"):
            self.run_cell("def f(): pass")
            self.assertIn("only a tracer outside can say that; in a terminal, type: ", self.run_cell(asked)[0])
        for asked in ("%tracer audit", "%tracer advise"):
            self.assertIn("no tracer listens; in a terminal, type: ", self.run_cell(asked)[0])

    def test_a_tracer_that_comes_takes_over(self):
        self.load()
        self.run_cell("x = 1")
        self.assertTrue(INSIDE.measures())
        self.tracer()
        for _ in range(5000):                    # the tracer has a thread of its own, and no cell waits for it
            if _line.LINE.listens():
                break
            self.run_cell("x = 2")
        self.run_cell("x = 3")
        self.assertIn("need 512.00 MiB", self.run_cell("x = 4")[0])
        self.assertFalse(INSIDE.measures())

    def test_switched_off_by_the_variable(self):
        INSIDE.on = False
        self.assertRegex(self.load()[0], "^ipytracer: no tracer listens yet; in a terminal, type: ")
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertIsNone(ipytracer.last())
        self.assertIsNone(ipytracer.report())

    def test_variables(self):
        self.load()
        self.run_cell("text = 'x' * (2 << 20); shared = ['y' * (3 << 20)]; same = shared")
        found = {v.name: v for v in ipytracer.vars()}
        self.assertEqual([v.name for v in ipytracer.vars()][2], "text")
        self.assertEqual((found["shared"].bytes, found["same"].bytes), (0, 0))
        self.assertGreaterEqual(found["shared"].reaches, 3 << 20)
        self.assertEqual((found["text"].bytes >> 20, found["text"].exact), (2, False))
        table = self.run_cell("%tracer vars")[0]
        self.assertIn("≥ 2.00 MiB", table)
        self.assertIn("read inside this process: sizes are the least", table)

    def test_guard_knows_what_cells_needed(self):
        self.load()
        self.run_cell("%tracer guard error")
        self.run_cell("block = None")
        self.assertEqual([o for o in self.run_cell("%tracer guard") if "did not answer" in o], [])
        self.run_cell(_TAKE % 40)
        self.run_cell("block = None")
        from ipytracer import _room
        with mock.patch.object(_room, "rooms", lambda: [_room.Room("cpu.resident", 20 << 20, "container")]):
            self.run_cell(_TAKE % 40)
        self.assertIn("NotEnoughMemory", self.printed)
        self.assertIn("20.00 MiB are free (container)", self.printed)

    def test_cells_without_a_line_are_no_silence(self):
        """A tracer that answers is not called silent for a cell that shows no figures of its own."""
        self.load()
        self.tracer()
        self.run_cell("%tracer guard on")
        self.assertEqual([o for o in self.run_cell("%tracer guard") if "did not answer" in o], [])


class Python(AloneTest):
    def test_last_cells_and_lines(self):
        self.load()
        self.run_cell(_TAKE % 45)
        self.run_cell("y = 1")
        self.assertEqual(ipytracer.last().label, "In[3]")
        self.assertEqual([w.label for w in ipytracer.cells()], ["In[2]", "In[3]"])
        with self.assertWarnsRegex(RuntimeWarning, "only a tracer outside can say that"):
            self.assertEqual(ipytracer.lines(), [])
        self.assertFalse(ipytracer.attached())

    def test_experiment(self):
        self.load()
        self.run_cell("import ipytracer\nwith ipytracer.experiment('load') as e:\n    " + _TAKE % 60)
        result = self.shell.user_ns["e"].result
        self.assertEqual(result.deleted, ("block",))
        self.assertAlmostEqual(result.consumed["cpu.resident"], 60 << 20, delta=4 << 20)
        self.assertAlmostEqual(result.reclaimed["cpu.resident"], 60 << 20, delta=4 << 20)
        self.assertIn("resident consumed ≈", repr(result))
        self.assertGreater(result.available["cpu.resident"], 0)

    def test_memit(self):
        self.load()
        line = self.run_cell("%memit bytearray(80 << 20)[::4096]")[0]
        self.assertTrue(line.startswith("memit  need ≈"), line)

    def test_report_is_the_tracers_json(self):
        self.load()
        self.run_cell("import ipytracer\nwith ipytracer.experiment('e'): pass")
        self.run_cell("1 / 0")
        report = json.loads(json.dumps(ipytracer.report()))
        self.assertEqual(report["schema"], "ipytracer/report/v1")
        self.assertEqual([w["kind"] for w in report["windows"]], ["session", "cell", "experiment", "cell"])
        self.assertEqual([w["parent"] for w in report["windows"]], [0, 1, 2, 1])
        self.assertFalse(report["certificate"]["complete"])
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(root, "report", "schema", "report-v1.schema.json")) as f:
            jsonschema.validate(report, json.load(f))

    def test_a_forked_child_has_a_session_of_its_own(self):
        self.load()
        self.run_cell("x = 1")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if not pid:
            try:
                found = ipytracer.cells()
                os._exit(0 if found == [] and INSIDE.measures() else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual([w.label for w in ipytracer.cells()], ["In[2]"])


class Compat(AloneTest):
    """The modules in the place of older tools give figures."""

    def test_memwatcher(self):
        self.run_cell("from ipytracer.compat.memwatcher import MemWatcher\nmw = MemWatcher()\n"
                      "mw.start_watching_memory()")
        self.assertIn("until then figures are read inside this process", self.printed)
        self.run_cell(_TAKE % 45)
        used = re.search(r"used ≈([\d.]+) MiB RAM", self.printed)
        self.assertAlmostEqual(float(used[1]), 45, delta=4)
        self.assertFalse(math.isnan(self.shell.user_ns["mw"].measurements.memory_usage))
        self.run_cell("mw.stop_watching_memory()")

    def test_ipyexperiments(self):
        self.run_cell("from ipytracer.compat.ipyexperiments import IPyExperimentsCPU\nexp = IPyExperimentsCPU()\n"
                      + _TAKE % 45)
        self.run_cell("final = exp.finish()")
        consumed = self.shell.user_ns["final"].cpu.consumed if hasattr(self.shell.user_ns.get("final"), "cpu") else None
        self.assertNotIn("no figures", self.printed)
        self.assertTrue(consumed is None or consumed > 20 << 20, consumed)


    def test_ipython_memory_usage(self):
        self.run_cell("%load_ext ipytracer.compat.ipython_memory_usage\n%imu_start")
        self.addCleanup(self.shell.run_line_magic, "unload_ext", "ipytracer.compat.ipython_memory_usage")
        self.run_cell(_TAKE % 45)
        used = re.search(r"used ≈([\d.]+) MiB RAM", self.printed)
        self.assertAlmostEqual(float(used[1]), 45, delta=4)
        self.run_cell("%imu_stop")

    def test_gpus_are_not_said_to_be_empty(self):
        """A GPU's memory is not known without a tracer, but for what PyTorch says of itself."""
        from ipytracer.compat import _figures
        from ipytracer.compat.fastai_mem import GPUMemTrace
        trace = GPUMemTrace()
        self.assertEqual(trace.data(), (None, None))
        trace.stop()
        reserved = Figure(0, 9, 5, 5, 4, True, 0)
        self.assertEqual(_figures.figure({"gpu.0.reserved": reserved}, "gpu.0.driver"),
                         reserved._replace(exact=False, bound=None))
        self.assertIsNone(_figures.figure({"gpu.1.reserved": reserved}, "gpu.0.driver"))


_COUNTING = """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    os.environ["IPYTHONDIR"] = folder
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    for cell in %r:
        shell.run_cell(cell, store_history=True)
    import ipytracer
    for w in ipytracer.cells():
        f = w.meters.get(%r)
        print("figure", w.label, f and (f.start, f.peak, f.end, f.exact))
"""


class WithCounts(unittest.TestCase):
    """A shell that counts, in a process of its own."""

    def test_tensors(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no PyTorch")
        cells = [
            "%load_ext ipytracer", "import torch", "a = torch.ones(1 << 20)", "b = torch.ones(100); del b", "del a",
            "%tracer counts off", "c = torch.ones(1 << 20)",
        ]
        out = counting.run(_COUNTING % (cells, "cpu.torch"), IPYTRACER_COUNTS="1")
        self.assertEqual([line for line in out.split("\n") if line.startswith("figure In[") and " None" not in line], [
            "figure In[2] (0, 0, 0, True)",
            "figure In[3] (0, 4194304, 4194304, True)",
            "figure In[4] (4194304, 4194704, 4194304, True)",
            "figure In[5] (4194304, 4194304, 0, True)",
            "figure In[6] (0, 0, 0, False)",
        ])

    def test_cells(self):
        cells = [
            "%load_ext ipytracer", "import numpy as np", "a = np.ones(1 << 20)", "b = a * 2; del b", "del a",
            "import threading\nt = threading.Thread(target=lambda: globals().update(b=np.ones(1 << 19)))\n"
            "t.start(); t.join()",
            "%tracer counts off", "c = np.ones(1 << 20)",
        ]
        out = counting.run(_COUNTING % (cells, "cpu.numpy"), IPYTRACER_COUNTS="1")
        self.assertIn("NumPy's arrays and PyTorch's tensors on the CPU are counted in this process, to the byte", out)
        # np.ones makes a number of 8 bytes, or two, beside the array
        out = out.replace("8388624", "8388616").replace("4194320", "4194312")
        self.assertEqual([line for line in out.split("\n") if line.startswith("figure In[") and " None" not in line], [
            "figure In[2] (0, 0, 0, True)",
            "figure In[3] (0, 8388616, 8388608, True)",
            "figure In[4] (8388608, 16777224, 8388608, True)",
            "figure In[5] (8388608, 8388608, 0, True)",
            "figure In[6] (0, 4194312, 4194304, True)",
            "figure In[7] (4194304, 4194304, 4194304, False)",
        ])
        self.assertIn("figure In[8] None", out)


class Pytest(unittest.TestCase):
    def test_limits_are_judged(self):
        try:
            import pytest  # noqa: F401
        except ImportError:
            self.skipTest("no pytest")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_it.py"), "w") as f:
                f.write("import pytest\n"
                        "@pytest.mark.limit_memory('20 MB')\ndef test_much(): b = bytearray(90 << 20); b[::4096] = "
                        "b'x' * len(b[::4096])\n"
                        "@pytest.mark.limit_memory('200 MB')\ndef test_little(): pass\n")
            source = os.path.dirname(os.path.dirname(os.path.abspath(ipytracer.__file__)))
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "--ipytracer", "--ipytracer-wait", "0", "-p", "no:cacheprovider",
                 "-p", "ipytracer.pytest_plugin", folder],
                env=dict(os.environ, PYTHONPATH=source), cwd=folder, capture_output=True, text=True, timeout=120,
                check=False,
            )
        self.assertIn("1 failed, 1 passed", done.stdout, done.stdout + done.stderr)
        self.assertIn("test_much", done.stdout)


class Room(unittest.TestCase):
    def test_the_tightest_limit(self):
        from ipytracer import _room
        rooms = [_room.Room("cpu.resident", 5, "machine", 100), _room.Room("cpu.resident", 3, "container", 50),
                 _room.Room("cpu.mapped", 1, "rlimit")]
        with mock.patch.object(_room, "rooms", lambda: rooms):
            self.assertEqual(INSIDE.hello()[2:4], (50, "container"))
        with mock.patch.object(_room, "rooms", list):
            self.assertEqual(INSIDE.hello()[2:4], (None, ""))
        self.assertFalse(_line.LINE.listens())
