"""The lines under cells beside JupyterLab's extension, and the figures that they carry."""

import json
import zlib

from ipytracer import _lab, _shell, _show

from .test_lab import LabTest


class Shown(LabTest):
    def test_lines(self):
        """Where the extension shows figures nothing is displayed, so nothing is saved, unless the user wants it."""
        self.load()
        self.assertEqual(len(self.run_cell("x = 1")), 1)
        comm = self.open()
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertEqual(len(self.run_cell("%%tracer\nx = 1")), 1)
        self.run_cell("%tracer compact")
        self.assertEqual(len(self.run_cell("x = 1")), 1)
        self.run_cell("%tracer off")
        self.assertEqual(self.run_cell("x = 1"), [])
        self.assertEqual(len(comm.of("cell")), 6)

    def test_transient(self):
        """The extension sees that there is a companion now; a saved notebook does not say so."""
        self.load()
        self.run_cell("x = 1")
        last = self.published.outputs[-1]
        self.assertEqual((last["transient"], last["metadata"]), ({"ipytracer": _lab.PROTOCOL}, {}))

    def test_a_front_end_without_comms(self):
        """The line under a cell carries its figures, as the extension would get them."""
        self.load()
        self.run_cell("x = 1\ny = 2")
        line = self.published.outputs[-1]["data"][_show.FIGURES]
        told = dict([c for part in self.open().of("cells") for c in part][-1])
        text = self.tracer.windows[-1]["source"].encode()       # of the tracer: the shell's own is not at hand
        told.update(crc=zlib.crc32(text), length=len(text))
        self.assertEqual(line, dict(protocol=_lab.PROTOCOL, limit=1 << 30, limit_of="container", cell=told))
        self.assertLess(len(json.dumps(line)), 4096)

    def test_the_extension_goes(self):
        self.load()
        comm = self.open()
        comm.gone({})
        self.assertEqual(len(self.run_cell("x = 1")), 1)

    def test_a_page_that_is_gone(self):
        """No message reports it: sending fails, or other pages take its place."""
        self.load()
        broken = self.open()
        broken.broken = True
        self.run_cell("x = 1")
        self.assertEqual(self.printed, "")
        self.assertFalse(_shell.of(self.shell).lab.listens)
        comms = [self.open() for _ in range(_lab._MOST_COMMS + 2)]
        self.assertEqual([c.closed for c in comms], [True, True] + [False] * _lab._MOST_COMMS)

    def test_unloaded(self):
        self.load()
        comm = self.open()
        self.run_cell("%unload_ext ipytracer")
        self.assertTrue(comm.closed)
        self.assertEqual(self.manager.targets, {})
