"""Waiting for the tracer that started this process, by `tracer run`: for no other, and not for ever."""

import contextlib
import io
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

from ipytracer import _line, _starter
from ipytracer._experiment import experiment
from ipytracer.compat import _figures

from . import fake


class Late(fake.Tracer):
    """A tracer with probes that are in place once the line was offered so often."""

    def __init__(self, offers):
        super().__init__(greets=False)
        self.offers = offers

    def marked(self, text):
        if text.startswith("line "):
            self.offers -= 1
            self.greets = self.offers <= 0
        super().marked(text)


class Starter(unittest.TestCase):
    def setUp(self):
        _line.LINE.close()
        _line.LINE.said = False
        _starter._waited.clear()
        self.addCleanup(_line.LINE.close)
        self.addCleanup(_starter._waited.clear)

    def started_by(self, pid, start=None):
        """Set the environment as if the process pid had started this one."""
        if start is None:
            start = _starter._status(pid)[1]
        patch = mock.patch.dict(os.environ, {_starter.VARIABLE: "%d %d" % (pid, start)})
        patch.start()
        self.addCleanup(patch.stop)

    def listens(self):
        """Return whether a tracer listens at the first use, and the printed text."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            found = _figures.listens()
        return found, said.getvalue()

    def test_waits(self):
        """It listens, though its probes come after several offers; nothing is printed."""
        self.started_by(os.getppid())
        with Late(offers=5) as tracer:
            self.assertEqual(self.listens(), (True, ""))
            self.assertEqual(sum(m.startswith("line ") for m in tracer.markers), 5)

    def test_experiment(self):
        """The first experiment of a script begins when the tracer hears of it."""
        self.started_by(os.getppid())
        with Late(offers=5) as tracer:
            with experiment("first") as e:
                pass
            self.assertIsNotNone(e.result.window)
            self.assertEqual([m.split()[0] for m in tracer.markers[:6]], ["line"] * 5 + ["begin"])

    def test_further_ancestors(self):
        """The tracer may be a further ancestor: the command may run in a shell of its own."""
        self.started_by(_starter._status(os.getppid())[0] or os.getppid())
        self.assertEqual(_starter.runs(), _starter._status(os.getppid())[0] > 0)

    def test_once(self):
        """A vain wait happens once, for the documented time."""
        self.started_by(os.getppid())
        now = [1000.0]

        def readable(_, seconds):
            now[0] += seconds
        with (
            mock.patch.object(_starter.time, "monotonic", lambda: now[0]),
            mock.patch.object(_line.Line, "_readable", readable),
            Late(offers=10**6),
        ):
            found, said = self.listens()
            self.assertEqual((found, "no tracer listens yet" in said), (False, True))
            took = now[0] - 1000
            self.assertTrue(_starter.PATIENCE <= took <= _starter.PATIENCE + 1, took)
            self.assertEqual(self.listens(), (False, ""))
            self.assertFalse(_starter.listens())
            with experiment("later"):
                pass
            self.assertLess(now[0] - 1000 - took, 0.2)

    def check_nobody(self):
        with Late(offers=5) as tracer:       # a process that waits finds it
            self.assertFalse(_starter.runs())
            found, said = self.listens()
            self.assertEqual((found, "no tracer listens yet" in said), (False, True))
            self.assertLess(len(tracer.markers), 5)

    def test_nobody(self):
        """Without the variable there is no tracer to wait for."""
        os.environ.pop(_starter.VARIABLE, None)
        self.check_nobody()

    def test_left_over(self):
        """A tracer that has ended; another process has its id."""
        self.started_by(os.getppid(), _starter._status(os.getppid())[1] + 1)
        self.check_nobody()

    def test_strangers(self):
        """A process that is no ancestor has not started this one."""
        with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
            self.started_by(child.pid)
            self.check_nobody()
            child.stdin.close()
        self.assertIsNone(_starter._status(child.pid))
        self.assertFalse(_starter.runs())

    def test_itself(self):
        self.started_by(os.getpid())
        self.check_nobody()

    def test_nonsense(self):
        for text in ("", "1", "x y", "1 2 3", "-1 5", "0 0", "9" * 400 + " 1", "1 " + "9" * 400):
            with mock.patch.dict(os.environ, {_starter.VARIABLE: text}):
                self.assertFalse(_starter.runs(), text)

    def test_ends_meanwhile(self):
        """A tracer that ends is not waited for any longer."""
        self.started_by(os.getppid())
        alive = [True, True, True]
        runs, patience = (
            mock.patch.object(_starter, "runs", lambda: bool(alive and alive.pop())),
            mock.patch.object(_starter, "PATIENCE", 120.0),
        )
        with runs, patience, Late(offers=10**6) as tracer:
            start = time.monotonic()
            self.assertFalse(_starter.listens(cell=True))
            self.assertLess(time.monotonic() - start, 100)
            self.assertLess(len(tracer.markers), 10)

    def test_forked_child(self):
        """A child that was forked and has run no cell has no line, and does not wait for one."""
        self.started_by(os.getppid())
        with Late(offers=10**6) as tracer:
            pid = os.fork()
            if pid == 0:
                os._exit(1 if _starter.listens() or _starter._waited else 0)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertEqual(tracer.markers, [])
