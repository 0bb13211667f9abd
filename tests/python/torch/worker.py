# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A preprocessing worker that something happens to.

It publishes the steps that are missing, of so many bytes each. With --how it dies when --at steps are on
the chain and one more was handed over: of a null pointer, of kill -9, of a limit to its address space, or
by the kernel, for it outgrew its --cgroup.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import signal
import time
from typing import Any, Dict, List

import numpy

import batchweave


def batch(step: int, size: int) -> Dict[str, Any]:
    """Eight samples that tell their step, as feed.rows has them, and noise."""
    rows = numpy.arange(step * 16, (step + 1) * 16, dtype=numpy.int64).reshape(8, 2)
    noise = numpy.random.default_rng(step).integers(0, 256, (8, size // 8), dtype=numpy.uint8)
    return {"x": rows, "noise": noise}


def grow() -> None:
    """As a leak does."""
    kept: List[Any] = []
    while len(kept) < 4096:
        kept.append(numpy.ones(1 << 20, numpy.uint8))
    raise SystemExit("nothing has stopped 4 GiB")


def happen(how: str, group: str) -> None:
    if how == "segfault":
        ctypes.string_at(0)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "limit":
        with open("/proc/self/statm", encoding="ascii") as told:
            now = int(told.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (64 << 20), -1))
        grow()
    elif how == "oom":
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(os.getpid()))
        grow()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("steps", type=int)
    parser.add_argument("bytes", type=int)
    parser.add_argument("--how", default="", choices=["segfault", "kill", "limit", "oom"])
    parser.add_argument("--at", type=int, default=-1)
    parser.add_argument("--cgroup", default="")
    parser.add_argument("--wait", default="", help="before step --at, until this file is gone")
    parser.add_argument("--patience", type=float, help="seconds that a write may take")
    told = parser.parse_args()
    # Commits when it is flushed, so that what is on the chain is known.
    with batchweave.Producer(told.url, "p", policy="fixed:3600000" if told.how else "fixed:20", durable=False,
                             staged_bytes="4MiB") as producer:
        for step in range(producer.resume_offset, told.steps):
            while told.wait and step == told.at and os.path.exists(told.wait):
                time.sleep(0.02)
            producer.write(batch(step, told.bytes), offset=step + 1, timeout=told.patience)
            if step == told.at:
                happen(told.how, told.cgroup)
            if told.how:
                producer.flush(urgent=True)
        producer.finish()


if __name__ == "__main__":
    main()
