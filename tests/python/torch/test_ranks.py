# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Loader in jobs of several ranks under gloo: positions, one start, tensor-parallel leaders, the end."""

from __future__ import annotations

import os
import unittest
from typing import Any, List

import batchweave
from batchweave import errors
from batchweave.torch import Loader, mesh
import rank
from feed import Feed, Job, publish, rows


class Positions(unittest.TestCase):
    """rank = ((pp * DP + d) * CP + c) * TP + tp."""

    def test_of_rank(self) -> None:
        # The 16 ranks of D2 C2 TP2 PP2.
        places = [mesh.of_rank(rank, 16, 2, 2, 2, 2) for rank in range(16)]
        self.assertEqual([(p.dp, p.cp) for p in places],
                         [((d, 2), (c, 2)) for _ in range(2) for d in range(2) for c in range(2) for _ in range(2)])
        self.assertEqual([p.first for p in places], [True] + [False] * 15)
        # The trainer cuts sequences itself: all c get slice (d, 0).
        self.assertEqual({mesh.of_rank(rank, 16, 2, 2, 2, 1).cp for rank in range(16)}, {(0, 1)})
        with self.assertRaises(errors.MeshMismatch):
            mesh.of_rank(0, 6, 2, 2, 1, 1)

    def test_of_the_environment(self) -> None:
        torchrun = {"RANK": "3", "WORLD_SIZE": "8"}
        place = mesh.position(1, sizes={"tp": 2, "cp": 2}, environment=torchrun)
        self.assertEqual(place, (2, 1, {"pp": 1, "tp": 4}, False, 8))
        slurm = {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
        self.assertTrue(mesh.position(1, environment=slurm).first)
        alone = mesh.position(1, environment={})
        self.assertEqual((alone.dp, alone.first), ((0, 1), True))

    def test_launch_of_the_environment(self) -> None:
        self.assertEqual(mesh.named_launch({"SLURM_JOB_ID": "7"}), "slurm-7.0-0")
        self.assertEqual(mesh.named_launch({"TORCHELASTIC_RUN_ID": "abc"}), "torch-abc-0")
        self.assertIsNone(mesh.named_launch({"TORCHELASTIC_RUN_ID": "none"}))

    def test_explicit(self) -> None:
        self.assertEqual(mesh.position(1, dp=(1, 4), environment={})[:2], ((1, 4), (0, 1)))
        with self.assertRaises(errors.Invalid):
            mesh.position(1, cp=(0, 2), environment={})


class Environment(Feed):
    """Started by torchrun or Slurm, without torch.distributed: the library finds the position."""

    def test_torchrun_and_slurm(self) -> None:
        self.space(dp=4, items=1)
        torchrun = {"RANK": "3", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "x", "TORCHELASTIC_RESTART_COUNT": "0"}
        slurm = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "17", "SLURM_STEP_ID": "2"}
        cases: List[Any] = [(torchrun, {}, 3, "x"), (slurm, {"tp": 2}, 2, "17")]
        for environment, sizes, d, launch in cases:
            first = {**environment, **{name: "0" for name in environment if name in ("RANK", "SLURM_PROCID")}}
            saved = dict(os.environ)
            try:
                os.environ.update(first)
                rank0 = Loader(self.url, group=launch, sizes=sizes)
                next(rank0)
                self.assertTrue(rank0.commits)
                os.environ.update(environment)
                loader = Loader(self.url, group=launch, sizes=sizes)
                next(loader)
                # Found out here as the library does.
                self.assertEqual(mesh.named_launch(), loader.consumer.launch)
            finally:
                os.environ.clear()
                os.environ.update(saved)
            self.assertEqual((loader.consumer.d, loader.commits), (d, False))
            self.assertEqual(loader.consumer.launch, rank0.consumer.launch)
            self.assertIn(launch, loader.consumer.launch)


