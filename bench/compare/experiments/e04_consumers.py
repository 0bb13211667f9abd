# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E4: what ranks read: useful bytes a second, bytes and requests for them, waits; beside Kafka, and by layout."""

import contextlib
import functools
from typing import Any, Generator, Iterator

from compare.context import Context, TestStore
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Series, Side
from compare.experiments import benchrows, carriers
from compare.results import Results, Spread

OURS, PLAIN, FOOTER, DENSE = "ours", "plain", "footer", "dense"
STRICT, STRICT_TX, SLICED = "kafka-strict", "kafka-strict-tx", "kafka-sliced"
READS = {OURS: "product", PLAIN: "plain", FOOTER: "footer", DENSE: "dense"}
# Ranks, KB of a slice; steps of those that read slices, and of those that read whole batches, which takes long.
GRID = [(8, 100, 128, 64), (32, 100, 64, 12), (128, 100, 48, 3), (8, 1000, 32, 16), (32, 1000, 24, 3),
        (8, 10000, 8, 3)]
QUICK_GRID = [(8, 50, 24, 8)]
# Counted by the store; no hedges, and so many steps that what ranks ask to begin is little beside.
READS_ROWS = {"reads.per_rank_step": "data_gets_per_rank_step", "reads.per_rank_step.all": "gets_per_rank_step",
              "reads.bytes_per_payload": "amplification"}
COUNTED = {"what": "counted"}
# Steps of ranks together, of which each waits for the last read: with and without slow requests.
TAIL_ROWS = {"tail.quiet.p99": "step_p99_ms", "tail.hedged.p99": "step_slow_p99_ms",
             "tail.unhedged.p99": "step_slow_unhedged_p99_ms", "tail.hedged.requests": "requests_per_read"}
TAIL = {"what": "1 % of reads ten times as slow"}
LATENCY = {"get": {"p50_ms": 20, "sigma": 0.15}}
LATENCY_GRID, LATENCY_QUICK = (32, 100, 96), (8, 20, 32)
TWO_TOPICS = "kafka, two topics"
CROWDED = (
    "128 clients and their server share two cores, and the processor is what both sides run out of (see its time a "
    "useful GB): ours grows with the ranks, librdkafka's hardly. A rank's threads wake each other for each group of "
    "slices; that this is all of it is a guess.")


def point(ranks: int, slice_kb: int, what: str = "loopback") -> dict[str, Any]:
    return {"ranks": ranks, "slice_kb": slice_kb, "what": what}


def reading(ranks: int, slice_kb: int, steps: int) -> dict[str, Any]:
    return {"action": "consume", "ranks": ranks, "world": ranks, "slice_bytes": slice_kb * 1000, "steps": steps}


def writing(ranks: int, slice_kb: int, steps: int, producers: int = 1) -> dict[str, Any]:
    return {"action": "produce", "producers": producers, "batches": steps, "world": ranks,
            "slice_bytes": slice_kb * 1000, "stamped": True, "keep": True}


@contextlib.contextmanager
def filled(context: Context, ranks: int, slice_kb: int, steps: int, **config: Any) -> Iterator[TestStore]:
    """A test store with a namespace of so many steps. Latency begins when they are there."""
    with context.teststore() as store:
        carriers.run(carriers.objects(context, "fill", store, "e4", **writing(ranks, slice_kb, steps)))
        store.control(rules=[carriers.DATA_RULE], **config)
        yield store


def ours(context: Context, name: str, store: TestStore, plan: dict[str, Any], read: str = "product",
         **more: Any) -> Side:
    return carriers.objects(context, name, store, "e4", read=read, **plan, **more)


