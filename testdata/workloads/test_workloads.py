"""The workloads are true without any tracer: python3 -m unittest (here), or python3 test_workloads.py.

Marks rise as `proof` says, to the byte; what the expectations promise about the windows holds for what can be seen from
outside: the sizes before and after each cell, the marks, and (roughly) the kernel's high-water mark. $IPYTRACER_PYTHON
chooses the interpreter, which must have IPython, numpy, ipykernel and jupyter_client; the default is this one, or
/usr/bin/python3.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import cells as workload
import model

HERE = os.path.dirname(os.path.abspath(__file__))
MiB = model.MiB
# VmHWM leaves out what every CPU has not yet added to the counter, and is looked at only now and then.
HIGH_WATER_SLACK = 2 * MiB
METERS = {"cpu.mapped": "mapped", "cpu.resident": "resident"}


def interpreter():
    for path in (os.environ.get("IPYTRACER_PYTHON"), sys.executable, "/usr/bin/python3"):
        if (
            path
            and subprocess.call(
                [path, "-c", "import IPython, numpy, ipykernel, jupyter_client"], stderr=subprocess.DEVNULL
            )
            == 0
        ):
            return path
    raise unittest.SkipTest("no interpreter with IPython, numpy, ipykernel and jupyter_client; set IPYTRACER_PYTHON")


def span(limits):
    return limits if isinstance(limits, (list, tuple)) else [limits, limits]


class FrontEnd:
    """Runs the cells once, then compares. A mixin: subclasses name the script."""

    script, front_end, arguments = "", "", ()

    @classmethod
    def setUpClass(cls):
        cls.python = interpreter()
        with tempfile.NamedTemporaryFile(mode="r", suffix=".jsonl") as out:
            ran = subprocess.run(
                [
                    cls.python,
                    os.path.join(HERE, cls.script),
                    "--no-wait",
                    "--high-water",
                    "--python",
                    cls.python,
                    "--out",
                    out.name,
                    *cls.arguments,
                ],
                capture_output=True,
                text=True,
            )
            if ran.returncode:
                raise AssertionError("%s: %s" % (cls.script, ran.stderr))
            records = [json.loads(line) for line in out]
        cls.session = records[0]["session"]
        cls.results = {r["name"]: r for r in records[1:] if "skipped" not in r}
        cls.skipped = {r["name"] for r in records[1:] if "skipped" in r}
        every = workload.expectations(cls.front_end, answers=cls.session["machine"])
        cls.expected = workload.expectations(
            cls.front_end,
            [c["name"] for c in every["cells"] if c["name"] not in cls.skipped],
            answers=cls.session["machine"],
        )

    def each(self, check):
        for cell in self.expected["cells"]:
            with self.subTest(cell=cell["name"]):
                check(cell, self.results[cell["name"]])

    def test_every_cell_ran(self):
        self.assertEqual([c["name"] for c in self.expected["cells"]], list(self.results))

    def test_status(self):
        self.each(lambda cell, result: self.assertEqual(cell["status"], result["status"], result.get("error")))

    def test_execution_counts(self):
        self.each(lambda cell, result: self.assertEqual(cell["execution_count"], result["execution_count"]))

    def test_times_are_in_order(self):
        times = [t for result in self.results.values() for t in (result["requested_ns"], result["idle_ns"])]
        self.assertEqual(sorted(times), times)

    def test_marks_rise_as_proven(self):
        self.exact, self.moved, self.arenas = 0, [], []
        self.each(lambda cell, result: [self.check_proof(proof, result, cell["yields"]) for proof in cell["proof"]])
        # Threads that ask for no GIL (ZeroMQ's) may write a page of their own between two marks; they seldom do.
        self.assertLess(len(self.moved), self.exact / 10, self.moved)
        # Several in one run are no coincidence.
        self.assertLess(len(self.arenas), 3, self.arenas)

    def check_proof(self, proof, result, yields):
        tops = [m for m in result["marks"] if m["label"] == proof["label"]]
        bases = [m for m in result["marks"] if m["label"] == proof["base"]]
        least, most = span(proof["times"])
        self.assertTrue(least <= len(tops) <= most, "%d marks %s" % (len(tops), proof["label"]))
        self.assertTrue(bases, "no mark " + proof["base"])
        for top in tops:
            base = [m for m in bases if m["ns"] <= top["ns"]][-1]
            self.assertEqual(base["pid"], top["pid"])
            self.assertEqual(proof["child"], top["pid"] != self.session["pid"])
            for part in ("mapped", "resident", "anon", "file", "shmem"):
                if part in proof:
                    self.check_rise(part, top[part] - base[part], span(proof[part]), proof["label"], yields)

    def check_rise(self, part, rise, limits, label, yields):
        text = "%s of %s: %+d, expected %s" % (part, label, rise, limits)
        if limits[0] <= rise <= limits[1]:
            self.exact += 1
            return
        if part == "mapped" and yields and rise - model.ARENA == limits[0] == limits[1]:
            self.arenas.append(text)
            return
        self.moved.append(text)
        self.assertNotEqual("mapped", part, text)
        self.assertTrue(limits[0] - model.THREADS <= rise <= limits[1] + model.THREADS, text)

    def test_walk_agrees_with_the_counters(self):
        if self.session["machine"]["behind"]:
            self.skipTest("the counters of this kernel lag behind")
        walks = [(name, m) for name, result in self.results.items() for m in result["marks"] if m["walk"]]
        unsettled = ["%s %s" % (name, m["label"]) for name, m in walks if not m["settled"]]
        self.assertLess(len(unsettled), len(walks) / 10, unsettled)

    def test_kept(self):
        self.each(lambda cell, result: [self.check_kept(cell, meter, field, result) for meter, field in METERS.items()])

    def check_kept(self, cell, meter, field, result):
        if "kept" in cell["meters"].get(meter, {}):
            least, most = cell["meters"][meter]["kept"]
            kept = result["after"][field] - result["before"][field]
            self.assertTrue(least <= kept <= most, "%s kept %+d, expected %s" % (meter, kept, [least, most]))

    def test_marked_peaks(self):
        self.each(lambda cell, result: [self.check_peak(cell, meter, field, result) for meter, field in METERS.items()])

    def check_peak(self, cell, meter, field, result):
        expected = cell["meters"].get(meter, {})
        if "mark" not in expected:
            return
        peak = self.peak(expected["mark"], field, result)
        highest = max((m for m in result["marks"] if m["pid"] == self.session["pid"]), key=lambda m: m[field])
        self.assertLessEqual(highest[field], peak + expected["above"], "%s: %s is higher" % (meter, highest["label"]))
        if "rise" in expected:
            least, most = expected["rise"]
            rise = peak - result["before"][field]
            self.assertTrue(least <= rise <= most, "%s rose %+d, expected %s" % (meter, rise, [least, most]))

    def peak(self, label, field, result):
        marks = [m[field] for m in result["marks"] if m["label"] == label and m["pid"] == self.session["pid"]]
        self.assertTrue(marks, "no mark " + label)
        return max(marks)

    def test_resident_peaks_agree_with_the_high_water_mark(self):
        self.each(self.check_high_water)

    def check_high_water(self, cell, result):
        if "wait_for" in cell["request"]:
            return      # the mark covers what comes after the cell, too
        expected = cell["meters"].get("cpu.resident", {})
        high = result["after"]["high_water"]
        if "mark" in expected:
            peak = self.peak(expected["mark"], "resident", result)
            self.assertTrue(peak - HIGH_WATER_SLACK <= high <= peak + expected["above"] + HIGH_WATER_SLACK,
                            "VmHWM %d, mark %d" % (high, peak))
        elif "rise" in expected:
            least, most = expected["rise"]
            rise = high - result["before"]["resident"]
            self.assertTrue(least - HIGH_WATER_SLACK <= rise <= most + HIGH_WATER_SLACK, "VmHWM rose %+d" % rise)


class Kernel(FrontEnd, unittest.TestCase):
    script, front_end = "run_kernel.py", "kernel"


class Terminal(FrontEnd, unittest.TestCase):
    script, front_end = "run_terminal.py", "terminal"


class SimplePrompt(FrontEnd, unittest.TestCase):
    script, front_end, arguments = "run_terminal.py", "terminal", ("--simple-prompt",)


class Expectations(unittest.TestCase):
    def test_names_are_unique(self):
        names = [cell.name for cell in workload.CELLS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 36)

    def test_ranges(self):
        for cell in workload.CELLS:
            for meter, expected in cell.meters.items():
                for key in ("rise", "kept"):
                    if key in expected:
                        least, most = expected[key]
                        self.assertLessEqual(least, most, (cell.name, meter, key))
                if expected.get("above", 0) > MiB or expected.get("why") is None and "mark" not in expected:
                    self.assertTrue(
                        cell.why or expected.get("why") or cell.source == "pass" or self.tight(expected),
                        (cell.name, meter),
                    )

    @staticmethod
    def tight(expected):
        least, most = expected.get("rise", [0, 0])
        return most - least <= 4 * MiB

    def test_experiments_name_real_marks(self):
        by_name = {cell.name: cell for cell in workload.CELLS}
        for experiment in workload.EXPERIMENTS:
            self.assertIn(["begin", experiment["name"]], by_name[experiment["begin"]].markers)
            if experiment["end"]:
                self.assertIn(["end", experiment["name"]], by_name[experiment["end"]].markers)
            cell, label = experiment["peak"]
            self.assertIn(label, [proof["label"] for proof in by_name[cell].proof])

    def test_markers_are_in_the_source(self):
        for cell in workload.CELLS:
            found = re.findall(r"<ipytracer:(begin|end) ([\w-]+)>", cell.source)
            self.assertEqual([tuple(m) for m in cell.markers], found, cell.name)

    def test_execution_counts_follow_the_selection(self):
        chosen = workload.expectations("kernel", ["silent", "last"])["cells"]
        self.assertEqual(
            [("prelude", 1), ("silent", None), ("last", 2)], [(c["name"], c["execution_count"]) for c in chosen]
        )

    def test_a_selection_brings_along_what_it_needs(self):
        chosen = workload.expectations("kernel", ["leak_cleared"])["cells"]
        self.assertEqual(["prelude", "leak_1", "leak_2", "leak_3", "leak_cleared"], [c["name"] for c in chosen])

    def test_figures_follow_the_machine(self):
        usual = {"read_small": 0, "read_large": 0, "write": 4096, "advised": 2 * MiB, "behind": 0, "freed": 64 << 10,
                 "collapsed": 0, "heap": 0}
        whole, none = {"read_small": 64 << 10, "read_large": 4 * MiB}, {"read_large": 4 * MiB}
        for name, label, answers, resident in (
            ("zero_page", "top", {}, [0, 0]),
            ("zero_page", "top", whole, [64 * MiB, 64 * MiB]),
            ("zero_page", "top", none, [60 * MiB, 64 * MiB]),
            ("thp", "top", {}, [32 * 4096, 64 * MiB]),
            ("thp", "top", {"advised": 4096}, [32 * 4096, 32 * 4096]),
            ("madv_free", "given", {}, [0, 64 * MiB]),
            ("madv_free", "given", {"freed": 0}, [0, 0]),
            ("madv_free", "half", {"freed": 0}, [32 * MiB, 32 * MiB]),
        ):
            cells = workload.expectations("kernel", [name], answers=dict(usual, **answers))["cells"]
            found = [proof["resident"] for proof in cells[1]["proof"] if proof["label"] == label]
            self.assertEqual([resident], found, (name, answers))
        rises = [workload.expectations("kernel", ["zero_page"], answers=dict(usual, **answers))["cells"][1]["meters"]
                 for answers in ({}, whole)]
        self.assertNotIn("mark", rises[0]["cpu.resident"])
        self.assertEqual(("top", [62 * MiB, 66 * MiB]), (rises[1]["cpu.resident"]["mark"],
                                                         rises[1]["cpu.resident"]["rise"]))

    def test_unknown_cell(self):
        self.assertRaises(KeyError, workload.select, "kernel", ["nobody"])

    def test_json(self):
        out = subprocess.check_output(
            [sys.executable, os.path.join(HERE, "cells.py"), "--json", "--front-end", "terminal"]
        )
        self.assertEqual(json.loads(out.decode()), json.loads(json.dumps(workload.expectations("terminal"))))


class NumPy(unittest.TestCase):
    """NumPy's figures against tracemalloc, which hears the same calls from inside (and Python's own objects too)."""

    SCRIPT = """