class Jobs(Feed):
    """Real processes."""

    def slice_of(self, step: int, m: int, d: int, dp: int = 2, items: int = 2) -> List[List[int]]:
        size = 8 // dp // items
        first = (d * items + m) * size
        listed: List[List[int]] = rows(step)[first:first + size].tolist()
        return listed

    def whole(self, d: int) -> List[Any]:
        return [[step, m, self.slice_of(step, m, d)] for step in range(6) for m in range(2)]

    def test_device_mesh(self) -> None:
        self.space()
        told = self.job(rank.mesh, 4, self.url, "dp,tp", 2, 2)
        self.assertEqual([row[:3] for row in told], [[0, 0, True], [0, 0, False], [1, 0, False], [1, 0, False]])
        self.assertEqual(len({row[3] for row in told}), 1, "one launch")
        self.assertEqual([row[4] for row in told], [self.whole(d) for d in (0, 0, 1, 1)])

    def test_mesh_of_replicas_and_shards(self) -> None:
        self.space(dp=4, items=1)
        told = self.job(rank.mesh, 4, self.url, "dp_replicate,dp_shard", 2, 2)
        self.assertEqual([row[0] for row in told], [0, 1, 2, 3])

    def test_world_rescaled(self) -> None:
        self.space(dp=4, items=1)
        told = self.job(rank.world, 2, self.url)
        self.assertEqual([row[:2] for row in told], [[0, True], [1, False]])
        steps = [sorted(sum((row[2] for told_rank in told for row in told_rank[3] if row[0] == step), []))
                 for step in range(6)]
        self.assertEqual(steps, [rows(step).tolist() for step in range(6)])

    def test_tp_leader(self) -> None:
        self.space()
        told = self.job(rank.tp_leader, 4, self.url, 3)
        for place, row in enumerate(told):
            want = self.whole(place // 2)
            self.assertEqual(row["got"], want[:3] + want[3:4] + want[3:])
            self.assertEqual(row["state"], told[0]["state"])
            self.assertEqual(row["metrics"], place % 2 == 0)

    def test_tp_leader_starved(self) -> None:
        self.space(dp=1, finish=False, steps=1)
        told = self.job(rank.tp_starved, 2, self.url)
        self.assertEqual(told[0][0], told[1][0])
        self.assertEqual(told[0][2], told[1][2])
        for row in told:
            self.assertIn("waiting for step 1", row[1])

    def test_tp_leader_refused(self) -> None:
        self.space(dp=2)
        told = self.job(rank.tp_refused, 2, self.url)
        self.assertTrue(all(told))

    def test_all_miss_the_state(self) -> None:
        """No rank waits for another that was refused."""
        self.space()
        with Loader(self.url, dp=(0, 1), group="job", launch="before", keep=2) as before:
            for id in "ab":
                for _ in range(4):
                    next(before)
                before.commit(id)
        for axes, readers in (("dp_replicate,dp_shard", "all"), ("dp,tp", "tp_leader")):
            for asked in (False, True):
                with self.subTest(readers=readers, asked=asked):
                    told = self.job(rank.stateless, 2, self.url, axes, readers, asked)
                    self.assertEqual(len(told), 2)
                    for text in told:
                        self.assertIn("load_state_dict", text)

    def test_all_end_at_one_step(self) -> None:
        self.space(finish=False, steps=4, producers=1)
        job = Job(self, rank.ends, 2, self.url)
        publish(self.url, range(4, 9), finish=True)
        told = job.answers()
        self.assertEqual(told[0], [[step, m] for step in range(9) for m in range(2)])
        self.assertEqual(told[1], told[0])

    def test_ranks_that_loaded_different_checkpoints(self) -> None:
        self.space()
        told = self.job(rank.disagree, 2, self.url)
        self.assertEqual(told[0], "begins")
        self.assertIn("step 2", told[1])

    def test_zombie_and_successor(self) -> None:
        """A trainer that lives on after its successor began may read, but pins nothing."""
        self.space()
        zombie = Loader(self.url, dp=(0, 1), group="job", launch="a")
        next(zombie)
        batchweave.space(self.url)
        job = Loader(self.url, dp=(0, 1), group="job", launch="b")
        next(job)
        with self.assertRaises(errors.Fenced):
            zombie.commit("late")
        job.commit("good")
        next(zombie)


if __name__ == "__main__":
    unittest.main()
