"""The history of needs: kept only where asked for, without source, and no file can do harm."""

import json
import os
import stat
import tempfile
import unittest
from unittest import mock

from ipytracer import _guard, _history, _key, _needed, _room, _shell

from . import fake
from .shells import ShellTest

GIB = 1 << 30
CODE = "0123456789abcdef" * 2


def run(need=8 * GIB, least=False, data="00000000", when=5):
    return _needed.Run({"cpu.resident": need}, least, data, when)


def text(cells=None, **more):
    cells = {CODE: [1, [[{"cpu.resident": 5}, False, "00000000", 7, False]]]} if cells is None else cells
    return json.dumps(dict({"format": _history.FORMAT, "cells": cells}, **more))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "state", "needs.json")

    def put(self, data, mode=0o600):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        os.chmod(self.path, mode)

    def why(self):
        with self.assertRaises(_history.Unusable) as caught:
            _history.read(self.path)
        return str(caught.exception)

    def test_as_it_was(self):
        needs = _needed.Needs()
        needs.add(_key.Key(CODE, "00000001"), run(3))
        needs.add(_key.Key(CODE, "00000002"), run(9, True, "00000002"))
        self.assertIsNone(_history.read(self.path))
        _history.write(self.path, needs, {CODE})
        self.assertEqual(_history.read(self.path).runs, needs.runs)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["needs.json"])

    def test_other_sessions(self):
        """A session writes its own cells, and leaves those of others as they are."""
        codes = ["%032x" % i for i in range(3)]
        for own in (codes[:2], codes[1:]):
            needs = _needed.Needs()
            for code in own:
                needs.add(_key.Key(code, "0" * 8), run(len(own[0]) + int(own[0], 16)))
            _history.write(self.path, needs, set(own))
        found = _history.read(self.path)
        self.assertEqual([found.runs[c][1][0].need["cpu.resident"] for c in codes], [32, 33, 33])

    def test_bounds(self):
        """The newest cells stay."""
        needs = _needed.Needs()
        for i in range(_needed.MOST_CELLS):
            for _ in range(3):
                needs.add(_key.Key("%032x" % i, "0" * 8), run(1 << 60, when=1 << 40))
        _history.write(self.path, needs, set(needs.runs))
        self.assertLessEqual(os.path.getsize(self.path), _history.MOST_BYTES)
        found = list(_history.read(self.path).runs)
        self.assertGreater(len(found), 500)
        self.assertEqual(found, list(needs.runs)[-len(found):])

    def test_hostile_text(self):
        good = [{"cpu.resident": 5}, False, "00000000", 7, False]
        bad = [
            b"", b"\xff\xfe", b"[", b"[" * 100_000, b'{"a":' * 40_000, b"9" * 200_000, b"NaN", b"null", b"[]", b"{}",
            text(format="other"), text([]), text({"x": [1, [good]]}), text({CODE.upper(): [1, [good]]}),
            text({CODE: [1, []]}), text({CODE: [1, [good] * 4]}), text({CODE: [-1, [good]]}),
            text({CODE: [True, [good]]}),
            text({CODE: [1, [good + [1]]]}), text({CODE: [1.5, [good]]}), text({CODE: 1}), text({CODE: None}),
            text({CODE: [1, [[{"cpu.resident": -5}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{"cpu.resident": 1 << 63}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{"../../etc": 5}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{"cpu.resident\n": 5}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{"cpu.resident": "5"}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{"gpu.%d.driver" % i: 5 for i in range(17)}, False, "00000000", 7, False]]]}),
            text({CODE: [1, [[{}, 0, "00000000", 7, False]]]}),
            text({CODE: [1, [[{}, True, "00000000", 7, 1]]]}), text({CODE: [1, [[{}, False, "\x1b[2J", 7, False]]]}),
            text({CODE: [1, [[{}, False, "00000000", 1e300, False]]]}),
            text({"%032x" % i: [1, [[{}, False, "0" * 8, 1, True]]] for i in range(2001)}),
        ]
        for data in bad:
            self.put(data)
            self.assertEqual(self.why(), "it is no history of the guard", data[:80])
        self.put(text())
        self.assertEqual(len(_history.read(self.path)), 1)

    def test_hostile_files(self):
        """Neither read nor replaced: links, pipes, folders, files that others own or may write, large ones."""
        self.put(text())
        os.rename(self.path, self.path + ".2")
        os.symlink(self.path + ".2", self.path)
        self.assertEqual(self.why(), "it is a link")
        os.unlink(self.path)
        os.mkfifo(self.path)
        self.assertEqual(self.why(), "it is no regular file")
        os.unlink(self.path)
        os.mkdir(self.path)
        self.assertEqual(self.why(), "it is no regular file")
        os.rmdir(self.path)
        for mode in (0o602, 0o620):
            self.put(text(), mode)
            self.assertEqual(self.why(), "others may write to it")
        self.put(b" " * (_history.MOST_BYTES + 1))
        self.assertEqual(self.why(), "it is larger than 256 KiB")
        self.put(text())
        with mock.patch("os.geteuid", lambda: os.getuid() + 1):
            self.assertEqual(self.why(), "it belongs to another user")
            with self.assertRaises(_history.Unusable):
                _history.write(self.path, _needed.Needs(), set())
        with open(self.path) as f:
            self.assertEqual(f.read(), text())

    def test_no_folder(self):
        """A folder that cannot be made or written to is said in half a sentence."""
        with self.assertRaises(_history.Unusable):
            _history.write("/proc/none/needs.json", _needed.Needs(), set())

    def test_places(self):
        for said, path in (("/a/b", "/a/b/ipytracer/needs.json"), ("rel", "/h/.local/state/ipytracer/needs.json")):
            with mock.patch.dict(os.environ, {"XDG_STATE_HOME": said, "HOME": "/h"}):
                self.assertEqual(_history.place("home").path, path)
        self.assertEqual(_history.place("here").path, os.path.join(os.getcwd(), ".ipytracer-needs.json"))


