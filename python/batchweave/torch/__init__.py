# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""BatchWeave in a PyTorch job: the microbatches of this rank, with exact checkpoints.

    loader = batchweave.torch.Loader(url, group="run7")
    for microbatch in loader:                       a dict of tensors
        ...
        if loader.is_last_microbatch:
            optimizer.step()

torch.distributed is used where it is up and never set up here.
"""

from __future__ import annotations

from .checkpoint import Checkpoint
from .loader import Loader

__all__ = ["Checkpoint", "Loader"]
