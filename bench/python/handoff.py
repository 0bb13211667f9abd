#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs a trainer to be handed the next item, beside a torch DataLoader in the same run.

    tools/python run bench/python/handoff.py [-o json] [--quick] [--rounds 5] [--folder DIR]

In turns, medians of the rounds with the least and the greatest of them:

  next            Consumer.next of an item that was read ahead and verified; letting go of it (a thread of the
                  library unmaps it); the least that is possible (mmap and frombuffer, nothing verified); a
                  DataLoader with one worker and prefetch_factor=4. `next` is measured where the item is ready
                  while others are read, which fills the caches with them; `rested` where nothing is being read:
                  there the window is small, and half of the calls wake a thread that refills it. What a trainer
                  waits when its data is late is `wait`.
  loader          batchweave.torch.Loader beside it, which makes tensors of it
  copy            read into memory that the caller lent (a pinned ring), and verified, beside preadv of the
                  same files into such a ring, unverified: bytes a second
  wait            64 loops, each of which has a step's time between two items, while a producer makes 1.1
                  times what they use: how long a rank waits for its data
  import          batchweave and batchweave.torch, beyond what numpy and torch take

A JSON line a row, as `batchweave bench` has them; ratio: by which factor, or share, of the row's peer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

import numpy as np

import batchweave as bw

KB100, MB1, MB10 = 100_000, 1_000_000, 10_000_000
NAMES = {KB100: "100KB", MB1: "1MB", MB10: "10MB"}
ITEMS = {KB100: 2000, MB1: 400, MB10: 60}
TIMES_LESS = {KB100: 200.0, MB1: 400.0, MB10: 2000.0}
AHEAD, RING = 8, 6
WORK = bytes(1 << 16)
Laps = List[float]


class Row(NamedTuple):
    """`values` and `ratios`: one a round. `limit` bounds the median of what is `judged`, from `bound`."""

    name: str
    unit: str
    values: Sequence[float]
    ratios: Sequence[float] = ()
    judged: Optional[str] = None
    bound: Optional[str] = None
    limit: Optional[float] = None

    def told(self) -> Dict[str, Any]:
        value = statistics.median(self.values)
        ratio = statistics.median(self.ratios) if self.ratios else None
        measured = ratio if self.judged == "ratio" else value
        kept = None
        if self.limit is not None and measured is not None:
            kept = measured <= self.limit if self.bound == "<=" else measured >= self.limit
        return {"name": self.name, "value": value, "unit": self.unit, "limit": self.limit, "ratio": ratio,
                "judged": self.judged, "bound": self.bound, "kept": kept, "value_min": min(self.values),
                "value_max": max(self.values), "ratio_min": min(self.ratios, default=None),
                "ratio_max": max(self.ratios, default=None), "series": None}


