"""The pytest plugin: suites of planted needs and leaks, each run by a pytest in this process against the tests' own
tracer."""

import contextlib
import importlib.metadata
import io
import json
import os
import re
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

try:
    import pytest
except ImportError:
    pytest = None

from ipytracer import _line, _sizes

from . import fake

MIB = fake.MIB
_HEAD = """
import os, pytest, unittest
from tests import fake
def take(mib, meter="cpu.resident"):
    if fake._listening:
        m = fake._listening[0].memory
        m[meter] = m.get(meter, 0) + int(mib * (1 << 20))
"""


def _plugin():
    """Return the arguments that load the plugin: none where the package is installed, one where its sources are
    tested."""
    try:
        importlib.metadata.distribution("ipytracer")
    except importlib.metadata.PackageNotFoundError:
        return ["-p", "ipytracer.pytest_plugin"]
    return []


@unittest.skipIf(pytest is None, "this Python has no pytest")
class Plugin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # two suites of one size within a second would be one
        patch = mock.patch.object(sys, "dont_write_bytecode", True)
        patch.start()
        self.addCleanup(patch.stop)
        _line.LINE.close()
        self.addCleanup(_line.LINE.close)

    def run_suite(self, suite, *options, ini="", name="test_it"):
        """Run a suite. Return the exit status, the output, and the JSON file's entry with the test's name."""
        with open(os.path.join(self.folder, name + ".py"), "w") as f:
            f.write(_HEAD + textwrap.dedent(suite))
        with open(os.path.join(self.folder, "pytest.ini"), "w") as f:
            f.write("[pytest]\n" + ini)
        figures = os.path.join(self.folder, "figures.json")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = pytest.main([*_plugin(), "-p", "no:xdist", "--import-mode=importlib", "--assert=plain",
                                  "--rootdir", self.folder, "-c", os.path.join(self.folder, "pytest.ini"),
                                  "--ipytracer-json", figures, *options, os.path.join(self.folder, name + ".py")])
        with open(figures) as f:
            told = {t["nodeid"].split("::")[-1]: t for t in json.load(f)["tests"]}
        return int(status), out.getvalue(), told

    def traced(self, *args, **kwargs):
        with fake.Tracer() as self.tracer:
            return self.run_suite("".join(args[:1]), "--ipytracer-wait=60", *args[1:], **kwargs)

    def test_needs(self):
        status, out, told = self.traced("""
            @pytest.fixture
            def given():
                take(5)
                yield
                take(-5)
            def test_a(given): take(100)
            def test_b(): take(7)
        """, "--ipytracer")
        self.assertEqual(status, 0, out)
        self.assertEqual(told["test_a"]["need"], 100 * MIB)
        self.assertEqual({p: w["meters"]["cpu.resident"]["consumed"] for p, w in told["test_a"]["windows"].items()},
                         {"setup": 5 * MIB, "call": 100 * MIB, "teardown": -5 * MIB})
        rows = [line.split() for line in out.split("\n") if line.startswith("test_it.py::")]
        self.assertEqual([r[:5] for r in rows], [["test_it.py::test_a", "100.00", "MiB", "100.00", "MiB"],
                                                 ["test_it.py::test_b", "7.00", "MiB", "7.00", "MiB"]], out)
        self.assertIn("begin test_it.py::test_a, call", self.tracer.markers)

    def test_limit_memory(self):
        status, out, told = self.traced("""
            @pytest.mark.limit_memory("24 MB")
            def test_below(): take(23)
            @pytest.mark.limit_memory("24 MB")
            def test_equal(): take(24)
            @pytest.mark.limit_memory("24 MiB")
            def test_over(): take(25)
            @pytest.mark.xfail(strict=True)
            @pytest.mark.limit_memory("1 KB")
            def test_expected(): take(1)
            @pytest.mark.limit_memory("1 MB", meter="numpy")
            def test_numpy(): take(50); take(2, "cpu.numpy")
            @pytest.mark.limit_memory("1 MB", current_thread_only=True)
            def test_thread(): take(2)
            @pytest.mark.limit_memory("1 MB", meter="gpu")
            def test_gpu(): take(3, "gpu.0.driver")
            @pytest.mark.limit_memory("a lot")
            def test_no_size(): pass
            @pytest.mark.limit_memory("1 MB", colour="red")
            def test_no_argument(): pass
            class T(unittest.TestCase):
                @pytest.mark.limit_memory("1 MB")
                def test_unit(self): take(9)
                @pytest.mark.limit_memory("1 MB")
                def test_unit_fails(self): take(9); self.fail("by itself")
        """, "--strict-markers")
        self.assertEqual(status, 1)
        self.assertEqual({n: t["outcome"] for n, t in told.items()}, {
            "test_below": "passed", "test_equal": "failed", "test_over": "failed", "test_expected": "skipped",
            "test_numpy": "failed", "test_thread": "passed", "test_gpu": "failed", "test_no_size": "failed",
            "test_no_argument": "failed", "test_unit": "failed", "test_unit_fails": "failed"}, out)
        self.assertIn("limit_memory: resident needs 24.00 MiB, not below 24.00 MiB", out)
        self.assertIn("limit_memory: numpy needs 2.00 MiB, not below 1.00 MiB", out)
        self.assertIn("limit_memory: GPU 0 driver needs 3.00 MiB, not below 1.00 MiB", out)
        self.assertIn("limit_memory: 'a lot' is no size", out)
        self.assertIn("what one thread alone needs is not known", out)
        self.assertRegex(out, r"test_it\.py \.MMxM\.MMMMF")

    def test_leaks(self):
        status, out, told = self.traced("""
            seen = []
            @pytest.mark.no_leaks
            def test_clean(): seen or seen.append(take(9))
            @pytest.mark.no_leaks()
            def test_leaks(): take(1)
            @pytest.mark.limit_leaks("2 MB")
            def test_few(): take(1)
            @pytest.mark.limit_leaks("1 MB", repeats=5)
            def test_many(): take(1)
            @pytest.mark.no_leaks
            def test_page(): take(1 / 256)
            @pytest.mark.no_leaks
            def test_array(): take(1 / 1024, "cpu.numpy")
            @pytest.mark.no_leaks(repeats=0)
            def test_wrong(): pass
            calls = []
            @pytest.mark.no_leaks
            def test_fails_later():
                calls.append(1)
                assert len(calls) < 3
        """)
        self.assertEqual(status, 1)
        self.assertEqual(
            {n: t["outcome"] for n, t in told.items()},
            {
                "test_clean": "passed",
                "test_leaks": "failed",
                "test_few": "passed",
                "test_many": "failed",
                "test_page": "passed",
                "test_array": "failed",
                "test_wrong": "failed",
                "test_fails_later": "failed",
            },
            out,
        )
        self.assertIn(
            "no_leaks: each of 3 further runs leaves memory behind\n  resident 1.00 MiB, 1.00 MiB, 1.00 MiB\n", out
        )
        self.assertIn("numpy 1.00 KiB, 1.00 KiB, 1.00 KiB", out)
        self.assertEqual(len(told["test_many"]["repeats"]), 5)
        self.assertIn("begin test_it.py::test_leaks, run 5", self.tracer.markers)

    def test_filter(self):
        for function, status in (("ones", 1), ("other", 0)):
            with self.subTest(function):
                got, out, _ = self.traced("""
                    def wanted(stack): return any(f.function == "%s" for f in stack.frames)
                    @pytest.mark.limit_leaks("1 MB", filter_fn=wanted)
                    def test_it(): take(1, "cpu.numpy")
                """ % function)
                self.assertEqual(got, status, out)

    def test_defaults(self):
        suite = """
            def test_big(): take(20)
            @pytest.mark.limit_memory("30 MB")
            def test_more(): take(29)
            def test_equal(): take(10)
        """
        for options, ini in (
            (["--fail-over", "10MiB"], ""),
            ([], "fail_over = 10 MB\n"),
            (["--fail-over=10 mb"], "fail_over = 1 MB\n"),
        ):
            with self.subTest(options=options, ini=ini):
                status, out, told = self.traced(suite, *options, ini=ini)
                self.assertEqual(
                    (status, [n for n, t in told.items() if t["outcome"] == "failed"]), (1, ["test_big"]), out
                )
                self.assertIn("--fail-over: resident needs 20.00 MiB, more than 10.00 MiB", out)

    def test_increase(self):
        for taken, status in ((10, 0), (30, 1), (30, 1), (10, 0), (10.9, 0), (11.1, 1)):
            with self.subTest(taken):
                got, out, _ = self.traced("def test_it(): take(%g)\n" % taken, "--fail-on-increase")
                self.assertEqual(got, status, out)

    def test_no_tracer(self):
        suite = """
            @pytest.mark.no_leaks
            def test_it(): take(1)
            @pytest.mark.limit_memory("1 KB")
            def test_more(): pass
        """
        status, out, told = self.run_suite(suite, ini="ipytracer_wait = 0\n")
        self.assertEqual(status, 0, out)
        self.assertIn(
            "2 tests without figures, and the limits of 2 of them were not judged: no tracer listens; type: sudo "
            "tracer run -- pytest",
            out,
        )
        self.assertEqual(told["test_it"]["not_judged"], ["no_leaks: there are no figures"])
        status, out, _ = self.run_suite(suite, "--ipytracer-strict", "--ipytracer-wait=0")
        self.assertEqual(status, 1, out)
        self.assertIn("not judged: no_leaks: there are no figures", out)

    def test_doubts(self):
        """An inexact figure is judged only where its error makes no difference."""
        def reply(request):
            if request["ask"] != "experiment" or ", call" not in request["name"]:
                return None
            known = "known" in request["name"]
            for w in reversed(self.tracer.windows):
                if w["name"] == request["name"]:
                    f = w["meters"]["cpu.resident"]
                    f["exact"], f["bound"] = False, 2 * MIB if known else None
                    return [{"id": request["id"], "windows": [w]}]
            return None
        with fake.Tracer() as self.tracer:
            self.tracer.reply = reply
            status, out, told = self.run_suite("""
                limit = pytest.mark.limit_memory("10 MB")
                @limit
                def test_known_below(): take(7)
                @limit
                def test_known_near(): take(9)
                @limit
                def test_known_over(): take(13)
                @limit
                def test_lower_bound(): take(1)
                @limit
                def test_at_least(): take(10)
            """, "--ipytracer-wait=60")
        self.assertEqual(
            [(n, t["outcome"], len(t["not_judged"])) for n, t in told.items()],
            [
                ("test_known_below", "passed", 0),
                ("test_known_near", "passed", 1),
                ("test_known_over", "failed", 0),
                ("test_lower_bound", "passed", 1),
                ("test_at_least", "failed", 0),
            ],
            out,
        )
        self.assertIn("limit_memory: resident needs ≥10.00 MiB, not below 10.00 MiB", out)
        self.assertIn("test_it.py::test_known_near: limit_memory: resident needs ≈9.00 MiB", out)

    def test_shown(self):
        suite = "@pytest.mark.parametrize('i', range(8))\ndef test_it(i): take(i)\n"
        for options, rows in (
            (["--ipytracer"], 5),
            (["--most-allocations=2"], 2),
            (["--most-allocations", "0"], 8),
            (["-vv"], 8),
            (["-q"], 0),
            (["--hide-memray-summary"], 0),
            (["--memray"], 5),
        ):
            with self.subTest(options):
                status, out, _ = self.traced(suite, *options)
                summary = out.split("memory, by ipytracer")[-1] if "memory, by ipytracer" in out else ""
                self.assertEqual(
                    (status, len(re.findall(r"^test_it\.py::test_it\[\d\] ", summary, re.M))), (0, rows), out
                )
        status, out, _ = self.traced(suite, ini="most_allocations = 3\n")
        self.assertIn("… and 5 more tests", out)

    def test_junit(self):
        path = os.path.join(self.folder, "junit.xml")
        self.traced("def test_it(): take(3)\n", "--ipytracer", "--junitxml", path)
        with open(path) as f:
            self.assertIn('<property name="ipytracer.need.cpu.resident" value="%d"' % (3 * MIB), f.read())

    def test_fork(self):
        status, out, told = self.traced("""
            def test_it():
                if os.fork() == 0:
                    os._exit(0)
                os.wait()
        """, "--ipytracer")
        self.assertEqual((status, sorted(told["test_it"]["windows"])), (0, ["call", "setup", "teardown"]), out)


class Sizes(unittest.TestCase):
    def test_parse(self):
        for text, want in {
            "100 MiB": 100 * MIB,
            "24 MB": 24 * MIB,
            "24mb": 24 * MIB,
            "1B": 1,
            "0": 0,
            "7": 7,
            4096: 4096,
            "1.5 KB": 1536,
            "1 PB": 1 << 50,
            " 2 g ": 2 << 30,
            ".5 KiB": 512,
            "3 kib": 3072,
            "5 TiB": 5 << 40,
        }.items():
            self.assertEqual(_sizes.parse(text), want, text)
        for text in (
            "",
            "MB",
            "1 XB",
            "-1",
            "1 iB",
            "1 MiBB",
            "1e9",
            "1 M i B",
            None,
            1.5,
            -1,
            True and "٣ MB",
            "9" * 61,
            "9999999 PB",
            ["1"],
        ):
            with self.assertRaises(ValueError, msg=repr(text)):
                _sizes.parse(text)
