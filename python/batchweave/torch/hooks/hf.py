# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer (written for transformers 5.24).

    class MyTrainer(batchweave.torch.hooks.hf.LoaderMixin, transformers.Trainer): ...
    trainer = MyTrainer(model=..., args=..., data=batchweave.torch.Loader(url, group="run7"))

The Trainer would find its place in the data by fetching and dropping what was trained on
(skip_first_batches); the loader is there already, so `ignore_data_skip` is set.
"""

from __future__ import annotations

import json
import os
from typing import Any

from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]
from transformers.trainer_utils import get_last_checkpoint  # type: ignore[import-not-found, unused-ignore]

from ...errors import Invalid
from ..loader import Loader

STATE_FILE = "batchweave.json"


class PinCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Behind each save: the loader's state beside it, its pin, and the pins of checkpoints that
    save_total_limit has deleted released."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The Trainer has written checkpoint-N."""
        name = f"checkpoint-{state.global_step}"
        if state.is_world_process_zero:
            path = os.path.join(args.output_dir, name, STATE_FILE)
            with open(path + ".new", "w", encoding="utf-8") as told:
                json.dump(self._loader.state_dict(), told)
                told.flush()
                os.fsync(told.fileno())
            os.replace(path + ".new", path)
        if self._loader.group is not None:
            self._loader.commit(name)
            self._loader.reconcile([entry for entry in os.listdir(args.output_dir) if entry.startswith("checkpoint-")])


class LoaderMixin:
    """Before transformers.Trainer in the bases: trains on `data`, a Loader, as it is."""

    def __init__(self, *arguments: Any, data: Loader, **settings: Any) -> None:
        self.batchweave_loader = data
        super().__init__(*arguments, **settings)
        self.args.ignore_data_skip = True  # type: ignore[attr-defined, unused-ignore]
        self.add_callback(PinCallback(data))  # type: ignore[attr-defined, unused-ignore]

    def get_train_dataloader(self) -> Loader:
        """Not prepared by Accelerate, which would deal it out over the ranks once more."""
        return self.batchweave_loader

    def train(self, resume_from_checkpoint: Any = None, *arguments: Any, **settings: Any) -> Any:
        """Loads the loader's state of the checkpoint first. Raises Invalid for one that has none."""
        folder = resume_from_checkpoint
        if folder is True:
            output: str = self.args.output_dir  # type: ignore[attr-defined, unused-ignore]
            folder = get_last_checkpoint(output)  # type: ignore[no-untyped-call, unused-ignore]
        if folder:
            path = os.path.join(folder, STATE_FILE)
            if not os.path.exists(path):
                raise Invalid(f"{folder} has no {STATE_FILE}: it was saved without this loader, and would begin at 0")
            with open(path, encoding="utf-8") as told:
                self.batchweave_loader.load_state_dict(json.load(told))
        return super().train(resume_from_checkpoint, *arguments, **settings)  # type: ignore[misc, unused-ignore]
