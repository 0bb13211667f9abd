# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM (written to the protocol of core 0.16's `--dataloader-type external`; not run against it).

The train iterator's `iterable` is asked for `save_state()` by maybe_save_dataloader_state, and a
checkpoint counts from its finalize functions on, which run behind the tracker file.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from ..loader import Loader, Microbatch


class External:
    """What a dataloader provider returns: the Loader with Megatron's names."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def __iter__(self) -> External:
        return self

    def __next__(self) -> Microbatch:
        return next(self.loader)

    def save_state(self) -> Dict[str, Any]:
        """The same on all ranks."""
        return self.loader.state_dict()

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """What save_state gave, or the dict that Megatron saved around it."""
        self.loader.load_state_dict(state.get("dataloader_state_dict", state))


def checkpoint_id(iteration: int) -> str:
    """As Megatron names its folders."""
    return f"iter_{iteration:07d}"


def finalize_fn(loader: Loader, iteration: int) -> Callable[[], None]:
    """For async_save_request.add_finalize_fn, or to call behind a synchronous save: pins where the
    loader stands now, when the save begins."""
    pins, cursor = loader.pins, loader.cursor
    return lambda: pins.put(checkpoint_id(iteration), cursor)
