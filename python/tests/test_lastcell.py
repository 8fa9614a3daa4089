"""A cell in which the kernel died: the notebook's next kernel knows it, by the agent's report."""

import json
import os
import tempfile
from unittest import mock

from ipytracer import _death, _history, _lastcell, _room, _shell
from ipytracer._key import Key

from .shells import ShellTest
from .test_death import Agent

GIB = 1 << 30


def packet(cell):
    return json.dumps({"death": {"says": "it was killed", "report": {"cell": cell}}}).encode()


class Died(ShellTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        state = {"XDG_STATE_HOME": self.folder, _lastcell.NOTEBOOK: "/home/ada/train.ipynb"}
        for patch in (
            mock.patch.dict(os.environ, state),
            mock.patch.object(_death, "_EVERY", 0),
            mock.patch.object(_room, "rooms", lambda: [_room.Room("cpu.resident", 4 * GIB, "container")]),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        super().setUp()
        self.agent = Agent(greets=False).__enter__()
        self.addCleanup(self.agent.__exit__)
        self.load()

    def again(self, death=None):
        """Have the kernel die, and load the extension as the next one does."""
        companion = _shell.of(self.shell)
        companion.guard._place = None
        companion.guard._last._path = ""       # a dead kernel deletes nothing
        self.run_cell("%unload_ext ipytracer")
        self.agent.death = death
        self.load()
        self.run_cell("%tracer guard error")

    def files(self):
        return sorted(os.listdir(os.path.join(self.folder, "ipytracer")))

    def told(self, cell):
        """Return the error of the cell in which the kernel died, "" if it ran. cell: the agent's report of it."""
        self.run_cell("%tracer guard remember home")
        self.run_cell("x = 1")
        self.again(packet(cell))
        for _ in range(3):
            self.run_cell("y = 1")
        self.run_cell("x = 1")
        return str(self.result.error_before_exec or "")

    def test_needed_at_least(self):
        # the mark is the cell's that ran last, and that is the one that the report is about
        said = self.told({"need": 9 * GIB})
        self.assertIn("needed at least 9.00 GiB the last time, when the kernel died, 4.00 GiB are free", said)
        self.run_cell("%unload_ext ipytracer")
        self.assertEqual(self.files(), ["needs.json"])

    def test_second_name(self):
        """A file of the user's own that has been put in the place is not written to."""
        precious = os.path.join(self.folder, "precious")
        with open(precious, "w") as f:
            f.write("the user's own")
        place = _history.Place("home", os.path.join(self.folder, "needs.json"))
        last = _lastcell.LastCell()
        last.open(place)
        os.link(precious, last._path)
        last.mark(Key("0" * 32, "1" * 8))
        with open(precious) as f:
            self.assertEqual(f.read(), "the user's own")
        last.close()
        last.open(place)
        last.mark(Key("0" * 32, "1" * 8))
        with open(last._path) as f:
            self.assertEqual(f.read(), "0" * 32 + " " + "1" * 8 + "\n")

    def test_no_report(self):
        """A kernel that was restarted has died of nothing."""
        for cell in (None, {}, {"need": -1}, {"need": "9"}, [], 5, {"need": 1.5}, {"need": True}):
            self.assertEqual(self.told(cell), "", cell)

    def test_hostile_marks(self):
        """A file in the place of the mark is left as it is."""
        self.run_cell("%tracer guard remember home")
        self.run_cell("x = 1")
        name = next(f for f in self.files() if "running" in f)
        path = os.path.join(self.folder, "ipytracer", name)
        os.unlink(path)
        os.symlink("/etc/hostname", path)
        self.run_cell("x = 1")
        self.again()
        self.assertTrue(os.path.islink(path))
        os.unlink(path)
        for text in (b"", b"\xff" * 41, b"0" * 100_000, b"0" * 32 + b" " + b"g" * 8 + b"\n"):
            with open(path, "wb") as f:
                f.write(text)
            os.chmod(path, 0o600)
            self.again(packet({"need": 9 * GIB}))
            self.run_cell("y = 1")
            self.assertIsNone(self.result.error_before_exec)
            self.assertEqual(len(_shell.of(self.shell).guard.needs), 0)
