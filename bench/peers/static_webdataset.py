# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""webdataset: tar files read from end to end. It keeps no state: its loader cannot be resumed."""

import glob
import importlib
import os
from typing import Any, Iterator

import blocks

NAME = "webdataset"
SHARD_BYTES = 1 << 26


def settings() -> dict[str, Any]:
    return {"version": importlib.import_module("webdataset").__version__, "shard": SHARD_BYTES, "compression": "none",
            "shuffle": False, "workers": 0}


def write(folder: str, size: int, items: int) -> None:
    os.makedirs(folder, exist_ok=True)
    with importlib.import_module("webdataset").ShardWriter(
            os.path.join(folder, "%06d.tar"), maxsize=SHARD_BYTES, maxcount=1 << 30, verbose=0) as writer:
        for number in range(items):
            writer.write({"__key__": f"{number:09d}", "bin": blocks.made(number, size)})


def items(folder: str) -> Iterator[Any]:
    """The set in order, a sample at a time."""
    shards = sorted(glob.glob(os.path.join(folder, "*.tar")))
    return iter(importlib.import_module("webdataset").WebDataset(shards, shardshuffle=False))


def flat(sample: Any) -> memoryview:
    return memoryview(sample["bin"])


def resume() -> str:
    """What its loader answers when it is asked for a state."""
    try:
        importlib.import_module("webdataset").WebLoader([0], batch_size=None).state_dict()
    except (AttributeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    return ""
