# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Which of many producers this process is: from the environment of what started it."""

from __future__ import annotations

import os
from typing import Mapping, Optional

from .errors import Invalid


class Shard:
    """Producer `id` reads part `index` of `count`."""

    # No dataclass: that module takes longer to import than all of this package's Python.
    __slots__ = ("id", "index", "count")

    def __init__(self, id: str, index: int, count: int) -> None:
        self.id = id
        self.index = index
        self.count = count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shard) and (self.id, self.index, self.count) == (other.id, other.index, other.count)

    def __hash__(self) -> int:
        return hash((self.id, self.index, self.count))

    def __repr__(self) -> str:
        return f"Shard(id={self.id!r}, index={self.index}, count={self.count})"


def _number(environment: Mapping[str, str], name: str) -> Optional[int]:
    text = environment.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise Invalid(f"{name}={text!r} in the environment is no number") from None


def shard(count: Optional[int] = None, environment: Optional[Mapping[str, str]] = None) -> Shard:
    """The place of this process among `count` producers.

    From a Slurm array (SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT), a Kubernetes indexed Job
    (JOB_COMPLETION_INDEX; it does not tell how many, so give `count` or set BATCHWEAVE_SHARDS), or a
    Slurm job step (SLURM_PROCID, SLURM_NTASKS). The id is the same after every restart of the same
    place, which is what fencing needs. Raises Invalid when nothing says which it is.
    """
    env = os.environ if environment is None else environment
    index, total = _number(env, "SLURM_ARRAY_TASK_ID"), _number(env, "SLURM_ARRAY_TASK_COUNT")
    if index is not None:
        index = (index - (_number(env, "SLURM_ARRAY_TASK_MIN") or 0)) // (_number(env, "SLURM_ARRAY_TASK_STEP") or 1)
    else:
        index, total = _number(env, "JOB_COMPLETION_INDEX"), _number(env, "BATCHWEAVE_SHARDS")
    if index is None:
        index, total = _number(env, "SLURM_PROCID"), _number(env, "SLURM_NTASKS")
    total = count if count is not None else total
    if index is None or total is None:
        raise Invalid("nothing says which producer this is: run it as a Slurm array or a Kubernetes indexed Job "
                      "(with BATCHWEAVE_SHARDS), or give id and shard yourself")
    if not 0 <= index < total:
        raise Invalid(f"producer {index} of {total}: the index must be below the count")
    return Shard(f"p{index}", index, total)
