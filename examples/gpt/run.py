#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The whole story in one command: producers and a trainer that are killed, and the proof that it made no difference.

    python examples/gpt/run.py [--small]

Three producers pack Python's own sources online, each killed with -9 again and again. A first job
trains undisturbed. A second one trains on the same data, is killed with -9, resumes, is set back to
an older checkpoint, and what its checkpoints no longer need is deleted behind it. Then every tensor
that entered forward() on any rank at any step, and every loss, must be equal bit for bit. A third job
changes its size on the way: 4 ranks, 2, 4.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import batchweave as bw
from corpus import Documents

HERE = Path(__file__).resolve().parent


class Story:
    def __init__(self, folder: Path, small: bool) -> None:
        self.folder = folder
        self.url = f"file://{folder}/data"
        self.ranks, self.producers = (2, 2) if small else (4, 3)
        self.documents, self.kills, self.interval = (10, 1, 2) if small else (60, 4, 5)
        self.pause = 0.02
        self.rng = random.Random(7)
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(
            [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]), "GLOO_SOCKET_IFNAME": "lo"}

    # ---- producers

    def produce(self, shard: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, HERE / "produce.py", self.url, "--shard", f"{shard}/{self.producers}",
                                 "--documents", str(self.documents), "--pause", str(self.pause)], env=self.environment)

    def all_produced(self) -> int:
        """Every producer is killed `kills` times; how many kills met a producer in the midst of its work."""
        running = {shard: self.produce(shard) for shard in range(self.producers)}
        left = {shard: self.kills for shard in running}
        hits = 0
        while running:
            time.sleep(self.rng.uniform(0.4, 0.9))
            for shard, process in list(running.items()):
                code = process.poll()
                if code == 0:
                    del running[shard]
                elif code is None and left[shard] > 0 and self.rng.random() < 0.5:
                    process.kill()
                    process.wait()
                    left[shard] -= 1
                    hits += 1
                    running[shard] = self.produce(shard)
                elif code is not None:
                    raise SystemExit(f"producer {shard} ended with {code}")
        return hits

    def every_token_once(self) -> int:
        """Documents and tokens of all steps, against the input. How many steps."""
        documents = Documents(0, 1, self.documents)
        wanted = sum(len(documents[index]) for index in range(len(documents)))
        with bw.Space(self.url) as space:
            steps = int(space.info()["next_step"])
            rows = [space.samples(step) for step in range(steps)]
        named = {name for row in rows for slice in row["slices"] for name in slice["samples"]}
        got = sum(row["tokens"] for row in rows)
        if got != wanted or len(named) != len(documents):
            raise SystemExit(f"{got} tokens of {len(named)} documents; the input has {wanted} of {len(documents)}")
        return steps

    # ---- trainers

    def train(self, group: str, ranks: int, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
             "--rdzv-id", f"{group}-{time.time_ns()}", HERE / "train.py", self.url, "--group", group,
             "--folder", self.folder / group, "--interval", str(self.interval), *options], env=self.environment)

    def trained(self, group: str, ranks: int, *options: str) -> None:
        if self.train(group, ranks, *options).wait() != 0:
            raise SystemExit(f"the job {group} failed")

    def killed(self, group: str, step: int) -> None:
        """Trains until it is behind `step`, then kills every rank."""
        process = self.train(group, self.ranks)
        log = self.folder / group / f"log-{self.ranks}-0.jsonl"
        while process.poll() is None and last_step(log) < step:
            time.sleep(0.05)
        if process.poll() is not None:
            raise SystemExit(f"the job {group} ended before it was killed")
        kill_job(process)

    def hold(self, group: str) -> None:
        """The group begins now: its data is kept from step 0 on."""
        bw.Consumer(self.url, group=group, launch="begin", dp=(0, self.ranks)).close()


def kill_job(process: subprocess.Popen[bytes]) -> None:
    """With -9: torchrun, and the ranks, each of which it has put into a session of its own."""
    ranks = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, parent = stat.parent.name, stat.read_text(encoding="latin-1").rpartition(")")[2].split()[1]
            if int(parent) == process.pid:
                ranks.append(int(pid))
    for rank in (process.pid, *ranks):
        os.kill(rank, signal.SIGKILL)
    process.wait()


