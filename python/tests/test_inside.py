"""Windows that a process measures itself: the rules of boundaries, with meters that are given, and the readers of
meters."""

import os
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

from ipytracer import _inside, _inside_meters
from ipytracer._inside_meters import Meters, Reading


class GivenMeters:
    """Meters with given readings: (now, the peak since the reading before)."""

    resets_gpu = False

    def __init__(self, *readings):
        self.readings = list(readings)

    def read(self):
        now, peak = self.readings.pop(0)
        return {"m": Reading(now, peak, peak, 0, "given")}


class Windows(unittest.TestCase):
    def inside(self, *readings):
        inside = _inside.Inside()
        inside.on, inside.meters = True, GivenMeters(*readings)
        self.addCleanup(inside.end)
        return inside

    def figures(self, window):
        figure = window.meters["m"]
        return figure.start, figure.peak, figure.end, figure.exact

    def test_nested_windows_have_their_own_peaks(self):
        inside = self.inside((10, 10), (12, 50), (20, 30), (20, 90), (15, 40), (15, 15))
        inside.begin()                           # 10
        info = SimpleNamespace(raw_cell="x = 1")
        inside.cell_begins(info, 3)              # at 12, after 50
        inside.mark("begin e")                   # at 20, after 30
        inside.mark("end e")                     # at 20, after 90
        inside.cell_ends(info)                   # at 15, after 40
        [cell] = inside.ask("cell")
        [e] = inside.ask("experiment", name="e")
        self.assertEqual(self.figures(cell), (12, 90, 15, True))
        self.assertEqual(self.figures(e), (20, 90, 20, True))
        self.assertEqual((cell.label, cell.source, cell.status, e.parent), ("In[3]", "x = 1", "ok", cell.id))
        self.assertEqual(self.figures(inside.ask("running")[0]), (10, 90, 15, True))

    def test_overlapping_windows_of_one_name_end_the_newest_first(self):
        inside = self.inside(*[(n, n) for n in range(10)])
        for marker in ("begin a", "begin b", "begin a", "end a", "end b", "end a", "end a", "end", "line 7", "cell"):
            inside.mark(marker)
        ended = inside.ask("experiments")
        self.assertEqual([(w.name, self.figures(w)[0], self.figures(w)[2]) for w in ended],
                         [("a", 3, 4), ("b", 2, 5), ("a", 1, 6)])

    def test_a_cell_within_another_one_is_part_of_it(self):
        inside = self.inside((1, 1), (2, 2), (9, 9), (3, 3))
        outer, inner = SimpleNamespace(raw_cell="a"), SimpleNamespace(raw_cell="b")
        inside.cell_begins(outer, 1)
        inside.cell_begins(outer, 1)             # by another hook
        inside.cell_begins(inner, 1)
        inside.cell_ends(inner)
        inside.cell_ends(outer)
        inside.cell_ends(outer)
        [cell] = inside.ask("cell")
        self.assertEqual((cell.source, self.figures(cell)), ("a", (2, 9, 9, True)))
        self.assertEqual(inside.ask("cell"), [])
        self.assertEqual([w.id for w in inside.ask("cells")], [cell.id])
        self.assertEqual(inside.ask("cells", after=cell.id, limit=5), [])

    def test_how_a_cell_ended(self):
        inside = self.inside(*[(0, 0)] * 10)
        for error in (None, ValueError("x"), KeyboardInterrupt()):
            info = SimpleNamespace(raw_cell="f()")
            inside.cell_begins(info, 1)
            inside.cell_ends(info, 1, error)
        self.assertEqual([(w.status, w.error) for w in inside.ask("cell")],
                         [("ok", None), ("error", "ValueError"), ("interrupted", "KeyboardInterrupt")])

    def test_a_meter_that_comes_was_zero_and_one_that_goes_is_unknown(self):
        inside = self.inside()
        n = {"n": Reading(5, 8, 8, 0, "s")}
        readings = [{}, {}, n, n]
        inside.meters = SimpleNamespace(read=lambda: readings.pop(0), resets_gpu=False)
        inside.mark("begin a")
        inside.mark("begin b")
        inside.mark("end a")
        a = inside.ask("experiment", name="a")[-1].meters["n"]
        self.assertEqual((a.start, a.peak, a.end, a.exact), (0, 8, 5, True))
        readings.append({})
        inside.mark("end b")
        b = inside.ask("experiment", name="b")[-1].meters["n"]
        self.assertEqual((b.peak, b.exact, b.bound), (8, False, None))

    def test_what_only_a_tracer_can_say(self):
        inside = self.inside((0, 0))
        self.assertIsNone(inside.ask("cells"))          # nothing is measured yet
        inside.begin()
        self.assertEqual(inside.ask("lines", window=1), [])
        self.assertEqual(inside.ask("audit"), _inside.ONLY_OUTSIDE)
        self.assertFalse(inside.ask("certificate").complete)

    def test_many_windows_are_bounded(self):
        inside = self.inside()
        inside.meters = SimpleNamespace(read=dict, resets_gpu=False)
        for n in range(_inside._MOST_KEPT + 50):
            inside.mark("begin %d" % n)
            inside.mark("end %d" % n)
        for _ in range(_inside._MOST_OPEN + 50):
            inside.mark("begin again")
        self.assertEqual(len(inside.ask("experiments")), _inside._MOST_KEPT)
        self.assertEqual(len(inside.ask("running")), 1 + _inside._MOST_OPEN)


