# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Dataset under torch's DataLoader with 0, 1 and n workers, forked and spawned, and torchdata's."""

from __future__ import annotations

import json
import types
import unittest
import warnings
from typing import Any, List
from unittest import mock

from torch.utils.data import DataLoader

import batchweave
from batchweave.torch import Dataset, Loader
from feed import Feed

try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    StatefulDataLoader = None


def values(microbatch: Any) -> Any:
    return microbatch["x"].tolist()


def doubled(microbatch: Any) -> Any:
    return {"x": microbatch["x"] * 2}


class Workers(Feed):
    """The same order as the Loader's, and exact resumption."""

    def setUp(self) -> None:
        super().setUp()
        self.space()
        self.want = [values(m) for m in Loader(self.url, dp=(1, 2))]
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def dataset(self, **settings: Any) -> Dataset:
        return Dataset(self.url, dp=(1, 2), **settings)

    def over(self, dataset: Dataset, workers: int, start: str = "fork") -> "DataLoader[Any]":
        return DataLoader(dataset, batch_size=None, num_workers=workers,
                          multiprocessing_context=start if workers else None)

    def test_order(self) -> None:
        for workers in (0, 1, 2, 3):
            self.assertEqual([values(m) for m in self.over(self.dataset(), workers)], self.want, workers)

    def test_spawned(self) -> None:
        dataset = self.dataset(transform=doubled)
        got = [values(m) for m in self.over(dataset, 1, "spawn")]
        self.assertEqual(got, [[[2 * x for x in row] for row in microbatch] for microbatch in self.want])

    def test_follow_resumes_at_another_number_of_workers(self) -> None:
        for workers, count, others in ((0, 3, 2), (1, 0, 0), (1, 5, 3), (2, 1, 1), (3, 4, 0), (2, 12, 2)):
            dataset = self.dataset()
            got: List[Any] = []
            batches = dataset.follow(self.over(dataset, workers))
            while len(got) < count:
                got.append(values(next(batches)))
                self.assertEqual(dataset.step, (len(got) - 1) // 2)
            state = json.loads(json.dumps(dataset.state_dict()))
            batches.close()
            again = self.dataset()
            again.load_state_dict(state)
            self.assertEqual(got + [values(m) for m in again.follow(self.over(again, others))], self.want)
            self.assertEqual(set(state), {"version", "cursor"})

    def pinned(self, workers: int) -> None:
        dataset = Dataset(self.url, dp=(0, 2), group="job", launch="a")
        batches = dataset.follow(self.over(dataset, workers))
        for _ in range(5):
            next(batches)
        with dataset.checkpoint("a"):
            next(batches)
        told = batchweave.space(self.url).info()["groups"][0]["pins"]
        self.assertEqual([(pin["step"], pin["item"]) for pin in told], [(2, 1)])
        batches.close()
        dataset.close()

    def test_group_pins_what_the_trainer_got(self) -> None:
        self.pinned(0)

    def test_group_pins_what_the_trainer_got_from_workers(self) -> None:
        self.pinned(2)

    def test_many_workers_are_not_silent(self) -> None:
        for count, told in ((1, 0), (2, 1)):
            worker = types.SimpleNamespace(id=0, num_workers=count)
            with warnings.catch_warnings(record=True) as caught, mock.patch(
                    "batchweave.torch.dataset.get_worker_info", return_value=worker):
                warnings.simplefilter("always")
                iter(self.dataset())
            self.assertEqual(len([w for w in caught if "workers read every slice" in str(w.message)]), told)

    @unittest.skipIf(StatefulDataLoader is None, "torchdata is not installed")
    def test_torchdata(self) -> None:
        for workers, count in ((0, 5), (1, 0), (1, 5), (2, 4), (2, 5), (2, 12)):
            def over(dataset: Dataset, workers: int = workers) -> Any:
                return StatefulDataLoader(dataset, batch_size=None, num_workers=workers)

            loader = over(self.dataset())
            batches = iter(loader)
            got = [values(next(batches)) for _ in range(count)]
            state = loader.state_dict()
            del batches
            again = over(self.dataset())
            again.load_state_dict(state)
            self.assertEqual(got + [values(m) for m in again], self.want, (workers, count))


class Trap(Feed):
    """What would deal a rank's slice out again is refused."""

    def test_refused_settings(self) -> None:
        for wrong in ({"device": "cuda"}, {"readers": "tp_leader"}):
            with self.assertRaises(batchweave.errors.Invalid):
                Dataset(self.url, **wrong)


if __name__ == "__main__":
    unittest.main()
