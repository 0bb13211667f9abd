# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the cursor of when a save began, pinned once the save is durable, with torch's own
distributed checkpoints, kills, and rollbacks."""

from __future__ import annotations

import concurrent.futures
import logging
import os
import time
import unittest
from typing import Any, Dict, List, Tuple

import torch
import torch.distributed as group
import torch.distributed.checkpoint as dcp

import batchweave
from batchweave import errors
from batchweave.torch import Loader
from feed import Feed, Job, publish, rows


def pins(url: str) -> Dict[str, Tuple[int, int]]:
    """Id to (step, item) of the group "job"."""
    told = batchweave.space(url).info()["groups"]
    return {pin["id"]: (pin["step"], pin["item"]) for row in told if row["name"] == "job" for pin in row["pins"]}


def read(loader: Loader, count: int) -> List[int]:
    """First values of the next microbatches."""
    return [int(next(loader)["x"][0, 0]) for _ in range(count)]


def until(url: str, wanted: List[str]) -> None:
    """Waits for pins that are made in the background."""
    end = time.monotonic() + 60
    while sorted(pins(url)) != sorted(wanted):
        if time.monotonic() > end:
            raise AssertionError(f"{pins(url)} where {wanted} are expected")
        time.sleep(0.01)


class OneRank(Feed):
    """What pins when."""

    def loader(self, **settings: Any) -> Loader:
        made = Loader(self.url, dp=(0, 1), group="job", **settings)
        self.addCleanup(made.close)
        return made

    def test_pinned_behind_the_block_at_the_cursor_of_its_start(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        read(loader, 3)
        with loader.checkpoint("a") as ck:
            state = loader.state_dict()
            read(loader, 2)
            self.assertEqual(pins(self.url), {})
        self.assertEqual(pins(self.url), {"a": (1, 1)})
        self.assertEqual(ck.cursor.place, state["cursor"])

    def test_a_failed_block_pins_nothing(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        with self.assertRaises(OSError), loader.checkpoint("a"):
            raise OSError("disk full")
        self.assertEqual(pins(self.url), {})

    def test_pinned_when_all_futures_are_through(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        first: "concurrent.futures.Future[None]" = concurrent.futures.Future()
        second = torch.futures.Future()  # type: ignore[var-annotated]
        with loader.checkpoint("a") as ck:
            ck.attach(first)
            ck.attach(second)
        first.set_result(None)
        time.sleep(0.3)
        self.assertEqual(pins(self.url), {})
        read(loader, 3)
        second.set_result(None)
        until(self.url, ["a"])
        self.assertEqual(pins(self.url), {"a": (0, 0)})

    def test_a_save_that_fails_later_pins_nothing(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        future: "concurrent.futures.Future[None]" = concurrent.futures.Future()
        with loader.checkpoint("a") as ck:
            ck.attach(future)
        with self.assertLogs("batchweave.torch", logging.WARNING) as logs:
            future.set_exception(OSError("disk full"))
            loader.pins.settle()
        self.assertIn("disk full", logs.output[0])
        self.assertEqual(pins(self.url), {})

    def test_what_a_pin_failed_with_is_told_at_the_next_checkpoint(self) -> None:
        self.space(dp=1)
        loader = self.loader(launch="a")
        future: "concurrent.futures.Future[None]" = concurrent.futures.Future()
        with loader.checkpoint("a") as ck:
            ck.attach(future)
        next(Loader(self.url, dp=(0, 1), group="job", launch="b"))
        future.set_result(None)
        loader.pins.settle()
        with self.assertRaises(errors.Fenced):
            loader.checkpoint("b")

    def test_no_future(self) -> None:
        self.space(dp=1)
        with self.assertRaises(errors.Invalid), self.loader().checkpoint("a") as ck:
            ck.attach("later")

    def test_keep_last(self) -> None:
        self.space(dp=1)
        loader = self.loader(keep=2)
        for step in range(4):
            with loader.checkpoint(f"s{step}"):
                read(loader, 2)
        self.assertEqual(sorted(pins(self.url)), ["s2", "s3"])
        # A restart goes on counting with what is there.
        again = self.loader(keep=2, launch="again", start="group")
        read(again, 1)
        again.commit("s4")
        self.assertEqual(sorted(pins(self.url)), ["s3", "s4"])

    def test_release_and_reconcile(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        for name in "abcd":
            read(loader, 1)
            loader.commit(name)
        loader.release(["a", "never"])
        self.assertEqual(sorted(pins(self.url)), ["b", "c", "d"])
        self.assertEqual(loader.reconcile(["c", "other"]), 2)
        self.assertEqual(sorted(pins(self.url)), ["c"])

    def test_saved_again_elsewhere_moves_the_pin(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        read(loader, 2)
        loader.commit("a")
        loader.commit("a")
        state = loader.state_dict()
        read(loader, 2)
        loader.commit("b")
        loader.load_state_dict(state, skip=[(1, 2)])
        read(loader, 2)
        loader.commit("b")
        self.assertEqual(pins(self.url), {"a": (1, 0), "b": (3, 0)})

    def test_removed_group_stops_pinning_not_training(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        read(loader, 1)
        batchweave.Space(self.url, mode="write").group_rm("job")
        with self.assertLogs("batchweave.torch", logging.WARNING):
            loader.commit("a")
        loader.commit("b")
        self.assertEqual(len(read(loader, 3)), 3)

    def test_needs_a_group(self) -> None:
        self.space(dp=1)
        with self.assertRaises(errors.Invalid):
            Loader(self.url, dp=(0, 1)).checkpoint("a")

    def test_interrupted_is_not_retried(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        read(loader, 1)
        calls = []

        def refuse(*_: Any) -> None:
            calls.append(1)
            raise errors.Interrupted("as asked")

        loader.consumer.pin = refuse  # type: ignore[method-assign, assignment]
        with self.assertRaises(errors.Interrupted):
            loader.commit("a")
        self.assertEqual(len(calls), 1)

    def test_the_stores_trouble_is_waited_out(self) -> None:
        self.space(dp=1)
        loader = self.loader()
        read(loader, 1)
        good, calls = loader.consumer.pin, []

        def flaky(*arguments: Any) -> None:
            calls.append(1)
            if len(calls) < 3:
                raise errors.StoreFailed("503")
            good(*arguments)

        loader.consumer.pin = flaky  # type: ignore[method-assign, assignment]
        loader.commit("a")
        self.assertEqual((len(calls), sorted(pins(self.url))), (3, ["a"]))


# ---- with torch.distributed.checkpoint, at 2 ranks


class Model:
    """What a checkpoint holds beside the loader: a sum over all that was trained on."""

    def __init__(self) -> None:
        self.seen = torch.zeros(1, dtype=torch.int64)

    def state(self, loader: Loader) -> Dict[str, Any]:
        return {"seen": self.seen, "loader": loader}


def trainer(url: str, launch: str, **settings: Any) -> Loader:
    return Loader(url, group="job", launch=launch, keep=3, **settings)


def train(loader: Loader, model: Model, steps: int) -> None:
    for _ in range(steps):
        while True:
            total = next(loader)["x"].sum()
            group.all_reduce(total)
            model.seen += total
            if loader.is_last_microbatch:
                break


def save(rank: int, url: str, folder: str, launch: str, steps: int, asynchronous: bool) -> Any:
    """Trains `steps` steps with a checkpoint behind each second one."""
    loader, model = trainer(url, launch), Model()
    for step in range(2, steps + 1, 2):
        train(loader, model, 2)
        with loader.checkpoint(f"step-{step}") as ck:
            path = os.path.join(folder, f"step-{step}")
            if asynchronous:
                ck.attach(dcp.async_save(model.state(loader), checkpoint_id=path))
            else:
                dcp.save(model.state(loader), checkpoint_id=path)
            if asynchronous:
                for future in ck._futures:
                    future.result()
        loader.pins.settle()
    group.barrier()
    answer = [int(model.seen), loader.state_dict()["cursor"]]
    loader.close()
    return answer


def load(rank: int, url: str, folder: str, name: str, launch: str, steps: int) -> Any:
    """Loads a checkpoint and trains on."""
    loader, model = trainer(url, launch), Model()
    state = model.state(loader)
    dcp.load(state, checkpoint_id=os.path.join(folder, name))
    model.seen = state["seen"]
    first = int(model.seen)
    train(loader, model, steps)
    answer = [first, int(model.seen), loader.state_dict()["cursor"]]
    loader.close()
    return answer


def die_before_the_pin(rank: int, url: str, folder: str, launch: str) -> Any:
    """The save of step-6 is durable, but every process dies before it is pinned."""
    loader, model = trainer(url, launch, start="group"), Model()
    train(loader, model, 6)
    with loader.checkpoint("step-6"):
        dcp.save(model.state(loader), checkpoint_id=os.path.join(folder, "step-6"))
        group.barrier()
        with open(os.path.join(folder, f"saved-{rank}"), "w", encoding="utf-8"):
            pass
        time.sleep(600)


class WithDcp(Feed):
    """Real checkpoints of 2 ranks."""

    def whole(self, steps: int) -> int:
        return sum(int(rows(step).sum()) for step in range(steps))

    def saved(self, asynchronous: bool) -> str:
        self.space(steps=12)
        self.early = batchweave.space(self.url).begin(start="2").place
        folder = os.path.join(self.folder.name, "checkpoints")
        told = self.job(save, 2, self.url, folder, "a", 8, asynchronous)
        self.assertEqual([row[0] for row in told], [self.whole(8)] * 2)
        self.assertEqual(told[0][1], told[1][1])
        self.assertEqual(pins(self.url), {"step-4": (4, 0), "step-6": (6, 0), "step-8": (8, 0)})
        return folder

    def test_sync_and_rollback(self) -> None:
        folder = self.saved(False)
        for name, launch, first in (("step-8", "b", 8), ("step-4", "c", 4), ("step-6", "d", 6)):
            told = self.job(load, 2, self.url, folder, name, launch, 3)
            self.assertEqual([row[:2] for row in told], [[self.whole(first), self.whole(first + 3)]] * 2)
            self.assertEqual(told[0][2], told[1][2])
        # What is behind no pin is gone for good, and said to be.
        loader = Loader(self.url, dp=(0, 2), group="job", launch="e")
        loader.load_state_dict({"version": 1, "cursor": self.early})
        with self.assertRaises(errors.Trimmed):
            next(loader)

    def test_async(self) -> None:
        folder = self.saved(True)
        told = self.job(load, 2, self.url, folder, "step-6", "b", 3)
        self.assertEqual([row[:2] for row in told], [[self.whole(6), self.whole(9)]] * 2)

    def test_killed_between_save_and_pin(self) -> None:
        self.space(steps=12)
        folder = os.path.join(self.folder.name, "checkpoints")
        self.job(save, 2, self.url, folder, "a", 4, False)
        dying = Job(self, die_before_the_pin, 2, self.url, folder, "b")
        end = time.monotonic() + 120
        while not all(os.path.exists(os.path.join(folder, f"saved-{rank}")) for rank in range(2)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        dying.kill()
        self.assertEqual(sorted(pins(self.url)), ["step-2", "step-4"])
        # It began at the newest pin, step 4.
        told = self.job(load, 2, self.url, folder, "step-6", "c", 2)
        self.assertEqual([row[1] - row[0] for row in told], [self.whole(12) - self.whole(10)] * 2)
        with Loader(self.url, dp=(0, 2), group="job", launch="d") as again:
            self.assertEqual(again.reconcile(["step-4", "step-6"]), 1)
        self.assertEqual(sorted(pins(self.url)), ["step-4"])


if __name__ == "__main__":
    unittest.main()
