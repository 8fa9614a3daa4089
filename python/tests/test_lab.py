"""The messages to JupyterLab's extension: the cells they belong to, and the answer to invalid messages on a comm."""

import types
import zlib
from unittest import mock

from ipytracer import _api, _lab, _line

from . import fake
from .shells import ShellTest
from .test_serve import Server, ok


class Comm:
    """A comm that a front end has opened, as ipykernel hands it to a target."""

    def __init__(self):
        self.sent, self.closed, self.broken = [], False, False

    def send(self, data):
        if self.broken:
            raise OSError("gone")
        self.sent.append(data)

    def close(self):
        self.closed = True

    def on_msg(self, callback):
        self.message = callback

    def on_close(self, callback):
        self.gone = callback

    def of(self, key):
        return [data[key] for data in self.sent if key in data]


class Manager:
    """The part of the kernel's comm manager that the companion uses."""

    def __init__(self):
        self.targets, self.comms = {}, {}

    def register_target(self, name, callback):
        self.targets[name] = callback

    def unregister_target(self, name, callback):
        assert self.targets.pop(name) == callback


class LabTest(ShellTest):
    def setUp(self):
        super().setUp()
        self.manager = Manager()
        kernel = types.SimpleNamespace(
            comm_manager=self.manager, get_parent=lambda: {"metadata": {"cellId": self.cell}}
        )
        self.cell = None
        patch = mock.patch.object(self.shell, "kernel", kernel, create=True)
        patch.start()
        self.addCleanup(patch.stop)
        live = mock.patch("ipytracer._live.Live.watch")     # a thread that would outlive its test
        live.start()
        self.addCleanup(live.stop)
        self.tracer = fake.Tracer().__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.addCleanup(self.unloaded)

    def unloaded(self):
        super().restore()
        self.assertEqual((self.manager.targets, self.manager.comms), ({}, {}))     # nothing is left behind

    def open(self, data=None):
        comm = Comm()
        self.manager.targets["ipytracer"](
            comm, {"content": {"data": {"protocol": _lab.PROTOCOL} if data is None else data}}
        )
        return comm

    def load(self):
        shown = super().load()
        self.tracer.settle()
        return shown

    def ask(self, comm, data):
        comm.message({"content": {"data": data}})
        return comm.sent[-1]


class Told(LabTest):
    def test_a_cell(self):
        self.load()
        comm = self.open()
        self.cell = "a-cell_1"
        self.run_cell("x = 1\ny = 2")
        told = comm.of("cell")[-1]
        self.assertEqual((told["cell"], told["crc"], told["length"]), ("a-cell_1", zlib.crc32(b"x = 1\ny = 2"), 11))
        self.assertEqual(
            (told["execution_count"], told["meters"]["cpu.resident"]["peak"], told["meters"]["cpu.resident"]["exact"]),
            (2, 612 << 20, True),
        )
        self.assertEqual(told["where"]["cpu.numpy"], "In[2] line 1 › ones")
        self.assertNotIn("cpu.resident", told["tree"])

    def test_hello(self):
        self.load()
        said = self.open().of("hello")[0]
        self.assertEqual((said["listens"], said["limit"], said["limit_of"]), (True, 1 << 30, "container"))
        self.assertIn("lines", said["asks"])

    def test_history(self):
        """A page that is loaded again gets the earlier messages, with the cells' ids."""
        self.load()
        self.cell = "early"
        self.run_cell("x = 1")
        told = [c for part in self.open().of("cells") for c in part]
        self.assertEqual([(c["cell"], c["execution_count"]) for c in told], [("early", 2)])

    def test_history_before_the_companion(self):
        """Cells that ran before it was loaded are sent with the checksum of their text."""
        self.tracer.windows += [
            fake.window(900, execution_count=1, source="z = 1"),
            fake.window(901, execution_count=2, source="z", source_truncated=True),
        ]
        self.load()
        told = [c for part in self.open().of("cells") for c in part]
        self.assertEqual([(c["cell"], c["crc"]) for c in told], [(None, zlib.crc32(b"z = 1")), (None, None)])

    def test_long_history(self):
        self.tracer.windows += [fake.window(n) for n in range(10, 10 + _lab._MOST_TOLD + 300)]
        self.load()
        comm = self.open()
        parts = comm.of("cells")
        self.assertTrue(all(len(part) <= _lab._IN_A_MESSAGE for part in parts))
        self.assertEqual([c["window"] for part in parts for c in part], list(range(310, 10 + _lab._MOST_TOLD + 300)))
        self.assertIs(comm.of("cut")[-1], True)

    def test_ids(self):
        """An id that is invalid in nbformat is dropped."""
        self.load()
        comm = self.open()
        for cell in ("vscode-notebook-cell:/x y#W0sZmls", "https://x#W0sZmls", "x" * 65, 7, "", "a b"):
            self.cell = cell
            self.run_cell("x = 1")
            self.assertIsNone(comm.of("cell")[-1]["cell"])
        self.cell = "vscode-notebook-cell:/home/ann/x%20y.ipynb#W0sZmlsZQ%3D%3D"
        self.run_cell("x = 1")
        self.assertEqual(comm.of("cell")[-1]["cell"], "W0sZmlsZQ%3D%3D")

    def test_hostile_figures(self):
        """Text of the notebook is escaped and bounded."""
        self.load()
        comm = self.open()
        self.tracer.coming = [
            {
                "status": "error",
                "error": "\x1b[2J" * 99,
                "note": "n" * 9999,
                "source": "\n\n" + "\u202e" * 3000,
                "meters": {"gpu.%d.active" % i: fake.figure(0, 1, 0) for i in range(200)},
            }
        ]
        self.run_cell("x = 1")
        told = comm.of("cell")[-1]
        self.assertNotIn("\x1b", told["error"])
        self.assertNotIn("\u202e", told["source"])
        self.assertEqual(len(told["meters"]), _lab._MOST_METERS)
        self.assertLess(len(str(told)), 6000)

    def test_tracer_goes_and_comes(self):
        self.load()
        comm = self.open()
        self.tracer.greets = False
        self.tracer.kill()
        self.run_cell("x = 1")
        self.assertIs(comm.of("hello")[-1]["listens"], False)


