# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E5: what lies on the store over a job's life, with reclamation and without; counted, not timed."""

import functools
import json
from typing import Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Row, Series, Side
from compare.results import Results

CASES = {"none": "nothing deleted", "keep_1": "the newest checkpoint kept", "keep_3": "the newest three kept",
         "two_groups": "two jobs, one trails"}
SIDE = "batchweave"


def read(printed: str) -> Row:
    """Rows of bw-bench: peaks, over their bounds, and courses."""
    row = Row({})
    for line in printed.splitlines():
        told = json.loads(line)
        name = told["name"].removeprefix("lifecycle.")
        row.figures[name] = told["value"]
        if told["ratio"] is not None:
            row.figures[f"{name}.over_bound"] = told["ratio"]
        if told["series"]:
            row.series[name] = told["series"]
    return row


def cells(context: Context) -> Iterator[Cell]:
    settings = {"steps": 1010, "a checkpoint each": 10, "max_lag": 80, "producers": 2, "batch": "362 KiB"}
    if context.quick:
        settings = {"steps": 60, "a checkpoint each": 4, "max_lag": 16, "producers": 2, "batch": "128 KiB"}
    with context.folder() as memory:
        quick = ["--quick"] if context.quick else []
        words = [context.bw_bench, "lifecycle", "-o", "json", "--memory", memory, "--disk", memory, *quick]
        yield Cell({}, [Side(SIDE, words, settings=settings, read=read, counted=True)])


def courses(results: Results) -> list[Series]:
    """Points are shares of the run: bw-bench thins them."""
    found = []
    for case, label in CASES.items():
        y = results.course(f"{case}.peak", SIDE)
        found.append(Series(label, [(at + 1) * 100 / len(y) for at in range(len(y))], y))
    return found


def saved(results: Results) -> str:
    value = results.value("keep_1.saved", SIDE)
    return "–" if value is None else f"{value.median:.1f} % less; see the ratio to its bound"


def headline(results: Results) -> str | None:
    value = results.value("keep_1.saved", SIDE)
    return None if value is None else f"{value.median:.0f} % less on the store than without reclamation (the paper: 72)"


def over_bound(case: str, results: Results) -> "float | None":
    value = results.value(f"{case}.peak.over_bound", SIDE)
    return None if value is None else value.median


EXPERIMENT = Experiment(
    id="E5",
    name="lifecycle",
    question="How much lies on the store while a job runs, with and without reclamation?",
    paper="figure 9",
    budget=Budget(quick_s=10, full_s=120, gate_s=25),
    cells=cells,
    figures=[Figure(f"{case}.peak", "MiB", f"most that lay there, {label}") for case, label in CASES.items()]
    + [Figure(f"{case}.saved", "%", f"less than without, {label}") for case, label in CASES.items() if case != "none"]
    + [Figure("metadata", "MiB", "the most of it that was not data")],
    bars=[Bar(f"peak over (max_lag + interval + what is kept and staged) × batch, {CASES[case]}",
              functools.partial(over_bound, case), "<=", 1.10, counted=True) for case in CASES if case != "none"],
    plots=[Plot("e05-storage", "Bytes on the store over the run", "share of the run (%)", "on the store (MiB)",
                courses, kind="course")],
    paper_values=[PaperValue("storage saved by reclamation", "72.0 % less (34.85 → 9.76 GiB), 3.1 × the bound", saved)],
    headline=headline,
    remarks=["Batches are a hundredth of the paper's; all bytes beneath the namespace are counted."],
)
