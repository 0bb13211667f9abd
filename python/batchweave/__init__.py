# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""BatchWeave: whole global batches for training, on any object store.

    batchweave.init(url, dp=8)                      a namespace for one run's data
    with batchweave.Producer(url, id="p0") as p:    preprocessing: publishes whole batches
        p.write({"tokens": array}, offset=n)
    batchweave.Consumer(url, dp=(rank, 8))          a rank: exactly its own slice of each step
    batchweave.torch.Loader(url, group="run7")      the same in a PyTorch job, with checkpoints

Nothing but the standard library is needed; numpy, torch and safetensors are imported where they are
used.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import errors
from ._core import Item, version as __version__
from .consumer import Consumer
from .cursor import Cursor
from .errors import Error
from .identity import Shard, shard
from .producer import Commit, Producer
from .space import Space, init

__all__ = ["Commit", "Consumer", "Cursor", "Error", "Item", "Producer", "Shard", "Space", "__version__", "errors",
           "init", "shard", "space"]


def __getattr__(name: str) -> Any:
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def space(url: str, mode: str = "read") -> Space:
    """Opens a namespace: `batchweave.space(url).info()`."""
    return Space(url, mode=mode)
