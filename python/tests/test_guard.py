"""The guard: it knows what cells needed, and a cell that does not fit does not run, or only after a question."""

import builtins
import os
import tempfile
import unittest
from unittest import mock

import ipytracer
from ipytracer import _guard, _key, _needed, _packets, _room, _way

from . import fake
from .shells import ShellTest

GIB = 1 << 30


def run(need, least=False, data="", when=0, **more):
    return _needed.Run(dict({"cpu.resident": need}, **more), least, data, when)


class Memory(unittest.TestCase):
    def setUp(self):
        self.needs = _needed.Needs()

    def find(self, data=""):
        return self.needs.find(_key.Key("k", data))

    def add(self, *runs):
        for one in runs:
            self.needs.add(_key.Key("k", one.data), one)

    def test_the_last_run(self):
        self.assertIsNone(self.find())
        self.assertIsNone(self.needs.find(None))
        self.add(run(5), run(9), run(3))
        self.assertEqual(self.find(), ({"cpu.resident": 3}, False, False, 3, False))

    def test_other_data(self):
        self.add(run(5, data="a"), run(9, data="b"))
        self.assertEqual(self.find("a"), ({"cpu.resident": 5}, False, False, 2, False))
        self.assertEqual(self.find("c"), ({"cpu.resident": 9}, False, True, 2, False))

    def test_runs_that_failed(self):
        self.add(run(5, least=True))
        self.assertEqual(self.find()[:2], ({"cpu.resident": 5}, True))
        self.add(run(9), run(2, least=True))
        self.assertEqual(self.find()[:2], ({"cpu.resident": 9}, False))
        self.add(run(12, least=True))
        self.assertEqual(self.find()[:2], ({"cpu.resident": 12}, True))

    def test_bounds(self):
        for i in range(_needed.MOST_CELLS + 5):
            self.needs.add(_key.Key(str(i), ""), run(i))
        self.assertEqual(len(self.needs), _needed.MOST_CELLS)
        self.assertIsNone(self.needs.find(_key.Key("4", "")))
        for _ in range(20):
            self.needs.add(_key.Key("5", ""), run(1))
        self.assertEqual((self.needs.runs["5"][0], len(self.needs.runs["5"][1])), (21, _needed.MOST_RUNS))

    def test_windows(self):
        """Resident memory is that with children, mapped memory the process's own; a lower bound stays one."""
        window = _packets.window(fake.window(7, meters={
            "cpu.resident": fake.figure(1 << 20, 5 << 20, 2 << 20), "cpu.mapped": fake.figure(0, 9 << 20, 0),
            "cpu.numpy": fake.figure(0, 1 << 20, 0), "gpu.0.driver": fake.figure(0, 3 << 20, 0),
            "gpu.1.driver": fake.figure(5, 5, 5)},
            tree={"cpu.resident": fake.figure(1 << 20, 8 << 20, 2 << 20), "cpu.mapped": fake.figure(0, 99 << 20, 0)}))
        self.assertEqual(
            _needed.run_of(window, "d", 5),
            ({"cpu.resident": 7 << 20, "cpu.mapped": 9 << 20, "gpu.0.driver": 3 << 20}, False, "d", 5, False),
        )
        for more in (dict(status="error"), dict(meters={"cpu.resident": fake.figure(0, 9, 0, False, None)})):
            self.assertTrue(_needed.run_of(_packets.window(fake.window(7, **more)), "", 5).least, more)


class Words(unittest.TestCase):
    def judged(self, rooms, need=31 * GIB, mapped=40 * GIB, **more):
        found = _needed.Found(
            dict({"cpu.resident": need}, **({"cpu.mapped": mapped} if mapped else {})),
            more.get("least", False), more.get("other", False), 1)
        return _guard.judged(found, rooms)

    def test_words(self):
        machine = _room.Room("cpu.resident", 12 * GIB, "machine")
        limit = _room.Room("cpu.mapped", 1 * GIB, "rlimit")
        self.assertEqual(
            _guard.words(self.judged([machine])), "needed 31.00 GiB the last time, 12.00 GiB are free (machine)")
        self.assertEqual(
            _guard.words(self.judged([machine, limit], least=True, other=True)),
            "needed at least 40.00 GiB of mapped memory the last time (with other data), 1.00 GiB are free (rlimit)")
        self.assertEqual(_guard.words(self.judged([])), "needed 31.00 GiB the last time")
        self.assertIsNone(self.judged([], mapped=0) and _guard.judged(_needed.Found({}, False, False, 1), []))

    def test_margin(self):
        """It fits with a twentieth to spare; small cells always do."""
        for need, free, fits in ((100 * GIB, 105 * GIB, True), (100 * GIB, 105 * GIB - 1, False), (1 << 20, 0, True)):
            self.assertEqual(self.judged([_room.Room("cpu.resident", free, "machine")], need, 0).fits, fits)


