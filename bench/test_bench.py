"""Tests of the estimates behind the figures. python3 -m unittest discover bench"""

import contextlib
import random
import unittest

import estimate
import pairing
import table


def found(low, high, count=10):
    return estimate.Estimate((low + high) / 2, low, high, low, high, count)


class EstimateTest(unittest.TestCase):
    def test_median_and_quartiles(self):
        e = estimate.estimate([5, 1, 4, 2, 3])
        self.assertEqual((e.value, e.q1, e.q3, e.count), (3, 2, 4, 5))

    def test_quantile_is_linear(self):
        self.assertEqual(estimate.quantile([0, 10], 0.25), 2.5)
        self.assertEqual(estimate.quantile([7], 0.9), 7)
        self.assertEqual(estimate.quantile([1, 2, 3], 1), 3)

    def test_nothing(self):
        with self.assertRaises(ValueError):
            estimate.estimate([])

    def test_one_value_has_no_interval(self):
        e = estimate.estimate([4])
        self.assertEqual((e.low, e.value, e.high), (4, 4, 4))

    def test_equal_values_have_no_spread(self):
        e = estimate.estimate([2] * 9)
        self.assertEqual((e.low, e.high, e.q1, e.q3), (2, 2, 2, 2))

    def test_same_values_same_interval_in_any_order(self):
        values = [random.Random(3).gauss(0, 1) for _ in range(20)]
        first = estimate.estimate(values)
        random.Random(4).shuffle(values)
        self.assertEqual(first, estimate.estimate(values))

    def test_interval_holds_the_true_median(self):
        draw, held = random.Random(5), 0
        for _ in range(200):
            low, high = estimate.bootstrap([draw.gauss(1, 1) for _ in range(20)], resamples=400)
            held += low <= 1 <= high
        self.assertGreater(held, 180)    # 95 % of 200, less four standard deviations
        self.assertLess(held, 200)

    def test_one_outlier_moves_little(self):
        e = estimate.estimate([1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 50.0])
        self.assertLess(e.high, 1.03)


class VerdictTest(unittest.TestCase):
    def test_by_the_whole_interval(self):
        for low, high, limit, want in (
            (0, 1, 1, "within"),
            (1.1, 2, 1, "over"),
            (0, 2, 1, "not decided"),
            (1, 2, 1, "not decided"),
            (-5, -1, 1, "within"),
            (0, 1, None, ""),
        ):
            self.assertEqual(estimate.verdict(found(low, high), limit), want, (low, high, limit))

    def test_few_values_decide_nothing(self):
        self.assertEqual(estimate.verdict(found(0, 0.1, count=5), 1), "not decided")
        self.assertEqual(estimate.verdict(found(0, 0.1, count=6), 1), "within")

    def test_a_single_value_is_a_fact(self):
        self.assertEqual(estimate.verdict(estimate.estimate([0.5]), 1), "within")
        self.assertEqual(estimate.verdict(estimate.estimate([1.5]), 1), "over")


class InterleaveTest(unittest.TestCase):
    def conditions(self, log):
        @contextlib.contextmanager
        def enter(name):
            log.append("+" + name)
            yield name
            log.append("-" + name)
        return {name: lambda name=name: enter(name) for name in ("a", "b")}

    def test_takes_turns_and_throws_the_warm_up_away(self):
        log = []
        series = pairing.interleave(2, self.conditions(log), lambda entered: {"x": len(log)})["x"]
        self.assertEqual([e for e in log if e[0] == "+"], ["+b", "+a", "+a", "+b", "+b", "+a"])
        self.assertEqual(series.values, {"a": [5, 11], "b": [7, 9]})

    def test_pairs(self):
        s = pairing.Series(("a", "b"))
        for name, value in (("a", 2.0), ("b", 1.0), ("b", 4.0), ("a", 5.0)):
            s.add(name, value)
        self.assertEqual(s.ratios("a", "b"), [2.0, 1.25])
        self.assertEqual(s.percents("a", "b"), [100.0, 25.0])
        self.assertEqual(s.differences("a", "b", 1000), [1000.0, 1000.0])

    def test_undisturbed_leaves_out_what_only_adds(self):
        s = pairing.Series(("a", "b"))
        for i in range(8):
            s.add("a", [1.02, 2.04 + (5 if i == 3 else 0)])
            s.add("b", [1.0 + (9 if i == 6 else 0), 2.0])
        e = estimate.estimate_of(pairing.undisturbed(s, "a", "b"), 8, resamples=200)
        self.assertAlmostEqual(e.value, 2.0)
        self.assertLess(e.high - e.low, 1)

    def test_leaves_the_condition_when_measuring_fails(self):
        log = []
        conditions = {"a": lambda: contextlib.closing(type("C", (), {"close": lambda self: log.append("closed")})())}
        with self.assertRaises(KeyError):
            pairing.interleave(1, conditions, lambda entered: {}["x"])
        self.assertEqual(log, ["closed"])


class TableTest(unittest.TestCase):
    def test_numbers(self):
        for value, want in (
            (0, "0"),
            (1234.5, "1234"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (0.0123, "0.012"),
            (-3.14159, "-3.14"),
        ):
            self.assertEqual(table.number(value), want)

    def test_text(self):
        got = table.text([table.Row("S", "r", "%", found(1, 3), 5, "because"), table.Skipped("S", "no gcc"),
                          table.Row("T", "q", "s", estimate.estimate([2.0]))])
        self.assertIn("\nS\n  r", got)
        self.assertIn("≤ 5.00  within", got)
        self.assertIn("    because\n  not measured: no gcc\n\nT\n  q", got)
        self.assertNotIn("…", got.splitlines()[-1])

    def test_json_has_the_verdict(self):
        self.assertEqual(table.Row("S", "r", "%", found(6, 7), 5).as_dict()["verdict"], "over")


if __name__ == "__main__":
    unittest.main()
