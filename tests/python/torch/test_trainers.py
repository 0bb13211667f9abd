# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The real Lightning, Hugging Face Trainer and Accelerate, each interrupted and gone on with; run where
they are installed (BATCHWEAVE_TRAINERS=1 makes their absence a failure)."""

from __future__ import annotations

import importlib.util
import os
import unittest
from typing import Any, List

import torch
from torch.utils.data import DataLoader

from batchweave.errors import Invalid
from batchweave.torch import Dataset, Loader
from feed import Feed, rows
from test_checkpoints import pins


def absent(name: str) -> bool:
    return importlib.util.find_spec(name) is None and os.environ.get("BATCHWEAVE_TRAINERS") != "1"


class Trainers(Feed):
    """dp 1, 2 microbatches a step, 6 steps."""

    def setUp(self) -> None:
        super().setUp()
        self.space(dp=1)
        self.want = [row.tolist() for step in range(6) for row in (rows(step)[:4], rows(step)[4:])]

    def loader(self, launch: str) -> Loader:
        loader = Loader(self.url, dp=(0, 1), group="job", launch=launch)
        self.addCleanup(loader.close)
        return loader

    @unittest.skipIf(absent("accelerate"), "accelerate is not installed")
    def test_accelerate(self) -> None:
        from accelerate import Accelerator

        from batchweave.torch.hooks import accelerate as hook

        accelerator, loader = Accelerator(cpu=True), self.loader("a")
        self.assertIs(accelerator.prepare(loader), loader)
        hook.register(accelerator, loader)
        got = [next(loader)["x"].tolist() for _ in range(3)]
        hook.save(accelerator, loader, os.path.join(self.folder.name, "ck-3"))
        self.assertEqual(pins(self.url), {"ck-3": (1, 1)})
        for _ in range(2):
            next(loader)
        accelerator.load_state(os.path.join(self.folder.name, "ck-3"))
        self.assertEqual(got + [m["x"].tolist() for m in loader], self.want)

    @unittest.skipIf(absent("accelerate"), "accelerate is not installed")
    def test_prepared_dataset_is_refused(self) -> None:
        from accelerate.data_loader import prepare_data_loader

        for dispatch, size in ((True, None), (False, 1)):
            batches: "DataLoader[Any]" = DataLoader(Dataset(self.url, dp=(0, 1)), batch_size=size)
            prepared = prepare_data_loader(batches, num_processes=2,
                                           process_index=0, put_on_device=dispatch, dispatch_batches=dispatch,
                                           device=torch.device("cpu"))
            with self.assertRaises(Invalid):
                next(iter(prepared))

    @unittest.skipIf(absent("transformers"), "transformers is not installed")
    def test_hf_trainer(self) -> None:
        import transformers

        from batchweave.torch.hooks import hf

        seen: List[Any] = []

        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(2))

            def forward(self, x: Any) -> Any:
                seen.append(x.tolist())
                return {"loss": (x.float() @ self.weight).mean()}

        class Trainer(hf.LoaderMixin, transformers.Trainer):  # type: ignore[misc, unused-ignore]
            pass

        def trainer(launch: str, steps: int) -> Any:
            settings = transformers.TrainingArguments(
                output_dir=os.path.join(self.folder.name, "hf"), max_steps=steps, gradient_accumulation_steps=2,
                save_steps=1, save_total_limit=2, report_to=[], use_cpu=True, remove_unused_columns=False,
                disable_tqdm=True, logging_steps=1000)
            return Trainer(model=Model(), args=settings, data=self.loader(launch))

        trainer("a", 3).train()
        self.assertEqual(seen, self.want[:6])
        self.assertEqual(pins(self.url), {"checkpoint-2": (2, 0), "checkpoint-3": (3, 0)})
        del seen[:]
        trainer("b", 6).train(resume_from_checkpoint=os.path.join(self.folder.name, "hf", "checkpoint-2"))
        self.assertEqual(seen, self.want[4:])
        self.assertEqual(sorted(pins(self.url)), ["checkpoint-5", "checkpoint-6"])
        os.unlink(os.path.join(self.folder.name, "hf", "checkpoint-6", hf.STATE_FILE))
        with self.assertRaises(Invalid):
            trainer("c", 7).train(resume_from_checkpoint=True)

    @unittest.skipIf(absent("lightning"), "lightning is not installed")
    def test_lightning(self) -> None:
        import lightning.pytorch as pl
        from lightning.pytorch.callbacks import ModelCheckpoint

        from batchweave.torch.hooks.lightning import PinningCheckpointIO, TrainLoader

        seen: List[Any] = []

        class Model(pl.LightningModule):  # type: ignore[misc, unused-ignore]
            def __init__(self) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(2))

            def training_step(self, batch: Any) -> Any:
                seen.append(batch["x"].tolist())
                return (batch["x"].float() @ self.weight).mean()

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), lr=0.1)

        def fit(launch: str, steps: int, path: Any = None) -> None:
            data = TrainLoader(self.loader(launch))
            trainer = pl.Trainer(
                accelerator="cpu", max_steps=steps, max_epochs=1, logger=False, enable_progress_bar=False,
                enable_model_summary=False, plugins=[PinningCheckpointIO(data)],
                callbacks=[data.callback(), ModelCheckpoint(os.path.join(self.folder.name, "pl"), "{step}",
                                                            every_n_train_steps=2, save_top_k=-1)])
            trainer.fit(Model(), data, ckpt_path=path)

        fit("a", 5)
        self.assertEqual(seen, self.want[:5])
        self.assertEqual(pins(self.url), {"step=2.ckpt": (1, 0), "step=4.ckpt": (2, 0)})
        del seen[:]
        fit("b", 12, os.path.join(self.folder.name, "pl", "step=4.ckpt"))
        self.assertEqual(seen, self.want[4:])


if __name__ == "__main__":
    unittest.main()
