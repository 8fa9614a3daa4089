"""The same text for the same figure as on the command line: the cases of internal/words/testdata/figures.json."""

import json
import pathlib
import unittest

from ipytracer import _words
from ipytracer._window import Figure

CASES = json.loads((pathlib.Path(__file__).parents[2] / "internal/words/testdata/figures.json").read_text("utf-8"))


class Words(unittest.TestCase):
    def compare(self, write, texts):
        self.assertGreater(len(texts), 20)
        for n, want in texts.items():
            self.assertEqual(write(int(n)), want, n)

    def test_size(self):
        self.compare(_words.size, CASES["bytes"])

    def test_duration(self):
        self.compare(_words.duration, CASES["durations"])

    def test_figures(self):
        self.assertGreater(len(CASES["figures"]), 2)
        for case in CASES["figures"]:
            figure = Figure(**case["figure"])
            self.assertEqual({q: _words.shown(figure, q) for q in case["texts"]}, case["texts"])

    def test_meters(self):
        self.assertEqual(
            [_words.meter_name(m) for m in ("cpu.resident", "cpu.resident.anon", "gpu.0.active", "cpu.numpy")],
            ["resident", "resident anon", "GPU 0 active", "numpy"],
        )
        self.assertEqual(
            _words.in_order(
                [
                    "cpu.heap",
                    "cpu.arrow",
                    "cpu.torch",
                    "gpu.10.driver",
                    "cpu.numpy",
                    "gpu.2.driver",
                    "gpu.2.active",
                    "cpu.resident",
                    "cpu.mapped",
                ]
            ),
            [
                "cpu.resident",
                "gpu.2.driver",
                "gpu.10.driver",
                "gpu.2.active",
                "cpu.mapped",
                "cpu.numpy",
                "cpu.torch",
                "cpu.arrow",
                "cpu.heap",
            ],
        )

    def test_safe(self):
        for text, want in {
            "plain › text": "plain › text",
            "\x1b[31m": "\\x1b[31m",
            "a\nb\tc\r": "a\\nb\\tc\\r",
            "\u202e": "\\u202e",
            "\x9b": "\\u009b",
            "\u200b": "\\u200b",
            "\u2800": "\\u2800",
            "\U000e0041": "\\U000e0041",
            "\udc80": "\\udc80",
            "\x00": "\\x00",
            "日本": "日本",
            "e" + "\u0301" * 6: "e" + "\u0301" * 4 + "\\u0301" * 2,
        }.items():
            self.assertEqual(_words.safe(text), want, ascii(text))
        self.assertEqual(_words.safe("x" * 100, 10), "x" * 9 + "…")

    def test_plural(self):
        self.assertEqual([_words.plural(1, "child"), _words.plural(2, "child"), _words.plural(1234, "more cell")],
                         ["1 child", "2 children", "1,234 more cells"])
