"""What JupyterLab's extension asks about cells before they run."""

from unittest import mock

from ipytracer import _room

from . import fake
from .test_lab import LabTest as _LabTest


class Asked(_LabTest):
    def test_needed(self):
        """For each source that the extension sends: what such a cell needed, and whether that is free."""
        self.load()
        comm = self.open()
        self.tracer.coming = [{"meters": {"cpu.resident": fake.figure(0, 8 << 30, 0)}}]
        self.assertEqual(self.ask(comm, {"id": 1, "ask": "needed", "sources": ["x = 1"]})["needed"], [None])
        self.run_cell("x = 1")
        rooms = [_room.Room("cpu.resident", 4 << 30, "container")]
        with mock.patch.object(_room, "rooms", lambda: rooms):
            sources = ["x = 1 # same", "x = 2", None, 5, "y" * (1 << 20), "x = 1", "%tracer table"]
            told = self.ask(comm, {"id": 2, "ask": "needed", "sources": sources})["needed"]
            says = "needed 8.00 GiB the last time, 4.00 GiB are free (container)"
            known = {"says": says, "need": 8 << 30, "fits": False}
            self.assertEqual(told, [known] + [None] * 6)     # behind too long a text nothing is answered
            self.assertEqual(self.ask(comm, {"id": 3, "ask": "needed", "sources": ["x = 1"]})["needed"], [known])
            for sources in (None, 5, {"x = 1": 1}, "x = 1"):
                self.assertEqual(self.ask(comm, {"id": 4, "ask": "needed", "sources": sources})["needed"], [])
            many = self.ask(comm, {"id": 5, "ask": "needed", "sources": ["x = 1"] * 5000})["needed"]
            self.assertEqual(len(many), 200)