import json, sys, threading, tracemalloc
import cells, numpy as np
import truth as T
space, measured = dict(np=np, T=T, threading=threading), {}
for name in sys.argv[1:]:
    source = [c.source for c in cells.CELLS if c.name == name][0]
    code = compile(source, name, "exec")
    tracemalloc.start()
    exec(code, space)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    measured[name] = [peak, now]
print(json.dumps(measured))
"""
    PYTHONS_OWN = 256 * 1024

    def test_against_tracemalloc(self):
        names = [
            "np_ones_freed",
            "np_empty_untouched",
            "temporaries",
            "temporaries_named",
            "py_threads",
            "leak_1",
            "leak_2",
        ]
        out = subprocess.check_output([interpreter(), "-c", self.SCRIPT] + names, env=dict(os.environ, PYTHONPATH=HERE))
        measured = json.loads(out.decode().splitlines()[-1])
        for cell in workload.expectations("kernel", names)["cells"]:
            if cell["name"] in measured:
                for key, value in zip(("rise", "kept"), measured[cell["name"]]):
                    least, most = cell["meters"]["cpu.numpy"][key]
                    with self.subTest(cell=cell["name"], figure=key):
                        self.assertTrue(
                            least <= value <= most + self.PYTHONS_OWN, "%d, expected %s" % (value, [least, most])
                        )


if __name__ == "__main__":
    unittest.main()
