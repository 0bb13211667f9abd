# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs a trainer to be handed the next item: one side of E9, all payloads.

First next of an item that is ready, with code and caches warm. Then next after the trainer has computed for a while,
as it does. The same again with a copy of all bytes into memory of the trainer's, which shows what a view has put off.
Then, without pauses, how much passes and at what cost of processor, start included.

    {"side": "litdata", "folder": "/dev/shm/x", "payloads": [[100000, 300, 0.002], …]}      bytes, items, pause
"""

import contextlib
import hashlib
import importlib
import os
import sys
import time
from typing import Any, Callable, Iterator, NamedTuple

import blocks
import side


class Way(NamedTuple):
    """`write` makes what `items` hands out one by one; `flat` gives an item's bytes."""

    write: Callable[[str, int, int], None]
    items: Callable[[str, int, int], Iterator[Any]]
    flat: Callable[[Any], memoryview]
    settings: Callable[[], dict[str, Any]]
    ahead: bool = True                   # it reads ahead in threads or processes of its own


def nothing(folder: str, size: int, items: int) -> None:
    del folder, size, items


def of_tensor(tensor: Any) -> memoryview:
    return memoryview(tensor.numpy())


def static(name: str) -> Way:
    module = importlib.import_module(f"static_{name}")
    return Way(module.write, lambda folder, size, items: module.items(folder), module.flat, module.settings,
               name == "streaming")


def published(folder: str, size: int, items: int) -> None:
    import batchweave as bw

    bw.init(f"file://{folder}", dp=1, producers=1, durable=False)
    with bw.Producer(f"file://{folder}", "p", kind="raw", durable=False) as producer:
        for number in range(items):
            producer.write([[blocks.made(number, size)]], offset=number + 1)
        producer.finish()


def ours(kind: str) -> Way:
    import batchweave as bw

    settings = {"version": bw.__version__, "settings": "as they come", "store": "file, not durable",
                "every byte verified": True}
    if kind == "Consumer":
        return Way(published, lambda folder, size, items: iter(bw.Consumer(f"file://{folder}")), memoryview,
                   lambda: settings)
    from batchweave.torch import Loader

    return Way(published, lambda folder, size, items: iter(Loader(f"file://{folder}")), of_tensor, lambda: settings)


def torch_loader(workers: int) -> Way:
    import torch_loaders as peers

    return Way(nothing, lambda folder, size, items: iter(peers.loader(peers.Copies(size, items), workers)), of_tensor,
               lambda: peers.settings(workers), workers > 0)


def bare() -> Way:
    import mmap
    import numpy

    def write(folder: str, size: int, items: int) -> None:
        os.makedirs(folder)
        for number in range(items):
            with open(os.path.join(folder, str(number)), "wb") as file:
                file.write(blocks.made(number, size))

    def items(folder: str, size: int, items: int) -> Iterator[Any]:
        files = [os.open(os.path.join(folder, str(number)), os.O_RDONLY) for number in range(items)]
        try:
            for file in files:
                yield numpy.frombuffer(mmap.mmap(file, size, prot=mmap.PROT_READ), numpy.uint8)
        finally:
            for file in files:
                os.close(file)

    return Way(write, items, memoryview, lambda: {"files": "opened before"}, ahead=False)


def local() -> Way:
    import torch
    import torch_loaders as peers

    def items(folder: str, size: int, items: int) -> Iterator[Any]:
        block = blocks.made(1, size)
        return iter(peers.Local(lambda number: torch.frombuffer(bytearray(block), dtype=torch.uint8),
                                lambda made: made[0], items, 1))

    return Way(nothing, items, of_tensor, lambda: {"threads": peers.THREADS, "queue": peers.QUEUE})


WAYS: dict[str, Callable[[], Way]] = {
    "batchweave Consumer": lambda: ours("Consumer"),
    "batchweave Loader": lambda: ours("Loader"),
    "bare mmap": bare,
    "litdata": lambda: static("litdata"),
    "mosaicml-streaming": lambda: static("streaming"),
    "webdataset": lambda: static("webdataset"),
    "DataLoader, 1 worker": lambda: torch_loader(1),
    "DataLoader, no worker": lambda: torch_loader(0),
    "Local, threads": local,
}


def trains(seconds: float) -> None:
    """Computes, with the interpreter's lock let go as a framework does: a sleep would let caches and core go cold."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(blocks.POOL[:1 << 15])


def ready(source: Any, count: int, pause: float) -> list[float]:
    """Microseconds of each next of an item that is there, with nothing done since: ours tells by its counter that one
    is; for what reads ahead and does not tell there is a pause; what reads nothing ahead is asked at once."""
    clock = time.perf_counter
    stats = getattr(getattr(source, "consumer", source), "stats", None)
    laps = []
    next(source)
    for _ in range(count - 1):
        if stats is not None:
            while stats()["ready"] == 0:
                time.sleep(0.0005)
        elif pause > 0:
            time.sleep(pause)
        begin = clock()
        item = next(source)
        laps.append((clock() - begin) * 1e6)
        del item
    return laps


def paced(source: Iterator[Any], count: int, pause: float, use: Callable[[Any], None]) -> list[float]:
    """Microseconds of each next and of what is done with the item."""
    clock = time.perf_counter
    laps = []
    next(source)  # opens what is opened late
    for _ in range(count - 1):
        trains(pause)
        begin = clock()
        item = next(source)
        use(item)
        laps.append((clock() - begin) * 1e6)
        del item
    return laps


def all_at_once(source: Callable[[], Iterator[Any]], copy: Callable[[Any], None], count: int, size: int,
                ) -> tuple[float, float]:
    """(MB/s with every byte copied out, processor µs an item), start and worker processes included."""
    with side.Meter() as meter:
        taken = 0
        items = source()
        for item in items:
            copy(item)
            taken += 1
        del items
    if taken != count:
        raise RuntimeError(f"{taken} items instead of {count}")
    return taken * size / meter.wall_s / 1e6, meter.cpu_s / taken * 1e6


def label(size: int) -> str:
    return f"{size // 1000}kb"


def measure(settings: side.Settings) -> dict[str, Any]:
    way = WAYS[settings["side"]]()
    figures: dict[str, float] = {}
    with side.Meter() as whole:
        for size, count, pause in settings["payloads"]:
            folder = os.path.join(settings["folder"], settings["side"].split()[0], str(size))
            if not os.path.isdir(folder):
                os.makedirs(os.path.dirname(folder), exist_ok=True)
                way.write(folder, size, count)
            into = bytearray(size)

            def copy(item: Any) -> None:
                into[:] = way.flat(item)

            handed = ready(way.items(folder, size, count), count, pause if way.ahead else 0)
            laps = paced(way.items(folder, size, count), count, pause, lambda item: None)
            copied = paced(way.items(folder, size, count), count, pause, copy)
            throughput, cpu_us = all_at_once(lambda: way.items(folder, size, count), copy, count, size)
            figures |= {f"next_{label(size)}": side.quantile(handed, 0.5),
                        f"paced_{label(size)}": side.quantile(laps, 0.5),
                        f"paced_p99_{label(size)}": side.quantile(laps, 0.99),
                        f"copied_{label(size)}": side.quantile(copied, 0.5),
                        f"mb_per_s_{label(size)}": throughput, f"cpu_{label(size)}": cpu_us}
    return side.row(figures, whole, settings=way.settings())


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        side.main(measure)
    sys.stdout.flush()
    # Threads of loaders that nobody stops.
    os._exit(0)
