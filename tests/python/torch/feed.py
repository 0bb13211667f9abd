# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of batchweave.torch share: namespaces with known data, and jobs of several processes."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest
from typing import Any, Callable, Dict, List, Sequence

import numpy
import torch
import torch.distributed

import batchweave

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
JOB_S = 240.0
# Ranks are forked: no pool of threads may be running.
torch.set_num_threads(1)
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def rows(step: int, batch: int = 8) -> "numpy.ndarray[Any, Any]":
    """The samples of a global batch: no two alike in all steps."""
    return numpy.arange(step * batch * 2, (step + 1) * batch * 2, dtype=numpy.int64).reshape(batch, 2)


def publish(url: str, steps: Sequence[int], *, finish: bool = False, id: str = "p", kind: str = "safetensors") -> None:
    """Steps of 8 samples, tag step % 3; samples ids s<step>.<row>."""
    with batchweave.Producer(url, id, kind=kind) as producer:
        items = producer.space.items
        for step in steps:
            described: Dict[str, Any] = {"offset": step + 1, "tag": step % 3, "tokens": 10 * step + 1,
                                         "samples": [f"s{step}.{k}" for k in range(8)]}
            if kind == "safetensors":
                producer.write({"x": rows(step)}, **described)
            else:
                cut = rows(step).reshape(producer.space.dp, items, -1)
                producer.write([[cut[d, m].tobytes() for m in range(items)] for d in range(producer.space.dp)],
                               **described)
        if finish:
            producer.finish()


class Feed(unittest.TestCase):
    """A namespace in a folder of its own."""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(gc.collect)  # what a test left open goes on sweeping there, until it is collected
        self.url = os.path.join(self.folder.name, "space")

    def space(self, dp: int = 2, items: int = 2, steps: int = 6, finish: bool = True, **settings: Any) -> str:
        """dp × items, `steps` published, then sealed."""
        kind = settings.pop("kind", "safetensors")
        if finish:
            settings["producers"] = 1
        batchweave.init(self.url, dp=dp, items=items, durable=False, **settings)
        publish(self.url, range(steps), finish=finish, kind=kind)
        return self.url

    def job(self, run: Callable[..., Any], world: int, *arguments: Any) -> List[Any]:
        """What `run(rank, *arguments)` answered in each of `world` processes joined by gloo."""
        return Job(self, run, world, *arguments).answers()


class Job:
    """Processes of their own, forked from this one, where torch is imported already."""

    def __init__(self, case: Feed, run: Callable[..., Any], world: int, *arguments: Any) -> None:
        self._case = case
        self._folder = tempfile.mkdtemp(dir=case.folder.name)
        self.ranks = [self._start(run, rank, world, arguments) for rank in range(world)]
        self._open = set(self.ranks)
        case.addCleanup(self.kill)

    def _start(self, run: Callable[..., Any], rank: int, world: int, arguments: Sequence[Any]) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process != 0:
            return process
        code = 1
        try:
            torch.distributed.init_process_group("gloo", init_method=f"file://{self._folder}/meeting", rank=rank,
                                                 world_size=world)
            answer = json.dumps(run(rank, *arguments))
            with open(os.path.join(self._folder, str(rank)), "w", encoding="utf-8") as told:
                told.write(answer)
            torch.distributed.barrier()
            code = 0
        except BaseException:  # noqa: B902: whatever it is, this process ends here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def kill(self) -> None:
        """kill -9 of all ranks that still run."""
        for rank in list(self._open):
            os.kill(rank, 9)
            os.waitpid(rank, 0)
            self._open.discard(rank)

    def answers(self) -> List[Any]:
        """Waits until all have ended well."""
        until = time.monotonic() + JOB_S
        codes: Dict[int, int] = {}
        while self._open and time.monotonic() < until:
            for rank in list(self._open):
                ended, status = os.waitpid(rank, os.WNOHANG)
                if ended:
                    codes[rank] = os.waitstatus_to_exitcode(status)
                    self._open.discard(rank)
            time.sleep(0.01)
        self._case.assertEqual([codes.get(rank, "hangs") for rank in self.ranks], [0] * len(self.ranks))
        answers = []
        for rank in range(len(self.ranks)):
            with open(os.path.join(self._folder, str(rank)), encoding="utf-8") as told:
                answers.append(json.load(told))
        return answers
