# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Loading beside the trainer, in its job: torch's DataLoader, torchdata's StatefulDataLoader, and the paper's "Local"
(worker threads, a collator, a bounded queue)."""

import queue
import threading
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset

import blocks

# The paper's: num_workers=1, prefetch_factor=4.
WORKERS, PREFETCH = 1, 4
# Of the paper's 12 threads a rank; here are two cores.
THREADS, QUEUE = 2, 8


def settings(workers: int = WORKERS) -> dict[str, Any]:
    return {"torch": torch.__version__, "num_workers": workers, **({"prefetch_factor": PREFETCH} if workers else {}),
            "batch_size": "none: the dataset yields whole batches", "pin_memory": False}


class Copies(IterableDataset[torch.Tensor]):
    """Each item a fresh tensor, copied from memory: the source costs as little as one can."""

    def __init__(self, size: int, items: int) -> None:
        super().__init__()
        self.size, self.items = size, items

    def __iter__(self) -> Iterator[torch.Tensor]:
        block = blocks.made(1, self.size)
        for _ in range(self.items):
            yield torch.frombuffer(bytearray(block), dtype=torch.uint8)


def loader(dataset: Any, workers: int = WORKERS) -> Any:
    """torch's DataLoader of a dataset that yields batches."""
    return DataLoader(dataset, batch_size=None, num_workers=workers, prefetch_factor=PREFETCH if workers else None)


class Local:
    """The paper's Local: threads make samples, a collator makes batches of them in order, a bounded queue hands them
    over. `make(n)` gives sample n."""

    def __init__(self, make: Callable[[int], Any], collate: Callable[[list[Any]], Any], samples: int, batch: int,
                 threads: int = THREADS, depth: int = QUEUE) -> None:
        self._ready: queue.Queue[Any] = queue.Queue(depth)
        self._made: list[queue.Queue[Any]] = [queue.Queue(max(2, depth * batch // threads)) for _ in range(threads)]
        self._batches = samples // batch
        for thread in range(threads):
            threading.Thread(target=self._work, args=(make, thread, threads, samples), daemon=True).start()
        threading.Thread(target=self._collect, args=(collate, batch), daemon=True).start()

    def _work(self, make: Callable[[int], Any], first: int, step: int, samples: int) -> None:
        for number in range(first, samples, step):
            self._made[first].put(make(number))

    def _collect(self, collate: Callable[[list[Any]], Any], batch: int) -> None:
        for at in range(self._batches):
            self._ready.put(collate([self._made[number % len(self._made)].get()
                                     for number in range(at * batch, (at + 1) * batch)]))

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self._batches):
            yield self._ready.get()