class Asked(LabTest):
    def test_lines(self):
        self.load()
        comm = self.open()
        self.run_cell("x = 1")
        answer = self.ask(comm, {"id": 3, "ask": "lines", "window": 2})
        self.assertEqual(answer["answer"], 3)
        self.assertEqual(answer["table"]["rows"][0][-1], "In[2] line 1 › ones")

    def test_late_looks(self):
        """A tracer that answers late is asked again, not given up; a silent one is."""
        self.load()
        comm, _ = self.open(), self.patience(0.03)
        self.tracer.looked, self.tracer.delay = 0, 0.3
        self.assertEqual(self.ask(comm, {"id": 3, "ask": "vars"}), {"looking": 0, "wait_ns": 0, "answer": 3})
        self.tracer.settle()
        self.assertIn("variables", self.ask(comm, {"id": 4, "ask": "vars", "look": 0}))
        self.assertEqual([r["ask"] for r in self.tracer.requests].count("vars"), 1)
        self.tracer.answers = False
        with mock.patch.object(_api, "SILENT_FOR", 0.0):
            self.assertIn("error", self.ask(comm, {"id": 5, "ask": "vars"}))

    def test_looks(self):
        """The kernel waits for no look: the extension gets a number, and asks again."""
        self.load()
        comm = self.open()
        self.tracer.looked = 1
        self.tracer.variables = [
            fake.variable("x", made=""),
            fake.variable("<y>\x1b", bytes=0, execution=0, where="", device=5),
        ]
        self.assertEqual(self.ask(comm, {"id": 3, "ask": "vars"}), {"looking": 1, "wait_ns": 0, "answer": 3})
        found = self.ask(comm, {"id": 4, "ask": "vars", "look": 1})["variables"]
        self.assertEqual(
            [(r["name"], r["bytes"], r["alone"], r["device"], r["execution"], r["made"]) for r in found["rows"]],
            [("x", 960128, "937.63 KiB", 0, 3, "In[3] line 1 › ones"), ("<y>\\x1b", 0, "0 B", 5, 0, "")],
        )
        self.assertEqual(found["notes"], ["… and 3 more names, with 4.88 KiB together"])
        self.tracer.looked = 0
        audit = self.ask(comm, {"id": 5, "ask": "audit"})["audit"]
        self.assertEqual((audit["head"], audit["entries"][0]["execution"], audit["entries"][0]["size"]),
                         ("1 finding: 8.00 MiB of numpy stays behind", 6, "8.00 MiB of numpy"))
        self.assertIn(["type", "acc.clear()"], audit["entries"][0]["rows"])
        self.assertEqual(len(audit["rest"]), 1)
        for wrong in ("1", -1, 2**60, True, None, [1]):
            self.assertIn("error", self.ask(comm, {"id": 6, "ask": "audit", "look": wrong}))
        self.tracer.greets = False
        self.tracer.kill()
        self.assertIn(self.ask(comm, {"id": 7, "ask": "audit"})["error"], ("no tracer listens", "the tracer has ended"))

    def test_start(self):
        """Without a tracer the extension learns whether a server can begin a session, has that done, and learns when
        the tracer listens."""
        self.tracer.greets = False
        self.load()
        with Server(ok()) as server:
            comm = self.open()
            said = comm.of("hello")[-1]
            self.assertEqual((said["listens"], said["starts"]), (False, True))
            self.assertIn("%tracer start", said["todo"])
            self.assertEqual(self.ask(comm, {"id": 3, "ask": "start"})["begins"], True)
            self.assertIn(b'{"ask": "start"}', server.asked)
            self.assertEqual(self.ask(comm, {"id": 4, "ask": "state"})["listens"], False)
            self.tracer.greets = True
            _line.LINE._offered = 0.0
            self.ask(comm, {"id": 5, "ask": "state"})      # offers the line again
            self.tracer.settle()
            self.assertEqual(self.ask(comm, {"id": 6, "ask": "state"})["listens"], True)
            self.assertEqual([h["listens"] for h in comm.of("hello")], [False, True])
        with Server(dict(serve="ipytracer/serve/v1", ok=False, error="you have 4 sessions\x1b already")):
            self.tracer.greets = False
            self.tracer.kill()
            self.assertEqual(
                self.ask(comm, {"id": 7, "ask": "start"}),
                {"begins": False, "said": "you have 4 sessions\\x1b already", "answer": 7},
            )

    def test_silent(self):
        """While the tracer does not answer in time a message says so; the missing figures follow later."""
        self.load()
        comm = self.open()
        self.patience(0.05)
        self.tracer.answers = False
        self.assertEqual(
            self.ask(comm, {"id": 3, "ask": "lines", "window": 2})["error"], "the tracer did not answer within 0.05 s"
        )
        for i in range(30):
            self.cell = "cell-%d" % i
            self.run_cell("x = 1")
        self.assertEqual([bool(h["silent"]) for h in comm.of("hello")], [False, True])
        self.tracer.settle()
        asked = [r for r in self.tracer.requests if r["id"] in _line.LINE._open and r["ask"] == "cell"]
        self.patience(20)
        self.tracer.answers = True
        for packet in fake._packets(self.tracer._usual(asked[0])):
            self.tracer.put(packet)
        for request in [r for r in self.tracer.requests if r["id"] in _line.LINE._open and r["ask"] != "cell"]:
            self.tracer.put(self.tracer._usual(request))
        self.cell = "last"
        self.run_cell("x = 1")
        self.assertEqual([bool(h["silent"]) for h in comm.of("hello")], [False, True, False])
        told = [c["cell"] for c in comm.of("cell")] + [c["cell"] for part in comm.of("cells") for c in part]
        self.assertEqual({"cell-%d" % i for i in range(30)} - set(told), set())

    def test_nonsense(self):
        self.load()
        comm = self.open()
        for data in (
            {},
            {"id": 1},
            {"id": "1", "ask": "lines"},
            {"id": True, "ask": "lines"},
            {"id": 1, "ask": "os.system"},
            {"id": 1, "ask": ["lines"]},
            {"id": -1, "ask": "lines"},
            [],
            None,
            "text",
        ):
            self.assertEqual(self.ask(comm, data), {"error": "no such question"}, data)
        self.assertIn("error", self.ask(comm, {"id": 1, "ask": "lines", "window": "2"}))
        self.assertEqual(self.printed, "")

    def test_another_protocol(self):
        self.load()
        for data in ({"protocol": "ipytracer/lab/v9"}, {}, [], None):
            comm = self.open(data or {"x": 1})
            self.assertTrue(comm.closed)
            self.assertIn("error", comm.sent[0])
