# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a job that was killed and went on has trained on the same as one that was not. Pure."""

import collections
import dataclasses
from typing import Any, Iterable

Line = dict[str, Any]            # {"step": 3, "ids": [[17, 2918331], …]} of one rank
Ids = list[tuple[int, int]]      # number and CRC of a sample


@dataclasses.dataclass(frozen=True)
class Verdict:
    steps: int                   # that were compared
    moved: int                   # steps that hold something else than in the undisturbed run
    lost: int                    # samples of these steps that came never
    doubled: int                 # samples that came more often

    @property
    def exact(self) -> bool:
        return self.steps > 0 and self.moved == 0 and self.lost == 0 and self.doubled == 0


def by_step(lines: Iterable[Line]) -> dict[int, Ids]:
    """What all ranks together got in each step, in no order of ranks: how a step is dealt out follows the world."""
    found: dict[int, Ids] = collections.defaultdict(list)
    for line in lines:
        found[line["step"]] += [(number, crc) for number, crc in line["ids"]]
    return {step: sorted(ids) for step, ids in found.items()}


def until_saved(lines: Iterable[Line]) -> list[Line]:
    """Of one rank, what it had got when it saved: what came later is not trained on, as far as the checkpoint knows."""
    kept: list[Line] = []
    for line in lines:
        if line.get("saved"):
            return kept
        if "step" in line:
            kept.append(line)
    raise ValueError("the rank was killed before it had saved")


def verdict(undisturbed: Iterable[Line], before: Iterable[Line], after: Iterable[Line], steps: int) -> Verdict:
    """`before`: what counts of the killed job; `after`: of the one that went on; of steps 0 … `steps` - 1."""
    wanted, got = by_step(undisturbed), by_step([*before, *after])
    moved = sum(1 for step in range(steps) if wanted.get(step, []) != got.get(step, []))
    need = collections.Counter(pair for step in range(steps) for pair in wanted.get(step, ()))
    have = collections.Counter(pair for step in range(steps) for pair in got.get(step, ()))
    if not need:
        raise ValueError("the undisturbed run has nothing in these steps")
    return Verdict(steps, moved, (need - have).total(), (have - need).total())
