# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E1: what producers publish a second, beside Kafka on the same kind of storage; and how ours grows with producers."""

import contextlib
import functools
from typing import Any, Generator, Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Series
from compare.experiments import benchrows, carriers
from compare.results import Results

WORLD = 32
OURS, OBJECTS, STRICT, STRICT_TX, SLICED = "ours", "ours-objects", "kafka-strict", "kafka-strict-tx", "kafka-sliced"
BARE = "files, bare"
# With what a transaction costs shared by four batches of a producer, as our commits share theirs.
SLICED_4 = "kafka-sliced, 4 a transaction"
# Producers, KB of a slice, batches of a turn.
GRID = [(8, 100, 160), (32, 100, 160), (128, 100, 256), (8, 1000, 32), (32, 1000, 32), (128, 1000, 128), (8, 10000, 8)]
# Beyond it, four gigabytes in the test store's memory beside those in Kafka's.
STORE_KB_MAX = 100_000
DISK_GRID = [(8, 100, 100), (8, 1000, 24)]
QUICK_GRID = [(2, 100, 12)]
# Ours alone, on an object store with latency, then with a limit on its bandwidth.
SCALING = {"scaling.8_producers": "batches_per_s_8", "scaling.128_producers": "batches_per_s_128",
           "scaling.of_the_cap": "of_the_cap"}
SCALING_AT = {"what": "8 and 128 producers, 50 ms a PUT"}
# By the size of a slice, of strict Kafka's throughput: the least.
LEAST = {100: 1.0, 1000: 2.5, 10000: 6.0}
LEAST_SLICED, CPU_MOST = 2.0, 0.8
LIMIT = ("The side \"files, bare\" writes the same bytes with the same threads and does nothing else: ours cannot be "
         "faster than that. Its row stands beside ours in the same rounds.")


def point(producers: int, slice_kb: int, storage: str = "memory") -> dict[str, Any]:
    return {"producers": producers, "slice_kb": slice_kb, "storage": storage}


def plan_of(producers: int, slice_kb: int, batches: int) -> dict[str, Any]:
    return {"action": "produce", "producers": producers, "batches": batches, "world": WORLD,
            "slice_bytes": slice_kb * 1000}


def memory_cells(context: Context) -> Generator[Cell, None, None]:
    """Both in memory: nothing is flushed anywhere. Ours twice: on files, as Kafka's log is; and over loopback on an
    object store, as Kafka's clients speak to their broker."""
    with carriers.kafka(context) as broker, context.folder() as folder, context.teststore() as store:
        if context.mode == "full":
            broker.warm(WORLD, 100_000)
        for number, (producers, slice_kb, batches) in enumerate(context.pick(GRID, QUICK_GRID)):
            plan = plan_of(producers, slice_kb, batches)
            sides = [carriers.files(context, OURS, folder, durable=False, **plan),
                     carriers.files(context, BARE, folder, **{**plan, "action": "bare"}),
                     *(broker.side(name, **plan) for name in (STRICT, SLICED))]
            if producers * slice_kb < STORE_KB_MAX:
                sides.append(carriers.objects(context, OBJECTS, store, f"e1-{number}", **plan))
            if batches >= 4 * producers and producers <= 8:
                sides += [broker.side(STRICT_TX, **plan), broker.side(SLICED_4, per_transaction=4, **plan)]
            yield Cell(point(producers, slice_kb), sides)


