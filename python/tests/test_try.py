"""Digests of values, and runs of a notebook without Jupyter's packages, as `tracer try` makes them."""

import base64
import json
import os
import random
import struct
import subprocess
import sys
import unittest

import numpy as np

_SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src", "ipytracer")


def source(name):
    """Return the text of a program of the package."""
    with open(os.path.join(_SRC, name), encoding="utf-8") as f:
        return f.read()


_DIGEST = {"__name__": "digest_under_test"}
exec(source("_try_digest.py"), _DIGEST)


def digest(value):
    """Return the digest of a value, as it is sent."""
    return json.loads(json.dumps(_DIGEST["Digester"]().of(value)))


def unpacked(text):
    """Return packed numbers."""
    data = base64.b64decode(text)
    return list(struct.unpack("<%dd" % (len(data) // 8), data))


class Hostile:
    """An object that fails in every way that it is asked in."""

    def __getattribute__(self, name):
        raise SystemError(name)

    def __eq__(self, other):
        raise OSError("no")

    def __repr__(self):
        raise ValueError("no")

    __hash__ = None


class TestDigest(unittest.TestCase):
    """Equal values have equal digests, wherever and however they lie in memory."""

    def test_arrays(self):
        """Order, strides, byte order and width make no difference; a value does."""
        a = np.arange(600_000, dtype="f8").reshape(1000, 600)
        first = digest(a)
        for other in a.copy("F"), a[::-1][::-1], a.astype(">f8"), a.astype("f4"), np.ma.masked_array(a):
            self.assertEqual(digest(other)["hash"], first["hash"])
            self.assertEqual(digest(other)["numbers"], first["numbers"])
        b = a.copy()
        b[777, 7] += 1
        self.assertNotEqual(digest(b)["hash"], first["hash"])
        self.assertEqual(sum(x != y for x, y in zip(unpacked(first["numbers"]), unpacked(digest(b)["numbers"]))), 1)

    def test_blocks(self):
        """The sums of blocks are those of numpy, however the pieces lie."""
        a = np.random.default_rng(1).random(1_000_003)
        for one in a, np.repeat(a, 2)[::2]:
            made = digest(one)
            block = made["block"]
            want = [a[i:i + block].sum() for i in range(0, len(a), block)]
            self.assertEqual(len(unpacked(made["numbers"])), len(want))
            np.testing.assert_allclose(unpacked(made["numbers"]), want, rtol=1e-12)
            np.testing.assert_allclose(unpacked(made["weights"]), want, rtol=1e-12)

    def test_not_finite(self):
        """What is not finite is counted, and leaves the sums as they are."""
        a = np.ones(200_000)
        a[[3, 5, 7]] = np.nan, np.inf, -np.inf
        made = digest(a)
        self.assertEqual((made["sums"]["nan"], made["sums"]["sum"]), ("3.0", "199997.0"))
        self.assertEqual(sum(unpacked(made["numbers"])), 199997.0)
        self.assertEqual(a[3:8].tolist()[2], np.inf)

    def test_kinds(self):
        """Every kind of array has a digest."""
        for a in (np.array([]), np.zeros((0, 3)), np.array(5), np.array([True]), np.array([1 + 2j]),
                  np.array(["a", "b"]), np.array(["2020-01-01"], "M8[s]"), np.array([None, "x", 2], object),
                  np.zeros(3, "f4,i2"), np.array([2 ** 64 - 1], "u8"), np.float32(3), np.array([1], "f2")):
            made = digest(a)
            self.assertNotIn("why", made, a)
            self.assertNotEqual(made["kind"], "object", a)

    def test_containers(self):
        """Sets have no order, lists have, and neither depth nor number is without a bound."""
        names = [str(i) for i in range(50)]
        random.shuffle(names)
        self.assertEqual(digest(set(names)), digest(set(sorted(names))))
        self.assertNotEqual(digest([1, 2]), digest([2, 1]))
        endless = []
        endless.append(endless)
        self.assertLess(len(json.dumps(digest(endless))), 2000)
        self.assertLess(len(json.dumps(digest({i: [str(i)] * 50 for i in range(100_000)}))), 8 << 20)
        self.assertEqual(unpacked(digest([0.5] * 9)["numbers"]), [0.5] * 9)
        many = digest([1] * 1_000_000)
        self.assertEqual(sum(unpacked(many["numbers"])), 1_000_000)
        self.assertEqual(digest([10 ** 400] * 9)["kind"], "array")

    def test_hostile(self):
        """An object that fails however it is asked has a digest, and so has a list with it."""
        self.assertEqual(digest(Hostile())["kind"], "object")
        self.assertEqual(digest([Hostile(), 1])["items"][1][1]["text"], "1")
        self.assertLess(len(json.dumps(digest("x" * 10_000_000))), 10_000)
        self.assertIn("hash", digest(1 << 100_000))


class TestRun(unittest.TestCase):
    """A notebook runs in IPython's shell where Jupyter's packages are not installed."""

    def run_cells(self, *cells, lines=3, **more):
        """Return what the runner sends. Its input has as many lines: the request, and one to go on at each wait."""
        asked = {"cells": cells, "may_fail": [], "folder": "/", "kernel": "", "seed": None, "allow_errors": False,
                 "bytes": 1 << 20, "digest": source("_try_digest.py"), "shell": source("_try_shell.py"), **more}
        program = source("_try_run.py").replace("import ipykernel", "import ipykernel_that_is_not_there")
        done = subprocess.run([sys.executable, "-c", program], input=json.dumps(asked).encode() + b"\n" * lines,
                              stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_shell(self):
        """Outputs, the error that ends it, and the variables come back."""
        said = self.run_cells("print('a', end='')\nprint('b')\nx = 5\nx + 1", "y = x\n1 / 0", "z = 1", seed=3)
        cells = [m for m in said if m["event"] == "cell"]
        self.assertEqual(said[0]["what"], "IPython's shell")
        self.assertEqual([o["data"]["text/plain"]["text"] for o in cells[0]["outputs"]], ["ab\n", "6"])
        self.assertEqual(cells[1]["failed"]["name"], "ZeroDivisionError")
        self.assertEqual(len(cells), 2)
        self.assertEqual([v[0] for v in said[-2]["values"]["variables"]], ["x", "y"])
        self.assertEqual(said[-1], {"event": "end", "why": ""})

    def test_waits(self):
        """No cell runs before the tracer has attached, and the kernel does not outlive the run."""
        for lines, last in ((1, "begin"), (2, "cells over")):
            said = self.run_cells("1", lines=lines)
            self.assertEqual([m["event"] for m in said][-2:], [last, "end"])
            self.assertEqual(said[-1]["why"], "the tracer has ended")
            self.assertFalse(os.path.exists("/proc/%d" % said[0]["pid"]))

    def test_bounds(self):
        """A cell that prints without end fills no memory; a kernel that dies ends the run."""
        said = self.run_cells("for i in range(200): print('x' * 100_000)", "import os; os._exit(0)", "1")
        out = next(m for m in said if m["event"] == "cell")["outputs"][0]["data"]["text/plain"]
        self.assertEqual((out["size"], len(out["head"])), (200 * 100_001, 4096))
        self.assertEqual(said[-1], {"event": "end", "why": "the kernel has ended"})


if __name__ == "__main__":
    unittest.main()
