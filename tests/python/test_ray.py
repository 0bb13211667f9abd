# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The Ray datasink: whatever tasks do, and however often, each row is published once."""

import logging
import os
import pathlib
import random
import signal
import tempfile
import unittest
from typing import Any, Callable, Dict, List, Optional

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import ray
import ray.data
from ray.data.datasource.datasink import WriteResult

import batchweave
from batchweave import errors
from batchweave.ray import Datasink, Rest

SEEDS = range(8)
ROWS = 8


class Context:
    """What the datasink looks at of Ray's TaskContext."""

    def __init__(self, task: int) -> None:
        self.task_idx = task


class Crash(Exception):
    pass


def blocks(first: int, counts: List[int]) -> List[Any]:
    made = []
    for count in counts:
        numbers = np.arange(first, first + count)
        made.append(pa.table({"id": numbers, "twice": numbers * 2}))
        first += count
    return made


def published(url: str) -> List[int]:
    """The ids of all rows, and that each is whole."""
    found: List[int] = []
    with batchweave.space(url) as space:
        info = space.info()
        for step in range(int(info["next_step"])):
            for d in range(space.dp):
                for m in range(space.items):
                    tensors = space.item(step, d, 0, m).tensors("numpy")
                    if tensors:
                        assert (tensors["twice"] == 2 * tensors["id"]).all()
                        found += tensors["id"].tolist()
    return found


