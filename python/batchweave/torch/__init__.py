# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""BatchWeave in a PyTorch job: the microbatches of this rank, with exact checkpoints.

    loader = batchweave.torch.Loader(url, group="run7")
    for microbatch in loader:                       a dict of tensors
        ...
        if loader.is_last_microbatch:
            optimizer.step()

torch.distributed is used where it is up and never set up here; torch.utils.data is imported for
Dataset alone, and Mixture where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checkpoint import Checkpoint
from .loader import Loader

if TYPE_CHECKING:
    from .dataset import Dataset
    from .mixture import Mixture

__all__ = ["Checkpoint", "Dataset", "Loader", "Mixture"]


def __getattr__(name: str) -> Any:
    if name == "Dataset":
        from .dataset import Dataset

        return Dataset
    if name == "Mixture":
        from .mixture import Mixture

        return Mixture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
