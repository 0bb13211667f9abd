# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment declares. It imports nothing else of this package but results.

An experiment is a generator of cells. A cell is a point of its grid (8 producers, 100 KB) with the sides that are
measured there in turns. A side is a process that prints one row, or a function of the harness's own process where
nothing is measured (arithmetic, a model).
"""

import dataclasses
from typing import Any, Callable, Iterator, Mapping, Sequence, TYPE_CHECKING

from compare.results import Results, Spread

if TYPE_CHECKING:
    from compare.context import Context

Point = dict[str, str | int | float]
Settings = dict[str, Any]


@dataclasses.dataclass
class Row:
    """What one turn of one side measured."""

    figures: dict[str, float]                    # by name; units stand in the experiment's figures
    cpu_s: float | None = None                   # processor seconds of what was measured, children included
    server_cpu_s: float | None = None            # of the servers it spoke to, meanwhile
    bytes_in: float | None = None                # by the server's counters, over what was measured
    bytes_out: float | None = None
    requests: dict[str, float] = dataclasses.field(default_factory=dict)       # by verb
    series: dict[str, list[float]] = dataclasses.field(default_factory=dict)   # courses, for plots
    settings: Settings = dataclasses.field(default_factory=dict)  # as they were in effect, versions among them
    wall_s: float | None = None                  # of the process, set by the harness
    process_cpu_s: float | None = None           # the same: start and imports included


@dataclasses.dataclass
class Side:
    """One of what a cell compares. A command must print its row as one line of JSON, its last (bench/peers/side.py
    does); `read` makes the row of what programs print that know nothing of this."""

    name: str
    command: Sequence[object] = ()   # each word as str() makes it
    call: Callable[[], Row] | None = None
    settings: Settings = dataclasses.field(default_factory=dict)   # printed in the report, in any case
    why: str = ""                    # where these settings are recommended
    modelled: str = ""               # not empty: what of this side is a model; rows are labelled so
    counted: bool = False            # exact: one turn is enough
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stdin: str = ""
    timeout_s: float = 600
    read: Callable[[str], Row] | None = None


@dataclasses.dataclass
class Cell:
    """After the yield `rows` has what the sides measured, in the order of the rounds."""

    at: Point
    sides: Sequence[Side]
    rounds: int | None = None        # None: 5 (quick: 1); never fewer than 5 in a full run
    rows: dict[str, list[Row]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    what: str


@dataclasses.dataclass(frozen=True)
class Bar:
    """A limit on one number of the results. `of` gives None where it was not measured: the bar is then open."""

    what: str
    of: Callable[[Results], "Spread | float | None"]
    bound: str                       # "<=" or ">="
    limit: float
    unit: str = "×"                  # of ratios
    modelled: bool = False
    counted: bool = False            # exact: judged by --gate too
    evidence: str = ""               # where it is missed: what the limit is, and how that is known


@dataclasses.dataclass(frozen=True)
class Series:
    """One line or one group of bars of a plot."""

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    low: Sequence[float] = ()        # least and greatest, where known
    high: Sequence[float] = ()


@dataclasses.dataclass(frozen=True)
class Plot:
    """One file: its name begins with the experiment's id in lower case."""

    file: str
    title: str
    x_label: str                     # with the unit
    y_label: str
    series: Callable[[Results], Sequence[Series]]
    kind: str = "lines"              # "lines" with marks, "bars", or "course": lines without
    log_x: bool = False
    log_y: bool = False
    modelled: bool = False


@dataclasses.dataclass(frozen=True)
class PaperValue:
    """The paper's number beside ours, where the shape can be compared."""

    what: str
    paper: str
    ours: Callable[[Results], str]


@dataclasses.dataclass(frozen=True)
class Budget:
    """Seconds, set-up excluded; gate 0: it has nothing exact."""

    quick_s: float
    full_s: float
    gate_s: float = 0


@dataclasses.dataclass(frozen=True)
class Experiment:
    id: str
    name: str
    question: str
    paper: str                       # the figure; "" if the paper has none
    budget: Budget
    cells: Callable[["Context"], Iterator[Cell]]
    figures: Sequence[Figure]
    bars: Sequence[Bar]
    plots: Sequence[Plot] = ()
    paper_values: Sequence[PaperValue] = ()
    remarks: Sequence[str] = ()      # what it is not; printed with the results
    losses: Callable[[Results], Sequence[str]] | None = None   # where another side is better; stands first
    headline: Callable[[Results], str | None] | None = None    # one number, for the README
    needs: frozenset[str] = frozenset({"release"})   # of context.PARTS: what is prepared for it
    gate_needs: frozenset[str] = frozenset({"release"})   # the same of the gate, which needs less
