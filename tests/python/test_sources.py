# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Parquet files and datasets as inputs: each row of each shard once, restarts to the row."""

import pathlib
import random
import tempfile
import unittest
from typing import Any, Dict, List

import datasets  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import batchweave
from batchweave import errors
from batchweave.packing import Packer
from batchweave.sources.hf import Rows, Stream
from batchweave.sources.parquet import Parquet, RowPlace

datasets.disable_progress_bars()


def table_of(first: int, count: int) -> Any:
    """Rows that tell their number in each column."""
    numbers = range(first, first + count)
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "name": pa.array([f"row {n}" for n in numbers]),
        "pair": pa.array([[n, -n] for n in numbers], pa.list_(pa.int32(), 2)),
        "grid": pa.array([[[n] * 3] * 2 for n in numbers], pa.list_(pa.list_(pa.float32(), 3), 2)),
        "tokens": pa.array([[n] * (n % 5) for n in numbers], pa.list_(pa.int32())),
        "raw": pa.array([bytes([n % 256]) * (n % 3) for n in numbers], pa.binary()),
        "flag": pa.array([n % 2 == 0 for n in numbers]),
    })


class FilesTest(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.data = self.folder / "data"
        self.rows = 0
        for name, count, group in (("b/2.parquet", 23, 5), ("a.parquet", 17, 100), ("b/1.parquet", 0, 5),
                                   ("b/3.parquet", 40, 7)):
            path = self.data / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table_of(self.rows, count), path, row_group_size=group)
            self.rows += count

    def test_values_are_what_was_written(self) -> None:
        source = Parquet(self.data / "a.parquet")
        for index in range(len(source)):
            row, n = source[index], index + 23
            self.assertEqual((int(row["id"]), row["name"], row["raw"]), (n, b"row %d" % n, bytes([n]) * (n % 3)))
            self.assertEqual((row["pair"].tolist(), row["pair"].dtype), ([n, -n], np.int32))
            self.assertEqual((row["grid"].tolist(), row["grid"].dtype), ([[n] * 3] * 2, np.float32))
            self.assertEqual((row["tokens"].tolist(), bool(row["flag"])), ([n] * (n % 5), n % 2 == 0))

    def test_shards_hold_each_row_once(self) -> None:
        for count in (1, 2, 3, 20):
            found: List[int] = []
            for index in range(count):
                source = Parquet(self.data, columns=["id"], shard=(index, count))
                found += [int(source[i]["id"]) for i in range(len(source))]
            self.assertEqual(sorted(found), list(range(self.rows)))

    def test_places_and_indices_are_one_to_one(self) -> None:
        source = Parquet(self.data, shard=(1, 2))
        places = [source.place(index) for index in range(len(source) + 1)]
        self.assertEqual([source.index(place) for place in places], list(range(len(source) + 1)))
        self.assertEqual(places[0], RowPlace("b/2.parquet", 1, 0))
        for wrong in (RowPlace("a.parquet", 0, 0), RowPlace("b/2.parquet", 1, 5), RowPlace("b/2.parquet", 0, 0),
                      RowPlace("c", 0, 0)):
            with self.assertRaises(errors.InputChanged):
                source.index(wrong)

    def test_a_producer_that_ends_anywhere_goes_on_at_the_row(self) -> None:
        url = str(self.folder / "space")
        batchweave.init(url, dp=2)
        rng, lives = random.Random(3), 0
        while True:
            source = Parquet(self.data, columns=["id", "pair"])  # as a new process would
            with batchweave.Producer(url, id="p", policy="fixed:1") as producer:
                start = source.resume(producer.resume_state)
                self.assertEqual(start, producer.resume_offset)
                for offset, batch in source.batches(4, start, last="drop"):
                    producer.write(batch, offset=offset, state=source.state(offset))
                    if rng.random() < 0.2:
                        producer.flush()
                    if rng.random() < 0.15:
                        producer.close()  # what was not flushed is left out
                        break
                else:
                    break
            lives += 1
        self.assertGreater(lives, 1)
        ids: List[int] = []
        with batchweave.space(url) as space:
            for step in range(int(space.info()["next_step"])):
                for d in (0, 1):
                    tensors = space.item(step, d).tensors("numpy")
                    self.assertEqual(tensors["pair"][:, 0].tolist(), tensors["id"].tolist())
                    ids += tensors["id"].tolist()
        wanted = [int(source[i]["id"]) for i in range(len(source))]
        self.assertEqual(ids, wanted[:len(wanted) // 4 * 4])

    def test_another_input_is_refused(self) -> None:
        state = Parquet(self.data).state(5)
        self.assertEqual(Parquet(self.data).resume(state), 5)
        for other in ((0, 2), (1, 2)):
            with self.assertRaises(errors.InputChanged):
                Parquet(self.data, shard=other).resume(state)
        with self.assertRaises(errors.Invalid):
            Parquet(self.data).resume(b"{}")
        pq.write_table(table_of(0, 3), self.data / "z.parquet")
        with self.assertRaisesRegex(errors.InputChanged, "a.parquet"):
            Parquet(self.data).resume(state)

    def test_samples_are_bytes(self) -> None:
        row = Parquet(self.data / "a.parquet", form="samples")[2]
        self.assertEqual((row["name"], row["id"], row["tokens"]),
                         (b"row 25", (25).to_bytes(8, "little"), b""))

    def test_what_cannot_be_a_tensor_is_named(self) -> None:
        path = self.data / "odd.parquet"
        pq.write_table(pa.table({"hole": pa.array([1, None]), "deep": pa.array([{"x": 1}, {"x": 2}])}), path)
        with self.assertRaisesRegex(errors.InputBad, "odd.parquet, row group 0, column 'hole': 1 values"):
            Parquet(path, columns=["hole"])[0]
        with self.assertRaisesRegex(errors.Unsupported, "struct"):
            Parquet(path, columns=["deep"])[0]
        with self.assertRaisesRegex(errors.Unsupported, "'name'"):
            next(Parquet(self.data / "a.parquet").batches(2))
        with self.assertRaisesRegex(errors.Invalid, "'tokens'.*a.parquet"):
            next(Parquet(self.data / "a.parquet", columns=["tokens"]).batches(4))
        with self.assertRaisesRegex(errors.Invalid, "no column nothing"):
            Parquet(self.data, columns=["nothing"])
        path.write_bytes(b"not parquet")
        with self.assertRaisesRegex(errors.InputBad, "odd.parquet"):
            Parquet(path)
        with self.assertRaises(errors.Invalid):
            Parquet([])

    def test_it_feeds_the_packer(self) -> None:
        source = Parquet(self.data, columns=["tokens"])
        total = sum(len(source[i]["tokens"]) for i in range(len(source)))
        batches = list(Packer(16).batches(source, 2))
        self.assertEqual(sum(int(batch.tokens) for batch in batches), total)
        rest = list(Packer(16).batches(Parquet(self.data, columns=["tokens"]), 2, state=batches[3].state))
        self.assertEqual([batch.slices(1, 1)[0][0]["tokens"].data for batch in rest],
                         [batch.slices(1, 1)[0][0]["tokens"].data for batch in batches[4:]])
        with self.assertRaises(errors.InputChanged):
            next(Packer(16).batches(Parquet(self.data, shard=(0, 2)), 2, state=batches[3].state))


class DatasetTest(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def stored(self) -> datasets.Dataset:
        return datasets.Dataset.from_dict({"id": list(range(700)), "tokens": [[n] * (n % 4) for n in range(700)]})

    def streamed(self) -> datasets.IterableDataset:
        files = []
        for k in range(5):
            path = self.folder / f"{k}.parquet"
            if not path.exists():
                pq.write_table(table_of(40 * k, 40), path, row_group_size=7)
            files.append(str(path))
        return datasets.load_dataset("parquet", data_files=files, split="train", streaming=True,
                                     cache_dir=str(self.folder / "cache"))

    def test_shards_of_a_dataset_hold_each_row_once(self) -> None:
        for count in (1, 3, 8):
            found = []
            for index in range(count):
                rows = Rows(self.stored(), shard=(index, count))
                for i in range(len(rows)):
                    row = rows[i]
                    self.assertEqual(list(row["tokens"]), [row["id"]] * (row["id"] % 4))
                    found.append(int(row["id"]))
            self.assertEqual(found, list(range(700)))

    def test_a_producer_resumes_a_dataset(self) -> None:
        url = str(self.folder / "space")
        batchweave.init(url, dp=1)
        for stop in (137, 700):
            with batchweave.Producer(url, id="p", kind="raw", policy="fixed:1") as producer:
                for row in producer.resume(Rows(self.stored())):
                    producer.write([[b"%d" % row["id"]]])
                    if row["id"] == stop:
                        break
        with batchweave.space(url) as space:
            steps = int(space.info()["next_step"])
            self.assertEqual([int(bytes(space.item(step))) for step in range(steps)], list(range(700)))

    def test_a_stream_goes_on_behind_any_row(self) -> None:
        for shard in ((0, 1), (0, 2), (1, 2), (2, 5)):
            whole = [row["id"] for row in Stream(self.streamed(), shard=shard)]
            for stop in [*range(1, 20), len(whole) - 1]:
                stream = Stream(self.streamed(), shard=shard)
                seen = [row["id"] for row, _ in zip(stream, range(stop))]
                state = self.state_at(shard, stop)
                again = Stream(self.streamed(), shard=shard)
                self.assertEqual(again.load(state), stop)
                self.assertEqual(seen + [row["id"] for row in again], whole, f"shard {shard}, row {stop}")

    def state_at(self, shard: Any, stop: int) -> bytes:
        stream = Stream(self.streamed(), shard=shard)
        for _ in stream:
            if stream.offset == stop:
                return stream.state()
        self.fail("the stream is shorter")

    def test_shards_of_a_stream_hold_each_row_once(self) -> None:
        found: Dict[int, int] = {}
        for index in range(3):
            for row in Stream(self.streamed(), shard=(index, 3)):
                found[row["id"]] = found.get(row["id"], 0) + 1
        self.assertEqual(found, {n: 1 for n in range(200)})

    def test_what_would_lose_rows_is_refused(self) -> None:
        for dataset in (self.streamed().shuffle(seed=1, buffer_size=8),
                        self.streamed().shuffle(seed=1, buffer_size=8).map(lambda row: row).take(9),
                        datasets.interleave_datasets([self.streamed(), self.streamed().shuffle(1, buffer_size=8)])):
            with self.assertRaisesRegex(errors.Unsupported, "shuffle buffer"):
                Stream(dataset)
        state = self.state_at((0, 1), 3)
        with self.assertRaises(errors.Invalid):
            Stream(self.streamed(), shard=(0, 2)).load(state)
        with self.assertRaises(errors.Invalid):
            Stream(self.streamed()).load(b"x")
        for wrong, kind in ((self.streamed(), Rows), (self.stored(), Stream)):
            with self.assertRaises(errors.Invalid):
                kind(wrong)


if __name__ == "__main__":
    unittest.main()
