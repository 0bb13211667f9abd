# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E1, E4, E8 and E10: their questions over made-up rows; what their sides make of what programs print."""

import json
import os
import pathlib
import tempfile
import unittest

import fixed
import carried
import lancecommits
import side
from compare.experiments import benchrows, e01_producers, e04_consumers, e08_history, e10_requests
from compare.judge import KEPT, MISSED, OPEN, judge
from compare.results import Results


def rows(**figures):
    return [{"figures": dict(figures)}] * 5


def words(experiment, cells, text):
    return [verdict.word for verdict in judge(experiment.bars, Results(cells)) if text in verdict.bar.what]


class Producers(unittest.TestCase):
    def cell(self, strict, sliced, cpu):
        return fixed.cell(e01_producers.point(8, 1000), ours=rows(mb_per_s=1000.0, cpu_s_per_gb=1.0), **{
            "ours-objects": rows(mb_per_s=500.0, cpu_s_per_gb=2.0),
            "kafka-strict": rows(mb_per_s=strict, cpu_s_per_gb=cpu), "kafka-sliced": rows(mb_per_s=sliced)})

    def test_bars(self):
        self.assertEqual(words(e01_producers.EXPERIMENT, [self.cell(400, 500, 1.25)], "32 MB"), [KEPT] * 3)
        self.assertEqual(words(e01_producers.EXPERIMENT, [self.cell(401, 501, 1.2)], "32 MB"), [MISSED] * 3)
        self.assertEqual(words(e01_producers.EXPERIMENT, [self.cell(400, 500, 1.25)], "320 MB"), [OPEN] * 3)

    def test_losses_of_both_ways_are_told(self):
        losses = e01_producers.losses(Results([self.cell(2000, 400, 1)]))
        self.assertEqual(len(losses), 2)
        self.assertIn("ours publishes 0.50 ×", losses[0])
        self.assertIn("ours-objects publishes 0.25 ×", losses[1])

    def test_what_kafka_could_not_carry_is_open(self):
        cell = fixed.cell(e01_producers.point(8, 10000), ours=rows(mb_per_s=1.0), **{"kafka-strict": rows(failed=1.0)})
        self.assertEqual(words(e01_producers.EXPERIMENT, [cell], "over strict Kafka, 8 producers, batches of 320 MB"),
                         [OPEN, OPEN])


class Consumers(unittest.TestCase):
    def test_bars(self):
        counted = fixed.cell(e04_consumers.COUNTED, ours=rows(data_gets_per_rank_step=1.0, amplification=1.006))
        found = fixed.cell(e04_consumers.point(8, 100), ours=rows(mb_per_s_per_rank=99.0),
                           **{"kafka-sliced": rows(mb_per_s_per_rank=100.0)})
        self.assertEqual(words(e04_consumers.EXPERIMENT, [counted, found], "requests for batches"), [KEPT])
        self.assertEqual(words(e04_consumers.EXPERIMENT, [counted, found], "bytes that crossed"), [MISSED])
        self.assertEqual(words(e04_consumers.EXPERIMENT, [counted, found], " 8 ranks, 100 KB"), [MISSED])
        self.assertEqual(len(e04_consumers.losses(Results([counted, found]))), 1)

    def test_the_tail(self):
        cell = fixed.cell(e04_consumers.TAIL, ours=rows(**{"step_slow_p99_ms.over": 1.19}))
        self.assertEqual(words(e04_consumers.EXPERIMENT, [cell], "P99"), [KEPT])


