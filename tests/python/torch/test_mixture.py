# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Mixture: shares, one exact state, the two kinds of end."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any, List, Tuple

import batchweave
from batchweave.errors import Invalid
from batchweave.torch import Loader, Mixture
from feed import Feed, publish


class Shares(Feed):
    """Steps of two namespaces."""

    def setUp(self) -> None:
        super().setUp()
        self.urls = {}
        for name, steps in (("a", 12), ("b", 5)):
            self.urls[name] = os.path.join(self.folder.name, name)
            batchweave.init(self.urls[name], dp=2, items=2, durable=False, producers=1)
            publish(self.urls[name], range(steps), finish=True)

    def mixture(self, d: int = 0, until: str = "first", **weights: Any) -> Mixture:
        given = weights or {"a": 0.7, "b": 0.3}
        return Mixture({name: (Loader(self.urls[name], dp=(d, 2), group="job", launch="l"), weight)
                        for name, weight in given.items()}, until)

    def read(self, mixture: Mixture, count: int = 1 << 30) -> List[Tuple[str, int, int, Any]]:
        got: List[Tuple[str, int, int, Any]] = []
        while len(got) < count:
            try:
                microbatch = next(mixture)
            except StopIteration:
                break
            got.append((mixture.source, mixture.step, mixture.microbatch, microbatch["x"].tolist()))
        return got

    def test_shares_are_kept_at_every_step(self) -> None:
        got = self.read(self.mixture())
        order = [row[0] for row in got if row[2] == 1]
        for count in range(1, len(order) + 1):
            self.assertLess(abs(order[:count].count("a") - 0.7 * count), 1)
        self.assertEqual([row[1] for row in got if row[0] == "a" and row[2] == 0], list(range(order.count("a"))))
        # Steps stay whole.
        self.assertEqual([row[2] for row in got], [0, 1] * (len(got) // 2))

    def test_the_same_on_all_ranks(self) -> None:
        ranks = [self.read(self.mixture(d)) for d in range(2)]
        self.assertEqual([row[:3] for row in ranks[0]], [row[:3] for row in ranks[1]])

    def test_state_from_every_place(self) -> None:
        want = self.read(self.mixture(until="all"))
        self.assertEqual(len(want), 2 * (12 + 5))
        for count in (0, 1, 2, 9, 21, 33, 34):
            mixture = self.mixture(until="all")
            got = self.read(mixture, count)
            state = json.loads(json.dumps(mixture.state_dict()))
            mixture.close()
            fresh = Mixture({name: (Loader(self.urls[name], dp=(0, 2)), weight)
                             for name, weight in (("b", "3/10"), ("a", "7/10"))}, "all")
            fresh.load_state_dict(state)
            self.assertEqual(got + self.read(fresh), want, count)

    def test_ends(self) -> None:
        got = self.read(self.mixture(a=1, b=1))
        self.assertEqual([row[0] for row in got if row[2] == 0], ["a", "b"] * 5 + ["a"])

    def test_checkpoints_in_all(self) -> None:
        mixture = self.mixture()
        self.read(mixture, 5)
        with mixture.checkpoint("one"):
            pass
        for url in self.urls.values():
            self.assertEqual([pin["id"] for pin in batchweave.space(url).info()["groups"][0]["pins"]], ["one"])
        self.assertEqual(mixture.reconcile([]), 2)
        self.assertIn("data/a/lag_steps", mixture.metrics())

    def test_refused(self) -> None:
        for wrong in ({}, {"version": 1, "given": {}, "sources": {"c": {}}}):
            with self.assertRaises(Invalid):
                self.mixture().load_state_dict(wrong)
        with self.assertRaises(Invalid):
            self.mixture(a=0, b=1)
        with self.assertRaises(Invalid):
            Mixture({})


if __name__ == "__main__":
    unittest.main()