class Readers(unittest.TestCase):
    """Readings of a /proc that is given."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.makedirs(os.path.join(self.folder.name, "proc/self"))
        self.clear = os.path.join(self.folder.name, "proc/self/clear_refs")
        patch = mock.patch.object(_inside_meters, "_off", lambda threads: 100 * threads)
        patch.start()
        self.addCleanup(patch.stop)
        self.meters = Meters(self.folder.name)

    def status(self, resident, highest=None, mapped=7):
        rows = "VmRSS:\t%d kB\nVmData:\t %d kB\nThreads:\t3\n" % (resident, mapped)
        rows += "VmHWM:\t%d kB\n" % highest if highest is not None else ""
        with open(os.path.join(self.folder.name, "proc/self/status"), "w") as f:
            f.write(rows)

    def resident(self, *status):
        self.status(*status)
        now, low, high, off, _ = self.meters.read()["cpu.resident"]
        return now >> 10, low >> 10, None if high is None else high >> 10, off

    def test_the_mark_is_set_back_where_the_process_may(self):
        with open(self.clear, "w"):
            pass
        self.assertEqual(self.resident(10, 90), (10, 10, 10, 300))       # that peak was before
        self.assertEqual(self.resident(12, 50), (12, 50, 50, 300))
        self.assertEqual(self.resident(11, 11), (11, 11, 11, 300))
        with open(self.clear) as f:
            self.assertEqual(f.read(), "5")

    def test_a_mark_that_only_rises_bounds_the_peak(self):
        self.assertEqual(self.resident(10, 90), (10, 10, 90, 300))
        self.assertEqual(self.resident(20, 90), (20, 20, 90, 300))
        self.assertEqual(self.resident(15, 95), (15, 95, 95, 300))       # it has risen: that is the peak
        self.assertEqual(self.resident(10, 95), (10, 15, 95, 300))

    def test_without_a_mark_it_is_that_of_rusage(self):
        with mock.patch.object(_inside_meters, "_most_resident", lambda: 70 << 10):
            self.assertEqual(self.resident(10), (10, 10, 70, 300))

    def test_mapped_is_known_at_the_ends_only(self):
        self.status(1, 1, mapped=30)
        self.meters.read()
        self.status(1, 1, mapped=20)
        mapped = self.meters.read()["cpu.mapped"]
        self.assertEqual((mapped.now, mapped.low, mapped.high), (20 << 10, 30 << 10, None))

    def test_a_status_without_rows_gives_nothing(self):
        for text in ("", "VmRSS: many kB\n", "VmRSS:\t99999999999999999999 kB\n"):
            with open(os.path.join(self.folder.name, "proc/self/status"), "w") as f:
                f.write(text)
            self.assertEqual(self.meters.read(), {})

    def test_gpus_by_pytorchs_statistics(self):
        stats = {"allocated_bytes.all.current": 5, "allocated_bytes.all.peak": 9, "reserved_bytes.all.current": 0,
                 "reserved_bytes.all.peak": 0}
        resets = []
        cuda = SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, memory_stats=lambda n: dict(stats),
                               reset_peak_memory_stats=resets.append)
        with mock.patch.dict("sys.modules", torch=SimpleNamespace(cuda=cuda)):
            self.assertEqual(self.meters.read()["gpu.0.active"][:4], (5, 5, 9, 0))
            stats["allocated_bytes.all.peak"] = 12
            found = self.meters.read()
            self.assertEqual((found["gpu.0.active"][:4], "gpu.0.reserved" in found), ((5, 12, 12, 0), False))
            self.assertEqual(resets, [])
            self.meters.resets_gpu = True
            stats["allocated_bytes.all.peak"] = 7
            self.assertEqual(self.meters.read()["gpu.0.active"][:4], (5, 7, 7, 0))
            self.assertEqual(resets, [0])

    def test_a_library_that_fails_loses_its_meter_only(self):
        self.status(4, 4)
        cuda = SimpleNamespace(is_initialized=lambda: 1 / 0)
        with mock.patch.dict("sys.modules", torch=SimpleNamespace(cuda=cuda)):
            self.assertEqual(sorted(self.meters.read()), ["cpu.mapped", "cpu.resident"])


class Itself(unittest.TestCase):
    """This process's own memory."""

    def test_resident_memory_of_a_spike(self):
        inside = _inside.Inside()
        inside.on = True
        inside.mark("begin spike")
        block = bytearray(200 << 20)
        del block
        inside.mark("end spike")
        found = inside.ask("experiment", name="spike")[-1].meters["cpu.resident"]
        off = found.bound if found.bound is not None else 0
        self.assertGreaterEqual(found.need + off + (1 << 20), 200 << 20)
        self.assertLessEqual(found.need - off, 210 << 20)
        self.assertFalse(found.exact and found.bound)
