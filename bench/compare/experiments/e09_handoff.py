# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E9: what a trainer pays in Python to be handed the next item, beside what users load with."""

import functools
from typing import Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, Plot, Series, Side
from compare.results import Results, Spread

PAYLOADS = {"100kb": "100 KB", "1000kb": "1 MB", "10000kb": "10 MB"}
OURS, LOADER, LITDATA, BARE = "batchweave Consumer", "batchweave Loader", "litdata", "bare mmap"
TORCH = ("DataLoader, 1 worker", "DataLoader, no worker", "Local, threads")
STATIC = (LITDATA, "mosaicml-streaming", "webdataset")
EVIDENCE = {"10000kb": "Others are read meanwhile: with reading at rest it takes less (handoff.rested.10MB of "
                       "bench/python/handoff.py). That caches and memory are full of them is a guess."}
WHY = {
    BARE: "mmap and numpy.frombuffer of a file that was opened before, nothing read or verified: the least that "
          "handing out memory costs in Python on this machine",
    LITDATA: "litdata README: StreamingDataset over chunks of 64 MB, local folder; the dataset itself, without the "
             "loader's worker processes, is its fastest way",
    "mosaicml-streaming": "streaming docs, StreamingDataset: shards of 64 MiB (size_limit), local folder",
    "webdataset": "webdataset docs: ShardWriter and WebDataset, no shuffle, no decoding",
    "DataLoader, 1 worker": "the paper's setting: num_workers=1, prefetch_factor=4; batch_size=None",
    "DataLoader, no worker": "the dataset runs in the trainer's thread: a copy of memory, nothing read ahead",
    "Local, threads": "the paper's Local, with the threads that two cores can hold",
}


def cells(context: Context) -> Iterator[Cell]:
    payloads = context.pick([(100_000, 600, 0.0015), (1_000_000, 200, 0.003), (10_000_000, 40, 0.02)],
                            [(100_000, 60, 0.001), (1_000_000, 20, 0.002), (10_000_000, 6, 0.01)])
    with context.folder() as folder:
        def side(name: str) -> Side:
            python = context.python("peers" if name in STATIC else "package")
            settings = {"side": name, "folder": str(folder), "payloads": payloads}
            return Side(name, [python, context.peer("handoff")], settings=settings, why=WHY.get(name, ""))

        yield Cell({}, [side(name) for name in (OURS, LOADER, BARE, *STATIC, *context.pick(TORCH, TORCH[:1]))])


def p50(size: str, results: Results) -> Spread | None:
    return results.value(f"next_{size}", OURS)


def over_litdata(figure: str, size: str, results: Results) -> Spread | None:
    return results.ratio(f"{figure}_{size}", OURS, LITDATA)


def losses(results: Results) -> list[str]:
    """Where the machine is what keeps a hand-off from its bar."""
    found = []
    for size, label in PAYLOADS.items():
        own, over = p50(size, results), results.ratio(f"next_{size}", OURS, BARE)
        if own is not None and over is not None and own.median > 2:
            found.append(f"next of an item that is ready takes {own.median:.1f} µs at {label}, which is "
                         f"{over.median:.2f} × a bare mmap and frombuffer in the same run")
    return found


def headline(results: Results) -> str | None:
    own, over = p50("1000kb", results), over_litdata("next", "1000kb", results)
    if own is None or over is None:
        return None
    return (f"{own.median:.1f} µs to hand a trainer a verified item of 1 MB that is ready, {1 / over.median:.1f} times "
            "less than litdata")


def bars_of(figure: str, results: Results) -> list[Series]:
    found = []
    for name in results.sides():
        values = [results.value(f"{figure}_{size}", name) for size in PAYLOADS]
        known = [(label, value) for label, value in zip(PAYLOADS.values(), values) if value is not None]
        found.append(Series(name, [label for label, _ in known], [value.median for _, value in known],
                            [value.least for _, value in known], [value.most for _, value in known]))
    return found


EXPERIMENT = Experiment(
    id="E9",
    name="handoff",
    question="What does a trainer pay in Python to be handed the next item that is ready?",
    paper="",
    budget=Budget(quick_s=20, full_s=480),
    needs=frozenset({"package", "peers"}),
    cells=cells,
    figures=[Figure(f"{figure}_{size}", unit, f"{what}, {label}") for size, label in PAYLOADS.items()
             for figure, unit, what in (("next", "µs", "next of an item that is ready, p50"),
                                        ("paced", "µs", "next after computing, p50"),
                                        ("paced_p99", "µs", "next after computing, p99"),
                                        ("copied", "µs", "the same with a copy of all bytes, p50"),
                                        ("mb_per_s", "MB/s", "without pauses, all bytes copied"),
                                        ("cpu", "µs", "processor an item, without pauses"))],
    bars=[Bar(f"next of an item that is ready, p50, {label}", functools.partial(p50, size), "<=", 2.0, unit="µs",
          evidence=EVIDENCE.get(size, ""))
          for size, label in PAYLOADS.items()]
    + [Bar(f"{what}, over litdata's, {label}", functools.partial(over_litdata, figure, size), "<=", 1.0)
       for figure, what in (("next", "next of an item that is ready"), ("paced", "next after computing"))
       for size, label in PAYLOADS.items()],
    losses=losses,
    headline=headline,
    plots=[Plot("e09-next", "Handing out an item that is ready", "payload", "next, p50 (µs)",
                functools.partial(bars_of, "next"), kind="bars", log_y=True),
           Plot("e09-copied", "Handing out an item and reading all its bytes", "payload", "next and copy, p50 (µs)",
                functools.partial(bars_of, "copied"), kind="bars", log_y=True)],
    remarks=[
        "BatchWeave has verified every byte before next returns. litdata hands out a view of a map whose bytes "
        "nobody has read or checked, so its next does less; the row with the copy shows what it puts off. "
        "mosaicml-streaming and webdataset copy and do not check (no hashes, their default).",
        "Ready: ours by its own counter; DataLoader, Local and mosaicml-streaming, which read ahead and do not tell, "
        "after a pause; litdata, webdataset and the loader without workers read in next itself and are asked at "
        "once. After computing: with Python's lock let go, the same for all; core and caches then belong to the "
        "trainer. All sets lie in memory. DataLoader and Local copy from memory and read nothing: their rows are the "
        "hand-off alone.",
        "The processor an item has a resolution of 10 ms over all items of a payload.",
    ],
)