class History(unittest.TestCase):
    def test_bars(self):
        cell = fixed.cell({"what": "4000 commits"}, ours=rows(metadata_bytes=1e6, commits_per_s=1000.0),
                          lance=rows(metadata_bytes=12e6, commits_per_s=101.0))
        self.assertEqual(words(e08_history.EXPERIMENT, [cell], "metadata of Lance"), [KEPT])
        self.assertEqual(words(e08_history.EXPERIMENT, [cell], "commits a second"), [MISSED])
        self.assertEqual(words(e08_history.EXPERIMENT, [], "commits a second"), [OPEN])

    def test_metadata_is_all_but_data(self):
        with tempfile.TemporaryDirectory() as name:
            for path, size in (("data/1/a", 100), ("_versions/1", 7), ("_transactions/t/2", 5), ("hint", 1)):
                where = pathlib.Path(name) / path
                where.parent.mkdir(parents=True, exist_ok=True)
                where.write_bytes(os.urandom(size))
            self.assertEqual(lancecommits.tree_bytes(pathlib.Path(name), frozenset({"data"})), 13)

    def test_course(self):
        self.assertEqual(carried.course_us([one / 1e6 for one in range(200)]),
                         [(2 * at / 1e6 + (2 * at + 1) / 1e6) / 2 * 1e6 for at in range(100)])
        self.assertEqual(carried.course_us([3.0, 4.0]), [3e6, 4e6])

    def test_figures(self):
        figures = carried.commit_figures([0.001] * 20 + [0.003] * 20, 4000, 0.1)
        self.assertEqual((figures["commits_per_s"], figures["metadata_bytes_per_commit"]), (400, 100))
        self.assertEqual((figures["first_us"], figures["last_us"]), (1000, 3000))


class Carried(unittest.TestCase):
    def test_stamps_tell_batch_and_slice(self):
        memory = carried.payload(4 * 50)
        carried.stamp(memory, 4, 7)
        self.assertEqual([carried.own_slice(memory[slot * 50:], slot) for slot in range(4)], [7] * 4)
        with self.assertRaisesRegex(RuntimeError, "rank 1 got the slice of rank 2"):
            carried.own_slice(memory[100:], 1)

    def test_orders_must_agree(self):
        carried.same_order([[0, 1], [0, 1]])
        with self.assertRaises(RuntimeError):
            carried.same_order([[0, 1], [1, 0]])

    def test_all_batches_are_shared_out(self):
        self.assertEqual(carried.shares(10, 4), [3, 3, 2, 2])

    def test_a_failure_in_a_thread_is_raised_when_all_have_ended(self):
        ended = []

        def work(number):
            if number == 1:
                raise ValueError("the first")
            ended.append(number)
        with self.assertRaisesRegex(ValueError, "the first"):
            carried.in_threads(3, work)
        self.assertEqual(sorted(ended), [0, 2])

    def test_figures_of_reading(self):
        """Two ranks, two useful megabytes each, in a second; the first waits were connections."""
        meter = side.Meter()
        meter.wall_s, meter.cpu_s, meter.server_cpu_s = 1.0, 0.003, 0.001
        figures = carried.read_figures(meter, [[9.0, 0.001, 0.002], [9.0, 0.003, 0.004]], 4_000_000, 4_010_000)
        self.assertEqual({name: round(value, 6) for name, value in figures.items()},
                         {"mb_per_s_per_rank": 2, "amplification": 1.0025, "p50_ms": 2, "p95_ms": 4, "p99_ms": 4,
                          "cpu_s_per_gb": 1})


class Rows(unittest.TestCase):
    def test_values_and_ratios(self):
        printed = "\n".join(json.dumps(row) for row in (
            {"name": "objects.get", "value": 20.0, "ratio": 1.2}, {"name": "objects.put", "value": 30.0, "ratio": None},
            {"name": "other", "value": 1.0, "ratio": None}))
        row = benchrows.read({"objects.get": "get_us", "objects.put": "put_us"}, printed)
        self.assertEqual(row.figures, {"get_us": 20.0, "get_us.over": 1.2, "put_us": 30.0})

    def test_a_row_that_lacks_is_no_success(self):
        with self.assertRaises(ValueError):
            benchrows.read({"objects.get": "get_us"}, "")

    def test_requests(self):
        cell = fixed.cell({"bytes": 102_400}, ours=rows(**{"get_us.over": 1.5, "put_us.over": 1.6, "get_us": 30.0}),
                          obstore=rows(get_us=20.0), boto3=rows(get_us=1000.0))
        self.assertEqual([verdict.word for verdict in judge(e10_requests.EXPERIMENT.bars, Results([cell]))],
                         [KEPT, MISSED])
        self.assertEqual(e10_requests.losses(Results([cell])),
                         ["get_us: ours takes 1.50 × the processor time of obstore"])


if __name__ == "__main__":
    unittest.main()
