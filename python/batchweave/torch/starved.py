# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank that gets no batch says, and when: before the collectives of the others time out."""

from __future__ import annotations

from typing import Any, Mapping

from ..consumer import Consumer
from ..errors import Error, Starved

# NCCL's and gloo's collectives give up after 10 and 30 minutes by default; the rank that knows the
# reason must be the first to say so.
TIMEOUT_S = 300.0
WARN_S = 60.0


def reason(told: Mapping[str, Any]) -> str:
    """One line of Consumer.wait_reason: the step waited for, the newest one, producers, the age of
    the last commit, the limit that producers stand at."""
    newest = int(told["next_step"]) - 1
    age = told.get("last_commit_age_ms")
    limit = told.get("limit")
    return "; ".join((
        f"waiting for step {told['step']}, item {told['item']}",
        f"the newest step is {newest}" if newest >= 0 else "no step was ever committed",
        f"producers: {told['producers']}, of which {told['producers_alive']} not finished",
        "the last commit has no age" if age is None else f"the last commit is {int(age) / 1000:.1f} s old",
        "no limit stops the producers" if limit is None else f"the producers stand at a limit: {limit}"))


def describe(consumer: Consumer, waited_s: float, cause: BaseException) -> str:
    """The whole message."""
    try:
        told = consumer.wait_reason()
        why = reason(told)
        lag = consumer.space.info()["max_lag"]
        why += "; max_lag is not set" if lag is None else f"; max_lag is {lag} steps"
    except (Error, KeyError, TypeError):
        why = "the reason is not known"
    return f"no batch for {waited_s:.1f} s: {why} ({cause})"


def starved(consumer: Consumer, waited_s: float, cause: Error) -> Starved:
    """The exception that a rank ends with."""
    return Starved(describe(consumer, waited_s, cause), key=cause.key, step=cause.step, attempts=cause.attempts)
