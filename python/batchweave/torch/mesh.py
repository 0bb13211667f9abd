# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Where this rank stands: from a DeviceMesh, from explicit sizes, or from what started it.

One order covers the usual trainers (torchtitan, Megatron, Accelerate, DeepSpeed):
rank = ((pp · DP + d) · CP + c) · TP + tp. Ranks that differ only in tp or pp stand at one position
and get the same data; so do those that differ in cp, where the namespace has cp = 1 (the default:
the trainer cuts sequences itself).
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple, Union

import torch
import torch.distributed

from ..errors import Invalid, MeshMismatch

Part = Tuple[int, int]

# What started the process tells which of how many it is; the same names as the library reads.
_STARTERS = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))

_AXES = {"batch", "dp", "dp_replicate", "dp_shard", "cp", "tp", "pp", "sp"}


class Position(NamedTuple):
    """For a Consumer: dp and cp as (position, size), or as sizes, where the library reads the
    environment by `settings`. `first`: this rank commits for the job. `world`: ranks of the job."""

    dp: Union[int, Part]
    cp: Union[int, Part]
    settings: Dict[str, int]
    first: bool
    world: int


def is_up() -> bool:
    """Whether the trainer set torch.distributed up."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _started(environment: Mapping[str, str]) -> Optional[Part]:
    for rank, world in _STARTERS:
        if environment.get(rank, "").isdigit() and environment.get(world, "").isdigit():
            return int(environment[rank]), int(environment[world])
    return None


def _axis(mesh: Any, *names: str) -> Part:
    """Place and size along the axes `names` of a DeviceMesh taken as one, the first the slowest."""
    place, size = 0, 1
    for name in names:
        if name in mesh.mesh_dim_names:
            extent = int(mesh.size(mesh.mesh_dim_names.index(name)))
            place, size = place * extent + int(mesh.get_local_rank(name)), size * extent
    return place, size


def of_mesh(mesh: Any, space_cp: int) -> Position:
    """Axes named batch, dp, or dp_replicate and dp_shard; cp; and tp, pp, sp, which share. Raises Invalid
    for a mesh without names or with others."""
    names = mesh.mesh_dim_names
    if not names:
        raise Invalid("the DeviceMesh has no axis names: give mesh_dim_names=('dp', ...)")
    unknown = set(names) - _AXES
    if unknown:
        raise Invalid(f"axes {', '.join(sorted(unknown))} of the DeviceMesh say nothing about data; known are "
                      f"{', '.join(sorted(_AXES))}: name them so, or give dp=(position, size)")
    axes = ("batch",) if "batch" in names else ("dp",) if "dp" in names else ("dp_replicate", "dp_shard")
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise Invalid("this rank is not in the DeviceMesh")
    return Position(_axis(mesh, *axes), _axis(mesh, "cp") if space_cp > 1 else (0, 1), {},
                    not any(coordinate) and torch.distributed.get_rank() == min(mesh.mesh.flatten().tolist()),
                    torch.distributed.get_world_size())


def of_rank(rank: int, world: int, cp: int, tp: int, pp: int, space_cp: int) -> Position:
    """The position of `rank` of `world`, of which cp × tp × pp share the batch's samples."""
    if world % (cp * tp * pp) != 0:
        raise MeshMismatch(f"{world} ranks cannot be cp {cp} x tp {tp} x pp {pp}")
    dp = world // (cp * tp * pp)
    return Position((rank // (tp * cp) % dp, dp), (rank // tp % cp, cp) if space_cp > 1 else (0, 1), {},
                    rank == 0, world)


def position(space_cp: int, *, mesh: Any = None, dp: Optional[Part] = None, cp: Optional[Part] = None,
             sizes: Optional[Mapping[str, int]] = None, environment: Optional[Mapping[str, str]] = None) -> Position:
    """Explicit, else by the mesh, else by torch.distributed where it is up, else as the process was
    started. `sizes`: cp, tp, pp of the job, default 1. A process that nothing started is a job of one."""
    env = os.environ if environment is None else environment
    up = is_up()
    started = (torch.distributed.get_rank(), torch.distributed.get_world_size()) if up else _started(env)
    if dp is not None:
        c = cp if cp is not None else (0, 1)
        return Position(dp, c, {}, dp[0] == 0 and c[0] == 0 and (started is None or started[0] == 0),
                        started[1] if started is not None else dp[1] * c[1])
    if cp is not None:
        raise Invalid("cp=(position, size) goes with dp=(position, size)")
    if mesh is not None:
        return of_mesh(mesh, space_cp)
    given = dict(sizes or {})
    cps, tps, pps = given.get("cp", 1), given.get("tp", 1), given.get("pp", 1)
    rank, world = (0, 1) if started is None else started
    told = of_rank(rank, world, cps, tps, pps, space_cp)
    if started is None or up:
        return told
    # The library looks at all that the environment says and refuses what does not agree.
    extent, shared = (cps, tps) if space_cp > 1 else (1, cps * tps)
    return Position(world // (cps * tps * pps), extent, {"tp": shared, "pp": pps}, told.first, told.world)


def named_launch(environment: Optional[Mapping[str, str]] = None) -> Optional[str]:
    """The launch id that the library finds in the environment: Slurm's, or torchrun's."""
    env = os.environ if environment is None else environment

    def or_zero(name: str) -> str:
        return env.get(name) or "0"

    if env.get("SLURM_JOB_ID"):
        return f"slurm-{env['SLURM_JOB_ID']}.{or_zero('SLURM_STEP_ID')}-{or_zero('SLURM_RESTART_COUNT')}"
    if env.get("TORCHELASTIC_RUN_ID", "none") not in ("", "none"):
        return f"torch-{env['TORCHELASTIC_RUN_ID']}-{or_zero('TORCHELASTIC_RESTART_COUNT')}"
    return None


def wire_device(group: Any = None) -> torch.device:
    """Where tensors of a collective of `group` live."""
    if "cpu" in str(torch.distributed.get_backend_config(group)):
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def agreed_launch() -> str:
    """A random launch id that all ranks have from rank 0; a collective of all ranks."""
    told = torch.tensor(list(os.urandom(16)), dtype=torch.uint8).to(wire_device())
    torch.distributed.broadcast(told, src=0)
    return "t-" + bytes(told.tolist()).hex()
