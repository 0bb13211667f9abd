# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E3: what it costs that a producer's resume state is committed with its batches. The sides that differ by so little
are in one process (bench/states.c), in turns of one commit; a turn here is that process."""

import functools
import json
from typing import Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Row, Series, Side
from compare.results import Results, Spread

SLICES, KILOBYTES = [8, 32, 128], [10, 100, 1000]
OTHERS = {"dummy": "as many bytes that do not change", "none": "none"}
WHERE = {"put20": "PUT 20 ms", "local": "the disk, synced"}
SIDE = "batchweave"


def figure(where: str, slices: int, kilobytes: int, other: str) -> str:
    return f"{where}.{slices}x{kilobytes}k.{other}"


def read(printed: str) -> Row:
    """Per cent that a commit with a state takes longer, and how long it takes."""
    row = Row({})
    for line in printed.splitlines():
        told = json.loads(line)
        parts = told["name"].removeprefix("states.").split(".")
        where = "put20" if parts[0] == "put20" else "local"
        name = f"{where}.{parts[-2]}.{parts[-1].removeprefix('over_')}"
        row.figures[name] = 100 * (told["ratio"] - 1)
        row.figures[f"{name}.us"] = told["value"]
    return row


def cells(context: Context) -> Iterator[Cell]:
    with context.folder() as memory, context.folder("disk") as disk:
        words = [context.bw_bench, "states", "-o", "json", "--memory", memory, "--disk", disk,
                 *(["--quick"] if context.quick else ["--rounds", 2])]
        settings = {"state": "256 B", "GET": "10 ms", "PUT": "20 ms",
                    "turns": "A B B A of one commit (disk: 5)", "rounds a process": context.pick("12 (disk: 64)", 1)}
        yield Cell({}, [Side(SIDE, words, settings=settings, read=read,
                             modelled="the latency of the rows with PUT 20 ms")])


def worst(where: str, results: Results) -> Spread | None:
    """Of all points and both others: its median and spread over the rounds."""
    found = [spread for slices in SLICES for kilobytes in KILOBYTES for other in OTHERS
             if (spread := results.value(figure(where, slices, kilobytes, other), SIDE)) is not None]
    return max(found, key=lambda spread: spread.median, default=None)


def points(where: str, results: Results) -> list[Series]:
    found = []
    for other, label in OTHERS.items():
        values = {f"{slices}×{kilobytes} KB": spread for slices in SLICES for kilobytes in KILOBYTES
                  if (spread := results.value(figure(where, slices, kilobytes, other), SIDE)) is not None}
        spreads = list(values.values())
        found.append(Series(f"over {label}", list(values), [spread.median for spread in spreads],
                            [spread.least for spread in spreads], [spread.most for spread in spreads]))
    return found


def of_paper(results: Results) -> str:
    value, most = results.value(figure("put20", 8, 100, "dummy"), SIDE), worst("put20", results)
    return "–" if value is None or most is None else f"{value.median:.2f} %; worst of all points {most.median:.2f} %"


EXPERIMENT = Experiment(
    id="E3",
    name="states",
    question="What does it cost a commit that it carries its producer's resume state?",
    paper="figure 8",
    budget=Budget(quick_s=15, full_s=480),
    cells=cells,
    figures=[Figure(figure(where, slices, kilobytes, other), "%",
                    f"{words}: {slices} slices of {kilobytes} KB, longer than with {label}")
             for where, words in WHERE.items() for slices in SLICES for kilobytes in KILOBYTES
             for other, label in OTHERS.items()],
    bars=[
        Bar("longer with a state, the worst of all W × payload and both others, PUT 20 ms",
            functools.partial(worst, "put20"), "<=", 1, unit="%", modelled=True),
        Bar("longer with a state, the worst of all W × payload and both others, the disk",
            functools.partial(worst, "local"), "<=", 3, unit="%"),
    ],
    plots=[
        Plot("e03-put20", "A commit with a state, PUT 20 ms", "slices × payload", "longer (%)",
             functools.partial(points, "put20"), kind="bars", modelled=True),
        Plot("e03-disk", "A commit with a state, the disk, synced", "slices × payload", "longer (%)",
             functools.partial(points, "local"), kind="bars"),
    ],
    paper_values=[PaperValue("commit latency added by the state map, worst at 8 × 100 KB",
                             "9.4 – 74.9 %; 40.6 → 32.4 % over the run", of_paper)],
    remarks=[
        "Batches are descriptors whose parts are taken as uploaded: what is compared is the commit.",
        "With PUT 20 ms the n-th request of both sides of a pair takes equally long: chance makes no difference.",
        "Nothing grows over the run here, so there is no course: a manifest holds the newest state of each producer.",
    ],
)
