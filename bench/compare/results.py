# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Questions that bars, plots and the report ask of the raw data: medians of rounds, ratios within rounds."""

import dataclasses
import statistics
from typing import Any, Callable, Iterable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float
    count: int = 1


def spread(samples: Iterable[float]) -> Spread | None:
    """None of nothing."""
    values = list(samples)
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Of each round: what slows the machine for a while slows both sides of it. Rounds that one side lacks, and those
    whose divisor is 0, say nothing."""
    return [a / b for a, b in zip(over, under) if b]


class Results:
    """Of one experiment: `cells` as in the raw file, each with its point `at` and `rows` by side."""

    def __init__(self, cells: Sequence[Mapping[str, Any]]) -> None:
        self.cells = cells

    def select(self, at: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [cell for cell in self.cells if all(cell["at"].get(name) == value for name, value in at.items())]

    def samples(self, figure: str, side: str, /, **at: Any) -> list[float]:
        """By round, of the one cell at this point; empty if it or the figure is not there. Also the names cpu_s,
        server_cpu_s, bytes_in, bytes_out, wall_s, and requests.VERB."""
        cells = self.select(at)
        if len(cells) > 1:
            raise ValueError(f"{len(cells)} cells are at {at}")
        return [value for cell in cells for row in cell["rows"].get(side, ())
                if (value := number(row, figure)) is not None]

    def value(self, figure: str, side: str, /, **at: Any) -> Spread | None:
        return spread(self.samples(figure, side, **at))

    def ratio(self, figure: str, side: str, over: str, /, **at: Any) -> Spread | None:
        """One side's over another's, in the same rounds."""
        return spread(ratios(self.samples(figure, side, **at), self.samples(figure, over, **at)))

    def course(self, name: str, side: str, /, **at: Any) -> list[float]:
        """The series of the first round."""
        cells = self.select(at)
        return next((row["series"][name] for cell in cells for row in cell["rows"].get(side, ())
                     if name in row.get("series", {})), [])

    def sides(self) -> list[str]:
        return list(dict.fromkeys(side for cell in self.cells for side in cell["rows"]))

    def along(self, figure: str, side: str, x: str, /, **at: Any,
              ) -> tuple[list[Any], list[float], list[float], list[float]]:
        """x, medians, least and greatest over the cells at `at`, by rising x: a Series without its label."""
        found: list[tuple[Any, Spread]] = []
        for cell in self.select(at):
            if x in cell["at"]:
                value = spread(v for row in cell["rows"].get(side, ()) if (v := number(row, figure)) is not None)
                if value is not None:
                    found.append((cell["at"][x], value))
        found.sort(key=lambda pair: pair[0])
        return ([at_x for at_x, _ in found], [s.median for _, s in found], [s.least for _, s in found],
                [s.most for _, s in found])


def number(row: Mapping[str, Any], name: str) -> float | None:
    """A figure of a row, or what it counted."""
    found = row["figures"].get(name)
    if found is None and name.startswith("requests."):
        found = row.get("requests", {}).get(name.removeprefix("requests."))
    elif found is None and name in ("cpu_s", "server_cpu_s", "bytes_in", "bytes_out", "wall_s", "process_cpu_s"):
        found = row.get(name)
    return None if found is None else float(found)


Question = Callable[[Results], Spread | float | None]


def as_spread(answer: Spread | float | None) -> Spread | None:
    return Spread(answer, answer, answer) if isinstance(answer, (int, float)) else answer
