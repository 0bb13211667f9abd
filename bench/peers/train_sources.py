# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Where a rank of E6 gets its items from. A new system is a function here and its name in SOURCES."""

import importlib
import os
import pickle
import time
from typing import Any, Callable, Iterator

import numpy
import torch
from torch.utils.data import IterableDataset

import torch_loaders
import train_kafka
import workloads

Settings = dict[str, Any]


def tensors(item: workloads.Item) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(numpy.ascontiguousarray(array)) for name, array in item.items()}


class Made(IterableDataset[dict[str, torch.Tensor]]):
    """What a DataLoader's worker makes: shards over ranks and their workers."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        worker = torch.utils.data.get_worker_info()
        assert worker is not None
        rank, world = self.settings["rank"], self.settings["world"]
        made = workloads.WORKLOADS[self.settings["workload"]](rank * worker.num_workers + worker.id,
                                                              world * worker.num_workers)
        for item in made.items():
            yield tensors(item)


def published(settings: Settings) -> Iterator[Any]:
    from batchweave.torch import Loader

    return iter(Loader(settings["place"], dp=(settings["rank"], settings["world"])))


def data_loader(settings: Settings) -> Iterator[Any]:
    return iter(torch_loaders.loader(Made(settings), settings["workers"]))


def local(settings: Settings) -> Iterator[Any]:
    threads, world = settings["workers"], settings["world"]
    making = [workloads.WORKLOADS[settings["workload"]](settings["rank"] * threads + thread, world * threads).items()
              for thread in range(threads)]
    return iter(torch_loaders.Local(lambda number: next(making[number % threads]), lambda made: tensors(made[0]),
                                    1 << 30, 1, threads, settings["queue"]))


class RayMaker:
    """An actor of Ray Data: goes on through its shard, whatever row it is asked for."""

    def __init__(self, workload: str, shards: int) -> None:
        self._items = workloads.WORKLOADS[workload](os.getpid() % shards, shards).items()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"item": pickle.dumps(next(self._items))}


def ray_data(settings: Settings) -> Iterator[Any]:
    """One cluster of this machine, begun by rank 0; its dataset is split over the ranks as Ray Train does it."""
    ray: Any = importlib.import_module("ray")
    importlib.import_module("ray.data")
    note = os.path.join(settings["folder"], "ray-address")
    environment = {"env_vars": {"PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}}
    if settings["rank"] == 0:
        context = ray.init(num_cpus=4, include_dashboard=False, runtime_env=environment, log_to_driver=False,
                           object_store_memory=400 << 20, namespace="bench")
        ray.data.DataContext.get_current().enable_progress_bars = False
        rows = settings["steps"] * settings["world"]
        data = ray.data.range(rows, override_num_blocks=rows).map(
            RayMaker, fn_constructor_args=(settings["workload"], settings["world"]),
            compute=ray.data.ActorPoolStrategy(size=settings["world"]), num_cpus=0.5)
        holder = ray.remote(num_cpus=0)(Holder).options(name="splits").remote(
            data.streaming_split(settings["world"], equal=True))
        ray.get(holder.split.remote(0))
        with open(note + ".part", "w", encoding="utf-8") as file:
            file.write(context.address_info["address"])
        os.replace(note + ".part", note)
    else:
        while not os.path.exists(note):
            time.sleep(0.05)
        with open(note, encoding="utf-8") as file:
            ray.init(address=file.read(), namespace="bench", log_to_driver=False)
        holder = ray.get_actor("splits")
    split = ray.get(holder.split.remote(settings["rank"]))
    return (tensors(pickle.loads(row["item"])) for row in split.iter_rows())


class Holder:
    """Keeps the splits where every rank finds them."""

    def __init__(self, splits: list[Any]) -> None:
        self.splits = splits

    def split(self, rank: int) -> Any:
        return self.splits[rank]


SOURCES: dict[str, Callable[[Settings], Iterator[Any]]] = {
    "batchweave": published,
    "DataLoader": data_loader,
    "Kafka": train_kafka.source,
    "Local": local,
    "Ray Data": ray_data,
}
