"""Release of memory: tracebacks, caches; memory that did not come back; seeds."""

import random
import sys
import types
import unittest
import weakref
from unittest import mock

import ipytracer
from ipytracer import _release

from . import fake
from .shells import ShellTest

MIB = fake.MIB


class Block:
    pass


class Traceback(ShellTest):
    def failing(self, error):
        """Run a cell that fails in a function that has a Block."""
        self.shell.user_ns["Block"] = Block
        self.shell.user_ns["seen"] = seen = []
        self.shell.user_ns["weakref"] = weakref
        self.run_cell("def f():\n    block = Block(); seen.append(weakref.ref(block))\n    raise %s\nf()" % error)
        self.assertFalse(self.result.success)
        self.result = None
        return seen[0]

    def test_release_traceback(self):
        block = self.failing("KeyError('mine')")
        self.assertIsNotNone(block())
        self.run_cell("import ipytracer; found = ipytracer.release_traceback(), ipytracer.release_traceback()")
        self.assertIsNone(block())
        self.assertEqual(self.shell.user_ns["found"], (True, False))
        self.assertFalse(hasattr(sys, "last_value"))
        self.assertIn("ZeroDivisionError", (self.run_cell("1/0"), self.printed)[1])     # the next error is shown

    def test_at_an_experiment(self):
        """release: only where the failure was for lack of memory."""
        for error, release, gone in (
            ("MemoryError()", True, True),
            ("RuntimeError('CUDA out of memory. Tried')", True, True),
            ("MemoryError()", False, False),
            ("KeyError()", True, False),
            ("RuntimeError('other')", True, False),
        ):
            with self.subTest(error, release=release):
                seen = []

                def f(error=error, seen=seen):
                    block = Block()
                    seen.append(weakref.ref(block))
                    raise eval(error)
                kept = None
                try:
                    with ipytracer.experiment("x", release=release):
                        f()
                except Exception as e:
                    kept = e     # as a notebook does
                self.assertEqual(seen[0]() is None, gone)
                del kept

    def test_chain(self):
        def fail():
            block = Block()
            seen.append(weakref.ref(block))
            raise MemoryError

        def outer():
            try:
                fail()
            except MemoryError as e:
                raise RuntimeError("out of memory") from e
        seen = []
        try:
            outer()
        except RuntimeError as e:
            _release.frames(e)
            self.assertIsNone(seen[0]())
        one, other = KeyError(), KeyError()
        one.__context__, other.__context__ = other, one
        _release.frames(one)     # a circle


class Left(ShellTest):
    def test_left(self):
        """The memory that did not come back: its lines, and the names that may hold it."""
        with fake.Tracer() as tracer:
            self.load()
            tracer.settle()
            tracer.memory["cpu.numpy"] = 0
            self.shell.user_ns["memory"] = tracer.memory
            self.run_cell(
                "import ipytracer; old = 1\n"
                "with ipytracer.experiment('x', keep_var_names=['k']) as e:\n"
                "    memory['cpu.numpy'] += 512 << 20; k = 5; gone = 6; old = 2\n    import math"
            )
            r = self.shell.user_ns["e"].result
            self.assertEqual(
                ([(line.meter, line.net) for line in r.left], r.holding, r.deleted),
                ([("cpu.numpy", 512 * MIB)], ("k", "old"), ("gone",)),
            )
            self.assertEqual(r.percent, {"cpu.numpy": 0.0})
            self.assertIn("left: numpy 512.00 MiB  In[2] line 1 › ones\n  may hold it: k, old", repr(r))
            self.run_cell("with ipytracer.experiment('y') as e:\n    memory['cpu.numpy'] += 4096")
            self.assertEqual((self.shell.user_ns["e"].result.left, self.shell.user_ns["e"].result.holding), ([], ()))
            self.run_cell("z = ipytracer.start('z')")
            self.run_cell("memory['cpu.numpy'] += 1 << 20\n[1]")
            shown = "Out[%d]" % self.shell.user_ns["Out"].popitem()[0]
            self.shell.user_ns["Out"][int(shown[4:-1])] = [1]
            self.run_cell("r = z.finish()")
            self.assertEqual(self.shell.user_ns["r"].holding, (shown,))

    def test_without_a_tracer(self):
        r = ipytracer.start("x").finish()
        self.assertEqual((r.percent, r.left, r.holding), (None, [], ()))


class Seeds(unittest.TestCase):
    def test_seed(self):
        def draw():
            ipytracer.seed(7)
            got = [random.random()]
            if "numpy" in sys.modules:
                got.append(float(sys.modules["numpy"].random.rand()))
            return got
        self.assertEqual(draw(), draw())
        with ipytracer.experiment("x", seed=7):
            self.assertEqual(random.random(), draw()[0])
        for wrong, error in (
            (-1, ValueError),
            (2**32, ValueError),
            ("1", TypeError),
            (1.0, TypeError),
            (True, TypeError),
        ):
            self.assertRaises(error, ipytracer.experiment, "x", seed=wrong)

    def test_torch(self):
        torch = types.SimpleNamespace(
            manual_seed=mock.Mock(),
            cuda=types.SimpleNamespace(is_initialized=mock.Mock(side_effect=[False, True]), empty_cache=mock.Mock()),
        )
        with mock.patch.dict(sys.modules, torch=torch):
            ipytracer.experiment("x", empty_cache=True)._begin().finish()
            torch.cuda.empty_cache.assert_not_called()
            ipytracer.experiment("x", empty_cache=True, seed=3)._begin().finish()
            torch.cuda.empty_cache.assert_called_once_with()
            torch.manual_seed.assert_called_once_with(3)
        self.assertFalse(_release.empty_cache())
