import json
import os
import tempfile
import unittest

import notebook_text


class Markers(unittest.TestCase):
    def test_kinds(self):
        found = list(
            notebook_text.markers(
                "a = make()  # makes: 12\ndef f():\n    b = g()  # leaks held-by-output|never-freed: 7\n\nf()  # raises"
            )
        )
        self.assertEqual(
            [
                ("makes", "", 12, 1, "<module>"),
                ("leaks", "held-by-output|never-freed", 7, 3, "f"),
                ("raises", "", 0, 5, "<module>"),
            ],
            [(m["says"], m["of"], m["bytes"], m["line"], m["function"]) for m in found],
        )

    def test_ordinary_comments_say_nothing(self):
        self.assertEqual([], list(notebook_text.markers("x = 1  # it makes sense\n# leaks a lot\ny = '# raises' + z")))


class Files(unittest.TestCase):
    def test_every_notebook_here(self):
        names = notebook_text.names()
        self.assertGreaterEqual(len(names), 12)
        cells = [cell for name in names for cell in notebook_text.read(name)]
        self.assertGreaterEqual(len(cells), 200)
        said = [m["says"] for cell in cells for m in cell.markers]
        for name in ("raises", "makes", "frees", "leaks"):
            self.assertIn(name, said)
        for cell in cells:
            self.assertEqual(cell.source.strip("\n"), cell.source)
            self.assertEqual(any(m["says"] == "raises" for m in cell.markers), cell.status == "error")

    def test_what_is_made_is_freed_with_the_same_size(self):
        for name in notebook_text.names():
            said = [
                (m["of"], m["bytes"]) for cell in notebook_text.read(name) for m in cell.markers if m["says"] == "makes"
            ]
            for cell in notebook_text.read(name):
                for m in cell.markers:
                    if m["says"] == "frees":
                        self.assertIn((m["of"], m["bytes"]), said)

    def test_jupyter_files(self):
        with tempfile.TemporaryDirectory() as place:
            for form, book in (
                (
                    "4",
                    {
                        "cells": [
                            {"cell_type": "markdown", "source": ["# title"]},
                            {"cell_type": "code", "source": ["a = 1\n", "a"]},
                        ]
                    },
                ),
                ("3", {"worksheets": [{"cells": [{"cell_type": "code", "input": "a = 1\na"}]}]}),
            ):
                path = os.path.join(place, form + ".ipynb")
                with open(path, "w") as f:
                    json.dump(book, f)
                (cell,) = notebook_text.read(path)
                self.assertEqual(("a = 1\na", None, []), (cell.source, cell.status, cell.markers))


if __name__ == "__main__":
    unittest.main()
