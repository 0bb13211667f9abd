# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E12: a conditional write and a commit on an object store, alone and while others keep it busy (bench/latency.c)."""

import functools
import json
from typing import Iterator

from compare.context import Context
from compare.experiment import Budget, Cell, Experiment, Figure, Plot, Row, Series, Side
from compare.results import Results

SIDE = "batchweave"
WHAT = {"create": "conditional write, 2 KiB", "commit": "commit of one batch"}
LOADS = {"alone": "alone", "loaded": "beside 32 puts and reads of 100 KB at once"}
SHARES = ["p50", "p99"]


def read(printed: str) -> Row:
    return Row({told["name"].removeprefix("latency."): told["value"]
                for told in map(json.loads, printed.splitlines())})


def cells(context: Context) -> Iterator[Cell]:
    quick = ["--quick"] if context.quick else ["--rounds", 1]
    with context.folder() as memory, context.folder("disk") as disk:
        words = [context.bw_bench, "latency", "-o", "json", "--memory", memory, "--disk", disk, *quick]
        yield Cell({}, [Side(SIDE, words, read=read, settings={"a write": "50 ms", "a read": "20 ms"},
                             modelled="the store's latency; its work under load is real")])


def bars_of(share: str, results: Results) -> list[Series]:
    found = []
    for load, words in LOADS.items():
        values = {WHAT[what]: spread for what in WHAT
                  if (spread := results.value(f"{what}.{load}.{share}", SIDE)) is not None}
        spreads = list(values.values())
        found.append(Series(words, list(values), [spread.median for spread in spreads],
                            [spread.least for spread in spreads], [spread.most for spread in spreads]))
    return found


def losses(results: Results) -> list[str]:
    create, commit = results.value("create.alone.p50", SIDE), results.value("commit.alone.p50", SIDE)
    if create is None or commit is None:
        return []
    return [f"a commit takes {commit.median:.1f} ms where its conditional write takes {create.median:.1f}: the rest "
            "are the reads that prove its base"]


EXPERIMENT = Experiment(
    id="E12",
    name="latency",
    question="How long do a conditional write and a commit take on an object store, alone and under sustained load?",
    paper="",
    budget=Budget(quick_s=15, full_s=120),
    cells=cells,
    figures=[Figure(f"{what}.{load}.{share}", "ms", f"{WHAT[what]}, {words}, {share}")
             for what in WHAT for load, words in LOADS.items() for share in SHARES],
    bars=[],
    plots=[Plot(f"e12-{share}", f"Conditional write and commit, {share}", "what", f"{share} (ms)",
                functools.partial(bars_of, share), kind="bars", modelled=True) for share in SHARES],
    remarks=["Reported, not judged. The test store, the load and what is measured share the machine's cores."],
    losses=losses,
)
