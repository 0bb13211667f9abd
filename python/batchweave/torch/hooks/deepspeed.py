# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed (written to the engine of 0.18; not run against it): the state travels in client_state."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from ...errors import Invalid
from ..loader import Loader

KEY = "batchweave"


def save(engine: Any, loader: Loader, folder: str, tag: str, client_state: Optional[Dict[str, Any]] = None) -> None:
    """engine.save_checkpoint, which commits and writes `latest` before it returns; then the pin of its tag.
    Raises Invalid for a decoupled checkpoint engine, which commits later."""
    decoupled = getattr(getattr(engine, "checkpoint_engine", None), "is_decoupled", None)
    if decoupled is not None and decoupled():
        raise Invalid("a decoupled checkpoint engine commits later: call loader.commit(tag) when it has")
    with loader.checkpoint(tag):
        engine.save_checkpoint(folder, tag=tag, client_state={**(client_state or {}), KEY: loader.state_dict()})


def load(engine: Any, loader: Loader, folder: str, tag: Optional[str] = None) -> Tuple[Any, Dict[str, Any]]:
    """engine.load_checkpoint, and the loader goes on there. Raises Invalid for a checkpoint without its state."""
    path, client_state = engine.load_checkpoint(folder, tag=tag)
    if path is not None:
        if KEY not in client_state:
            raise Invalid(f"the checkpoint {path} has no state of the loader, and would begin at 0")
        loader.load_state_dict(client_state[KEY])
    return path, client_state
