"""What counts as a difference between two runs of an example, and what does not."""

import unittest

import run


class Differences(unittest.TestCase):
    def test_same(self):
        for a, b in (
            ("need 128.00 MiB · 12 ms", "need 130.01 MiB · 3.40 s"),
            ("need 0 B", "need 4.00 MiB"),
            ("x · ░░ <1 % of 23.54 GiB (machine)", "x"),
            ("pid 12 is", "pid 3456 is"),
            ("a\nb", "b\na"),
            ("(50 %)", "(49 %)"),
            ("Python 3.11.2", "Python 3.13.1"),
            ("2 passed in 0.5s", "2 passed in 12s"),
            ("x · available 3.00 GiB", "x"),
        ):
            self.assertEqual(run.differences(a, b), [], (a, b))

    def test_others(self):
        for a, b in (
            ("need 128.00 MiB", "need 160.00 MiB"),
            ("need 0 B", "need 5.00 MiB"),
            ("need 5.00 MiB", "need ≈5.00 MiB"),
            ("In[3]", "In[4]"),
            ("a", ""),
            ("2 passed", "1 passed"),
            ("numpy 1.00 MiB", "mapped 1.00 MiB"),
            ("a 1.00 GiB\nb 0 B", "b 1.00 GiB\na 0 B"),
        ):
            self.assertNotEqual(run.differences(a, b), [], (a, b))

    def test_every_example_is_there(self):
        for name in run.NOTEBOOKS:
            committed = run.nbformat.read("%s/%s.ipynb" % (run.HERE, name), 4)
            shown = [run.outputs(c) for c in committed.cells if c.cell_type == "code"]
            self.assertGreater(sum("need" in s for s in shown), 3, name)
