"""The stand-ins work as README.md says, without any tracer: python3 -m unittest (here), or python3 test_rig.py.

$IPYTRACER_PYTHON chooses the interpreter of the kernel, which must have ipykernel and jupyter_client; the default is
this one, or /usr/bin/python3.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import build
import cells as workload
import model
import truth

HERE = os.path.dirname(os.path.abspath(__file__))
GiB, MiB = model.GiB, model.MiB

directory = None


def setUpModule():
    global directory
    directory = tempfile.TemporaryDirectory(prefix="ipytracer-gpu-")
    build.build(directory.name)


def tearDownModule():
    directory.cleanup()


def interpreter():
    for path in (os.environ.get("IPYTRACER_PYTHON"), sys.executable, "/usr/bin/python3"):
        if (
            path
            and subprocess.call([path, "-c", "import ipykernel, jupyter_client, numpy"], stderr=subprocess.DEVNULL) == 0
        ):
            return path
    raise unittest.SkipTest("no interpreter with ipykernel, jupyter_client and numpy; set IPYTRACER_PYTHON")


def python(script, *arguments, **environment):
    """Runs a script on the stand-ins in a process of its own, and returns its `out`. It must print nothing else."""
    env = dict(os.environ, PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1", STANDIN_LIBRARIES=directory.name)
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "STANDIN_TRUTH", "STANDIN_DEVICES", "STANDIN_MEMORY"):
        env.pop(name, None)
    env.update(environment)
    ran = subprocess.run(
        [sys.executable, "-c", script + "\nimport json; print(json.dumps(out))"] + list(arguments),
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if ran.returncode:
        raise AssertionError("status %d: %s" % (ran.returncode, ran.stderr))
    return json.loads(ran.stdout)


class Session(unittest.TestCase):
    """All cells in one kernel."""

    @classmethod
    def setUpClass(cls):
        path = interpreter()
        with tempfile.NamedTemporaryFile(mode="r", suffix=".jsonl") as out:
            ran = subprocess.run(
                [
                    path,
                    os.path.join(HERE, "run_gpu.py"),
                    "--no-wait",
                    "--python",
                    path,
                    "--libraries",
                    directory.name,
                    "--out",
                    out.name,
                ],
                capture_output=True,
                text=True,
            )
            if ran.returncode:
                raise AssertionError(ran.stderr)
            records = [json.loads(line) for line in out]
        cls.session, cls.results = records[0]["session"], {r["name"]: r for r in records[1:]}

    def each(self, check):
        for cell in workload.CELLS:
            result = self.results[cell.name]
            with self.subTest(cell=cell.name):
                if "skipped" not in result:
                    check(cell, result)

    def test_every_cell_ran(self):
        self.assertEqual([cell.name for cell in workload.CELLS], list(self.results))
        for cell in workload.CELLS:
            self.assertTrue("skipped" not in self.results[cell.name] or cell.requires)

    def test_status(self):
        self.each(lambda cell, result: self.assertEqual(cell.status, result["status"], result.get("error")))

    def test_figures(self):
        self.each(lambda cell, result: self.check(result["truth"], cell.rise, cell.kept))

    def test_between_cells(self):
        self.each(lambda cell, result: self.check(result["between"], *cell.between))

    def test_children(self):
        def check(cell, result):
            self.assertEqual(len(cell.children), len(result["children"]))
            for expected, child in zip(cell.children, result["children"]):
                self.check(child["truth"], *expected)
        self.each(check)

    def check(self, figures, rise, kept):
        for meter in set(rise) | set(kept):
            self.assertIn(meter, figures)
        for meter, v in figures.items():
            self.same(rise.get(meter, 0), v["peak"] - v["start"], meter + " rise")
            self.same(kept.get(meter, 0), v["end"] - v["start"], meter + " kept")
            self.assertGreaterEqual(v["end"], 0, meter)

    def same(self, expected, found, what):
        if isinstance(expected, list):
            self.assertTrue(expected[0] <= found <= expected[1], "%s: %d" % (what, found))
        else:
            self.assertEqual(expected, found, what)

    def test_nothing_is_loaded_at_first(self):
        for name in ("before", "pass_first"):
            self.assertEqual({}, self.results[name]["truth"])

    def test_nothing_is_left(self):
        self.assertEqual({0}, {v["end"] for v in self.results["pass_last"]["truth"].values()})

    def test_devices(self):
        self.assertEqual(["0000:11:00.0", "0000:21:00.0"], [d["pci"] for d in self.session["devices"]])


class Catalogue(unittest.TestCase):
    def test_names_are_unique(self):
        names = [cell.name for cell in workload.CELLS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 24)

    def test_meters_are_known(self):
        for cell in workload.CELLS:
            for figures in (cell.rise, cell.kept, *cell.between):
                self.assertLessEqual(set(figures), set(model.METERS), cell.name)

    def test_it_adds_up(self):
        total = {}
        for cell in workload.CELLS:
            for figures in (cell.kept, cell.between[1]):
                for meter, size in figures.items():
                    total[meter] = total.get(meter, 0) + size
        self.assertEqual({0}, set(total.values()))

    def test_a_selection_brings_along_what_it_needs(self):
        self.assertEqual(["before", "import_libraries", "keep", "pinned_keep", "pinned_free"],
                         [cell.name for cell in workload.select(["pinned_keep"])])
        self.assertRaises(KeyError, workload.select, ["nobody"])

    def test_json(self):
        out = subprocess.check_output([sys.executable, os.path.join(HERE, "cells.py"), "--json"])
        self.assertEqual(json.loads(out.decode()), json.loads(json.dumps(workload.expectations())))


class Layout(unittest.TestCase):
    def test_truth_file(self):
        with tempfile.NamedTemporaryFile() as file:
            pid = python(
                "import gpu, os; t = gpu.Tensor(gpu.MiB, 1); p = gpu.Pinned(5); gpu.rt.set_device(1); q = "
                "gpu.rt.malloc(7)\n"
                "out = os.getpid()",
                STANDIN_TRUTH=file.name,
            )
            read = truth.Truth(file.name, os.path.join(directory.name, "libtruth_reader.so"))
            self.assertEqual([pid], read.pids())
            figures = read.cut(pid)
            self.assertEqual((5, 5), figures["cpu.pinned"])
            self.assertEqual((2 * MiB + 7,) * 2, figures["gpu.1.driver"])
            # torch's tensor was freed when the interpreter ended, which the gauges still show.
            self.assertEqual((0, MiB), figures["gpu.1.active"])
            self.assertEqual((2 * MiB,) * 2, figures["gpu.1.reserved"])
            self.assertEqual((0, 0), read.cut(pid)["gpu.1.active"])
            self.assertEqual(truth.SIZE, os.path.getsize(file.name))
            self.assertEqual(
                read.devices()[1], {"index": 1, "uuid": "a1b2c3d4e5f60718293a4b5c6d7e8fa0", "pci": "0000:21:00.0"}
            )


if __name__ == "__main__":
    unittest.main()
