# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""mosaicml-streaming: shards of a static set, with a state that counts samples.

As its documents recommend: MDSWriter with shards of 64 MiB; StreamingDataset under StreamingDataLoader, which alone
keeps the state exact; num_canonical_nodes given, so that the order does not follow the size of the job.
"""

import importlib
import os
import tempfile
from typing import Any, Iterator

import blocks

NAME = "mosaicml-streaming"
SHARD_BYTES = 1 << 26


def settings(canonical: int = 1) -> dict[str, Any]:
    return {"version": importlib.import_module("streaming").__version__, "shard": SHARD_BYTES, "compression": "none",
            "hashes": "none", "shuffle": False, "num_canonical_nodes": canonical, "workers": 0}


def write(folder: str, size: int, items: int) -> None:
    streaming = importlib.import_module("streaming")
    with streaming.MDSWriter(out=folder, columns={"data": "bytes"}, size_limit=SHARD_BYTES) as writer:
        for number in range(items):
            writer.write({"data": blocks.made(number, size)})


def items(folder: str) -> Iterator[Any]:
    """The set in order, a sample at a time."""
    return iter(importlib.import_module("streaming").StreamingDataset(
        local=folder, batch_size=1, shuffle=False, num_canonical_nodes=1))


def flat(sample: Any) -> memoryview:
    return memoryview(sample["data"])


class Stream:
    """This rank's batches, from a state on. `place`: a folder, or the URL of one on an object store. `nodes`: ranks of
    the smallest job that is to read the set in this order."""

    def __init__(self, place: str, batch: int, state: dict[str, Any] | None, nodes: int = 1) -> None:
        streaming = importlib.import_module("streaming")
        where = {"local": place}
        if "://" in place:
            # A new machine: nothing of the set lies on it.
            where = {"remote": place, "local": tempfile.mkdtemp(prefix=f"mds-{os.environ.get('RANK', '0')}-")}
        data = streaming.StreamingDataset(**where, batch_size=batch, shuffle=False, num_canonical_nodes=nodes)
        self._loader = streaming.StreamingDataLoader(data, batch_size=batch, num_workers=0, collate_fn=list)
        if state is not None:
            self._loader.load_state_dict(state)
        self._batches = iter(self._loader)

    def __next__(self) -> list[Any]:
        return [sample["data"] for sample in next(self._batches)]

    def state(self) -> dict[str, Any]:
        told: dict[str, Any] = self._loader.state_dict()
        return told
