# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Batches by tokens and pixels: the same number of items for every slice, whatever the samples are."""

import array
import random
import tempfile
import threading
import unittest
from typing import Any, List

import batchweave
from batchweave import balance, errors
from batchweave.balance import balanced, by_cost, by_pixels, by_tokens, ragged

SEEDS = range(300)


def price(costs: List[int], padded: bool) -> int:
    return len(costs) * max(costs, default=0) if padded else sum(costs)


def costs_of(rng: random.Random, limit: int) -> List[int]:
    kind = rng.randrange(3)
    return [rng.choice([0, 1, limit]) if kind == 0 else rng.randint(0, limit) if kind == 1
            else min(limit, int(rng.lognormvariate(1, 2))) for _ in range(rng.randint(1, 80))]


class StreamTest(unittest.TestCase):
    def test_all_slices_have_as_many_items_and_each_sample_is_in_one(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            limit, dp, items, padded = rng.randint(1, 50), rng.randint(1, 4), rng.randint(1, 4), rng.random() < .5
            costs = costs_of(rng, limit)
            seen, batches = 0, list(by_cost(range(len(costs)), costs.__getitem__, limit=limit, dp=dp, items=items,
                                            padded=padded))
            for number, batch in enumerate(batches):
                self.assertEqual([len(row) for row in batch.grid], [items] * dp)
                members = [i for row in batch.grid for item in row for i in item]
                self.assertEqual(sorted(members), list(range(seen, batch.offset)))
                seen = batch.offset
                for item in (item for row in batch.grid for item in row):
                    self.assertLessEqual(price([costs[i] for i in item], padded), limit)
                    self.assertTrue(item or number == len(batches) - 1, "an item without a sample before the end")
            self.assertEqual(seen, len(costs), f"seed {seed}")

    def test_a_restart_makes_the_same_batches(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            limit, padded = rng.randint(1, 50), rng.random() < .5
            costs = costs_of(rng, limit)

            def batches(offset: int) -> List[balance.Group]:
                return list(by_cost(range(offset, len(costs)), costs.__getitem__, limit=limit, dp=2, items=2,
                                    padded=padded, offset=offset))

            whole = batches(0)
            for k, batch in enumerate(whole):
                self.assertEqual(batches(batch.offset), whole[k + 1:], f"seed {seed}, batch {k}")

    def test_items_are_full(self) -> None:
        rng = random.Random(1)
        lengths = [min(8192, int(rng.lognormvariate(5.8, 1)) + 1) for _ in range(4000)]
        full = [sum(len(s) for row in batch.grid for item in row for s in item) / (8 * 8192)
                for batch in by_tokens([bytes(n) for n in lengths], limit=8192, dp=4, items=2)]
        self.assertGreater(min(full[:-1]), .93)
        self.assertGreater(sum(full[:-1]) / len(full[:-1]), .97)

    def test_a_sample_above_the_limit_is_named(self) -> None:
        with self.assertRaisesRegex(errors.Invalid, "sample 7 costs 9"):
            list(by_tokens([b"12345", b"123456789"], limit=8, dp=1, items=1, offset=6))

    def test_pixels(self) -> None:
        import numpy as np

        sizes = [(2, 3), (4, 4), (1, 1), (5, 2)]
        images = [{"pixels": np.zeros((h, w, 3), np.uint8)} for h, w in sizes]
        batch, last = by_pixels(images, limit=16, dp=2, items=1)
        self.assertEqual([[[s["pixels"].shape[:2] for s in item] for item in row] for row in batch.grid],
                         [[[(4, 4)]], [[(2, 3), (1, 1)]]])
        self.assertEqual((batch.offset, last.offset, last.slices()[1]), (3, 4, [None]))


class WholeTest(unittest.TestCase):
    def test_all_samples_of_a_step_in_equally_many_items(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            limit, dp, padded = rng.randint(1, 50), rng.randint(1, 5), rng.random() < .5
            costs = costs_of(rng, limit)
            grid = balanced(costs, dp=dp, limit=limit, padded=padded)
            self.assertEqual(len(grid), dp)
            self.assertEqual(len({len(row) for row in grid}), 1)
            self.assertEqual(sorted(i for row in grid for item in row for i in item), list(range(len(costs))))
            for item in (item for row in grid for item in row):
                self.assertLessEqual(price([costs[i] for i in item], padded), limit)
                self.assertTrue(item or len(costs) < dp * len(grid[0]))
            if not padded:
                self.assertGreaterEqual(len(grid[0]) * dp * limit, sum(costs))
        with self.assertRaises(errors.Invalid):
            balanced([], dp=1, limit=1)


class RaggedTest(unittest.TestCase):
    def test_values_and_offsets(self) -> None:
        made = ragged([array.array("i", [1, 2]), array.array("i"), array.array("i", [3])])
        self.assertEqual((made["tokens"].shape, made["tokens.offsets"].shape), ((3,), (4,)))
        self.assertEqual(list(made["tokens.offsets"].numpy()), [0, 2, 2, 3])
        self.assertEqual(list(made["tokens"].numpy()), [1, 2, 3])

    def test_images_of_different_sizes_are_flat_with_their_shapes(self) -> None:
        import numpy as np

        images = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.arange(4, dtype=np.uint8).reshape(1, 4)]
        made = {name: tensor.numpy() for name, tensor in ragged([{"x": image} for image in images]).items()}
        for k, image in enumerate(images):
            part = made["x"][made["x.offsets"][k]:made["x.offsets"][k + 1]].reshape(made["x.shapes"][k])
            self.assertTrue((part == image).all())

    def test_samples_that_do_not_fit_together_are_refused(self) -> None:
        one = {"a": array.array("i", [1])}
        for other in ({"b": array.array("i", [1])}, {"a": array.array("q", [1])}):
            with self.assertRaises(errors.Invalid):
                ragged([one, other])


class RanksTest(unittest.TestCase):
    def test_ranks_that_wait_for_each_other_at_each_item_come_to_the_end(self) -> None:
        """What dead-locks a trainer is a rank that comes to a collective more often than another."""
        rng = random.Random(4)
        samples = [array.array("i", [k] * rng.randint(1, 60)) for k in range(400)]
        with tempfile.TemporaryDirectory() as folder:
            batchweave.init(folder, dp=4, producers=1)
            with batchweave.Producer(folder, id="p", policy="fixed:1") as producer:
                for batch in by_tokens(samples, limit=64, dp=4, items=3):
                    producer.write(batch.slices(), offset=batch.offset)
                producer.finish()
            meeting = threading.Barrier(4)
            got: List[List[Any]] = [[] for _ in range(4)]
            failed: List[BaseException] = []

            def rank(d: int, cursor: batchweave.Cursor) -> None:
                try:
                    with batchweave.Consumer(folder, dp=(d, 4), cursor=cursor) as consumer:
                        for item in consumer:
                            meeting.wait(30)
                            tokens = item.tensors("numpy").get("tokens", [])
                            got[d].append(None if item.pad else sorted({int(t) for t in tokens}))
                except BaseException as error:
                    failed.append(error)
                    meeting.abort()

            with batchweave.space(folder) as space:
                start = space.begin(start="earliest")
            ranks = [threading.Thread(target=rank, args=(d, start)) for d in range(4)]
            for thread in ranks:
                thread.start()
            for thread in ranks:
                thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(len({len(items) for items in got}), 1)
        self.assertEqual(sorted(k for items in got for item in items for k in item or ()), list(range(400)))


if __name__ == "__main__":
    unittest.main()
