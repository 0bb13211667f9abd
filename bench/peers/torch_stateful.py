# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""torchdata's StatefulDataLoader, as its documents recommend: a dataset by index under StatefulDistributedSampler; and
where batches are packed, a dataset that is an iterator with a state of its own, window included."""

import importlib
from typing import Any, Iterator

from torch.utils.data import Dataset, IterableDataset

import blocks


class Indexed(Dataset[bytes]):
    def __init__(self, samples: int, size: int) -> None:
        self.samples, self.size = samples, size

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> bytes:
        return blocks.made(index, self.size)


class Packing(IterableDataset[list[bytes]]):
    """Its user's work: where it is, and what lies in the window, go into the state and come back."""

    def __init__(self, samples: int, size: int, rank: int, world: int) -> None:
        super().__init__()
        self.samples, self.size, self.world = samples, size, world
        self.at, self.window = rank, list[bytes]()

    def _one(self) -> bytes:
        self.at += self.world
        return blocks.made(self.at - self.world, self.size)

    def __iter__(self) -> Iterator[list[bytes]]:
        from resume_rank import packed

        while self.at < self.samples:
            yield packed(self.window, self._one)

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at, "window": [blocks.number_of(sample) for sample in self.window]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at, self.window = state["at"], [blocks.made(number, self.size) for number in state["window"]]


class Stream:
    """This rank's batches, from its own rank's state on."""

    def __init__(self, samples: int, size: int, batch: int, rank: int, world: int, state: dict[str, Any] | None,
                 packing: bool) -> None:
        loader = importlib.import_module("torchdata.stateful_dataloader").StatefulDataLoader
        sampler = importlib.import_module("torchdata.stateful_dataloader.sampler").StatefulDistributedSampler
        if packing:
            self._loader = loader(Packing(samples, size, rank, world), batch_size=None, num_workers=1,
                                  prefetch_factor=4)
        else:
            dataset = Indexed(samples, size)
            self._loader = loader(dataset, batch_size=batch, num_workers=1, prefetch_factor=4, collate_fn=list,
                                  sampler=sampler(dataset, num_replicas=world, rank=rank, shuffle=False))
        if state is not None:
            self._loader.load_state_dict(state)
        self._batches = iter(self._loader)

    def __next__(self) -> list[Any]:
        batch: list[Any] = next(self._batches)
        return batch

    def state(self) -> dict[str, Any]:
        told: dict[str, Any] = self._loader.state_dict()
        return told
