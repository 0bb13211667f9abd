# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a trainer stalls while preprocessing makes a little more than it takes: one side of E6. The trainer is a
model: all its ranks take their items, then it waits until the step's time is over. So is preprocessing: a sleep,
uneven by chance.

    {"system": "batchweave", "supply": 1.1, "step_s": 0.05, "steps": 200, "ranks": 4, "workers": 2, "bytes": 100000, …}
"""

import math
import os
import random
import sys
import tempfile
import time
from typing import Any, Callable, Iterator

import blocks
import side
from processes import Program, end_at_term

SIGMA = 0.5          # of the log-normal times of preprocessing
HEAD_START_S = 2.0   # for all: the model is loaded meanwhile


def made(settings: side.Settings, worker: int) -> Iterator[bytes]:
    """Batches (all ranks' bytes) of one worker, each after its time."""
    chance = random.Random(worker)
    mean = settings["step_s"] * settings["workers"] / settings["supply"]
    number = 0
    while True:
        time.sleep(mean * math.exp(chance.gauss(-SIGMA * SIGMA / 2, SIGMA)))
        yield blocks.made(number * settings["workers"] + worker, settings["bytes"])
        number += 1


def produce(settings: side.Settings, worker: int) -> None:
    import batchweave as bw

    with bw.Producer(settings["place"], f"p{worker}", kind="raw", durable=False) as producer:
        for number, block in enumerate(made(settings, worker), 1):
            producer.write([[block] for _ in range(settings["ranks"])], offset=number)


def published(settings: side.Settings) -> tuple[Callable[[], Any], Callable[[], None]]:
    import batchweave as bw

    bw.init(settings["place"], dp=settings["ranks"], producers=settings["workers"], durable=False)
    producers = [Program("supply", {**settings, "produce": worker}) for worker in range(settings["workers"])]
    ranks = [bw.Consumer(settings["place"], dp=(rank, settings["ranks"])) for rank in range(settings["ranks"])]

    def step() -> None:
        for rank in ranks:
            rank.next()

    def end() -> None:
        for producer in producers:
            producer.end()
        for rank in ranks:
            rank.close()

    return step, end


def data_loader(settings: side.Settings) -> tuple[Callable[[], Any], Callable[[], None]]:
    import torch
    import torch_loaders
    from torch.utils.data import IterableDataset

    class Worker(IterableDataset[torch.Tensor]):
        def __iter__(self) -> Iterator[torch.Tensor]:
            info = torch.utils.data.get_worker_info()
            assert info is not None
            for block in made(settings, info.id):
                yield torch.frombuffer(bytearray(block), dtype=torch.uint8).repeat(settings["ranks"])

    items = iter(torch_loaders.loader(Worker(), settings["workers"]))
    return lambda: next(items), lambda: None


def local(settings: side.Settings) -> tuple[Callable[[], Any], Callable[[], None]]:
    import torch_loaders

    making = [made(settings, worker) for worker in range(settings["workers"])]
    items = iter(torch_loaders.Local(lambda number: next(making[number % len(making)]), lambda blocks: blocks[0],
                                     1 << 30, 1, settings["workers"], torch_loaders.QUEUE))
    return lambda: next(items), lambda: None


SYSTEMS = {"batchweave": published, "DataLoader": data_loader, "Local": local}


def measure(settings: side.Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=settings["folder"]) as folder:
        settings |= {"place": f"file://{folder}/ns"}
        step, end = SYSTEMS[settings["system"]](settings)
        try:
            step()
            time.sleep(HEAD_START_S)
            waits, took = [], []
            due = time.monotonic()
            with side.Meter() as meter:
                for _ in range(settings["steps"]):
                    began = time.monotonic()
                    step()
                    waits.append(time.monotonic() - began)
                    # On a grid, so that one late wake-up is not carried into every later step.
                    due = max(due, began) + settings["step_s"]
                    time.sleep(max(0.0, due - time.monotonic()))
                    took.append(time.monotonic() - began)
        finally:
            end()
    p50, p95 = side.quantile(took, 0.5), side.quantile(took, 0.95)
    figures = {"steps_per_s": len(took) / sum(took), "p50_ms": 1e3 * p50, "p95_ms": 1e3 * p95,
               "p95_over_p50": p95 / p50, "stall": 100 * sum(waits) / sum(took),
               "wait_p99_ms": 1e3 * side.quantile(waits, 0.99)}
    return side.row(figures, meter, series={"step_ms": [1e3 * value for value in took]})


if __name__ == "__main__":
    if len(sys.argv) > 1 and '"produce"' in sys.argv[1]:
        import json

        plan = json.loads(sys.argv[1])
        produce(plan, plan["produce"])
    else:
        end_at_term()
        side.main(measure)
        sys.stdout.flush()
        os._exit(0)
