# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A start without a state: fresh weights must not go on behind checkpoints that they know nothing of."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from ..errors import StateMissing
from ..space import Space


class Pinned(NamedTuple):
    """What a group had when this rank came: the launch it was in, and its checkpoints as (step, item, id),
    the newest last."""

    group: str
    launch: str
    pins: List[Tuple[int, int, str]]


def pinned(space: Space, group: str) -> Optional[Pinned]:
    """None: there is no checkpoint that could be gone on from."""
    for row in space.info()["groups"]:
        if row["name"] == group and row["pins"]:
            return Pinned(group, str(row["launch"]),
                          sorted((int(pin["step"]), int(pin["item"]), str(pin["id"])) for pin in row["pins"]))
    return None


def made_since(before: Pinned, launch: str, step: int, item: int) -> bool:
    """Whether the one checkpoint there may be of this very launch, made by rank 0 where it began while this
    rank was still coming: no launch can be joined after it has pinned anything further on."""
    return before.launch == launch and [pin[:2] for pin in before.pins] == [(step, item)]


def missing(before: Pinned) -> StateMissing:
    """What to do, by name."""
    step, item, id = before.pins[-1]
    count = len(before.pins)
    return StateMissing(
        f"group {before.group!r} has {count} checkpoint{'s' if count > 1 else ''}, the newest is {id!r} at step "
        f"{step}, item {item}, and this loader was given no state: call load_state_dict(...) with that of the checkpoint "
        "whose weights are loaded; or say start=\"group\" to go on at the newest one on purpose, or "
        "start=\"earliest\" for fresh weights from the first step that is kept", step=step)
