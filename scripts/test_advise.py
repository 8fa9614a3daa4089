import glob
import os
import unittest

import advise
import notebook_text

PLANTED = os.path.join(advise.TESTDATA, "advice")


def edit(start, end, text=None, cell=1):
    found = {"execution": cell, "execution_count": cell, "start_line": start, "end_line": end, "text": text or ""}
    return dict(found, delete=True) if text is None else found


class Patched(unittest.TestCase):
    def test_lines(self):
        for edits, want in (
            ([], "a\nb\nc"),
            ([edit(2, 1, "x\ny")], "a\nx\ny\nb\nc"),
            ([edit(4, 3, "x")], "a\nb\nc\nx"),
            ([edit(1, 2, "x")], "x\nc"),
            ([edit(2, 2)], "a\nc"),
            ([edit(2, 2, "")], "a\n\nc"),
            ([edit(1, 0, "x"), edit(1, 1, "y"), edit(3, 3)], "x\ny\nb"),
            ([edit(3, 3, "z"), edit(1, 0, "x")], "x\na\nb\nz"),
        ):
            with self.subTest(edits=edits):
                self.assertEqual(advise.patched("a\nb\nc", edits), want)

    def test_lines_that_are_not_there(self):
        for one in (edit(0, 0, "x"), edit(5, 4, "x"), edit(2, 4, "x"), edit(3, 1, "x")):
            with self.subTest(edit=one), self.assertRaises(ValueError):
                advise.patched("a\nb\nc", [one])

    def test_cells_stay_as_they_were(self):
        cells = [notebook_text.Cell("one", "a"), notebook_text.Cell("two", "b")]
        then = advise.follow(cells, [edit(1, 0, "x", cell=2)])
        self.assertEqual([c.source for c in then], ["a", "x\nb"])
        self.assertEqual([c.source for c in cells], ["a", "b"])


class Wanted(unittest.TestCase):
    def test_lines(self):
        for text, want in (
            ("# A loop.\n# advice: delete raw,more In[3] line 5\n\n# %%\n", ("delete", ["raw", "more"], 3, 5, "")),
            ("# advice: batch - In[12] line 1 meter=gpu.0.active\n# %%\n", ("batch", [], 12, 1, "gpu.0.active")),
            ("# advice: healthy\n# %%\n", ("healthy", [], 0, 0, "")),
            ("# advice: healthy - -\n# %%\n", ("healthy", [], 0, 0, "")),
        ):
            with self.subTest(text=text):
                self.assertEqual(tuple(advise.wanted(text)), want)

    def test_none(self):
        self.assertIsNone(advise.wanted("# Nothing.\n# %%\n# advice: healthy\n"))

    def test_planted(self):
        for path in glob.glob(os.path.join(PLANTED, "*.ipy")):
            with self.subTest(path=path), open(path, encoding="utf-8") as f:
                want = advise.wanted(f.read())
                self.assertIsNotNone(want)
                if want.kind != "healthy":
                    source = notebook_text.read(path)[want.cell - 1].source
                    self.assertTrue(source.split("\n")[want.line - 1].strip())


class Outputs(unittest.TestCase):
    def test_joined(self):
        parts = [("stdout", "a"), ("stdout", "b\n"), ("stderr", "late"), ("shown", "<A at 0x7f11223344>")]
        self.assertEqual(advise.joined(parts), [("stdout", "ab\n"), ("shown", "<A at 0x…>")])

    def test_differing(self):
        found = advise.differing([["a"], ["b"], ["c"]], [["a"], ["x"], ["y"]], {2})
        self.assertEqual(found, ["In[2] (edited)", "In[3]"])


if __name__ == "__main__":
    unittest.main()
