"""Proves the recordings, the oracle and the player without any tracer: python3 -m unittest, in this directory.

$IPYTRACER_PYTHON chooses the interpreter of the kernel, which must have ipykernel and jupyter_client; the default is
this one, or /usr/bin/python3. $REPLAY_CAPTURES is the directory of the captures; without it the conversion is not
repeated.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest

import libraries
import oracle
import recordings

HERE = os.path.dirname(os.path.abspath(__file__))
OF_MATHEMATICAL_LIBRARIES = 2 * (0x400 + 0x20000 + 0x4000000)     # cuBLAS allocates this for two threads

# Plays a whole recording in a process of its own and prints the actions of the player.
_PLAY_ALL = """
import json, os, sys, threading
sys.path.insert(0, sys.argv[1])
import recordings, replay
r = replay.Replay(recordings.read(sys.argv[2]), sys.argv[3])
raised = []
for step in r.recording.steps():
    try:
        r.play(step)
    except replay.RecordedError:
        raised.append(step)
log = [entry[:-1] + (entry[-1].hex(),) for entry in r.log()]
json.dump({"log": log, "main": threading.get_native_id(), "raised": raised}, sys.stdout)
"""


def interpreter():
    for path in (os.environ.get("IPYTRACER_PYTHON"), sys.executable, "/usr/bin/python3"):
        if path and subprocess.call([path, "-c", "import ipykernel, jupyter_client"], stderr=subprocess.DEVNULL) == 0:
            return path
    raise unittest.SkipTest("no interpreter with ipykernel and jupyter_client; set IPYTRACER_PYTHON")


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="ipytracer-replay-", dir="/tmp")
        libraries.build(cls.directory.name)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()


class Conversion(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("REPLAY_CAPTURES"), "REPLAY_CAPTURES is not set")
    def test_makes_the_same_recordings(self):
        import convert
        for name in recordings.CAPTURED:
            with self.subTest(name):
                recording = recordings.read(name)
                again = convert.convert(name, os.environ["REPLAY_CAPTURES"])
                self.assertEqual(again, recordings.text_of(recording.header, recording.rows))

    def test_functions_are_in_the_table(self):
        known = libraries.table()
        used = set()
        for name in recordings.NAMES:
            used.update(recordings.read(name).header["functions"])
        self.assertEqual(used, set(known))
        self.assertEqual([f.id for f in known.values()], list(range(len(known))))

    def test_a_step_begins_and_ends_outside_any_call(self):
        for name in recordings.NAMES:
            recording = recordings.read(name)
            steps = [event.step for event in recording.events]
            self.assertEqual(steps, sorted(steps))
            for event in recording.events:
                if event.kind == "return":
                    self.assertEqual(event.step, event.call.step)


class Oracle(unittest.TestCase):
    def test_nothing_unknown_is_freed(self):
        for name in recordings.NAMES:
            with self.subTest(name):
                _, driver = oracle.driver_windows(recordings.read(name))
                self.assertEqual(driver.unknown, [])

    def test_reports_are_pytorchs_own_figures(self):
        """Reserved only where no cache was emptied since the last report."""
        recording = recordings.read("torch-default")
        reports = oracle.report_windows(recording)
        for step, (active, active_peak, reserved, reserved_peak) in self.truth(recording):
            row = reports[step]
            self.assertEqual((row["active"].end, row["active"].peak), (active, active_peak), step)
            if step != 7:               # its start was reported before cell 6 emptied the cache
                self.assertEqual(row["reserved"].peak, reserved_peak, step)
            if step not in (6, 13):     # empty_cache is not reported
                self.assertEqual(row["reserved"].end, reserved, step)

    def test_runtime_calls_are_pytorchs_reserved(self):
        """Bytes of cudaMalloc equal PyTorch's reserved memory, after every cell and at every cell's peak."""
        recording = recordings.read("torch-default")
        rows = runtime_windows(recording)
        for step, (_, _, reserved, reserved_peak) in self.truth(recording):
            if step > 1:
                self.assertEqual(
                    (rows[step]["runtime"].end, rows[step]["runtime"].peak), (reserved, reserved_peak), step
                )

    def test_async_calls_are_pytorchs_active(self):
        """Bytes of cudaMallocAsync, until a graph is captured: allocations in the capture are not in PyTorch's
        pool."""
        recording = recordings.read("torch-async")
        rows = runtime_windows(recording)
        for step, (active, active_peak, _, _) in self.truth(recording):
            if 1 < step < 12:
                self.assertEqual((rows[step]["runtime"].end, rows[step]["runtime"].peak), (active, active_peak), step)

    def test_mappings_are_reserved_at_every_report(self):
        recording, driver = recordings.read("torch-expandable"), oracle.Driver()
        reports = 0
        for event in recording.events:
            if event.kind == "return":
                driver.returned(event)
            elif event.function == oracle.REPORT:
                reports += 1
                self.assertEqual(driver.totals["mapped"], event.arguments[3])
        self.assertEqual(reports, 153)

    def test_both_allocators_have_the_same_active(self):
        """Expandable segments change the source of memory, not the size of the cells' tensors."""
        one, other = (recordings.read(name) for name in ("torch-default", "torch-expandable"))
        for step, row in self.truth(one):
            self.assertEqual(row[:2], other.cells[step - 1]["truth"][:2], step)

    def test_driver_holds_what_pytorch_reserves(self):
        """The driver's memory is PyTorch's and, from the first matrix product on, that of the mathematical
        libraries."""
        for name in ("torch-default", "torch-expandable"):
            recording = recordings.read(name)
            for step, row in enumerate(oracle.truth(recording)[:-1], 1):
                more = OF_MATHEMATICAL_LIBRARIES if step > 10 else 0
                self.assertEqual(row["gpu.0.driver"]["end"], row["gpu.0.reserved"]["end"] + more, (name, step))

    def test_blocks_lie_in_segments(self):
        """PyTorch's blocks add up to its own total at every report. When it refuses a request, the driver's blocks that
        they lie in add up to what it has reserved: its free memory is between them."""
        recording, driver, blocks = recordings.read("torch-default"), oracle.Driver(), {}
        refused = 0
        for event in recording.events:
            if event.kind == "return":
                driver.returned(event)
            elif event.function == oracle.REPORT:
                address, size = event.arguments[0], oracle.signed(event.arguments[1])
                if size > 0:
                    blocks[address] = size
                else:
                    self.assertEqual(blocks.pop(address), -size)
                self.assertEqual(sum(blocks.values()), event.arguments[2])
            elif event.function == oracle.OUT_OF_MEMORY:
                refused += 1
                self.assertEqual(sum(blocks.values()), event.arguments[1])
                self.assertEqual(sum(self.segments(driver, blocks).values()), event.arguments[2])
        self.assertEqual(refused, 1)

    def segments(self, driver, blocks):
        """The driver's blocks with PyTorch's in them, which must not overlap or leave one."""
        used = {}
        for start, size in driver.blocks["device"].items():
            end = start
            for address in sorted(a for a in blocks if start <= a < start + size):
                self.assertGreaterEqual(address, end)
                end, used[start] = address + blocks[address], size
            self.assertLessEqual(end, start + size)
        return used

    def test_truth_of_windows_is_continuous(self):
        for name in recordings.NAMES:
            rows = oracle.truth(recordings.read(name))
            for figure in ("gpu.0.driver", "cpu.pinned", "gpu.0.active", "gpu.0.reserved"):
                end = 0
                for row in rows:
                    window = row[figure]
                    if window:
                        self.assertEqual(window["start"], end)
                        self.assertGreaterEqual(window["peak"], max(window["start"], window["end"]))
                        end = window["end"]

    def truth(self, recording):
        return [(step, cell["truth"]) for step, cell in enumerate(recording.cells, 1)]


