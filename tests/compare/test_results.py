# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Medians of rounds, ratios within rounds, verdicts."""

import unittest

import fixed
from compare.experiment import Bar
from compare.judge import KEPT, MISSED, OPEN, judge
from compare.results import Results, Spread, as_spread, ratios, spread


class Medians(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(spread([3, 1, 2]), Spread(2, 1, 3, 3))
        self.assertEqual(spread([1, 2, 3, 10]), Spread(2.5, 1, 10, 4))
        self.assertIsNone(spread([]))
        self.assertEqual(as_spread(4.0), Spread(4.0, 4.0, 4.0))

    def test_ratios_are_of_the_same_round(self):
        """Not of medians: 20 / 8 = 2.5 would be those."""
        results = Results(fixed.CELLS)
        self.assertEqual(results.ratio("mb_per_s", "ours", "peer", n=8), Spread(2.0, 1.5, 2.5, 3))

    def test_rounds_that_one_side_lacks_say_nothing(self):
        self.assertEqual(ratios([4, 6, 8], [2, 0]), [2])

    def test_selection(self):
        results = Results(fixed.CELLS)
        self.assertEqual(results.samples("mb_per_s", "peer", n=128), [400, 100, 100])
        self.assertIsNone(results.value("mb_per_s", "peer", n=9))
        with self.assertRaises(ValueError):
            results.samples("mb_per_s", "peer")  # two cells
        self.assertEqual(results.along("mb_per_s", "ours", "n"), ([8, 128], [20, 200], [10, 100], [30, 300]))
        self.assertEqual(results.sides(), ["ours", "peer"])

    def test_counted_fields(self):
        cells = [fixed.cell({}, ours=[fixed.row(1, cpu_s=0.5, requests={"get": 7.0}, bytes_in=9)])]
        results = Results(cells)
        self.assertEqual(results.samples("requests.get", "ours"), [7])
        self.assertEqual(results.samples("cpu_s", "ours"), [0.5])
        self.assertEqual(results.samples("bytes_out", "ours"), [])

    def test_course(self):
        results = Results([fixed.cell({}, ours=[fixed.row(1, series={"lag": [1.0, 2.0]}), fixed.row(1)])])
        self.assertEqual(results.course("lag", "ours"), [1, 2])
        self.assertEqual(results.course("none", "ours"), [])


class Verdicts(unittest.TestCase):
    def test_words(self):
        words = [verdict.word for verdict in judge(fixed.experiment().bars, Results(fixed.CELLS))]
        self.assertEqual(words, [KEPT, MISSED, OPEN])

    def test_the_limit_itself_keeps(self):
        for bound in ("<=", ">="):
            verdict, = judge([Bar("", lambda r: 2.0, bound, 2.0)], Results([]))
            self.assertEqual(verdict.word, KEPT)
        below, = judge([Bar("", lambda r: 1.99, ">=", 2.0)], Results([]))
        above, = judge([Bar("", lambda r: 2.01, "<=", 2.0)], Results([]))
        self.assertEqual([below.word, above.word], [MISSED, MISSED])
        with self.assertRaises(ValueError):
            judge([Bar("", lambda r: 2.0, "<", 2.0)], Results([]))


if __name__ == "__main__":
    unittest.main()
