"""fastai 1's utils.mem, utils.ipython and callbacks of memory: the assertions of test_callbacks_mem, the documentation,
and fixed bugs."""

import os
import types
import unittest
import weakref
from unittest import mock

from ipytracer.compat import _gpu, _tracebacks, fastai_mem

from .fake_memory import MIB, CompatTest


def gpus(*free):
    """Return a machine with GPUs of 8 GiB, with so many MiB free; CUDA has them in the opposite order."""
    memory = [_gpu.GPUMemory(8192 * MIB, f * MIB, (8192 - f) * MIB) for f in free]
    last = len(memory) - 1
    torch = mock.Mock()
    torch.cuda.device_count.return_value, torch.cuda.current_device.return_value = len(memory), 0
    return mock.patch.multiple(
        _gpu,
        memory=lambda i: memory[i] if 0 <= i <= last else None,
        count=lambda: last + 1,
        index_of=lambda n: last - n,
        torch=lambda: torch,
    ), torch


class Queries(unittest.TestCase):
    def test_get(self):
        patch, torch = gpus(8000, 3000)
        with patch:
            self.assertEqual(fastai_mem.gpu_mem_get(), (8192, 3000, 5192))
            self.assertEqual(fastai_mem.gpu_mem_get(1)._asdict(), {"total": 8192, "free": 8000, "used": 192})
            self.assertEqual(fastai_mem.gpu_mem_get(7), (0, 0, 0))
            self.assertEqual(fastai_mem.gpu_mem_get_all(), [(8192, 3000, 5192), (8192, 8000, 192)])
            self.assertEqual(
                (fastai_mem.gpu_mem_get_free(), fastai_mem.gpu_mem_get_used(), fastai_mem.gpu_mem_get_used_fast()),
                (3000, 5192, 5192),
            )
            torch.cuda.empty_cache.assert_not_called()
            self.assertEqual(
                (fastai_mem.gpu_mem_get_free_no_cache(), fastai_mem.gpu_mem_get_used_no_cache()), (3000, 5192)
            )
            self.assertEqual(torch.cuda.empty_cache.call_count, 2)
            self.assertEqual(fastai_mem.gpu_with_max_free_mem(), (1, 8000))

    def test_without_a_gpu(self):
        with mock.patch.multiple(_gpu, count=lambda: 0, memory=lambda i: None, torch=lambda: None):
            self.assertEqual(
                (fastai_mem.gpu_mem_get(), fastai_mem.gpu_mem_get_all(), fastai_mem.gpu_with_max_free_mem()),
                ((0, 0, 0), [], (None, 0)),
            )
            self.assertEqual(fastai_mem.gpu_mem_get_used_no_cache(), 0)
        self.assertEqual(fastai_mem.b2mb(3 * MIB - 1), 2)

    def test_visible_devices(self):
        """Where CUDA does not report the bus, its variable decides; values that are not numbers are not guessed at."""
        for visible, ordinal, want in (
            ("2,0", 0, 2),
            ("2,0", 1, 0),
            ("2", 1, None),
            ("GPU-8932f937", 0, None),
            ("", 0, None),
            ("-1", 0, None),
        ):
            with (
                mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=visible),
                mock.patch.object(_gpu, "_bus_of_ordinal", lambda n: None),
            ):
                self.assertEqual(_gpu.index_of(ordinal), want, visible)
        buses = {0: (0, 0xa0, 0), 1: (0, 0x0f, 0)}
        with (
            mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="1,0"),
            mock.patch.multiple(
                _gpu,
                _bus_of_ordinal=buses.get,
                count=lambda: 2,
                _bus_of=lambda i: _gpu._bus([b"00000000:0F:00.0", b"0000:A0:00"][i]),
            ),
        ):
            self.assertEqual((_gpu.index_of(0), _gpu.index_of(1)), (1, 0))