def runtime_windows(recording):
    live = {}

    def figures(event):
        if event.kind == "return" and event.result == 0:
            if event.function in ("cudaMalloc", "cudaMallocAsync"):
                live[event.out] = event.call.arguments[1]
            elif event.function in ("cudaFree", "cudaFreeAsync"):
                live.pop(event.call.arguments[0], None)
        return {"runtime": sum(live.values())}

    return oracle.windows(recording, figures)


class Player(Built):
    def test_plays_every_event_once_and_in_order(self):
        table = libraries.table()
        for name in recordings.NAMES:
            with self.subTest(name):
                ran = subprocess.run(
                    [sys.executable, "-c", _PLAY_ALL, HERE, name, self.directory.name],
                    stdout=subprocess.PIPE,
                    timeout=120,
                    check=True,
                )
                played, recording = json.loads(ran.stdout), recordings.read(name)
                self.assertEqual(len(played["log"]), len(recording.events))
                threads = {0: played["main"]}
                pointers = {}       # of calls: the first argument that was received
                for number, (event, entry) in enumerate(zip(recording.events, played["log"])):
                    index, result, out, function, tid = entry[:5]
                    self.assertEqual((index, function), (number, table[event.function].id))
                    self.assertEqual(tid, threads.setdefault(event.thread, tid))
                    if event.kind == "call":
                        pointers[event] = entry[5]
                        self.same_arguments(event, entry[5:11], bytes.fromhex(entry[11]), table, pointers)
                    else:
                        self.assertEqual(result, event.result)
                        self.assertEqual(out, event.out if table[event.function].out else 0)
                self.assertEqual(len(set(threads.values())), recording.header["threads"])
                self.assertEqual(played["raised"], [i for i, cell in enumerate(recording.cells, 1) if cell["raised"]])

    def same_arguments(self, event, received, prop, table, pointers):
        # point to the player's memory
        ours = ([0] if table[event.function].out else []) + ([2] if event.prop else [])
        for i in range(6):
            if i not in ours:
                self.assertEqual(received[i], event.arguments[i])
        self.assertEqual(prop, event.prop or bytes(32))
        if 0 in ours and event.inside and event.inside.arguments[0] == event.arguments[0]:
            self.assertEqual(received[0], pointers[event.inside])

    def test_functions_begin_with_a_frame(self):
        _, addresses = libraries.load(self.directory.name)
        for name, address in addresses.items():
            self.assertEqual(ctypes.string_at(address, 4), b"\x55\x48\x89\xe5", name)      # push rbp; mov rbp, rsp
        self.assertEqual(len(set(addresses.values())), len(addresses))

    def test_a_call_outside_the_replay_does_nothing(self):
        _, addresses = libraries.load(self.directory.name)
        self.assertEqual(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(addresses["cuMemAlloc_v2"])(None), 0)