def percentile(laps: Laps, share: float) -> float:
    ordered = sorted(laps)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def each_round(rounds: int, ways: Dict[str, Callable[[], Laps]], share: float) -> Dict[str, List[float]]:
    """By way, in turns: that percentile of each round, in µs."""
    got: Dict[str, List[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, measure in ways.items():
            got[way].append(percentile(measure(), share) * 1e6)
    return got


# ---- one item

def fill(url: str, size: int, items: int) -> None:
    bw.init(url, dp=1, producers=1, durable=False)
    block = os.urandom(size)
    with bw.Producer(url, "p", kind="raw", policy="naive", durable=False, events=0) as p:
        for n in range(items):
            p.write([[block]], offset=n + 1)
        p.finish()


def compute() -> None:
    """For some 0.2 ms, with the interpreter's lock let go, as a trainer does: in a sleep its core would grow cold."""
    hashlib.sha256(WORK)


def ready(consumer: bw.Consumer, items: int, rest: bool = False) -> Iterator[None]:
    """Before each item: it has been read ahead; `rest`: and so has all that was begun."""
    def lies_there() -> bool:
        told = consumer.stats()
        return bool(told["ready"] == told["window"] > 0 if rest else told["ready"] > 0)

    for _ in range(items):
        compute()
        while not lies_there():
            compute()
        yield


def next_item(url: str, items: int, release: bool = False, rest: bool = False) -> Laps:
    laps = []
    with bw.Consumer(url, memory="1GiB") as consumer:
        for _ in ready(consumer, items, rest):
            begin = time.perf_counter()
            item = consumer.next()
            handed = time.perf_counter()
            item.release()
            ended = time.perf_counter()
            laps.append(ended - handed if release else handed - begin)
    return laps


def next_microbatch(url: str, items: int) -> Laps:
    import batchweave.torch

    laps = []
    with batchweave.torch.Loader(url, dp=(0, 1), memory="1GiB") as loader:
        for _ in ready(loader.consumer, items):
            begin = time.perf_counter()
            next(loader)
            laps.append(time.perf_counter() - begin)
    return laps


def ring(size: int) -> List[Any]:
    """Buffers for slices of one item, aligned as items are, with all their pages there."""
    room = 4096 + size * 5 // 4 // 64 * 64
    made = [np.zeros(room + 64, np.uint8) for _ in range(RING)]
    return [raw[-raw.ctypes.data % 64:][:room] for raw in made]


def copying(url: str, size: int, items: int) -> Laps:
    """Read into memory that was lent, and verified: the time of each, of all together."""
    buffers = ring(size)
    with bw.Consumer(url, memory="1GiB", lend=True) as consumer:
        begin = time.perf_counter()
        for buffer in buffers:
            consumer.lend(buffer)
        for _ in range(items):
            consumer.next(120).release()
        took = time.perf_counter() - begin
        told = consumer.stats()
        if told["lent_missed"] > 0:
            raise SystemExit(f"{told['lent_missed']} slices did not come to lie in lent memory")
    return [took / items]


def bare_map(path: str, items: int) -> Laps:
    laps = []
    for _ in range(items):
        fd = os.open(path, os.O_RDONLY)
        size = os.fstat(fd).st_size
        begin = time.perf_counter()
        view = np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
        laps.append(time.perf_counter() - begin)
        os.close(fd)
        del view
    return laps


def positioned_read(url: str, size: int, items: int) -> Laps:
    """The same files into such a ring; opening them is not counted."""
    buffers = ring(size)
    took, count = 0.0, 0
    for folder, _, names in os.walk(url.removeprefix("file://")):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.getsize(path) < size:
                continue
            fd = os.open(path, os.O_RDONLY)
            begin = time.perf_counter()
            read = os.preadv(fd, [memoryview(buffers[count % RING])[:size]], 0)
            took, count = took + time.perf_counter() - begin, count + 1
            os.close(fd)
            if read != size:
                raise SystemExit(f"{path} gave {read} bytes")
    if count != items:
        raise SystemExit(f"{count} files of items where {items} are expected")
    return [took / items]


def data_loader(path: str, items: int) -> Laps:
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    class Blocks(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            with open(path, "rb") as file:
                block = file.read()
            for _ in range(items):
                yield torch.frombuffer(bytearray(block), dtype=torch.uint8)

    laps = []
    source = iter(DataLoader(Blocks(), batch_size=None, num_workers=1, prefetch_factor=4))
    next(source)
    for _ in range(items - 1):
        begin = time.perf_counter()
        next(source)
        laps.append(time.perf_counter() - begin)
    return laps


def of_size(size: int, folder: str, rounds: int, quick: bool) -> Iterator[Row]:
    url, path, items = f"file://{folder}/{size}", os.path.join(folder, "block"), 12 if quick else ITEMS[size]
    fill(url, size, items)
    with open(path, "wb") as file:
        file.write(os.urandom(size))
    name = NAMES[size]
    got = each_round(rounds, {
        "next": lambda: next_item(url, items), "rested": lambda: next_item(url, items, rest=True),
        "release": lambda: next_item(url, items, release=True),
        "loader": lambda: next_microbatch(url, items), "map": lambda: bare_map(path, items),
        "DataLoader": lambda: data_loader(path, items), "copy": lambda: copying(url, size, items),
        "preadv": lambda: positioned_read(url, size, items)}, 0.5)

    def times_less(way: str) -> List[float]:
        return [peer / own for peer, own in zip(got["DataLoader"], got[way])]

    yield Row(f"handoff.next.{name}", "us", got["next"], judged="value", bound="<=", limit=2.0)
    yield Row(f"handoff.next.{name}.beside_dataloader", "us", got["next"], times_less("next"), "ratio", ">=",
              TIMES_LESS[size])
    yield Row(f"handoff.rested.{name}", "us", got["rested"])
    yield Row(f"handoff.mmap.{name}", "us", got["map"])
    yield Row(f"handoff.dataloader.{name}", "us", got["DataLoader"])
    yield Row(f"handoff.release.{name}", "us", got["release"])
    yield Row(f"handoff.loader.{name}.beside_dataloader", "us", got["loader"], times_less("loader"))
    speeds = [size / lap / 1e3 for lap in got["copy"]]
    yield Row(f"handoff.copy.{name}.beside_preadv", "GB/s", speeds,
              [peer / own for peer, own in zip(got["preadv"], got["copy"])], "ratio", ">=", 0.9)


# ---- many ranks

def ranks_wait(folder: str, ranks: int, steps: int, step_s: float, supply: float, size: int) -> Laps:
    """Waits for data of all ranks, of which each has `step_s` between two items, while a producer makes `supply`
    times what they use. They begin when AHEAD steps are there: a model takes longer to load. A rank is a thread."""
    url = f"file://{folder}/wait-{time.monotonic_ns()}"
    bw.init(url, dp=ranks, producers=1, durable=False)
    program = [sys.executable, "-c", PRODUCE, url, str(ranks), str(steps), str(step_s / supply), str(size)]
    waits: List[Laps] = [[] for _ in range(ranks)]
    space = bw.Space(url)
    consumers = [bw.Consumer(space, dp=(d, ranks)) for d in range(ranks)]
    start = threading.Barrier(ranks)

    def loop(d: int) -> None:
        consumer = consumers[d]
        consumer.next(120).release()
        while consumer.stats()["next_step"] < min(AHEAD, steps):
            time.sleep(0.01)
        start.wait()
        due = time.perf_counter()
        for _ in range(steps - 1):
            due += step_s
            time.sleep(max(0.0, due - time.perf_counter()))
            begin = time.perf_counter()
            item = consumer.next(120)
            waits[d].append(time.perf_counter() - begin)
            item.release()

    producer = subprocess.Popen(program, stdin=subprocess.DEVNULL)
    threads = [threading.Thread(target=loop, args=(d,)) for d in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if producer.wait() != 0:
        raise SystemExit("the producer failed")
    for consumer in consumers:
        consumer.close()
    space.close()
    return [lap for laps in waits for lap in laps]


PRODUCE = """
import sys, time
import batchweave as bw
url, ranks, steps, pause, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
block = bytes(size)
with bw.Producer(url, "p", kind="raw", policy="fixed:20", durable=False, events=0) as p:
    due = time.perf_counter()
    for step in range(steps):
        p.write([[block]] * ranks, offset=step + 1)
        due += pause
        time.sleep(max(0.0, due - time.perf_counter()))
    p.finish()
"""


def waiting(folder: str, rounds: int, quick: bool) -> Iterator[Row]:
    ranks, steps, step_s, supply = (4, 20, 0.02, 1.5) if quick else (64, 300, 0.1, 1.1)
    laps = [ranks_wait(folder, ranks, steps, step_s, supply, 64_000) for _ in range(rounds)]
    yield Row(f"handoff.wait.{ranks}_ranks.p50", "us", [percentile(lap, 0.5) * 1e6 for lap in laps])
    yield Row(f"handoff.wait.{ranks}_ranks.p99", "us", [percentile(lap, 0.99) * 1e6 for lap in laps],
              judged="value", bound="<=", limit=1000.0)


# ---- import

IMPORT = """
import time
import {before}
began = time.perf_counter()
import {wanted}
print(time.perf_counter() - began)
"""


def importing(rounds: int, quick: bool) -> Iterator[Row]:
    """The first leaves its compiled code behind, as an installation has it, and is not counted."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once(program: str) -> float:
        done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, env=environment)
        return 1e3 * float(done.stdout)

    for wanted, before in (("batchweave", "numpy"), ("batchweave.torch", "numpy, torch")):
        program = IMPORT.format(wanted=wanted, before=before)
        once(program)
        took = [once(program) for _ in range(1 if quick else 2 * rounds)]
        yield Row(f"handoff.import.{wanted}", "ms", took, judged="value", bound="<=", limit=50.0)


def rows(folder: str, rounds: int, quick: bool, only: Sequence[str]) -> Iterator[Row]:
    if not only or "next" in only:
        for size in (KB100, MB1, MB10):
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                yield from of_size(size, inner, rounds, quick)
    if not only or "wait" in only:
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            yield from waiting(inner, rounds, quick)
    if not only or "import" in only:
        yield from importing(rounds, quick)


def text_of(told: Dict[str, Any]) -> str:
    spread = f"({told['value_min']:.2f} to {told['value_max']:.2f})"
    line = f"{told['name']:<42} {told['value']:10.2f} {told['unit']:<5} {spread}"
    if told["ratio"] is not None:
        line += f"   ratio {told['ratio']:.2f} ({told['ratio_min']:.2f} to {told['ratio_max']:.2f})"
    if told["limit"] is not None:
        line += f"   {told['bound']} {told['limit']:g}: {'kept' if told['kept'] else 'MISSED'}"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], choices=["next", "wait", "import"], help="default: all")
    parser.add_argument("-o", choices=["text", "json"], default="text")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny budgets: every row is made, no figure means a thing")
    arguments = parser.parse_args()
    for row in rows(arguments.folder, 1 if arguments.quick else arguments.rounds, arguments.quick, arguments.only):
        told = row.told()
        print(json.dumps(told) if arguments.o == "json" else text_of(told), flush=True)


if __name__ == "__main__":
    main()
