# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Bars over results: kept, missed, or open where it was not measured."""

import dataclasses
from typing import Sequence

from compare.experiment import Bar
from compare.results import Results, Spread, as_spread

KEPT, MISSED, OPEN = "kept", "missed", "not measured"


@dataclasses.dataclass(frozen=True)
class Verdict:
    bar: Bar
    value: Spread | None
    word: str


def keeps(bar: Bar, value: float) -> bool:
    if bar.bound == "<=":
        return value <= bar.limit
    if bar.bound == ">=":
        return value >= bar.limit
    raise ValueError(f"{bar.what}: no bound {bar.bound}")


def judge(bars: Sequence[Bar], results: Results) -> list[Verdict]:
    """The median is judged; its spread stands beside it."""
    verdicts = []
    for bar in bars:
        value = as_spread(bar.of(results))
        word = OPEN if value is None else KEPT if keeps(bar, value.median) else MISSED
        verdicts.append(Verdict(bar, value, word))
    return verdicts