class Kernel(Built):
    def test_cells_end_as_recorded(self):
        python = interpreter()
        for name, late in (
            ("torch-default", False),
            ("torch-async", True),
            ("torch-expandable", True),
            ("cupy", False),
        ):
            with self.subTest(name):
                out = os.path.join(self.directory.name, name)
                command = [
                    python,
                    os.path.join(HERE, "run_replay.py"),
                    name,
                    "--out",
                    out,
                    "--libraries",
                    self.directory.name,
                ]
                ran = subprocess.run(
                    command + (["--late"] if late else []),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    timeout=120,
                )
                self.assertEqual(ran.returncode, 0)
                with open(out) as f:
                    session, *rows = map(json.loads, f)
                recording = recordings.read(name)
                self.assertEqual(session["session"]["pid"], json.loads(ran.stdout.split(b"\n")[0])["pid"])
                self.assertEqual(
                    [row["name"] for row in rows], ["cell%d" % i for i in range(1, recording.after)] + ["exit"]
                )
                self.assertEqual([row["status"] for row in rows[:-1]], [row["expected"] for row in rows[:-1]])
                self.assertEqual([row["execution_count"] for row in rows[:-1]], list(range(1, recording.after)))
                self.assertEqual(sum(row["played"] for row in rows), len(recording.events))
                self.assertEqual([row["truth"] for row in rows], oracle.truth(recording))
                # Python's main thread runs the cells: it is recorded thread 0.
                self.assertEqual({row["threads"][0] for row in rows if row["threads"]}, {session["session"]["pid"]})


if __name__ == "__main__":
    unittest.main()
