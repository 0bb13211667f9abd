# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""torchtitan (written to the CheckpointManager of August 2026; not run against it).

The Loader goes into the manager's states as it is: a Stateful whose state is the same on all ranks, so
that another dp degree may load it.
"""

from __future__ import annotations

from typing import Any

from ..loader import Loader


def save(checkpointer: Any, loader: Loader, step: int, last_step: bool = False) -> None:
    """checkpointer.save, and the pin: behind it, or behind `save_future` of an asynchronous save."""
    before = getattr(checkpointer, "save_future", None)
    with loader.checkpoint(f"step-{step}") as ck:
        checkpointer.save(step, last_step=last_step)
        future = getattr(checkpointer, "save_future", None)
        if future is not None and future is not before:
            ck.attach(future)