class InCells(ShellTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        before = os.getcwd()
        os.chdir(folder.name)
        self.addCleanup(os.chdir, before)
        for patch in (
            mock.patch.dict(os.environ, {"XDG_STATE_HOME": os.path.join(self.folder, "state")}),
            mock.patch.object(_room, "rooms", lambda: [_room.Room("cpu.resident", 4 * GIB, "container")]),
            mock.patch.object(_guard, "_SAVED_EVERY", 0),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        super().setUp()
        self.tracer = fake.Tracer(limit=None).__enter__()
        self.addCleanup(self.tracer.__exit__)
        self.load()
        self.tracer.settle()

    def needs(self, source, need):
        self.tracer.coming = [{"meters": {"cpu.resident": fake.figure(0, need, 0)}}]
        return self.run_cell(source)

    def again(self):
        """Load the extension as a new kernel does. Return what that shows."""
        self.run_cell("%unload_ext ipytracer")
        self.tracer.settle()
        self.tracer.end.close()
        self.tracer.end = None
        return self.load()

    def files(self):
        found = [os.path.join(at, name) for at, _, names in os.walk(self.folder) for name in names]
        return sorted(os.path.relpath(path, self.folder) for path in found)

    def refused(self, source):
        self.run_cell(source)
        return isinstance(self.result.error_before_exec, MemoryError)

    def test_not_asked_for(self):
        self.run_cell("%tracer guard error")
        self.needs("secret = 'x'", 8 * GIB)
        self.again()
        self.run_cell("%tracer guard error")
        self.assertFalse(self.refused("secret = 'x'"))
        self.run_cell("%unload_ext ipytracer")
        self.assertEqual(self.files(), [])

    def test_home(self):
        """Asked for once, it is there in each session until it is deleted."""
        said = self.run_cell("%tracer guard remember home")[0]
        path = os.path.join(self.folder, "state/ipytracer/needs.json")
        self.assertTrue(said.endswith("; the history is " + path), said)
        self.needs("secret = 'x'", 8 * GIB)
        self.again()
        self.assertIn("it knows what 1 cell needed; the history is", self.run_cell("%tracer guard error")[0])
        self.assertTrue(self.refused("secret = 'x'"))
        self.assertEqual(self.files(), ["state/ipytracer/needs.json"])
        with open(path) as f:
            data = f.read()
        for word in ("secret", "x'", self.folder):
            self.assertNotIn(word, data)
        self.assertEqual(
            self.run_cell("%tracer guard forget")[0],
            "ipytracer: the guard knows no cells any more; deleted: " + path,
        )
        self.assertFalse(self.refused("secret = 'x'"))
        self.again()
        self.assertEqual(self.files(), [])

    def test_here(self):
        """Beside the notebook it is read only where a cell says so: a folder may come from a stranger."""
        self.needs("x = 1", 8 * GIB)
        self.run_cell("%tracer guard remember here")
        self.assertEqual(self.files(), [".ipytracer-needs.json"])
        self.again()
        self.run_cell("%tracer guard error")
        self.assertFalse(self.refused("x = 1"))
        self.again()
        self.run_cell("%tracer guard error")
        self.run_cell("%tracer guard remember here")
        self.assertTrue(self.refused("x = 1"))

    def test_unusable(self):
        """One sentence, and the session goes on without it."""
        os.symlink("/etc/passwd", ".ipytracer-needs.json")
        self.assertEqual(
            self.run_cell("%tracer guard remember here"),
            ["ipytracer: the history %s/.ipytracer-needs.json is not used: it is a link" % self.folder],
        )
        self.assertIn("no history is kept", self.run_cell("%tracer guard")[0])
        os.makedirs("state/ipytracer")
        with open("state/ipytracer/needs.json", "w") as f:
            f.write("\x1b[2J")
        os.chmod("state/ipytracer/needs.json", 0o600)
        shown = self.again()
        self.assertIn("needs.json is not used: it is no history of the guard", shown[0])
        with open("state/ipytracer/needs.json") as f:
            self.assertEqual(f.read(), "\x1b[2J")
        self.assertIsNotNone(_shell.of(self.shell))

    def test_a_child(self):
        """A forked child does not write its parent's history."""
        self.run_cell("%tracer guard remember here")
        guard = _shell.of(self.shell).guard
        guard._unsaved.add("x")
        with mock.patch("os.getpid", lambda: -1), mock.patch.object(_history, "write") as write:
            guard.save()
        self.assertEqual(write.call_count, 0)
        guard._unsaved.clear()


if __name__ == "__main__":
    unittest.main()