def last_step(log: Path) -> int:
    lines = log.read_text(encoding="ascii").splitlines() if log.is_file() else []
    return int(json.loads(lines[-1])["step"]) if lines else -1


def logged(folder: Path, ranks: int) -> dict[Any, Any]:
    """(rank, step, microbatch) → (digest, loss); what was trained twice must be the same twice."""
    told: dict[Any, Any] = {}
    for rank in range(ranks):
        for line in (folder / f"log-{ranks}-{rank}.jsonl").read_text(encoding="ascii").splitlines():
            row = json.loads(line)
            key, value = (rank, row["step"], row["microbatch"]), (row["digest"], row["loss"])
            if told.setdefault(key, value) != value:
                raise SystemExit(f"rank {rank}, step {row['step']}: trained twice, on different data or weights")
    return told


def batches(told: dict[Any, Any]) -> dict[Any, Any]:
    """step → (digests of all microbatches of all ranks, mean loss): what a change of size keeps."""
    steps: dict[Any, Any] = {}
    for (rank, step, _), (sha, loss) in told.items():
        steps.setdefault(step, []).append((sha, loss, rank))
    return {step: (sorted(sha for sha, _, _ in rows), sum(loss for _, loss, _ in rows) / len({r for _, _, r in rows}))
            for step, rows in steps.items()}


def resize(story: Story, reference: dict[Any, Any], steps: int) -> None:
    """All ranks, half of them, all again: the global batches stay, and the losses but for rounding."""
    half = max(1, story.ranks // 2)
    story.trained("resized", story.ranks, "--stop", str(steps // 3 // story.interval * story.interval))
    story.trained("resized", half, "--stop", str(steps * 2 // 3 // story.interval * story.interval))
    story.trained("resized", story.ranks)
    wanted = batches(reference)
    got = {**batches(logged(story.folder / "resized", story.ranks)), **batches(logged(story.folder / "resized", half))}
    apart = max(abs(got[step][1] - wanted[step][1]) for step in wanted)
    if any(got[step][0] != wanted[step][0] for step in wanted) or apart > 1e-2:
        raise SystemExit(f"the job that changed its size met other batches, or losses {apart} apart")
    print(f"resized {story.ranks}, {half}, {story.ranks}: the same global batches at all {len(wanted)} steps; "
          f"losses at most {apart:.2e} apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="2 ranks, 2 producers, one kill, no resize: a minute")
    parser.add_argument("--folder", type=Path, help="where everything is kept; default: a temporary one, removed")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="batchweave-gpt-"))
    story = Story(folder, arguments.small)
    bw.init(story.url, dp=story.ranks, items=2, producers=story.producers)
    for group in ("undisturbed", "killed") if arguments.small else ("undisturbed", "killed", "resized"):
        story.hold(group)
    hits = story.all_produced()
    steps = story.every_token_once()
    print(f"produced {steps} steps with every token of {story.documents} documents once; "
          f"producers were killed {hits} times")

    story.trained("undisturbed", story.ranks)
    reference = logged(folder / "undisturbed", story.ranks)

    if not arguments.small:
        story.killed("killed", steps // 3)
    story.killed("killed", steps * 2 // 3)
    newest = sorted(path for path in (folder / "killed").glob("step-*") if (path / ".metadata").is_file())[-1]
    shutil.rmtree(newest)
    print(f"set back behind {newest.name}")
    story.trained("killed", story.ranks)
    disturbed = logged(folder / "killed", story.ranks)
    if disturbed != reference:
        raise SystemExit("the job that was killed trained on other data, or came to other losses")
    print(f"equal bit for bit: {len(reference)} microbatches on {story.ranks} ranks, digests and losses")

    if not arguments.small:
        resize(story, reference, steps)

    with bw.Space(story.url, mode="write") as space:
        space.sweep(apply=True)
        swept = space.info()["swept_step"]
    if swept == 0:
        raise SystemExit("nothing was swept, although checkpoints have moved on")
    print(f"swept up to step {swept} of {steps}: what no checkpoint needs is gone")
    if arguments.folder is None:
        shutil.rmtree(folder)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
