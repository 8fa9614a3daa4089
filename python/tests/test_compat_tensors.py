"""pytorch_memlab's tensors: the calls of test_mem_reporter and test_courtesy, with further assertions, and fixed
bugs."""

import gc
import io
import re
import unittest
from contextlib import redirect_stdout
from unittest import mock

from ipytracer.compat import pytorch_memlab

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "there is no PyTorch here")
class Reporter(unittest.TestCase):
    def report(self, reporter, **how):
        out = io.StringIO()
        with redirect_stdout(out):
            reporter.report(**how)
        return {
            row.split()[0]: (" ".join(row.split()[1:-1]), row.split()[-1])
            for row in out.getvalue().splitlines()
            if row and row[0] != "-"
        }, out.getvalue()

    def setUp(self):
        gc.collect()

    def test_reporter(self):
        linear, inp = torch.nn.Linear(1024, 1024), torch.zeros(512, 1024)
        reporter = pytorch_memlab.MemReporter(linear)
        out = linear(inp * (inp + 3)).mean()
        rows, text = self.report(reporter)
        # HEAD of the original: 16.02M in all
        self.assertEqual((rows["weight"], rows["bias"]), (("(1024, 1024)", "4.00M"), ("(1024,)", "4.00K")))
        self.assertRegex(text, r"^Element type +Size +Used MEM\n-{79}\nStorage on cpu\n")
        out.backward()
        rows, _ = self.report(reporter)
        self.assertEqual((rows["weight.grad"], rows["bias.grad"]), (("(1024, 1024)", "4.00M"), ("(1024,)", "4.00K")))

    def test_without_model(self):
        kept = torch.zeros(3, 5, dtype=torch.float64)
        _, text = self.report(pytorch_memlab.MemReporter(pre_collect=True))
        self.assertRegex(text, r"Tensor\d+ +\(3, 5\) +120\.00B\n")
        self.assertEqual(kept.numel(), 15)

    def test_shared_storages(self):
        """A shared storage counts once; slices differ from their originals."""
        whole = torch.zeros(1 << 20)
        part = whole[:10]
        del whole
        again = part[2:3]
        reporter = pytorch_memlab.MemReporter()
        _, text = self.report(reporter, verbose=True)
        stats = [s for s in reporter.device_tensor_stat[torch.device("cpu")] if s[3] == 4 << 20 or "->" in s[0]]
        # part is a view of memory that may also be an object of Python's
        self.assertIn(sorted(s[3] for s in stats), ([0, 4 << 20], [0, 0, 4 << 20]))
        self.assertEqual(len(re.findall(r"\(->Tensor\d+\)", text)), len(stats) - 1)
        self.assertEqual(again.numel(), 1)

    def test_sparse(self):
        table = torch.nn.Embedding(1024, 1024, sparse=True)
        out = table(torch.arange(0, 128)).mean()
        out.backward()
        double = table.weight.grad * 2
        reporter = pytorch_memlab.MemReporter(table)
        self.report(reporter)
        stats = [s for s in reporter.device_tensor_stat[torch.device("cpu")] if s[0].startswith("weight.grad")]
        self.assertEqual(sum(s[3] for s in stats), 128 * 8 + 128 * 1024 * 4)
        self.assertTrue(double.is_sparse)

    def test_tied_weights(self):
        one, two = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        two.weight = one.weight
        rows, _ = self.report(pytorch_memlab.MemReporter(torch.nn.Sequential(one, two)))
        self.assertIn(rows.get("0.weight+1.weight") or rows["0.weight"], [("(64, 64)", "16.00K")])

    def test_optimizer(self):
        linear = torch.nn.Linear(64, 64)
        optimizer = torch.optim.Adam(linear.parameters())
        linear(torch.zeros(2, 64)).mean().backward()
        optimizer.step()
        reporter = pytorch_memlab.MemReporter(linear)
        reporter.add_optimizer(optimizer)
        rows, _ = self.report(reporter)
        self.assertEqual(
            (rows["Adam.weight.exp_avg"], rows["Adam.bias.exp_avg_sq"]), (("(64, 64)", "16.00K"), ("(64,)", "256.00B"))
        )

    def test_device(self):
        _, text = self.report(pytorch_memlab.MemReporter(), device=torch.device("meta"))
        self.assertNotIn("Storage on cpu", text)

    def test_strange_objects(self):
        class Strange:
            @property
            def __class__(self):
                raise RuntimeError("nobody asks me")
        held = Strange()
        self.report(pytorch_memlab.MemReporter())
        self.assertIsNotNone(held)


@unittest.skipIf(torch is None, "there is no PyTorch here")
class Leaving(unittest.TestCase):
    """Courtesy, on a device without memory; e2e/compat_gpu_test.go has one with memory."""

    def test_without_a_gpu(self):
        linear = torch.nn.Linear(8, 8)        # with no gradients: the original fails here
        before = linear.weight.data_ptr()
        with pytorch_memlab.Courtesy() as courtesy:
            self.assertEqual(courtesy.loc_map, {})
        self.assertEqual((linear.weight.data_ptr(), linear.weight.device.type), (before, "cpu"))

    def test_storages_stay_shared(self):
        from ipytracer.compat.pytorch_memlab import _courtesy
        whole = torch.arange(12.0)
        part = whole[4:8].view(2, 2)
        first = whole.data_ptr()
        with mock.patch.object(_courtesy, "_is_there", lambda tensor, device: False):
            _courtesy._move([whole, part], lambda tensor: "cpu")
        self.assertEqual((whole.tolist(), part.tolist()), ([float(n) for n in range(12)], [[4.0, 5.0], [6.0, 7.0]]))
        self.assertEqual(part.data_ptr(), whole.data_ptr() + 16)
        self.assertNotEqual(whole.data_ptr(), first)
