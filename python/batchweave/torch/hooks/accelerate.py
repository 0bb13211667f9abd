# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerate (written for 1.15). Never prepare() the DataLoader of a Dataset: an iterable dataset is dealt
out over the ranks there, and each rank's slice is its own already (Dataset refuses to run so). A
Loader passes through prepare() as it is.
"""

from __future__ import annotations

import os
from typing import Any

from ..loader import Loader


def register(accelerator: Any, loader: Loader) -> None:
    """The loader's state goes with accelerator.save_state and comes back with load_state."""
    accelerator.register_for_checkpointing(loader)


def save(accelerator: Any, loader: Loader, folder: str, **settings: Any) -> None:
    """accelerator.save_state(folder), durable on all ranks, then the pin of its name."""
    with loader.checkpoint(os.path.basename(os.path.normpath(folder))):
        accelerator.save_state(folder, **settings)
        accelerator.wait_for_everyone()