class Trace(CompatTest):
    def setUp(self):
        super().setUp()
        self.patch, self.torch = gpus(8000)
        self.patch.start()
        self.addCleanup(self.patch.stop)
        self.tracer.memory["gpu.0.driver"] = 7 * MIB
        self.printed_by("from ipytracer.compat.fastai_mem import *")

    def test_report(self):
        self.printed_by("t = GPUMemTrace()")
        self.printed_by("a = Block(1024, 'gpu.0.driver'); b = Block(200, 'gpu.0.driver'); del b")
        self.assertEqual(self.printed_by("t.report('step'); d = t.data()"), "△Used Peaked MB:  1,024    200 (step)\n")
        self.assertEqual(self.shell.user_ns["d"], (1024, 200))
        self.printed_by("del a")
        self.assertEqual(
            self.printed_by("t.report_n_reset()"),
            "△Used Peaked MB: -1,024  2,248\n".replace("-1,024  2,248", "     0  1,224"),
        )
        self.assertEqual(self.printed_by("t.report()"), "△Used Peaked MB:      0      0\n")
        self.printed_by("c = Block(3, 'gpu.0.driver'); t.stop(); x = Block(5, 'gpu.0.driver')")
        self.assertEqual(self.printed_by("t.report()"), "△Used Peaked MB:      3      0\n")
        self.assertEqual(self.shell.user_ns["t"].window.kind, "experiment")

    def test_negative(self):
        self.printed_by("a = Block(100, 'gpu.0.driver')")
        self.printed_by("t = GPUMemTrace(ctx='whole'); del a")
        self.assertEqual(self.printed_by("t.report('part')"), "△Used Peaked MB:   -100      0 (whole: part)\n")

    def test_context_manager_and_decorator(self):
        self.assertEqual(
            self.printed_by("with GPUMemTrace(ctx='c') as t:\n    a = Block(5, 'gpu.0.driver')"),
            "△Used Peaked MB:      5      0 (c: exit)\n",
        )
        self.assertEqual(self.printed_by("with GPUMemTrace(on_exit_report=False): pass"), "")
        self.assertEqual(self.printed_by("with GPUMemTrace(silent=True): pass"), "")
        out = self.printed_by("@gpu_mem_trace\ndef f():\n    b = Block(30, 'gpu.0.driver')\n    return 3\nr = f()")
        self.assertEqual((out, self.shell.user_ns["r"]), ("△Used Peaked MB:      0     30 (f: exit)\n", 3))

    def test_others_and_exactness(self):
        self.tracer.inexact["gpu.0.driver"] = None
        self.assertEqual(self.printed_by("with GPUMemTrace(): pass"), "△Used Peaked MB:     ≈0     ≥0 (exit)\n")

    def test_peak_mem_metric(self):
        learn = types.SimpleNamespace(recorder=mock.Mock())
        for metric, columns, want in (
            (
                fastai_mem.PeakMemMetric(learn),
                ["cpu used", "peak", "gpu used", "peak"],
                [[20, 70, 64, 6], [0, 50, 0, 6]],
            ),
            (fastai_mem.CpuPeakMemMetric(learn), ["cpu used", "cpu_peak"], [[20.0, 70.0], [0.0, 50.0]]),
        ):
            metric.on_train_begin(epoch=0)
            learn.recorder.add_metric_names.assert_called_with(columns)
            kept = []
            for epoch in range(2):
                metric.on_epoch_begin(epoch=epoch)
                self.assertIsNone(metric.on_batch_begin(train=True))
                if epoch == 0:
                    kept += [self.Block(20), self.Block(64, "gpu.0.driver")]
                self.Block(50), self.Block(6, "gpu.0.driver")
                self.assertEqual(
                    metric.on_epoch_end(last_metrics=[0.5], epoch=epoch), {"last_metrics": [0.5] + want[epoch]}
                )
            metric.on_train_end()
        self.assertEqual(fastai_mem.PeakMemMetric._order, -20)


class WithoutTracer(CompatTest):
    greets = False

    def test_none(self):
        self.printed_by("from ipytracer.compat.fastai_mem import GPUMemTrace")
        self.assertEqual(self.printed_by("t = GPUMemTrace()").count("sudo tracer attach"), 1)
        self.assertEqual(self.printed_by("t.report()"), "△Used Peaked MB:      –      –\n")
        self.assertEqual(self.shell.user_ns["t"].data(), (None, None))


class Restore(unittest.TestCase):
    def raises(self, text):
        class Big:
            pass
        big = Big()
        self.held = weakref.ref(big)
        raise RuntimeError(text)

    def tried(self, function, text):
        try:
            function(text)
        except RuntimeError as error:      # assertRaises() would clear the frames itself
            self.assertEqual(str(error), text)
            return self.held() is None
        self.fail("nothing was raised")

    def test_decorator(self):
        for asked, text, want in (
            (None, "CUDA out of memory. Tried …", True),
            (None, "other", False),
            ("1", "other", True),
            ("0", "CUDA out of memory", False),
        ):
            with mock.patch.object(fastai_mem, "is_in_ipython", lambda: True), mock.patch.dict(os.environ):
                os.environ.pop("FASTAI_TB_CLEAR_FRAMES", None)
                if asked:
                    os.environ["FASTAI_TB_CLEAR_FRAMES"] = asked
                self.assertEqual(self.tried(fastai_mem.gpu_mem_restore(self.raises), text), want, (asked, text))
        with mock.patch.object(fastai_mem, "is_in_ipython", lambda: False):
            self.assertFalse(self.tried(fastai_mem.gpu_mem_restore(self.raises), "CUDA out of memory"))
        with mock.patch.object(fastai_mem, "is_in_ipython", lambda: True), self.assertWarns(UserWarning):
            self.tried(fastai_mem.gpu_mem_restore(self.raises), "device-side assert triggered")

    def test_ctx(self):
        def run(text):
            with fastai_mem.gpu_mem_restore_ctx():
                self.raises(text)
        self.assertTrue(self.tried(run, "any"))

    def test_ref_free(self):
        try:
            self.raises("x")
        except RuntimeError:
            kind, error, traceback = fastai_mem.get_ref_free_exc_info()
        self.assertEqual((kind, str(error), self.held()), (RuntimeError, "x", None))
        self.assertIsNotNone(traceback)

    def test_chained(self):
        def chained():
            try:
                self.raises("first")
            except RuntimeError as error:
                raise KeyError("second") from error
        try:
            _tracebacks.clears_frames(chained, lambda error: True)()
        except KeyError as error:
            self.assertEqual((str(error.__cause__), self.held()), ("first", None))


class Frames(unittest.TestCase):
    def test_reduce_mem_usage(self):
        try:
            import numpy
            import pandas
        except ImportError:
            self.skipTest("there is no pandas here")
        frame = pandas.DataFrame(
            {
                "byte": [-128, 127],
                "short": [0, 300],
                "word": [0, 70000],
                "long": [0, 2**40],
                "half": [0.5, 1.0],
                "wide": [1e300, 1.0],
                "text": ["a", "b"],
                "truth": [True, False],
                "unsigned": numpy.array([1, 2], "uint64"),
            }
        )
        want = {name: list(frame[name]) for name in frame}
        with mock.patch("builtins.print") as printed:
            self.assertIs(fastai_mem.reduce_mem_usage(frame), frame)
        self.assertEqual(
            [str(t) for t in frame.dtypes],
            ["int8", "int16", "int32", "int64", "float32", "float64", "category", "bool", "uint64"],
        )
        self.assertEqual({name: list(frame[name]) for name in frame}, want)
        self.assertEqual(printed.call_count, 3)
