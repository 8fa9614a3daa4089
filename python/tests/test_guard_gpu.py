"""The guard judges GPUs."""

from . import fake
from .test_guard import GIB, GuardTest


class OnGPUs(GuardTest):
    def test_gpus(self):
        """A GPU has the room that was there after the last cell, and PyTorch's cache without tensors."""
        def cell(source, need, free, reserved=0, active=0):
            self.tracer.free = free
            self.tracer.coming = [{"meters": {
                "cpu.resident": fake.figure(0, 0, 0), "gpu.1.driver": fake.figure(GIB, GIB + need, GIB),
                "gpu.1.reserved": fake.figure(0, reserved, reserved), "gpu.1.active": fake.figure(0, active, active)}}]
            self.run_cell(source)

        self.run_cell("%tracer guard error")
        cell("x = 1", 8 * GIB, {"0": 70 * GIB, "1": 12 * GIB})
        cell("x = 1", 8 * GIB, {"1": 4 * GIB})
        self.assertIsNone(self.refused)
        self.run_cell("x = 1")
        self.assertIn(
            "needed 8.00 GiB on GPU 1 the last time, 4.00 GiB are free (after the last cell); it has", self.refused)
        cell("pass", 0, {"1": 4 * GIB}, 7 * GIB, 2 * GIB)
        cell("x = 1", 8 * GIB, {"1": 4 * GIB}, 7 * GIB, 5 * GIB)
        self.assertIsNone(self.refused)
        self.run_cell("x = 1")
        self.assertIsNotNone(self.refused)
        cell("pass", 0, None)     # NVML does not answer any more
        self.run_cell("x = 1")
        self.assertIsNone(self.refused)
