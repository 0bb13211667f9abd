# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Hooks whose trainers are not run here, by the protocol that each module names."""

from __future__ import annotations

import concurrent.futures
import unittest
from typing import Any, Callable, Dict, List, Optional

import batchweave
from batchweave.errors import Invalid
from batchweave.torch import Loader
from batchweave.torch.hooks import deepspeed, megatron, torchtitan, verl
from feed import Feed, rows
from test_checkpoints import pins, until


class ByProtocol(Feed):
    """Doubles of the trainers' ends."""

    def setUp(self) -> None:
        super().setUp()
        self.space(dp=1)
        self.loader = Loader(self.url, dp=(0, 1), group="job", launch="a")
        self.addCleanup(self.loader.close)

    def fresh(self) -> Loader:
        return Loader(self.url, dp=(0, 1))

    def test_megatron(self) -> None:
        data = megatron.External(self.loader)
        next(data)
        finalize: List[Callable[[], None]] = [megatron.finalize_fn(self.loader, 12)]
        saved = {"dataloader_state_dict": data.save_state()}
        want = next(data)["x"].tolist()
        self.assertEqual(pins(self.url), {})
        for function in finalize:
            function()
        self.assertEqual(pins(self.url), {"iter_0000012": (0, 1)})
        for state in (saved, saved["dataloader_state_dict"]):
            again = megatron.External(self.fresh())
            again.restore_state(state)
            self.assertEqual(next(iter(again))["x"].tolist(), want)

    def test_torchtitan(self) -> None:
        class Manager:
            save_future: Optional["concurrent.futures.Future[None]"] = None

            def save(self, step: int, last_step: bool) -> None:
                if step > 1:
                    self.save_future = concurrent.futures.Future()

        manager = Manager()
        torchtitan.save(manager, self.loader, 1)
        self.assertEqual(sorted(pins(self.url)), ["step-1"])
        next(self.loader)
        torchtitan.save(manager, self.loader, 2)
        self.assertEqual(sorted(pins(self.url)), ["step-1"])
        assert manager.save_future is not None
        manager.save_future.set_result(None)
        until(self.url, ["step-1", "step-2"])

    def test_verl(self) -> None:
        data = verl.TrainLoader(self.loader, 4)
        got = []
        for microbatch in data:
            got.append(microbatch["x"].tolist())
            if len(got) == 3:
                break
        state = data.state_dict()
        verl.saved(self.loader, 3)
        self.assertEqual((len(data), pins(self.url)), (4, {"global_step_3": (1, 1)}))
        again = verl.TrainLoader(self.fresh(), 4)
        again.load_state_dict(state)
        got += [microbatch["x"].tolist() for microbatch in again]
        self.assertEqual(got, [row.tolist() for step in range(4) for row in (rows(step)[:4], rows(step)[4:])])
        self.assertEqual(list(again), [])

    def test_deepspeed(self) -> None:
        class Engine:
            saved: Dict[str, Any] = {}
            checkpoint_engine: Any = None

            def save_checkpoint(self, folder: str, tag: str, client_state: Dict[str, Any]) -> None:
                self.saved[tag] = client_state

            def load_checkpoint(self, folder: str, tag: Optional[str]) -> Any:
                return f"{folder}/{tag}", self.saved[str(tag)]

        engine = Engine()
        next(self.loader)
        deepspeed.save(engine, self.loader, "there", "a", {"mine": 1})
        want = next(self.loader)["x"].tolist()
        self.assertEqual(pins(self.url), {"a": (0, 1)})
        again = self.fresh()
        self.assertEqual(deepspeed.load(engine, again, "there", "a")[1]["mine"], 1)
        self.assertEqual(next(again)["x"].tolist(), want)
        engine.saved["b"] = {}
        with self.assertRaises(Invalid):
            deepspeed.load(engine, again, "there", "b")

        class Decoupled:
            def is_decoupled(self) -> bool:
                return True

        engine.checkpoint_engine = Decoupled()
        with self.assertRaises(Invalid):
            deepspeed.save(engine, self.loader, "there", "c")
        self.assertEqual(sorted(pins(self.url)), ["a"])
        self.assertEqual(batchweave.space(self.url).dp, 1)


if __name__ == "__main__":
    unittest.main()