class Rooms(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        limits = mock.patch("resource.getrlimit", lambda which: self.limits.get(which, (-1, -1)))
        limits.start()
        self.addCleanup(limits.stop)
        self.limits = {}

    def put(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def rooms(self):
        return sorted(tuple(r)[:3] for r in _room.rooms(self.folder.name))

    def test_machine_and_rlimits(self):
        import resource
        self.assertEqual(self.rooms(), [])
        self.put("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable:    2000 kB\n")
        self.put("proc/self/status", "VmSize:\t 900 kB\nVmData:\t 500 kB\n")
        self.assertEqual(self.rooms(), [("cpu.resident", 2000 << 10, "machine")])
        self.limits = {resource.RLIMIT_DATA: (600 << 10, -1), resource.RLIMIT_AS: (950 << 10, -1)}
        self.assertEqual(self.rooms()[0], ("cpu.mapped", 50 << 10, "rlimit"))
        self.limits = {resource.RLIMIT_DATA: (400 << 10, -1)}
        self.assertEqual(self.rooms()[0], ("cpu.mapped", 0, "rlimit"))

    def test_version_2(self):
        self.put("proc/meminfo", "MemAvailable: 8000 kB\n")
        self.put("proc/self/cgroup", "0::/pod/kernel\n")
        self.put("sys/fs/cgroup/pod/kernel/memory.max", "max\n")
        self.put("sys/fs/cgroup/pod/kernel/memory.current", "100\n")
        self.put("sys/fs/cgroup/pod/memory.max", "5000\n")
        self.put("sys/fs/cgroup/pod/memory.high", "4000\n")
        self.put("sys/fs/cgroup/pod/memory.current", "3000\n")
        self.put("sys/fs/cgroup/pod/memory.stat", "anon 1\ninactive_file 500\nfile 7\n")
        self.assertEqual(self.rooms(), [("cpu.resident", 1500, "container")])

    def test_inside_a_container(self):
        """The mount is the container's own group, with or without its path."""
        for path in ("/", "/docker/1234", "/../x", ""):
            self.put("proc/self/cgroup", "12:cpu,memory:/a\n0::%s\nnonsense\n" % path)
            self.put("sys/fs/cgroup/memory.max", "1000")
            self.put("sys/fs/cgroup/memory.current", "1200")
            found = self.rooms()
            self.assertEqual(found, [] if path == "/../x" else [("cpu.resident", 0, "container")])

    def test_version_1(self):
        self.put("proc/self/cgroup", "9:memory:/jobs/7\n1:name=systemd:/x\n")
        self.put("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n")
        self.put("sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "10\n")
        self.put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "9000")
        self.put("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "4000")
        self.put("sys/fs/cgroup/memory/jobs/memory.stat", "inactive_file 1\ntotal_inactive_file 99999\n")
        self.assertEqual(self.rooms(), [("cpu.resident", 9000, "container")])

    def test_nonsense(self):
        self.put("proc/meminfo", "MemAvailable: 99999999999999999999 kB\n")
        self.put("proc/self/cgroup", "0::" + "/a" * 5000 + "\n:::\n\xff")
        self.put("sys/fs/cgroup/memory.max", "-5")
        self.put("sys/fs/cgroup/memory.current", "x")
        self.assertEqual(self.rooms(), [])


class GuardTest(ShellTest):
    """A shell with a tracer, where 4 GiB are free."""

    def setUp(self):
        super().setUp()
        self.rooms = [_room.Room("cpu.resident", 4 * GIB, "container")]
        patch = mock.patch.object(_room, "rooms", lambda: self.rooms)
        patch.start()
        self.addCleanup(patch.stop)
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.tracer.settle()
        self.run_cell("%tracer off")

    def needs(self, source, need, **more):
        """Run a cell that needs so much."""
        self.tracer.coming = [dict({"meters": {"cpu.resident": fake.figure(0, need, 0)}}, **more)]
        return self.run_cell(source)

    @property
    def refused(self):
        """The sentence of the cell that was not run, None if it was."""
        error = self.result.error_before_exec
        if error is None:
            return None
        self.assertIsInstance(error, ipytracer.NotEnoughMemory)
        self.assertIsInstance(error, MemoryError)
        return str(error)


class InCells(GuardTest):
    def test_error(self):
        self.run_cell("%tracer guard error")
        self.needs("x = 1", 8 * GIB)
        self.assertEqual(self.shell.user_ns.pop("x"), 1)
        self.run_cell("x = 1  # again")
        self.assertEqual(
            self.refused,
            "in this state the cell needed 8.00 GiB the last time, 4.00 GiB are free (container); it has not run. "
            "Free memory, or begin the cell with the line %%tracer run",
        )
        self.assertNotIn("x", self.shell.user_ns)
        self.assertEqual(self.printed.strip().count("\n"), 0)
        self.assertIn("NotEnoughMemory: in this state", self.printed)
        self.assertEqual(self.shell.ast_transformers, [])
        self.run_cell("x = 2")
        self.assertIsNone(self.refused)
        self.run_cell("%%tracer run\nx = 1")
        self.assertIsNone(self.refused)
        self.assertEqual(self.shell.user_ns.pop("x"), 1)
        self.rooms = [_room.Room("cpu.resident", 9 * GIB, "container")]
        self.run_cell("x = 1")
        self.assertIsNone(self.refused)

    def test_a_cell_that_was_not_run(self):
        """The window of a refused cell says nothing about its need."""
        self.run_cell("%tracer guard error")
        self.needs("x = 1", 8 * GIB)
        for _ in range(3):
            self.needs("x = 1", 0)
            self.assertIn("needed 8.00 GiB", self.refused)

    def test_changed(self):
        """Another source, or another body of a function that it calls, makes the need unknown."""
        self.run_cell("%tracer guard error")
        self.run_cell("def f(): return 1")
        self.needs("f()", 8 * GIB)
        self.run_cell("f()")
        self.assertIsNotNone(self.refused)
        self.run_cell("f() + 1")
        self.assertIsNone(self.refused)
        self.run_cell("def f(): return 2")
        self.run_cell("f()")
        self.assertIsNone(self.refused)
        self.run_cell("def f(): return 1")
        self.run_cell("f()")
        self.assertIsNotNone(self.refused)

    def test_off(self):
        """It is off until it is wanted, and then knows the cells that were shown before."""
        self.run_cell("%tracer on")
        self.needs("x = 1", 8 * GIB)
        self.run_cell("x = 1")
        self.assertIsNone(self.refused)
        self.needs("x = 3", 8 * GIB)
        self.assertEqual(
            self.run_cell("%tracer guard error")[0],
            "ipytracer: the guard is on: a cell that needs more than is free does not run; it knows what 2 cells "
            "needed in this session; no history is kept",
        )
        self.run_cell("x = 3")
        self.assertIsNotNone(self.refused)
        self.assertIn("the guard is off", self.run_cell("%tracer guard off")[0])
        self.run_cell("x = 3")
        self.assertIsNone(self.refused)
        self.run_cell("%tracer guard other")
        self.assertIn("'other' is none of: on, ask, error, off, remember here, remember home, forget", self.printed)

    def test_ask(self):
        self.assertIn("the guard is on: it asks", self.run_cell("%tracer guard on")[0])
        self.needs("x = 1", 8 * GIB)
        asked = []

        def answer(with_):
            def ask(prompt):
                asked.append(prompt)
                if isinstance(with_, BaseException):
                    raise with_
                return with_
            return mock.patch.object(builtins, "input", ask)

        for with_ in ("", "n", "yess", EOFError(), KeyboardInterrupt(), NotImplementedError("no stdin"), None):
            with answer(with_):
                self.run_cell("x = 1")
            self.assertIsNotNone(self.refused, with_)
        self.assertEqual(
            set(asked),
            {"In this state the cell needed 8.00 GiB the last time, 4.00 GiB are free (container). Run it? [y/N] "},
        )
        for with_ in ("y", " Yes "):
            with answer(with_):
                self.needs("x = 1", 8 * GIB)
            self.assertIsNone(self.refused)
        self.assertEqual(len(asked), 9)

    def test_other_transformers(self):
        """They stay; one that is called for an expression of a magic is not ours."""
        class Other:
            def visit(self, node):
                return node
        other = Other()
        self.shell.ast_transformers.append(other)
        self.addCleanup(self.shell.ast_transformers.clear)
        self.run_cell("%tracer guard error")
        self.needs("x = 1", 8 * GIB)
        self.run_cell("x = 1")
        self.assertIsNotNone(self.refused)
        self.assertEqual(self.shell.ast_transformers, [other])
        self.needs("%time x = 2", 8 * GIB)
        self.run_cell("%time x = 2")
        self.assertIsNotNone(self.refused)
        self.run_cell("x = (")
        self.assertEqual(self.shell.ast_transformers, [other])

    def test_cells_within(self):
        """Only the outer cell is judged."""
        self.run_cell("%tracer guard error")
        self.needs("x = 1", 8 * GIB)
        self.run_cell("get_ipython().run_cell('x = 1'); y = 5")
        self.assertIsNone(self.refused)
        self.assertEqual(self.shell.user_ns["y"], 5)

    def test_unload(self):
        self.run_cell("%tracer guard error")
        self.needs("x = 1", 8 * GIB)
        self.run_cell("x = 1")
        self.run_cell("%unload_ext ipytracer")
        self.run_cell("x = 1")
        self.assertIsNone(self.refused)
        self.assertEqual(self.shell.ast_transformers, [])

    def test_environment(self):
        for said, mode in (("error", "error"), ("ask", "ask"), ("ERROR!", "off"), ("", "off")):
            with mock.patch.dict(os.environ, {_guard.VARIABLE: said}):
                self.assertEqual(_guard.Guard(self.shell, _way.of(self.shell).line).mode, mode)


if __name__ == "__main__":
    unittest.main()
