# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A rank of E6's training job: DistributedDataParallel under gloo, on whatever source. Tells each step's times."""

import json
import os
import sys
import time
from typing import Any

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

import train_sources
import workloads


def train(settings: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo")
    model = DistributedDataParallel(workloads.WORKLOADS[settings["workload"]].model())
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    print(json.dumps({"ready": True}), flush=True)
    items = train_sources.SOURCES[settings["system"]](settings)
    for step in range(settings["steps"]):
        began = time.perf_counter()
        item = next(items)
        waited = time.perf_counter() - began
        loss = workloads.loss_of(model, settings["workload"], item)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        size = sum(tensor.nbytes for tensor in item.values())
        print(json.dumps({"step": step, "wait": waited, "took": time.perf_counter() - began, "bytes": size,
                          "at": time.monotonic(), "loss": float(loss)}), flush=True)
    print(json.dumps({"done": True}), flush=True)
    torch.distributed.barrier()
    # Worker threads and clusters that a source began end with the job.
    os._exit(0)


if __name__ == "__main__":
    train(json.loads(sys.argv[1]))
