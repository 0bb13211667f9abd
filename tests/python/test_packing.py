# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Packing: each token once, in rows that are what they say, and the same rows after any crash."""

import array
import os
import random
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Tuple

import batchweave
from batchweave import errors, packing
from batchweave.packing import Packer
from batchweave.tensors import Plain, fill

SEEDS = range(150)
KILLS = 6


def corpus(rng: random.Random, count: int, longest: int) -> List[Dict[str, Any]]:
    """Samples whose tokens are all different; some are empty, some longer than a row."""
    samples, token = [], 1
    for _ in range(count):
        length = rng.choice([0, 1, 2, rng.randint(1, longest), rng.randint(1, longest * 2)])
        samples.append({"tokens": array.array("i", range(token, token + length)),
                        "weights": array.array("d", [float(token)] * length)})
        token += length
    return samples


def words(tensor: Plain) -> List[int]:
    return list(memoryview(tensor.data).cast("i"))


def packer_of(rng: random.Random) -> Tuple[Packer, Packer]:
    """The same twice: the second is what a restart makes."""
    given: Dict[str, Any] = {"seq_len": rng.randint(1, 40), "method": rng.choice(packing.METHODS),
                             "open_rows": rng.randint(1, 6), "age": rng.choice([1, 5, 1000]),
                             "pad": {"tokens": -1}}
    return Packer(**given), Packer(**given)


def bytes_of(batch: packing.Batch, dp: int, items: int) -> bytes:
    return b"".join(bytes(tensor.data) for row in batch.slices(dp, items) for item in row
                    for _, tensor in sorted(item.items()))


