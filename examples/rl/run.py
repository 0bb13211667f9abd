#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: rollouts made by older policies, a staleness filter, weights that are rolled back.

    python examples/rl/run.py

Workers play with the newest policy they find and publish what they played, with the policy's version
as the batch's tag, a uid a rollout, and as many rollouts as there were: the rest of a batch is pads.
The trainer leaves out steps whose policy is too old. Then its weights are rolled back to a
checkpoint: the replay is the same to the byte; and, the other way, a job that does not want stale
rollouts goes on at the tip.
"""

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import batchweave as bw
from batchweave.torch import Loader

ARMS, CONTEXTS, ITEMS = 8, 16, 4
STALE = 3  # versions
STEPS, BACK = 24, 12


def policy() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Linear(CONTEXTS, ARMS)


def publish(folder: Path, version: int, model: torch.nn.Module) -> None:
    """What workers play with: written aside, then renamed."""
    torch.save({"version": version, "model": model.state_dict()}, folder / "policy.new")
    os.replace(folder / "policy.new", folder / "policy")


# ---- workers

def rollout(model: torch.nn.Module, rng: np.random.Generator) -> dict[Any, Any]:
    """Some rounds with an arm each: contexts [n, CONTEXTS], arms [n], rewards [n]; n differs."""
    rounds = int(rng.integers(1, 9))
    contexts = np.eye(CONTEXTS, dtype=np.float32)[rng.integers(CONTEXTS, size=rounds)]
    with torch.no_grad():
        chances = model(torch.from_numpy(contexts)).softmax(1).double().numpy()
    arms = np.array([rng.choice(ARMS, p=row / row.sum()) for row in chances])
    rewards = (arms == contexts.argmax(1) % ARMS).astype(np.float32)
    return {"contexts": contexts, "arms": arms, "rewards": rewards}


def work(url: str, folder: Path, index: int) -> None:
    rng = np.random.default_rng()
    model = policy()
    with bw.Producer(url, id=f"worker{index}") as p:
        number = p.resume_offset
        while True:
            found = torch.load(folder / "policy")
            model.load_state_dict(found["model"])
            batch, uids = [], []
            for d in range(p.space.dp):
                count = int(rng.integers(1, ITEMS + 1))  # some never end in time
                played = [rollout(model, rng) for _ in range(count)]
                uids.append([f"{index}-{number}-{d}-{m}" for m in range(count)])
                batch.append(played + [None] * (ITEMS - count))
            number += 1
            try:
                p.write(batch, offset=number, tag=found["version"], samples=uids)
            except bw.errors.Sealed:
                return
            time.sleep(rng.uniform(0.02, 0.1))


# ---- trainer

def digest(microbatch: dict[Any, Any]) -> str:
    return hashlib.sha256(b"".join(microbatch[name].numpy().tobytes() for name in sorted(microbatch))).hexdigest()[:16]


class Trainer:
    """One process with the loaders of both positions, so that the story fits a page."""

    def __init__(self, url: str, folder: Path, launch: str, **settings: Any) -> None:
        self.folder, self.version = folder, 0
        self.model = policy()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.loader = Loader(url, group="learner", launch=launch, dp=(0, 1), filter=self.fresh, **settings)
        self.told: dict[Any, Any] = {}

    def fresh(self, tag: int) -> bool:
        return tag >= self.version - STALE

    def state(self) -> dict[Any, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "version": self.version,
                "step": self.loader.step, "data": self.loader.state_dict()}

    def restore(self, state: dict[Any, Any], data: bool = True) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.version = state["version"]
        if data:
            self.loader.load_state_dict(state["data"])

    def step(self) -> float:
        """One step of the data, whatever number of rollouts it has. Mean reward."""
        rewards, seen = 0.0, 0
        while True:
            microbatch = next(self.loader)
            if not self.loader.pad:
                self.told[self.loader.step, self.loader.microbatch] = (self.loader.tag, digest(microbatch))
                chosen = self.model(microbatch["contexts"]).log_softmax(1).gather(1, microbatch["arms"][:, None])[:, 0]
                (-(chosen * (microbatch["rewards"] - 0.2)).mean()).backward()
                rewards, seen = rewards + microbatch["rewards"].sum().item(), seen + len(chosen)
            if self.loader.is_last_microbatch:
                break
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.version += 1
        publish(self.folder, self.version, self.model)
        return rewards / seen


def story(folder: Path) -> None:
    url = f"file://{folder}/rollouts"
    bw.init(url, dp=2, items=ITEMS)
    publish(folder, 0, policy())
    workers = [subprocess.Popen([sys.executable, __file__, "--work", url, str(folder), str(n)]) for n in range(2)]
    try:
        learner = Trainer(url, folder, "first")
        means: list[float] = []
        saved: dict[Any, Any] = {}
        for n in range(STEPS):
            if n == BACK:
                with learner.loader.checkpoint("back"):
                    saved = learner.state()
            if n == BACK + 4:
                workers[0].send_signal(signal.SIGKILL)  # a worker that is lost holds nobody up
            means.append(learner.step())
        first, where = learner.told, learner.loader.step
        learner.loader.close()
        print(f"{STEPS} steps; mean reward {np.mean(means[:4]):.2f}, then {np.mean(means[-4:]):.2f}; "
              f"policies {min(t for t, _ in first.values())} to {max(t for t, _ in first.values())}")
        assert max(tag for tag, _ in first.values()) > 0, "no rollout came of a newer policy"

        again = Trainer(url, folder, "rolled back")
        again.restore(saved)
        for _ in range(STEPS - BACK):
            again.step()
        replayed = {place: told for place, told in first.items() if place in again.told}
        assert again.told == replayed and again.loader.step == where, "the replay met other rollouts"
        again.loader.close()
        print(f"rolled back to version {saved['version']}: {len(replayed)} rollouts replayed, the same to the byte")

        tip = Trainer(url, folder, "tip", skip_to_tip=True, cursor=bw.Cursor(saved["data"]["cursor"]))
        tip.restore(saved, data=False)
        tip.version = 0  # whatever comes is wanted
        newest = bw.Space(url).info()["next_step"]
        tip.step()
        assert tip.loader.step >= newest - 1, "stale rollouts were handed out"
        tip.loader.close()
        print(f"or on at the tip: from step {saved['step']} straight to step {newest}")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", nargs=3, metavar=("URL", "FOLDER", "INDEX"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work[0], Path(arguments.work[1]), int(arguments.work[2]))
        return
    folder = Path(tempfile.mkdtemp(prefix="batchweave-rl-"))
    try:
        story(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
