# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Lightning (written for 2.6).

    data = batchweave.torch.hooks.lightning.TrainLoader(Loader(url, group="run7"))
    trainer = Trainer(plugins=[PinningCheckpointIO(data)], callbacks=[data.callback()], ...)
    trainer.fit(model, data)

The Trainer fetches one microbatch ahead of the one it trains on, to learn where the end is; so the
state told to it is that behind the last one trained on. It comes back with the checkpoint's loops.
"""

from __future__ import annotations

import collections
import os
from typing import Any, Deque, Dict, Mapping, Optional

from lightning.pytorch.callbacks import Callback  # type: ignore[import-not-found, unused-ignore]
from lightning.pytorch.plugins.io import (  # type: ignore[import-not-found, unused-ignore]
    CheckpointIO,
    TorchCheckpointIO,
)

from ...cursor import Cursor
from ...errors import Invalid
from ..loader import VERSION, Loader, Microbatch


class TrainLoader:
    """The Loader as Lightning iterates it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self._ahead: Deque[str] = collections.deque()
        self._trained: Optional[str] = None

    def __iter__(self) -> TrainLoader:
        # What an earlier fetcher held and never trained on is read again.
        if self._ahead and self._trained is not None:
            self.loader.load_state_dict(self.state_dict())
            self._ahead.clear()
        return self

    def __next__(self) -> Microbatch:
        if self._trained is None:
            self._trained = self.loader.cursor.place
        microbatch = next(self.loader)
        self._ahead.append(self.loader.cursor.place)
        return microbatch

    def trained(self) -> None:
        """The oldest microbatch that was fetched has been trained on."""
        self._trained = self._ahead.popleft()

    def callback(self) -> Callback:
        """Tells when a microbatch has been trained on; give it to the Trainer."""
        return _Trained(self)

    def state_dict(self) -> Dict[str, Any]:
        """Behind the last microbatch trained on."""
        return {"version": VERSION, "cursor": self._trained or self.loader.cursor.place}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As Loader.load_state_dict."""
        self.loader.load_state_dict(state)
        self._ahead.clear()
        self._trained = None


class _Trained(Callback):  # type: ignore[misc, unused-ignore]
    def __init__(self, data: TrainLoader) -> None:
        self._data = data

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        """Before ModelCheckpoint's, which the Trainer calls last."""
        self._data.trained()


def cursor_in(checkpoint: Mapping[str, Any]) -> Cursor:
    """The loader's cursor in a Lightning checkpoint. Raises Invalid for one that has none."""
    try:
        states = checkpoint["loops"]["fit_loop"]["state_dict"]["combined_loader"]
        return Cursor(next(str(state["cursor"]) for state in states if "cursor" in state))
    except (KeyError, StopIteration, TypeError):
        raise Invalid("the checkpoint has no state of a batchweave loader among its loops") from None


class PinningCheckpointIO(CheckpointIO):  # type: ignore[misc, unused-ignore]
    """Pins behind each save of `inner`, and releases what the Trainer removes. For asynchronous saves it
    goes inside: AsyncCheckpointIO(PinningCheckpointIO(data))."""

    def __init__(self, data: TrainLoader, inner: Optional[CheckpointIO] = None) -> None:
        self._loader = data.loader
        self._inner = inner if inner is not None else TorchCheckpointIO()

    def save_checkpoint(self, checkpoint: Dict[str, Any], path: Any, storage_options: Optional[Any] = None) -> None:
        """The pin's id is the file's name."""
        cursor = cursor_in(checkpoint)
        self._inner.save_checkpoint(checkpoint, path, storage_options)
        self._loader.pins.put(os.path.basename(os.fspath(path)), cursor)

    def load_checkpoint(self, path: Any, *arguments: Any, **settings: Any) -> Any:
        """As `inner` does."""
        return self._inner.load_checkpoint(path, *arguments, **settings)

    def remove_checkpoint(self, path: Any) -> None:
        """Then its data may go, too."""
        self._inner.remove_checkpoint(path)
        self._loader.release([os.path.basename(os.fspath(path))])
