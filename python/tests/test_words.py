"""The same text for the same bytes as on the command line: vectors of internal/words/units_test.go."""

import unittest

from ipytracer import _words

K = 1 << 10


class Words(unittest.TestCase):
    def test_size(self):
        for n, want in {
            0: "0 B",
            1: "1 B",
            1023: "1023 B",
            K: "1.00 KiB",
            K + 5: "1.00 KiB",
            K + 6: "1.01 KiB",
            -K: "-1.00 KiB",
            -1: "-1 B",
            K * K - 1: "1.00 MiB",
            K * K - 6: "1023.99 KiB",
            K * K - 5: "1.00 MiB",
            K * K: "1.00 MiB",
            K**3 - K: "1.00 GiB",
            K**3 - 6 * K: "1023.99 MiB",
            -(K**3 - 1): "-1.00 GiB",
            3 * K**3 // 2: "1.50 GiB",
            K**4: "1.00 TiB",
            5000 * K**4: "5000.00 TiB",
            K * K + K * K // 200: "1.00 MiB",
            K * K + K * K // 200 + 1: "1.01 MiB",
            128 + 2 * K: "2.13 KiB",
            -(128 + 2 * K): "-2.13 KiB",
            2**63 - 1: "8388608.00 TiB",
            -(2**63): "-8388608.00 TiB",
            -(2**63) + 1: "-8388608.00 TiB",
        }.items():
            self.assertEqual(_words.size(n), want, n)

    def test_duration(self):
        ms, s, m = 10**6, 10**9, 60 * 10**9
        for n, want in {
            0: "0 ns",
            999: "999 ns",
            1000: "1 µs",
            12_499: "12 µs",
            999_499: "999 µs",
            999_500: "1.0 ms",
            1_849_999: "1.8 ms",
            9_949_999: "9.9 ms",
            9_950_000: "10 ms",
            180 * ms: "180 ms",
            999_499_999: "999 ms",
            999_500_000: "1.00 s",
            2412 * ms: "2.41 s",
            59_994 * ms: "59.99 s",
            59_995 * ms: "1 min 00 s",
            185 * s: "3 min 05 s",
            3599 * s + 499 * ms: "59 min 59 s",
            3599 * s + 500 * ms: "1 h 00 min",
            127 * m: "2 h 07 min",
            24 * 60 * m - 31 * s: "23 h 59 min",
            24 * 60 * m - 30 * s: "1 d 00 h",
            76 * 60 * m: "3 d 04 h",
            -180 * ms: "-180 ms",
            -(2**63): "-106752 d 00 h",
            2**63 - 1: "106752 d 00 h",
        }.items():
            self.assertEqual(_words.duration(n), want, n)

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
