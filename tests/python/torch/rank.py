# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the tests' jobs do. Each is called in a process of its own, joined by gloo."""

from __future__ import annotations

import time
from typing import Any, Dict, List

import torch.distributed as group
from torch.distributed.device_mesh import init_device_mesh

import batchweave
from batchweave import errors
from batchweave.torch import Loader


def read(loader: Loader, count: int = 1 << 30) -> List[Any]:
    """[step, microbatch, values] of up to `count` microbatches."""
    got: List[Any] = []
    while len(got) < count:
        try:
            microbatch = next(loader)
        except StopIteration:
            break
        got.append([loader.step, loader.microbatch, microbatch["x"].tolist()])
    return got


def mesh(rank: int, url: str, names: str, *sizes: int) -> Any:
    """Everything, by a DeviceMesh: what each rank got and where it stands."""
    axes = init_device_mesh("cpu", sizes, mesh_dim_names=tuple(names.split(",")))
    loader = Loader(url, mesh=axes, group="job")
    got = read(loader)
    return [loader.consumer.d, loader.consumer.c, loader.commits, loader.consumer.launch, got]


def world(rank: int, url: str, **sizes: int) -> Any:
    """By torch.distributed alone."""
    loader = Loader(url, group="job", sizes=sizes)
    got = read(loader)
    return [loader.consumer.d, loader.commits, loader.consumer.launch, got]


def tp_leader(rank: int, url: str, rounds: int) -> Any:
    """dp 2 x tp 2, one of each tp group reads; the state is loaded again in between."""
    axes = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    loader = Loader(url, mesh=axes, group="job", readers="tp_leader", timeout=60.0)
    got = read(loader, rounds)
    state = loader.state_dict()
    # A load begins a launch: all must be in the one before.
    group.barrier()
    loader.load_state_dict(state)
    got += read(loader, 1)
    group.barrier()
    loader.load_state_dict(state)
    got += read(loader)
    told: Dict[str, Any] = {"got": got, "state": loader.state_dict(), "metrics": bool(loader.metrics())}
    return told


def tp_starved(rank: int, url: str) -> Any:
    """The leader finds nothing: all of its group say so."""
    axes = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
    loader = Loader(url, mesh=axes, readers="tp_leader", timeout=0.3)
    got = read(loader, 2)
    try:
        next(loader)
    except errors.Starved as error:
        return [got, str(error), loader.state_dict()]
    return None


def tp_refused(rank: int, url: str) -> Any:
    """The leader cannot even begin: all of its group say so."""
    axes = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
    try:
        next(Loader(url, mesh=axes, dp=(0, 7), readers="tp_leader", timeout=0.3))
    except errors.MeshMismatch as error:
        return str(error)
    return None


def stateless(rank: int, url: str, axes: str, readers: str, asked: bool) -> Any:
    """A group with a checkpoint, and no state given; `asked`: for the state before."""
    loader = Loader(url, mesh=init_device_mesh("cpu", (1, 2), mesh_dim_names=tuple(axes.split(","))), group="job",
                    readers=readers, open_timeout=20)
    if asked:
        loader.state_dict()
    try:
        next(loader)
    except errors.StateMissing as error:
        return str(error)
    return None


def ends(rank: int, url: str) -> Any:
    """Rank 1 is slow; the namespace is sealed meanwhile; both end at one step."""
    loader = Loader(url, group="job")
    got = []
    for microbatch in loader:
        got.append([loader.step, loader.microbatch])
        if rank == 1:
            time.sleep(0.02)
        total = microbatch["x"].sum()
        group.all_reduce(total)
    return got


def disagree(rank: int, url: str) -> Any:
    """Rank 1 loaded another checkpoint than rank 0."""
    loader = Loader(url, group="job", open_timeout=20)
    cursor = batchweave.space(url).begin(start=str(rank + 1))
    loader.load_state_dict({"version": 1, "cursor": cursor.json})
    try:
        next(loader)
    except errors.RanksDisagree as error:
        return str(error)
    return "begins"