def topic(broker: carriers.Kafka, name: str, plan: dict[str, Any]) -> Side:
    """A topic with the batches that the side then reads."""
    filling = broker.side(name, **writing(plan["ranks"], plan["slice_bytes"] // 1000, plan["steps"]))
    broker.run(filling)
    reader = broker.side(name, **plan)
    reader.settings["topic"] = filling.settings["topic"]
    return reader


def loopback_cells(context: Context) -> Generator[Cell, None, None]:
    """All over loopback from memory, no latency added: what the processors of this machine can carry."""
    with carriers.kafka(context) as broker:
        if context.mode == "full":
            broker.warm(32, 100_000)
        for ranks, slice_kb, steps, whole_steps in context.pick(GRID, QUICK_GRID):
            plan, whole = reading(ranks, slice_kb, steps), reading(ranks, slice_kb, whole_steps)
            with filled(context, ranks, slice_kb, steps) as store:
                topics = [topic(broker, SLICED, plan), topic(broker, STRICT, whole)]
                if (ranks, slice_kb) == (32, 100) or context.quick:
                    topics.append(topic(broker, STRICT_TX, whole))
                yield Cell(point(ranks, slice_kb),
                           [ours(context, OURS, store, plan), ours(context, FOOTER, store, plan, FOOTER),
                            ours(context, DENSE, store, whole, DENSE), *topics])
                for one in topics:
                    broker.run(broker.side(one.name, **{**one.settings, "action": "drop"}))
        yield two_topics(context, broker)


def two_topics(context: Context, broker: carriers.Kafka) -> Cell:
    """Two sources, a topic each, and ranks that take what comes: in which order?"""
    ranks, steps = context.pick((8, 200), (4, 24))
    plan = {"action": "orders", "ranks": ranks, "world": ranks, "slice_bytes": 10_000, "steps": steps}
    return Cell(point(ranks, 10, "two sources"), [broker.side(TWO_TOPICS, **plan)])


def latency_cells(context: Context) -> Generator[Cell, None, None]:
    """Behind a network's latency, by the test store: by layout; and with slow requests among them."""
    ranks, slice_kb, steps = context.pick(LATENCY_GRID, LATENCY_QUICK)
    plan = reading(ranks, slice_kb, steps)
    with filled(context, ranks, slice_kb, steps, latency=LATENCY) as store:
        yield Cell(point(ranks, slice_kb, "20 ms"),
                   [ours(context, name, store, plan, read) for name, read in READS.items()])
    yield Cell(dict(TAIL), [benchrows.side(context, OURS, "tail", TAIL_ROWS,
                                           modelled="the trainer: it computes for twice the median of a read")])


def counted_cells(context: Context) -> Generator[Cell, None, None]:
    yield Cell(dict(COUNTED), [benchrows.side(context, OURS, "reads", READS_ROWS, counted=True)])


def cells(context: Context) -> Iterator[Cell]:
    parts = [counted_cells] if context.mode == "gate" else [counted_cells, loopback_cells, latency_cells]
    for part in parts:
        with contextlib.closing(part(context)) as found:
            yield from found


# ---- questions

def losses(results: Results) -> list[str]:
    found = []
    for cell in results.cells:
        at = cell["at"]
        if "ranks" not in at:
            continue
        for side in (STRICT, STRICT_TX, SLICED, PLAIN, FOOTER, DENSE):
            over = results.ratio("mb_per_s_per_rank", OURS, side, **at)
            if over is not None and over.median < 1:
                found.append(f"{at['ranks']} ranks, {at['slice_kb']} KB a slice, {at['what']}: ours hands a rank "
                             f"{over.median:.2f} × the useful bytes a second that {side} does")
    return found


def headline(results: Results) -> str | None:
    value = results.value("data_gets_per_rank_step", OURS, **COUNTED)
    wire = results.value("amplification", OURS, **COUNTED)
    if value is None or wire is None:
        return None
    return f"{value.median:g} request for batches a rank and step, and {wire.median:.3f} × its bytes on the wire"


def by_ranks(figure: str, slice_kb: int, results: Results) -> list[Series]:
    return [Series(side, *results.along(figure, side, "ranks", slice_kb=slice_kb, what="loopback"))
            for side in (OURS, FOOTER, DENSE, STRICT, SLICED)]


def told_both(side: str, results: Results) -> str:
    at = point(128, 100)
    value, wire = results.value("mb_per_s_per_rank", side, **at), results.value("amplification", side, **at)
    return "–" if value is None or wire is None else f"{value.median:.3g} ({wire.median:.4g} ×)"


def orders(results: Results) -> str:
    for cell in results.cells:
        if cell["at"]["what"] == "two sources":
            rows = cell["rows"][TWO_TOPICS]
            apart = rows[0]["figures"]["ranks_that_differ"]
            return f"{apart:.0f} of {cell['at']['ranks'] - 1} ranks in another order than rank 0"
    return "–"


EXPERIMENT = Experiment(
    id="E4",
    name="consumers",
    question="What does a rank get a second, what crosses the wire for it, and how long does it wait?",
    paper="figures 3 and 10",
    budget=Budget(quick_s=50, full_s=960, gate_s=25),
    cells=cells,
    figures=[Figure("mb_per_s_per_rank", "MB/s", "useful bytes of a rank, from its opening to its last step"),
             Figure("amplification", "×", "bytes that crossed the wire over useful ones"),
             Figure("gets_per_rank_step", "1", "requests to the store, manifests among them"),
             Figure("data_gets_per_rank_step", "1", "of batches alone"),
             Figure("p50_ms", "ms", "wait for the next step, half"), Figure("p95_ms", "ms", "95 of 100"),
             Figure("p99_ms", "ms", "99 of 100"),
             Figure("cpu_s_per_gb", "s/GB", "processor time of ranks and server, of useful bytes"),
             Figure("step_p99_ms", "ms", "a step of 8 ranks together, 99 of 100"),
             Figure("step_slow_p99_ms", "ms", "the same with slow reads among them"),
             Figure("step_slow_unhedged_p99_ms", "ms", "and late reads not asked for twice"),
             Figure("requests_per_read", "1", "requests over reads wanted, with slow ones"),
             Figure("ranks_that_differ", "1", "ranks whose order is another than rank 0's"),
             Figure("first_step_apart", "1", "step at which the first does"),
             Figure("steps_mixed_share", "1", "share of steps at which ranks held different batches")],
    bars=[Bar("requests for batches a rank and step",
              carriers.asked(carriers.value, "data_gets_per_rank_step", OURS, COUNTED), "<=", 1.0, unit="",
              counted=True),
          Bar("bytes that crossed the wire over useful ones",
              carriers.asked(carriers.value, "amplification", OURS, COUNTED), "<=", 1.005,
              counted=True)]
    + [Bar(f"useful MB/s a rank over sliced Kafka, {ranks} ranks, {slice_kb} KB",
           carriers.asked(carriers.ratio, "mb_per_s_per_rank", OURS, SLICED, point(ranks, slice_kb)), ">=", 1.0,
           evidence=CROWDED if ranks == 128 else "")
       for ranks, slice_kb, _, _ in GRID]
    + [Bar("P99 of a step with 1 % of reads slow over without",
           carriers.asked(carriers.value, "step_slow_p99_ms.over", OURS, TAIL), "<=", 1.2, modelled=True)],
    plots=[Plot("e04-throughput", "Useful bytes of a rank, 100 KB a slice", "ranks", "useful (MB/s per rank)",
                functools.partial(by_ranks, "mb_per_s_per_rank", 100), log_x=True, log_y=True),
           Plot("e04-amplification", "Bytes on the wire over useful ones, 100 KB a slice", "ranks", "amplification (×)",
                functools.partial(by_ranks, "amplification", 100), log_x=True, log_y=True)],
    paper_values=[
        PaperValue("128 ranks, 100 KB: MB/s per rank, theirs", "1.61 (1.67 ×)", functools.partial(told_both, OURS)),
        PaperValue("128 ranks, 100 KB: whole batches", "1.11 (130.8 ×)", functools.partial(told_both, DENSE)),
        PaperValue("128 ranks, 100 KB: Kafka", "0.061 (128.0 ×)", functools.partial(told_both, STRICT)),
        PaperValue("two topics, ranks that take what comes", "ranks disagree", orders)],
    losses=losses,
    headline=headline,
    remarks=[
        "Ranks are threads of one process on both sides, each with a client of its own; ours checks every byte, "
        "librdkafka none (its default). Rank counts are the world's: all ranks read.",
        "Ours reads from the test store over loopback, as Kafka's clients from their broker; bytes are the store's "
        "counters and, of Kafka, what the kernel counted into the consumers' sockets.",
        "plain, footer and dense are the layouts alone, by one client that reads nothing ahead.",
        "128 ranks stop at 100 KB and 32 at 1000 KB: a step of strict Kafka would be 16 GB on two cores.",
    ],
    needs=frozenset({"release", "package"}),
)
