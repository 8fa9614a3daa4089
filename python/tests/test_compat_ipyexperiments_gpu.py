"""ipyexperiments with a GPU, which is a meter of the fake tracer's here (e2e/compat_gpu_test.go has a stand-in of a
real one), and its utils (test_utils_ipython, test_utils_mem)."""

import unittest
import weakref
from unittest import mock

from ipytracer.compat import _gpu
from ipytracer.compat.ipyexperiments import IPyExperimentsGPU
from ipytracer.compat.ipyexperiments.utils import ipython, mem

from .fake_memory import MIB, CompatTest
from .test_compat_ipyexperiments import sizes


class Backend(IPyExperimentsGPU):
    """A GPU without PyTorch, as a custom backend."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.backend, self.gpu_current_device_id = "mine", 0
        self.backend_init()
        self.start()


class OfAGPU(CompatTest):
    """Figures of the process on the device, and the device's own beside them."""

    def setUp(self):
        super().setUp()
        for name, value in (
            ("index_of", lambda n: n + 1),
            ("memory", lambda n: _gpu.GPUMemory(8192 * MIB, 8000 * MIB, 192 * MIB)),
        ):
            patch = mock.patch.object(_gpu, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.shell.user_ns["Backend"] = Backend
        self.tracer.memory["gpu.1.driver"] = 2 * MIB

    def test_cells(self):
        self.printed_by("exp = Backend(exp_enable=False)")
        out = self.printed_by("a = Block(256, 'gpu.1.driver'); b = Block(256, 'gpu.1.driver'); del a")
        self.assertEqual((sizes(out), sizes(out, "GPU")), ((0, 0, 100), (256, 256, 258)))
        self.printed_by("data = exp.cl.data; exp.cl.stop()")
        self.assertEqual(self.shell.user_ns["data"].gpu, (256 * MIB, 256 * MIB, 258 * MIB))

    def test_captured(self):
        """Memory that PyTorch keeps for later is also given back before a cell within %%capture is measured; so is
        garbage for gc.collect()."""
        cached = []

        class Tensor(self.Block):
            def __del__(self):
                cached.append(self.mib)

        def empty_cache():
            while cached:
                self.tracer.take(-cached.pop() * MIB, "gpu.1.driver")
        self.shell.user_ns["tensor"] = lambda: Tensor(256, "gpu.1.driver")
        self.shell.user_ns["Loop"] = type("Loop", (), {})
        with mock.patch.object(_gpu, "clear_cache", empty_cache):
            self.printed_by("exp = Backend(exp_enable=False)")
            out = self.printed_by(
                "%%capture output\na = Block(64)\nloop = Loop(); loop.itself, loop.block = loop, Block(32); del loop\n"
                "g1 = tensor(); g2 = tensor(); del g1"
            )
            within = str(self.shell.user_ns["output"])
            self.assertEqual((sizes(within), sizes(within, "GPU")), ((64, 32, 164), (256, 256, 258)))
            self.assertEqual((sizes(out), sizes(out, "GPU")), ((64, 32, 164), (256, 256, 258)))
            self.printed_by("%%capture output\ndel g2; del a")
            self.assertEqual(sizes(str(self.shell.user_ns["output"]), "GPU"), (-256, 0, 2))
            self.assertEqual(self.tracer.open, [])
            self.printed_by("exp.cl.stop()")

    def test_experiment(self):
        out = self.printed_by("with Backend(cl_enable=False) as exp:\n    x = Block(1024, 'gpu.1.driver')")
        self.assertIn("GPU:    1,024    1,024 MB (100.00%)", out)
        self.assertIn("GPU:     192   8,000   8,192 MB   2.34%", out)
        self.assertEqual(self.shell.user_ns["exp"].data.gpu, (1024 * MIB, 1024 * MIB, 8000 * MIB))


class Utils(unittest.TestCase):
    def test_decorator(self):
        self.assertIs(ipython.ipython_tb_clear_frames(lambda: True)(), True)

    def test_ctx(self):
        with ipython.ipython_tb_clear_frames_ctx():
            pass

    def test_frames_let_go(self):
        """The same exception is raised, with its message, and its frames hold nothing."""
        class Big:
            pass

        def raises():
            big = Big()
            weak.append(weakref.ref(big))
            raise UnicodeDecodeError("utf-8", b"x", 0, 1, "mine")     # the message alone cannot construct it

        def inside():
            with ipython.ipython_tb_clear_frames_ctx():
                raises()
        weak = []
        for inside_ipython, function, gone in (
            (True, ipython.ipython_tb_clear_frames(raises), True),
            (True, inside, True),
            (False, ipython.ipython_tb_clear_frames(raises), False),
        ):
            with mock.patch.object(ipython, "IS_IN_IPYTHON", inside_ipython):
                try:
                    function()
                except UnicodeDecodeError as error:      # assertRaises() would clear the frames itself
                    self.assertEqual((error.reason, weak.pop()() is None), ("mine", gone))
        self.assertEqual(weak, [])

    def test_without_a_gpu(self):
        """The original cannot even be imported."""
        if _gpu.count():
            self.skipTest("there is a GPU here")
        self.assertEqual(
            (mem.gpu_mem_get_mbs(), mem.gpu_mem_get_free_no_cache_mbs(), mem.b2mb(3 * MIB - 1)), ((0, 0, 0), 0, 2)
        )
        self.assertRaises(AssertionError, mem.gpu_mem_leave_free_mbs, 10)

    def test_leave_free_mbs(self):
        taken = []
        with mock.patch.object(mem, "gpu_mem_get_free_mbs", lambda: 100 - sum(taken)), \
                mock.patch.object(mem, "gpu_mem_allocate_mbs", lambda n: taken.append(n) or object()):
            self.assertEqual((mem.gpu_mem_leave_free_mbs(90) is None, mem.gpu_mem_get_free_mbs()), (False, 90))
