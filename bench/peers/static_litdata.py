# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""litdata: chunks of a static set, mapped into memory.

As its documents recommend: chunks of 64 MB, StreamingDataset under StreamingDataLoader. A sample of bytes comes back as
a view of the map: nothing has read or checked its bytes when it is handed out.
"""

import importlib
import importlib.metadata
from typing import Any, Iterator

import blocks

NAME = "litdata"
CHUNK_BYTES = 64 << 20


def settings() -> dict[str, Any]:
    return {"version": importlib.metadata.version("litdata"), "chunk": CHUNK_BYTES, "compression": "none",
            "shuffle": False, "workers": 0}


def write(folder: str, size: int, items: int) -> None:
    """By its writer in this process: optimize() starts processes that take longer than the writing."""
    cache = importlib.import_module("litdata.streaming").Cache(folder, chunk_bytes=CHUNK_BYTES)
    for number in range(items):
        cache[number] = blocks.made(number, size)
    cache.done()
    cache.merge()


def items(folder: str) -> Iterator[Any]:
    """The set in order, a sample at a time, as a memoryview."""
    return iter(importlib.import_module("litdata").StreamingDataset(folder, shuffle=False))


def flat(sample: Any) -> memoryview:
    return memoryview(sample)


class Stream:
    """This rank's batches, from a state on. `place`: a folder, or the URL of one on an object store."""

    def __init__(self, place: str, batch: int, state: dict[str, Any] | None,
                 storage: dict[str, Any] | None = None) -> None:
        litdata = importlib.import_module("litdata")
        more = {"storage_options": storage} if storage else {}
        data = litdata.StreamingDataset(place, shuffle=False, drop_last=False, **more)
        # Its own collate would go through a memoryview byte by byte.
        self._loader = litdata.StreamingDataLoader(data, batch_size=batch, num_workers=0,
                                                   collate_fn=lambda samples: [bytes(sample) for sample in samples])
        if state is not None:
            self._loader.load_state_dict(state)
        self._batches = iter(self._loader)

    def __next__(self) -> list[Any]:
        batch: list[Any] = next(self._batches)
        return batch

    def state(self) -> dict[str, Any]:
        told: dict[str, Any] = self._loader.state_dict()
        return told
