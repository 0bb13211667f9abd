# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""verl (written to RayPPOTrainer of August 2026; not run against it): it takes len() of its
train_dataloader, iterates it once an epoch, and keeps its state_dict in data.pt of a checkpoint.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping

from ..loader import Loader, Microbatch


class TrainLoader:
    """`steps` training steps of a Loader whose slices have one item a step."""

    def __init__(self, loader: Loader, steps: int) -> None:
        self.loader = loader
        self._steps = steps

    def __len__(self) -> int:
        return self._steps

    def __iter__(self) -> Iterator[Microbatch]:
        """From where the loader stands to the last step, once."""
        while self.loader.cursor.step < self._steps:
            try:
                microbatch = next(self.loader)
            except StopIteration:
                return
            yield microbatch

    def state_dict(self) -> Dict[str, Any]:
        """As Loader.state_dict."""
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As Loader.load_state_dict."""
        self.loader.load_state_dict(state)


def saved(loader: Loader, global_step: int) -> None:
    """Call it when the checkpoint of `global_step` is there."""
    loader.commit(f"global_step_{global_step}")
