"""ipython_memory_usage and ipython_memwatcher. The originals have no tests: their documentation gives the lines and
data."""

import math
import os
import re

from ipytracer.compat import _processors, ipython_memory_usage, ipython_memory_usage_perf

from .fake_memory import CompatTest

USAGE = (
    r"^In \[(\d+)\] used (\S+) MiB RAM in ([\d.]+)s \(system mean cpu (\d+|nan)%, single max cpu (\d+|nan)%\), peaked "
    r"(\S+) MiB above final usage, "
    r"current RAM usage now (\S+) MiB( \(.*\))?$"
)
WATCHER = (
    r"^In \[(\d+)\] used (\S+) MiB RAM in ([\d.]+)s, peaked (\S+) MiB above current, total RAM usage "
    r"(\S+) MiB( \(.*\))?$"
)


class Usage(CompatTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(ipython_memory_usage.stop_watching_memory)
        self.assertEqual(self.printed_by("%load_ext ipytracer.compat.ipython_memory_usage"),
                         "Enabling IPython Memory Usage, use %imu_start to begin, %imu_stop to end\n")
        self.addCleanup(self.shell.run_line_magic, "unload_ext", "ipytracer.compat.ipython_memory_usage")

    def line(self, source):
        found = re.search(USAGE, self.printed_by(source), re.M)
        return (found[2], found[6], found[7], found[8]) if found else None

    def test_lines(self):
        self.assertIn("'IPython Memory Usage started'", self.printed_by("%imu_start"))
        self.assertEqual(self.line("a = Block(76.3)"), ("76.3", "0.0", "176.3", None))
        self.assertEqual(self.line("b = Block(200); del b"), ("0.0", "200.0", "176.3", None))
        self.assertEqual(self.line("del a"), ("-76.3", "76.3", "100.0", None))
        self.assertIn("'IPython Memory Usage stopped'", self.printed_by("%imu_stop"))
        self.assertEqual(self.printed_by("a = Block(1)"), "")
        self.assertEqual(ipython_memory_usage.window.kind, "cell")

    def test_between(self):
        """Memory taken between two cells is in "used", as in the original, and is also reported separately."""
        self.printed_by("%imu_start")
        self.tracer.take(256 << 20)
        self.assertEqual(
            self.line("b = Block(2)"), ("258.0", "0.0", "358.0", " (256.0 MiB of that before the cell began)")
        )

    def test_started_twice(self):
        self.printed_by("%imu_start")
        self.printed_by("%imu_start")
        self.assertEqual(self.printed_by("a = Block(1)").count("In ["), 1)

    def test_number_and_time(self):
        self.printed_by("import ipytracer.compat.ipython_memory_usage as imu; imu.start_watching_memory()")
        found = re.search(USAGE, self.printed_by("x = 1"), re.M)
        self.assertEqual(int(found[1]), self.result.execution_count)
        self.assertLess(float(found[3]), 60)

    def test_cache_misses(self):
        start = "import ipytracer.compat.ipython_memory_usage_perf as imu; imu.start_watching_memory()"
        self.assertIn(
            "\nperf value for cache-misses is not known: the tracer was not started with --counters\n",
            self.printed_by(start),
        )
        counters = dict.fromkeys(
            ("minor_faults", "major_faults", "waits", "preemptions", "instructions", "cycles", "cache_references"), 0
        )
        self.tracer.counted = {"counters": dict(counters, cache_misses=-1)}
        self.assertIn(
            "\nperf value for cache-misses is not known: the tracer's report says why\n", self.printed_by("x = 1")
        )
        self.tracer.counted = {"counters": dict(counters, cache_misses=1_470_000_000)}          # of 1.47 s
        printed = self.printed_by("a = Block(1)")
        self.assertTrue(re.search(USAGE, printed, re.M), printed)
        self.assertIn("\nperf value for cache-misses averages to 1,000,000,000/second\n", printed)
        self.assertEqual(ipython_memory_usage.window.counters["cache_misses"], 1_470_000_000)
        ipython_memory_usage_perf.stop_watching_memory()
        self.assertEqual(self.printed_by("x = 2"), "")

    def test_processors(self):
        counts = [{"cpu0": (100, 1000), "cpu1": (50, 1000)}, {"cpu0": (200, 1100), "cpu1": (50, 1100)}]
        read, _processors._read = _processors._read, lambda: counts.pop(0)
        try:
            self.assertEqual(_processors.Busy().over(), (50.0, 100.0))
        finally:
            _processors._read = read
        counts = read()
        self.assertEqual(bool(counts), os.path.exists("/proc/stat"))
        self.assertTrue(all(0 <= busy <= total for busy, total in counts.values()))


class Watcher(CompatTest):
    def setUp(self):
        super().setUp()
        self.printed_by("from ipytracer.compat.memwatcher import MemWatcher\nmw = MemWatcher()")
        self.mw = self.shell.user_ns["mw"]
        self.addCleanup(self.mw.stop_watching_memory)

    def test_lines_and_data(self):
        self.assertEqual(self.mw.measurements, (0, 0, -1, 100.0))
        self.printed_by("mw.start_watching_memory()")
        found = re.search(WATCHER, self.printed_by("a = Block(10); b = Block(5); del b"), re.M)
        self.assertEqual((found[2], found[4], found[5], found[6]), ("10.000", "5.000", "110.000", None))
        m = self.mw.measurements
        self.assertEqual(
            (m.memory_delta, m.memory_peak, m.memory_usage, self.mw.window.kind), (10.0, 5.0, 110.0, "cell")
        )
        self.assertLess(0, m.time_delta)
        self.printed_by("mw.start_watching_memory()")
        self.assertEqual(self.printed_by("pass").count("In ["), 1)
        self.printed_by("mw.stop_watching_memory()")
        self.assertEqual(self.printed_by("a = Block(1)"), "")

    def test_tracer_ends(self):
        self.printed_by("mw.start_watching_memory()")
        self.tracer.kill()
        self.tracer.greets = False
        self.assertIn("used nan MiB RAM", self.printed_by("x = 1"))
        self.assertTrue(math.isnan(self.mw.measurements.memory_delta))


class WithoutTracer(CompatTest):
    greets = False

    def test_said_once(self):
        out = self.printed_by(
            "from ipytracer.compat.memwatcher import MemWatcher\nmw = MemWatcher()\nmw.start_watching_memory()"
        )
        out += self.printed_by("x = 1")
        self.assertEqual(
            (out.count("sudo tracer attach"), out.count("used nan MiB RAM"), out.count("usage nan MiB")), (1, 2, 2)
        )
        self.printed_by("mw.stop_watching_memory()")
