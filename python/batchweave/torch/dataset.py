# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""For trainers that insist on a torch DataLoader; the Loader alone needs none, and reads ahead by
itself."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any, Dict, Generator, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

from torch.utils.data import IterableDataset, get_worker_info

from ..cursor import Cursor
from ..errors import Invalid
from ..space import Place, Space
from .checkpoint import Checkpoint
from .loader import VERSION, About, Loader, Microbatch

# A microbatch with where it stands: its About as a tuple, and the cursor behind it.
Placed = Tuple[Microbatch, Tuple[Any, ...], str]


class Dataset(IterableDataset[Any]):
    """The same microbatches in the same order under `DataLoader(dataset, batch_size=None,
    num_workers=n)`, for every n, forked or spawned. It takes what Loader takes.

    Of n workers each hands out every n-th microbatch. All read, and each reads every slice, so more
    than one pays only where the workers decode (`transform`, called there with each microbatch).

    The state: under torchdata's StatefulDataLoader, that one's. Under a plain DataLoader the workers
    run ahead of the trainer, so iterate `dataset.follow(loader)`: then state_dict, checkpoint and the
    rest here tell of what the trainer got. Without workers both are exact anyhow.

    Make it on all ranks alike, in the process of the trainer. Device and tp_leader are the Loader's.
    """

    def __init__(self, space: Union[Space, Place], *, transform: Any = None, **settings: Any) -> None:
        for name in ("device", "pin_memory"):
            if settings.get(name):
                raise Invalid(f"{name} goes to the DataLoader or to a Loader, not to a Dataset")
        if settings.get("readers", "all") != "all":
            raise Invalid("readers='tp_leader' broadcasts in the trainer's process: use a Loader")
        self.loader = Loader(space, **settings)
        self._transform = transform
        self._followed: Optional[str] = None
        self._follows = False
        self._skip = 0

    def __iter__(self) -> Iterator[Any]:
        """The microbatches of this worker; with `follow` each with its place."""
        _refuse_resharding()
        worker = get_worker_info()
        index, count = (0, 1) if worker is None else (worker.id, worker.num_workers)
        if count > 1 and index == 0:
            warnings.warn(f"{count} workers read every slice {count} times; the library reads ahead by itself, so more "
                          "than one worker pays only for decoding", stacklevel=2)
        if worker is not None:
            self.loader._copy = True
        return self._iterate(self.loader, index, count)

    def _iterate(self, loader: Loader, index: int, count: int) -> Iterator[Any]:
        # `_skip`: microbatches up to this worker's next one, from where its reading stands.
        if self._skip == 0 and count > 1:
            self._skip = index + 1
        for microbatch in loader:
            if count > 1:
                self._skip -= 1
                if self._skip > 0:
                    continue
                self._skip = count
            made = microbatch if self._transform is None else self._transform(microbatch)
            about = loader._last()
            yield (made, tuple(about), loader.cursor.place) if self._follows else made

    def follow(self, batches: Iterable[Any]) -> Generator[Microbatch, None, None]:
        """The microbatches of a DataLoader over this dataset, while the state here follows them."""
        self._follows = True
        try:
            for microbatch, about, place in batches:
                self._followed = place
                self.loader._about = About(*about)
                yield microbatch
        finally:
            self._follows = False

    # ---- state

    def state_dict(self) -> Dict[str, Any]:
        """Where the next microbatch of this process stands; in a DataLoader's worker, of that worker."""
        if self._followed is not None:
            return {"version": VERSION, "cursor": self._followed}
        if get_worker_info() is not None:
            return {**self.loader.state_dict(), "skip": self._skip}
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any], skip: Sequence[Tuple[int, int]] = ()) -> None:
        """As Loader.load_state_dict; before the DataLoader is iterated."""
        plain = {name: value for name, value in state.items() if name != "skip"}
        self._skip = int(state.get("skip", 0))
        if get_worker_info() is not None:
            self.loader._copy = True
        self.loader.load_state_dict(plain, skip)
        self._followed = None

    @property
    def cursor(self) -> Cursor:
        """The state as a Cursor."""
        return Cursor(self.state_dict()["cursor"])

    # ---- as the Loader has it

    def checkpoint(self, id: str) -> Checkpoint:
        """As Loader.checkpoint, at what `follow` handed out."""
        return Checkpoint(self.loader.pins, id, self.cursor)

    def commit(self, id: str) -> None:
        """As Loader.commit."""
        self.loader.pins.put(id, self.cursor)

    def __getattr__(self, name: str) -> Any:
        """step, is_last_microbatch, tokens, tag, release, reconcile, metrics, close ... are the Loader's."""
        if name.startswith("_") or name == "loader":
            raise AttributeError(name)
        return getattr(self.loader, name)


def _refuse_resharding() -> None:
    """Accelerate's prepare deals an iterable dataset out over the ranks; each rank's slice is its own
    already, so that would lose data."""
    frame: Optional[types.FrameType] = sys._getframe(2)
    for _ in range(8):
        if frame is None:
            return
        if frame.f_globals.get("__name__") == "accelerate.data_loader" and type(
                frame.f_locals.get("self")).__name__ in ("IterableDatasetShard", "DataLoaderDispatcher"):
            raise Invalid("accelerate.prepare(...) would deal this rank's microbatches out over all ranks: do not "
                          "prepare the DataLoader of a batchweave.torch.Dataset, nor a Loader")
        frame = frame.f_back