class RowsTest(unittest.TestCase):
    def test_each_token_is_in_one_row_and_each_row_is_what_it_says(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            samples = corpus(rng, rng.randint(1, 60), 30)
            packer, _ = packer_of(rng)
            seen: List[int] = []
            for batch in packer.batches(samples, rng.randint(1, 4)):
                item = packer.item(batch.rows)
                self.check_item(item, packer.seq_len, len(batch.rows))
                found = [t for t in words(item["tokens"]) if t >= 0]
                self.assertEqual(len(found), batch.tokens)
                seen += found
            wanted = [t for sample in samples for t in sample["tokens"]]
            self.assertEqual(sorted(seen), wanted, f"seed {seed}")

    def check_item(self, item: Dict[str, Plain], seq_len: int, rows: int) -> None:
        tokens, positions, ends = words(item["tokens"]), words(item["position_ids"]), words(item["cu_seqlens"])
        self.assertEqual(item["tokens"].shape, (rows, seq_len))
        self.assertEqual((ends[0], ends[-1]), (0, rows * seq_len))
        self.assertEqual(max(b - a for a, b in zip(ends, ends[1:])), words(item["max_seqlen"])[0])
        for a, b in zip(ends, ends[1:]):
            self.assertLess(a, b)
            self.assertEqual(a // seq_len, (b - 1) // seq_len, "a piece crosses the end of a row")
            self.assertEqual(positions[a:b], list(range(b - a)))
            piece = tokens[a:b]
            self.assertIn(piece, ([-1] * (b - a), list(range(piece[0], piece[0] + b - a))))

    def test_sequential_rows_hold_the_tokens_in_order_and_no_padding_but_at_the_end(self) -> None:
        samples = corpus(random.Random(5), 40, 20)
        packer = Packer(16, method="sequential", pad={"tokens": -1})
        found = [t for batch in packer.batches(samples, 1) for t in words(packer.item(batch.rows)["tokens"])]
        wanted = [t for sample in samples for t in sample["tokens"]]
        self.assertEqual(found[:len(wanted)], wanted)
        self.assertLess(len(found) - len(wanted), 16)

    def test_best_fit_takes_the_fullest_row_that_fits_and_bounds_the_open_ones(self) -> None:
        packer = Packer(10, open_rows=3)
        for length in (5, 6, 8):  # no two fit together
            packer.add(array.array("i", [length] * length))
        packer.add(array.array("i", [4] * 4))  # fills the row of 6
        row, = packer.take(9)
        self.assertEqual([piece.length for piece in row.pieces], [6, 4])
        packer.add(array.array("i", [3] * 3))  # beside 5, not beside 8
        packer.add(array.array("i", [9] * 9))
        self.assertEqual(packer.take(9), [])
        packer.add(array.array("i", [7] * 7))  # a fourth: the fullest is complete
        row, = packer.take(9)
        self.assertEqual([piece.length for piece in row.pieces], [9])

    def test_an_old_row_is_complete(self) -> None:
        packer = Packer(10, age=3)
        packer.add(array.array("i", [9] * 9))
        counts = [packer.add(array.array("i", [2] * 2)) for _ in range(3)]
        self.assertEqual(counts, [0, 0, 1])

    def test_best_fit_wastes_less_than_filling_in_order(self) -> None:
        rng = random.Random(1)
        samples = [array.array("i", [1] * rng.randint(1, 700)) for _ in range(3000)]
        rows = {count: sum(len(b.rows) for b in Packer(1024, open_rows=count).batches(samples, 1))
                for count in (1, 32)}
        self.assertLess(rows[32] * 1.2, rows[1])
        self.assertLess(rows[32] * 1024, 1.03 * sum(len(s) for s in samples))

    def test_what_is_no_sample_is_refused_and_changes_nothing(self) -> None:
        packer = Packer(8, long="refuse")
        packer.add({"tokens": array.array("i", [1])})
        for bad in ({"tokens": array.array("i", [1] * 9)}, {"tokens": array.array("q", [1])}, {}, {"tokens": 7},
                    {"cu_seqlens": array.array("i", [1])},
                    {"tokens": array.array("i", [1]), "more": array.array("i", [1])}):
            state = packer.state()
            with self.assertRaises(errors.Invalid):
                packer.add(bad)
            self.assertEqual((packer.at, packer.state()), (1, state))

    def test_padding_is_of_the_field_s_type(self) -> None:
        self.assertEqual(fill("I64", -100), (-100).to_bytes(8, "little", signed=True))
        self.assertEqual(fill("BF16", 1.0), b"\x80\x3f")
        self.assertEqual(fill("F8_E4M3", 0), b"\0")
        for dtype, value in (("U8", -1), ("U8", 256), ("I32", 0.5)):
            with self.assertRaises(errors.Invalid):
                fill(dtype, value)
        with self.assertRaises(errors.Unsupported):
            fill("F8_E4M3", 1)

    def test_context_parallel_parts_are_the_row_s(self) -> None:
        import numpy as np

        packer = Packer(8)
        batch = next(packer.batches([np.arange(8, dtype=np.int32)], 1))
        (parts,) = batch.slices(1, 1, cp=2, layout="headtail")
        self.assertEqual([list(part[0]["tokens"].numpy()[0]) for part in parts], [[0, 1, 6, 7], [2, 3, 4, 5]])
        self.assertEqual([words(part[0]["cu_seqlens"]) for part in parts], [[0, 8], [0, 8]])

    def test_ids_are_told_for_each_slice(self) -> None:
        packer = Packer(4)
        packer.add(array.array("i", [1] * 4), id="a")
        packer.add(array.array("i", [1] * 8))
        packer.finish()
        batch = packing.Batch(packer, packer.take(3) + [packing.Row()], 2, b"")
        self.assertEqual(batch.samples(2), [["a", "1"], ["1"]])


class RestartTest(unittest.TestCase):
    """A crash is forgetting everything since the last batch that was published."""

    def test_rows_are_the_same_after_crashes_anywhere(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            samples = corpus(rng, rng.randint(1, 80), 30)
            rows = rng.choice([1, 2, 4])
            first, again = packer_of(rng)
            wanted = [(bytes_of(b, 1, rows), b.offset, b.state) for b in first.batches(samples, rows)]
            got: List[Any] = []
            state = b""
            for life in range(KILLS + 1):
                alive = rng.randint(0, 2 * len(wanted) // KILLS + 1) if life < KILLS else len(wanted)
                reader = again.batches(lambda index: iter(samples[index:]), rows, state=state)
                for _, batch in zip(range(alive), reader):
                    got.append((bytes_of(batch, 1, rows), batch.offset, batch.state))
                    state = batch.state
            self.assertEqual(got, wanted, f"seed {seed}")

    def test_the_state_is_small_and_bounds_what_is_read_again(self) -> None:
        rng = random.Random(3)
        samples = [array.array("i", [1] * rng.randint(1, 2000)) for _ in range(4000)]
        packer, back = Packer(8192, open_rows=16, age=200), 0
        for batch in packer.batches(samples, 1):
            self.assertLess(len(batch.state), 2048)
            back = max(back, batch.offset - Packer(8192, open_rows=16, age=200).load(batch.state))
        self.assertLessEqual(back, 201)

    def test_another_input_or_other_settings_are_refused(self) -> None:
        samples = [array.array("i", [1] * 30) for _ in range(5)]
        packer = Packer(64, open_rows=9)
        for sample in samples[:3]:
            packer.add(sample)
        state = packer.state()
        with self.assertRaises(errors.Invalid):
            Packer(65, open_rows=9).load(state)
        again = Packer(64, open_rows=9)
        self.assertEqual(again.load(state), 0)
        with self.assertRaises(errors.InputChanged):
            again.add(array.array("i", [1] * 29))
        again.add(samples[0])
        with self.assertRaises(errors.InputChanged):
            again.finish()

    def test_a_damaged_state_is_refused_or_is_another_state(self) -> None:
        packer = Packer(64, open_rows=9)
        for length in (30, 60, 20):
            packer.add(array.array("i", [1] * length))
        state = packer.state()
        for cut in range(len(state)):
            with self.assertRaises(errors.Invalid):
                Packer(64, open_rows=9).load(state[:cut])
        rng = random.Random(2)
        for _ in range(3000):
            damaged = bytearray(state)
            damaged[rng.randrange(len(state))] ^= 1 << rng.randrange(8)
            again = Packer(64, open_rows=9)
            try:
                again.load(bytes(damaged))
            except errors.Invalid:
                continue
            self.assertEqual(Packer(64, open_rows=9).load(again.state()), again.at)


WORKER = """
import array, random, sys, time
import batchweave
from batchweave.packing import Packer
url, pause = sys.argv[1], float(sys.argv[2])

def source(first):
    for index in range(first, 400):
        rng = random.Random(index)
        time.sleep(pause)
        yield array.array("i", [index] * rng.randint(1, 90))

packer = Packer(100, open_rows=8, pad={"tokens": -1})
with batchweave.Producer(url, id="p", policy="fixed:1") as producer:
    print("open", flush=True)
    for batch in packer.batches(source, rows=8, state=producer.resume_state):
        producer.write(batch.slices(2, 2), offset=batch.offset, state=batch.state, tokens=batch.tokens,
                       samples=batch.samples(2))
    producer.finish()
assert "numpy" not in sys.modules
print("done", flush=True)
"""


class KillTest(unittest.TestCase):
    """The same with processes and SIGKILL."""

    def run_worker(self, url: str, kills: int) -> None:
        rng = random.Random(len(url))
        for life in range(kills + 1):
            worker = subprocess.Popen([sys.executable, "-c", WORKER, url, "0.001" if kills else "0"],
                                      stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
            assert worker.stdout is not None
            self.assertEqual(worker.stdout.readline(), "open\n")
            if life < kills:
                try:
                    worker.wait(rng.uniform(0.02, 0.5))
                except subprocess.TimeoutExpired:
                    worker.send_signal(signal.SIGKILL)
            said = worker.stdout.read()
            worker.wait()
            worker.stdout.close()
            if "done" in said:
                return
        self.fail("the producer never came to the end")

    def items_of(self, url: str) -> List[bytes]:
        with batchweave.space(url) as space:
            steps = int(space.info()["next_step"])
            self.assertGreater(steps, 5)
            return [bytes(space.item(step, d, 0, m)) for step in range(steps) for d in (0, 1) for m in (0, 1)]

    def test_published_rows_are_the_same_after_kills(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, kills in (("calm", 0), ("killed", 6)):
                batchweave.init(f"{folder}/{name}", dp=2, items=2)
                self.run_worker(f"{folder}/{name}", kills)
            self.assertEqual(self.items_of(f"{folder}/killed"), self.items_of(f"{folder}/calm"))


if __name__ == "__main__":
    unittest.main()