class SinkTest(unittest.TestCase):
    """Without a cluster: tries that die at any point, in any order."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.url = f"{held.name}/space"
        batchweave.init(self.url, dp=2, items=2)

    def sink(self, crash: Optional[Callable[[], None]] = None, **settings: Any) -> Datasink:
        def encode(columns: Dict[str, Any]) -> Dict[str, Any]:
            if crash is not None:
                crash()
            return columns
        given = {"rows": ROWS, "run": "r", "policy": "fixed:1", "encode": encode, **settings}
        return Datasink(self.url, **given)

    def done(self, sink: Datasink, rests: List[Rest]) -> None:
        sink.on_write_complete(WriteResult(0, 0, rests))

    def test_rows_are_published_once_whatever_tries_do(self) -> None:
        for seed in SEEDS:
            rng = random.Random(seed)
            self.url = os.path.join(os.path.dirname(self.url), f"seed-{seed}")
            batchweave.init(self.url, dp=2, items=2)
            calm = False

            def crash() -> None:
                if not calm and rng.random() < 0.3:
                    raise Crash

            inputs: List[Any] = []
            rests: Dict[int, Rest] = {}
            total = 0
            for _ in range(rng.randint(1, 4)):
                counts = [rng.randint(0, 20) for _ in range(rng.randint(1, 4))]
                inputs.append(blocks(total, counts))
                total += sum(counts)
            sink = self.sink(crash)
            sink.on_write_start()
            while len(rests) < len(inputs) or rng.random() < 0.3:  # a task that was done may run again
                task = rng.randrange(len(inputs))
                try:
                    rests[task] = sink.write(inputs[task], Context(task))
                except Crash:
                    continue
                self.assertLess(len(rests[task].columns.get("id", [])), ROWS)
            for calm in (False, True):
                try:
                    self.done(sink, list(rests.values()))
                except Crash:
                    continue
                break
            self.assertEqual(sorted(published(self.url)), list(range(total)), f"seed {seed}")

    def test_a_try_that_was_taken_for_dead_publishes_nothing_more(self) -> None:
        first, rest = self.sink(), []

        def blocks_with_another_try() -> Any:
            given = blocks(0, [ROWS, ROWS, 3])
            yield given[0]
            rest.append(self.sink().write(given, Context(0)))
            yield from given[1:]

        with self.assertRaises(errors.Error) as caught:
            first.write(blocks_with_another_try(), Context(0))
        self.assertIsInstance(caught.exception, (errors.Fenced, errors.Finished))
        self.done(self.sink(), rest)
        self.assertEqual(sorted(published(self.url)), list(range(2 * ROWS + 3)))

    def test_other_rows_than_the_last_try_had_are_noticed(self) -> None:
        given = blocks(0, [ROWS, ROWS, 3])
        self.sink().write(given, Context(0))
        for other in (blocks(1, [ROWS, ROWS, 3]), blocks(0, [ROWS + 2]), []):
            with self.assertRaisesRegex(errors.InputChanged, "r.0: an earlier try published 16 rows"):
                self.sink().write(other, Context(0))
        with self.assertRaises(errors.InputChanged):
            self.sink(rows=12).write(blocks(0, [24]), Context(0))
        self.assertEqual(self.sink().write(given, Context(0)).columns["id"].tolist(), [16, 17, 18])
        self.assertEqual(published(self.url), list(range(2 * ROWS)))

    def test_the_rows_that_are_left_make_a_last_batch_with_pads(self) -> None:
        rests = [Rest(1, {"id": np.array([3, 4]), "twice": np.array([6, 8])}),
                 Rest(0, {"id": np.array([2]), "twice": np.array([4])})]
        self.done(self.sink(seal=True), rests)
        with batchweave.space(self.url) as space:
            got = [[space.item(0, d, 0, m).tensors("numpy").get("id", np.array([])).tolist() for m in (0, 1)]
                   for d in (0, 1)]
            self.assertEqual(got, [[[2], [3]], [[4], []]])
            self.assertTrue(space.item(0, 1, 0, 1).pad)
            self.assertTrue(space.info()["sealed"])

    def test_left_rows_may_be_dropped(self) -> None:
        self.done(self.sink(last="drop"), [Rest(0, {"id": np.arange(11), "twice": np.arange(11) * 2})])
        self.assertEqual(published(self.url), list(range(8)))

    def test_ids_are_provenance(self) -> None:
        table = pa.table({"id": np.arange(9), "twice": np.arange(9) * 2, "name": [f"n{k}" for k in range(9)]})
        sink = self.sink(ids="name", encode=None)
        self.done(sink, [sink.write([table], Context(0))])
        with batchweave.space(self.url) as space:
            told = [[one for row in space.samples(step)["slices"] for one in row["samples"]] for step in (0, 1)]
        self.assertEqual(told, [[f"n{k}" for k in range(8)], ["n8"]])

    def test_what_cannot_work_is_refused_before_the_first_task(self) -> None:
        with self.assertRaisesRegex(errors.Invalid, "6 rows cannot be cut into 2 slices of 2"):
            self.sink(rows=6, encode=None).on_write_start()
        batchweave.init(self.url + "2", dp=2, producers=3)
        with self.assertRaisesRegex(errors.Invalid, "expects 3 producers"):
            Datasink(self.url + "2", rows=2).on_write_start()


class ClusterTest(unittest.TestCase):
    """A real local Ray, whose workers are killed."""

    @classmethod
    def setUpClass(cls) -> None:
        package = str(pathlib.Path(batchweave.__file__).parent.parent)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR,
                 object_store_memory=100 << 20, runtime_env={"env_vars": {"PYTHONPATH": package}})
        ray.data.DataContext.get_current().enable_progress_bars = False

    @classmethod
    def tearDownClass(cls) -> None:
        ray.shutdown()

    def test_each_row_is_published_once_although_workers_are_killed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            url, kills = f"{folder}/space", f"{folder}/kills"
            os.mkdir(kills)
            batchweave.init(url, dp=2, items=2)

            def nth(name: str) -> int:
                """How often this was called with that name, in all processes."""
                for n in range(1, 1000):
                    try:
                        os.close(os.open(f"{kills}/{name}-{n}", os.O_CREAT | os.O_EXCL))
                        return n
                    except FileExistsError:
                        pass
                raise AssertionError("far too many tries")

            def encode(columns: Dict[str, Any]) -> Dict[str, Any]:
                if nth("batch") == 3:  # batches before it were written, perhaps published
                    os.kill(os.getpid(), signal.SIGKILL)
                return columns

            class Killed(Datasink):
                def write(self, blocks: Any, ctx: Any) -> Rest:
                    rest = super().write(blocks, ctx)
                    if nth("end") == 2:
                        os.kill(os.getpid(), signal.SIGKILL)  # finished, and nobody knows
                    return rest

            def twice(columns: Dict[str, Any]) -> Dict[str, Any]:
                return {"id": columns["id"], "twice": columns["id"] * 2}

            dataset = ray.data.range(115, override_num_blocks=6).map_batches(twice)
            dataset.write_datasink(Killed(url, rows=ROWS, encode=encode, task_rows=30, seal=True, policy="fixed:1"),
                                   ray_remote_args={"max_retries": -1})
            self.assertTrue({"batch-3", "end-2", "end-3"} <= set(os.listdir(kills)), "nobody was killed")
            self.assertEqual(sorted(published(url)), list(range(115)))
            with batchweave.space(url) as space:
                info = space.info()
                self.assertTrue(info["sealed"])
                self.assertTrue(all(row["finished"] for row in info["producers"]))


if __name__ == "__main__":
    unittest.main()
