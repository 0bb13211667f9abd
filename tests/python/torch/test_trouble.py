# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong beside a training job: a worker of the preprocessing dies, the store takes nothing, the
disk is full. The trainer goes on where it can, and else stops with the reason; it never hangs."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest
from typing import Any, Iterator, List, Optional

import torch.distributed

import batchweave
from batchweave import errors
from batchweave.torch import Loader
from feed import HERE, Feed, Job, rows

STEPS, AT, BYTES = 9, 4, 4096
PATIENCE_S = 300


def trained(rank: int, url: str) -> Any:
    """To the end of the data, in step with the other rank."""
    seen = []
    with Loader(url, group="job") as loader:
        for microbatch in loader:
            seen.append([loader.step, microbatch["x"].tolist()])
            torch.distributed.all_reduce(microbatch["x"].sum())
    return seen


def starved(rank: int, url: str) -> Any:
    """Until nothing comes any more: how many microbatches there were, and why there are no more."""
    count = 0
    with Loader(url, group="job", timeout=1.0) as loader:
        while True:
            try:
                microbatch = next(loader)
            except errors.Starved as error:
                return [count, error.code, str(error)]
            torch.distributed.all_reduce(microbatch["x"].sum())
            count += 1


@contextlib.contextmanager
def memory_cgroup(limit: int) -> Iterator[Optional[str]]:
    """A cgroup of so many bytes; None where this process may make none."""
    own = f"batchweave-{os.getpid()}"
    for top, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = pathlib.Path(top) / own
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(limit))
            for swap in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
                with contextlib.suppress(OSError):
                    (folder / swap).write_text(str(limit if "memsw" in swap else 0))
            yield str(folder)
            return
        except (OSError, FileNotFoundError):
            continue
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
    yield None


class Workers(Feed):
    """Of two ranks, and the one process that preprocesses for them."""

    def worker(self, *more: str) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, str(HERE / "worker.py"), self.url, str(STEPS), str(BYTES), *more]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S,
                              check=False)

    def dies(self, how: str, *more: str) -> "subprocess.CompletedProcess[str]":
        """Steps 0 to AT - 1 are there, step AT is not."""
        dead = self.worker("--how", how, "--at", str(AT), *more)
        with batchweave.Space(self.url) as space:
            self.assertEqual(space.info()["next_step"], AT, dead.stdout)
        return dead

    def job_goes_on(self, how: str, *more: str) -> "subprocess.CompletedProcess[str]":
        """The job waits for the worker that died, and what comes is what would have come."""
        batchweave.init(self.url, dp=2, items=2, durable=False, producers=1)
        job = Job(self, trained, 2, self.url)
        dead = self.dies(how, *more)
        again = self.worker()
        self.assertEqual(again.returncode, 0, again.stdout)
        for d, seen in enumerate(job.answers()):
            self.assertEqual(seen, [[step, rows(step)[d * 4 + m * 2:d * 4 + m * 2 + 2].tolist()]
                                    for step in range(STEPS) for m in range(2)])
        return dead

    def test_segfault(self) -> None:
        self.assertEqual(self.job_goes_on("segfault").returncode, -signal.SIGSEGV)

    def test_kill(self) -> None:
        self.assertEqual(self.job_goes_on("kill").returncode, -signal.SIGKILL)

    def test_limit_of_memory(self) -> None:
        """Python says it, and what was not whole is not published."""
        dead = self.job_goes_on("limit")
        self.assertEqual(dead.returncode, 1, dead.stdout)
        self.assertRegex(dead.stdout, "MemoryError|OutOfMemory|NOMEM")

    def test_oom_killer(self) -> None:
        with memory_cgroup(256 << 20) as folder:
            if folder is None:
                self.skipTest("NOT COVERED HERE: a worker that the kernel kills for its memory; no cgroup can be made")
            dead = self.job_goes_on("oom", "--cgroup", folder)
            self.assertEqual(dead.returncode, -signal.SIGKILL, dead.stdout)

    def test_one_that_nobody_starts_again(self) -> None:
        """Both ranks stop at one step, and know why."""
        batchweave.init(self.url, dp=2, items=2, durable=False, producers=1)
        self.dies("kill")
        for count, code, text in self.job(starved, 2, self.url):
            self.assertEqual((count, code), (2 * AT, "STARVED"))
            for part in (f"waiting for step {AT}", f"newest step is {AT - 1}", "producers: 1, of which 1 not finished",
                         "last commit is", "no limit stops the producers"):
                self.assertIn(part, text)


def in_own_mounts(*words: str) -> List[str]:
    """The command, in a mount namespace of its own, which ends with it; [] where that is not allowed."""
    for prefix in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if shutil.which("unshare") is None:
            break
        trial = subprocess.run([*prefix, "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"], check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if trial.returncode == 0:
            return [*prefix, *words]
    return []


class Store(Feed):
    """What the store does to a job, on a file system of its own (trouble.py)."""

    def told(self, scenario: str) -> Any:
        words = in_own_mounts(sys.executable, str(HERE / "trouble.py"), scenario, self.folder.name)
        if not words:
            self.skipTest(f"NOT COVERED HERE: {scenario}; no file system can be mounted")
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_read_only_for_a_while(self) -> None:
        told = self.told("readonly")
        code, said = told["worker"]
        self.assertEqual(code, 1, said)
        self.assertIn("Read-only file system", said)
        # What was there was read; then the reason, and nobody waits for ever but the pin, which may.
        self.assertIn(told["there"], (5, 6))
        self.assertIn(f"waiting for step {told['there']}", told["why"])
        self.assertIn("of which 1 not finished", told["why"])
        self.assertTrue(told["pin waits"])
        # It can be written again: everything goes on, the data is what it would have been.
        self.assertEqual([told[what] for what in ("last", "exact", "again", "pins")],
                         ["the end", True, 0, ["meanwhile"]])

    def test_full_until_checkpoints_make_room(self) -> None:
        told = self.told("full")
        self.assertEqual((told["last"], told["exact"], told["worker"]), ("the end", True, [0, ""]))

    def test_full_for_good(self) -> None:
        told = self.told("stuck")
        code, said = told["worker"]
        self.assertEqual(code, 1, said)
        self.assertIn("No space left on device", said)
        self.assertTrue(told["prefix"])
        self.assertTrue(4 <= told["there"] <= 7, told["there"])
        self.assertIn(f"waiting for step {told['there']}", told["why"])


if __name__ == "__main__":
    unittest.main()
