# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What E6, E7 and E9 judge by, without any peer: samples that can be told, exactness, packing, the model's times."""

import os
import statistics
import subprocess
import sys
import unittest
from unittest import mock

import fixed

import blocks
import endtoend
import handoff
import processes
import resume
import resume_make
import resume_rank
import supply
from compare.experiments import e06_endtoend, e07_resume, e09_handoff
from compare.results import Results
from resume_exact import by_step, until_saved, verdict


class Samples(unittest.TestCase):
    def test_each_is_itself_and_whole(self):
        for number, size in ((0, 8), (1, 64), (131, 4096), (1 << 20, 3 << 20)):
            sample = blocks.made(number, size)
            self.assertEqual(len(sample), size)
            self.assertEqual(blocks.checked(memoryview(sample))[0], number)

    def test_any_wrong_byte_is_found(self):
        sample = bytearray(blocks.made(7, 256))
        for at in (blocks.HEAD, 100, 255):
            wrong = bytearray(sample)
            wrong[at] ^= 1
            with self.assertRaises(ValueError):
                blocks.checked(wrong)

    def test_another_number_does_not_pass(self):
        sample = bytearray(blocks.made(7, 256))
        sample[0] = 8
        with self.assertRaises(ValueError):
            blocks.checked(sample)


def lines(steps, ranks=2, first=0):
    """Two samples a rank; step s holds the numbers 4 s … 4 s + 3, however many ranks there are."""
    return [{"step": step, "ids": [[number, number + 1000] for number in range(4 * step + rank * 4 // ranks,
                                                                             4 * step + (rank + 1) * 4 // ranks)]}
            for rank in range(ranks) for step in range(first, steps)]


class Exactness(unittest.TestCase):
    def test_same_and_other_world(self):
        for ranks in (1, 2, 4):
            told = verdict(lines(6), lines(3), lines(6, ranks, 3), 6)
            self.assertTrue(told.exact, told)

    def test_a_step_that_never_came(self):
        told = verdict(lines(6), lines(3), lines(6, 2, 4), 6)
        self.assertEqual((told.exact, told.moved, told.lost, told.doubled), (False, 1, 4, 0))

    def test_a_step_that_came_twice(self):
        told = verdict(lines(6), lines(4), lines(6, 2, 3), 6)
        self.assertEqual((told.exact, told.moved, told.lost, told.doubled), (False, 1, 0, 4))

    def test_shifted_steps(self):
        shifted = [{**line, "step": line["step"] + 1} for line in lines(6, 2, 2)]
        told = verdict(lines(6), lines(3), shifted, 6)
        self.assertFalse(told.exact)
        self.assertEqual(told.moved, 3)

    def test_same_number_other_bytes(self):
        after = lines(6, 2, 3)
        after[0]["ids"][0][1] += 1
        self.assertFalse(verdict(lines(6), lines(3), after, 6).exact)

    def test_mid_step(self):
        """What a rank had of a step before counts together with what came behind."""
        before = lines(3) + [{"step": 3, "ids": [[12, 1012]]}, {"step": 3, "ids": [[14, 1014]]}]
        after = [{"step": 3, "ids": [[13, 1013]]}, {"step": 3, "ids": [[15, 1015]]}] + lines(6, 2, 4)
        self.assertTrue(verdict(lines(6), before, after, 6).exact)

    def test_nothing_to_compare_is_no_proof(self):
        with self.assertRaises(ValueError):
            verdict([], [], [], 6)

    def test_what_counts_of_a_killed_rank(self):
        told = [{"first": 1.0}, {"step": 0, "ids": []}, {"saved": True}, {"step": 1, "ids": []}]
        self.assertEqual(until_saved(told), [{"step": 0, "ids": []}])
        with self.assertRaises(ValueError):
            until_saved(told[:2])

    def test_order_of_ranks_does_not_matter(self):
        self.assertEqual(by_step(lines(2)), by_step(reversed(lines(2))))

    def test_reads_until_the_save(self):
        settings = {"peer": "batchweave", "case": "static", "from": 2, "save_step": 3}
        self.assertEqual(resume.reads_until_save(settings), 12)  # 4 slices of 2 items over 2 ranks
        self.assertEqual(resume.reads_until_save(settings | {"case": "mid-step"}), 14)
        self.assertEqual(resume.reads_until_save(settings | {"peer": "litdata"}), 3)
        self.assertEqual(resume.reads_until_save(settings | {"peer": "litdata", "case": "mid-step"}), 7)


class Packing(unittest.TestCase):
    def test_budget_order_and_window(self):
        numbers = iter(range(1000))
        window, seen = [], []

        def more():
            return blocks.made(next(numbers), resume_rank.CHUNK)

        for _ in range(20):
            batch = [blocks.number_of(sample) for sample in resume_rank.packed(window, more)]
            self.assertGreater(len(batch), 0)
            self.assertLessEqual(sum(map(blocks.length_of, batch)), resume_rank.TOKENS)
            seen += batch
        left = [blocks.number_of(sample) for sample in window]
        self.assertEqual(sorted(seen + left), list(range(len(seen) + len(left))))  # none twice, none left out
        self.assertNotEqual(seen, sorted(seen))  # it does choose

    def test_dynamic_batches_cannot_be_made_again(self):
        one, other = (list(resume_make.dynamic_batches(8)) for _ in range(2))
        self.assertNotEqual(one, other)
        for batch in one:
            self.assertEqual(len({len(items) for items in batch}), 1)  # equal numbers of microbatches


class Times(unittest.TestCase):
    def test_a_step_is_as_slow_as_its_slowest_rank(self):
        def rank(wait):
            return [{"took": 0.1 + wait, "wait": wait, "bytes": 10} for _ in range(4)]

        told = endtoend.figures_of([rank(0.0), rank(0.1)], 1)
        self.assertAlmostEqual(told["steps_per_s"], 5.0)
        self.assertAlmostEqual(told["stall"], 50.0)
        self.assertAlmostEqual(told["p50_ms"], 200.0)
        self.assertAlmostEqual(told["p95_over_p50"], 1.0)
        self.assertEqual(endtoend.figures_of([[], []], 0), {})

    def test_preprocessing_is_as_fast_as_told_on_average(self):
        settings = {"step_s": 0.05, "workers": 2, "supply": 1.1, "bytes": 16}
        slept = []
        with mock.patch("supply.time.sleep", slept.append):
            made = supply.made(settings, 0)
            numbers = [blocks.checked(next(made))[0] for _ in range(4000)]
        self.assertEqual(numbers[:3], [0, 2, 4])
        self.assertAlmostEqual(statistics.mean(slept), 0.05 * 2 / 1.1, delta=0.004)
        self.assertGreater(statistics.stdev(slept), 0.03)

    def test_paced_times_next_and_use(self):
        laps = handoff.paced(iter(range(5)), 5, 0.0, lambda item: None)
        self.assertEqual(len(laps), 4)
        with self.assertRaises(RuntimeError):
            handoff.all_at_once(lambda: iter(range(3)), lambda item: None, 4, 10)

    def test_children_of_children(self):
        child = subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', "
                                  "'print(1, flush=True); input()'])"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            below = processes.descendants(child.pid)
            self.assertEqual(len(below), 1)
            self.assertIn(child.pid, processes.descendants(os.getpid()))
            self.assertIn("input()", processes.title(below[0]))
        finally:
            child.communicate(b"\n")


class Bars(unittest.TestCase):
    def judged(self, module, results):
        return {bar.what: bar.of(results) for bar in module.EXPERIMENT.bars}

    def test_what_was_not_measured_is_open(self):
        for module in (e06_endtoend, e07_resume, e09_handoff):
            self.assertEqual(set(self.judged(module, Results([])).values()), {None}, module)

    def test_one_inexact_round_is_seen(self):
        rows = [{"figures": {"exact": value}} for value in (1.0, 0.0)]
        cells = [fixed.cell({"what": e07_resume.MORE}, batchweave=rows)]
        self.assertEqual(self.judged(e07_resume, Results(cells))[f"exact, {e07_resume.MORE}"], 0.0)

    def test_plots_of_nothing(self):
        for module in (e06_endtoend, e07_resume, e09_handoff):
            for plot in module.EXPERIMENT.plots:
                for series in plot.series(Results([])):
                    self.assertEqual(list(series.y), [])


if __name__ == "__main__":
    unittest.main()
