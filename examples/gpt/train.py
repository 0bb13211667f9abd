# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A rank of the training job.

    torchrun --nproc-per-node 4 train.py URL --group run7 --folder /checkpoints/run7

Checkpoints are saved in the background (torch.distributed.checkpoint) and keep their data; the
newest complete one is where a restart goes on, with as many ranks as there are then.
"""

import argparse
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.nn.parallel import DistributedDataParallel

import batchweave.torch
from corpus import VOCABULARY
from model import GPT

KEEP = 3


class State:
    """What a checkpoint holds."""

    def __init__(self, model: DistributedDataParallel, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer
        self.step, self.data = 0, ""

    def state_dict(self) -> dict[Any, Any]:
        return {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(),
                "step": self.step, "data": self.data}

    def load_state_dict(self, state: dict[Any, Any]) -> None:
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.data = state["step"], state["data"]


def complete(folder: Path) -> list[Any]:
    """Checkpoints that are whole, the oldest first: their metadata is written last."""
    return sorted(path.parent.name for path in folder.glob("step-*/.metadata"))


def digest(tensors: dict[Any, Any]) -> str:
    """Of the very bytes that enter forward()."""
    told = hashlib.sha256()
    for name in sorted(tensors):
        told.update(name.encode())
        told.update(tensors[name].numpy().tobytes())
    return told.hexdigest()[:16]


def restore(state: State, loader: batchweave.torch.Loader, folder: Path, there: list[Any]) -> None:
    if there:
        # The optimizer has its tensors only after a step: this one changes nothing.
        for parameter in state.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        with torch.no_grad():
            before = [parameter.clone() for parameter in state.model.parameters()]
            state.optimizer.step()
            for parameter, value in zip(state.model.parameters(), before):
                parameter.copy_(value)
        dcp.load({"state": state}, checkpoint_id=str(folder / there[-1]))
        loader.load_state_dict(json.loads(state.data))
        loader.reconcile(there)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--group", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--interval", type=int, default=5, help="steps between checkpoints")
    parser.add_argument("--stop", type=int, default=0, help="after so many steps; 0: at the end of the data")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    saving: Any = dist.new_group(backend="gloo")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    # Else the layout of what is summed changes after a process's first step, and with it how the sums are rounded: the
    # first step after a restart would not be the one that it was.
    model = DistributedDataParallel(GPT(VOCABULARY + 1, arguments.seq_len), find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = State(model, optimizer)
    log = open(arguments.folder / f"log-{world}-{rank}.jsonl", "a", encoding="ascii", buffering=1)

    there = complete(arguments.folder)
    # Should the checkpoints be gone (a wrong folder, say) that the group still keeps data for, this is StateMissing.
    with batchweave.torch.Loader(arguments.url, group=arguments.group, keep=KEEP) as loader:
        restore(state, loader, arguments.folder, there)
        future: Any = None
        total = 0.0
        for microbatch in loader:
            inputs = {name: microbatch[name] for name in ("tokens", "position_ids")}
            inputs["position_ids"] = inputs["position_ids"].long()
            if loader.is_last_microbatch:
                loss = model(**inputs) / loader.microbatches
                loss.backward()
            else:
                with model.no_sync():
                    loss = model(**inputs) / loader.microbatches
                    loss.backward()
            total += loss.item()
            log.write(json.dumps({"step": loader.step, "microbatch": loader.microbatch, "digest": digest(inputs),
                                  "loss": loss.item()}) + "\n")
            if not loader.is_last_microbatch:
                continue
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            state.step += 1
            if rank == 0:
                print(f"step {loader.step}  loss {total:.4f}  {loader.tokens} tokens", flush=True)
            total = 0.0
            if state.step % arguments.interval == 0:
                if future is not None:
                    future.result()
                id = f"step-{loader.step:06d}"
                with loader.checkpoint(id) as checkpoint:
                    state.data = json.dumps(loader.state_dict())
                    future = dcp.async_save({"state": state}, checkpoint_id=str(arguments.folder / id),
                                            process_group=saving)
                    checkpoint.attach(future)
                if rank == 0:
                    for old in complete(arguments.folder)[:-KEEP]:
                        shutil.rmtree(arguments.folder / old)
            if state.step == arguments.stop:
                break
        if future is not None:
            future.result()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