def disk_cells(context: Context) -> Generator[Cell, None, None]:
    """Both on disk: each batch is on the device before it is acknowledged."""
    with carriers.kafka(context, "disk", durable=True) as broker, context.folder("disk") as folder:
        broker.warm(WORLD, 100_000, carriers.WARM_BYTES // 4)
        for producers, slice_kb, batches in DISK_GRID:
            plan = plan_of(producers, slice_kb, batches)
            yield Cell(point(producers, slice_kb, "disk"),
                       [carriers.files(context, OURS, folder, durable=True, **plan),
                        *(broker.side(name, **plan) for name in (STRICT, SLICED))])


def cells(context: Context) -> Iterator[Cell]:
    yield Cell(dict(SCALING_AT), [benchrows.side(context, OURS, "scaling", SCALING,
                                                 modelled="the store's latency and bandwidth are the test store's")])
    with contextlib.closing(memory_cells(context)) as found:
        yield from found
    if context.mode == "full":
        with contextlib.closing(disk_cells(context)) as found:
            yield from found


def by_producers(slice_kb: int, results: Results) -> list[Series]:
    return [Series(side, *results.along("mb_per_s", side, "producers", slice_kb=slice_kb, storage="memory"))
            for side in (OURS, OBJECTS, STRICT, SLICED)]


def losses(results: Results) -> list[str]:
    found = []
    for cell in results.cells:
        at = cell["at"]
        if at == SCALING_AT:
            continue
        for own in (OURS, OBJECTS):
            for side in (STRICT, STRICT_TX, SLICED, SLICED_4):
                over = results.ratio("mb_per_s", own, side, **at)
                if over is not None and over.median < 1:
                    found.append(f"{at['producers']} producers, {at['slice_kb']} KB a slice, {at['storage']}: "
                                 f"{own} publishes {over.median:.2f} × what {side} does")
    return found


def told(figure: str, unit: str, at: dict[str, Any], results: Results) -> str:
    value = results.value(figure, OURS, **at)
    return "–" if value is None else f"{value.median:.0f} {unit}"


def bars() -> list[Bar]:
    found = [Bar("batches a second of 128 producers over 8, store with 50 ms a PUT",
                 carriers.asked(carriers.value, "batches_per_s_128.over", OURS, SCALING_AT), ">=", 15.5, modelled=True),
             Bar("share of the store's bandwidth that 128 producers use",
                 carriers.asked(carriers.value, "of_the_cap", OURS, SCALING_AT), ">=", 0.97, unit="", modelled=True)]
    for slice_kb, least in LEAST.items():
        at, size = point(8, slice_kb), f"{slice_kb * WORLD / 1000:g} MB"
        found += [
            Bar(f"throughput over strict Kafka, 8 producers, batches of {size}, memory",
                carriers.asked(carriers.ratio, "mb_per_s", OURS, STRICT, at), ">=", least, evidence=LIMIT),
            Bar(f"throughput over sliced Kafka, 8 producers, batches of {size}, memory",
                carriers.asked(carriers.ratio, "mb_per_s", OURS, SLICED, at), ">=", LEAST_SLICED, evidence=LIMIT),
            Bar(f"processor time a GB over strict Kafka, 8 producers, batches of {size}, memory",
                carriers.asked(carriers.ratio, "cpu_s_per_gb", OURS, STRICT, at), "<=", CPU_MOST),
        ]
    return found


EXPERIMENT = Experiment(
    id="E1",
    name="producers",
    question="How much do producers publish a second, beside Kafka with equal durability?",
    paper="figure 6",
    budget=Budget(quick_s=40, full_s=960),
    cells=cells,
    figures=[Figure("mb_per_s", "MB/s", "payload, all producers, from the first write to the last commit"),
             Figure("batches_per_s", "1/s", "whole batches"),
             Figure("cpu_s_per_gb", "s/GB", "processor time of clients and server"),
             Figure("batches_per_s_8", "1/s", "8 producers, a batch under way each, store with 50 ms a PUT"),
             Figure("batches_per_s_128", "1/s", "128 producers"),
             Figure("batches_per_s_128.over", "×", "one over the other, in turns"),
             Figure("of_the_cap", "", "share of a store's limited bandwidth that 128 producers use"),
             Figure("failed", "", "1: Kafka could not carry this; the row's settings say why")],
    bars=bars(),
    plots=[Plot(f"e01-{slice_kb}kb", f"Producers, {slice_kb} KB a slice, 32 slices, memory", "producers",
                "payload (MB/s)", functools.partial(by_producers, slice_kb), log_x=True) for slice_kb in (100, 1000)],
    paper_values=[PaperValue("128 producers, 100 KB a slice, their cluster", "1,420 MB/s, Kafka none (64 at most)",
                             functools.partial(told, "mb_per_s", "MB/s", point(128, 100))),
                  PaperValue("128 producers, 1000 KB a slice", "7,030 MB/s, 3.31 × Kafka",
                             functools.partial(told, "mb_per_s", "MB/s", point(128, 1000)))],
    losses=losses,
    remarks=[
        "Producers are threads of one process on both sides, each with a handle of its own; Kafka's send without a "
        "copy.",
        "memory: logs and files on a memory file system, nothing flushed; disk: Kafka with a flush for each appended "
        "batch, ours durable=true. One broker, one replica: the paper has three.",
        "ours is on files, without a network; ours-objects speaks HTTP over loopback to the test store, which counts "
        "as server.",
        "files, bare: the same bytes written to files by the same threads, the limit of what ours stands on.",
        "320 MB: librdkafka 2.0.2, for 2.16 cannot produce messages of 2^28 bytes and more.",
    ],
    needs=frozenset({"release", "package", "kafka"}),
)
