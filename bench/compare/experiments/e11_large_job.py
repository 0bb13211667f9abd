# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E11: 1,024 ranks and 1,000 producers. The chain on a virtual clock, what waiting ranks ask measured with a few of
them, the rest on paper (largejob.py)."""

import dataclasses
import functools
import json
from typing import Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, Plot, Row, Series, Side
from compare.experiments import largejob
from compare.experiments.largejob import Job
from compare.results import Results, Spread

RANKS, SLICE = 1024, 100_000
STEPS_PER_S = [0.1, 1.0, 3.0, 10.0]
# The fastest chain of many producers, and the slow one of very many: a manifest names each.
PRODUCERS = [128, 1000]
FOLLOWING_COMMITS = [1.0, 6.0]
PAPERS = "footer GET, 10 Hz polls"


def chain_row(printed: str) -> Row:
    told = json.loads(printed.strip().splitlines()[-1])
    reads = told["commits_per_s"] * told["reads_per_commit"]
    return Row({"commits_per_s": told["commits_per_s"], "reads_per_s": reads, "lag_p50_s": told["lag_p50_s"],
                "success_percent": told["success_percent"], "manifest_bytes": told["manifest_bytes"]},
               settings={"virtual minutes": told["minutes"]})


def chain(context: Context, producers: int) -> Cell:
    minutes = context.pick(30, 4)
    words = [context.bw_bench, "cadence", "--virtual", "--minutes", minutes, "--producers", producers, "--policy",
             "turn", "-o", "json"]
    settings = {"GET": "30 ms", "PUT": "60 ms", "a batch": "237 ms a producer"}
    return Cell({"case": "chain", "producers": producers}, [
        Side("turn", words, read=chain_row, counted=True, settings=settings,
             modelled="the clock, the store, the rate of batches: 4,200 batches/s from 1,000 producers")])


def following(context: Context, commits_per_s: float) -> Iterator[Cell]:
    """A few of the ranks, counted; and what the paper's arithmetic says of as many."""
    with context.teststore(latency={"get": {"p50_ms": 5}, "any": {"p50_ms": 8}}) as store:
        settings = {"ranks": RANKS, "here": context.pick(8, 4), "commits_per_s": commits_per_s,
                    "seconds": context.pick(10, 4), "settle_s": 2}
        each = largejob.polls(RANKS, commits_per_s)
        yield Cell({"case": "waiting", "commits_per_s": commits_per_s}, [
            Side("measured", [context.python("package"), context.peer("following"),
                              json.dumps({**settings, "url": store.url, "port": store.port})],
                 settings=settings, modelled="the other ranks: these are told of a world of 1,024"),
            Side("on paper", call=lambda: Row({"reads_per_rank_s": each.all, "manifests_per_rank_s": each.manifests,
                                               "markers_per_rank_s": each.markers, "commits_per_s": commits_per_s}),
                 counted=True, modelled="arithmetic")])


def on_paper(producers: int, of_chain: Row) -> Iterator[Cell]:
    found = of_chain.figures
    rate = found["commits_per_s"]
    for steps in STEPS_PER_S:
        job = Job(RANKS, producers, steps, SLICE, rate, found["reads_per_s"] / rate, found["manifest_bytes"])
        settings = {"slice": "100 KB", "poll floor": f"{1000 * RANKS * largejob.poll_floor_s_a_rank():.0f} ms",
                    "chain": f"{rate:.2f} commits/s at most"}
        yield Cell({"case": "job", "producers": producers, "steps_per_s": steps}, [
            Side("batchweave", call=functools.partial(job_row, job), counted=True, settings=settings,
                 modelled="arithmetic: all ranks wait for each step"),
            Side(PAPERS, call=functools.partial(paper_row, job), counted=True,
                 modelled="arithmetic: as the paper's readers")])


def job_row(job: Job) -> Row:
    return Row(largejob.figures(job))


def paper_row(job: Job) -> Row:
    return Row(largejob.figures_of_paper(job))


def cells(context: Context) -> Iterator[Cell]:
    for producers in PRODUCERS:
        cell = chain(context, producers)
        yield cell
        yield from on_paper(producers, cell.rows["turn"][0])
    if context.mode != "gate":
        for commits_per_s in FOLLOWING_COMMITS:
            yield from following(context, commits_per_s)


def job_figure(name: str, producers: int, steps: float, results: Results) -> Spread | None:
    return results.value(name, "batchweave", case="job", producers=producers, steps_per_s=steps)


def measured_over_paper(commits_per_s: float, results: Results) -> Spread | None:
    """What is on paper is one row; every round is over it."""
    said = results.value("reads_per_rank_s", "on paper", case="waiting", commits_per_s=commits_per_s)
    found = results.value("reads_per_rank_s", "measured", case="waiting", commits_per_s=commits_per_s)
    if said is None or found is None:
        return None
    return Spread(found.median / said.median, found.least / said.median, found.most / said.median, found.count)


def along(figure: str, side: str, producers: int, results: Results) -> Series:
    label = f"{producers:,} producers"
    return Series(label, *results.along(figure, side, "steps_per_s", case="job", producers=producers))


def requests(results: Results) -> list[Series]:
    names = {"slice_gets_per_s": "slices, all prefixes", "slice_gets_per_prefix": "slices, one prefix",
             "manifest_reads_per_s": "manifest/", "marker_reads_per_s": "retired/"}
    return [dataclasses.replace(along(name, "batchweave", PRODUCERS[0], results), label=label)
            for name, label in names.items()]


def dollars(results: Results) -> list[Series]:
    found = [dataclasses.replace(along(f"dollars_per_hour.{price.name}", "batchweave", PRODUCERS[-1], results),
                                 label=price.name) for price in largejob.PRICES]
    first = largejob.PRICES[0].name
    paper = along(f"dollars_per_hour.{first}", PAPERS, PRODUCERS[-1], results)
    return [*found, dataclasses.replace(paper, label=f"{PAPERS}, {first}")]


def losses(results: Results) -> list[str]:
    found = []
    success = results.value("success_percent", "turn", case="chain", producers=1000)
    lag = results.value("lag_p50_s", "turn", case="chain", producers=1000)
    if success is not None and lag is not None:
        found.append(f"with 1,000 producers a batch is visible after {lag.median:.0f} s in the median, and "
                     f"{100 - success.median:.0f} % of the attempts to commit are lost")
    return found


FIGURES = [
    Figure("commits_per_s", "1/s", "commits"), Figure("reads_per_s", "1/s", "producers' reads"),
    Figure("manifest_bytes", "B", "a manifest"), Figure("lag_p50_s", "s", "visible lag p50"),
    Figure("success_percent", "%", "creates that won"), Figure("slice_gets_per_s", "1/s", "slice GETs"),
    Figure("slice_gets_per_prefix", "1/s", "of a prefix"), Figure("manifest_reads_per_s", "1/s", "reads of manifest/"),
    Figure("marker_reads_per_s", "1/s", "reads of retired/"),
    Figure("manifest_writes_per_s", "1/s", "writes of manifest/"), Figure("data_puts_per_s", "1/s", "data PUTs"),
    Figure("gb_out_per_s", "GB/s", "out"), Figure("chain_versions_per_hour", "1/h", "chain, versions"),
    *(Figure(f"dollars_per_hour.{price.name}", "$/h", price.name) for price in largejob.PRICES),
    Figure("polling_dollars_per_hour", "$/h", "of it polling"),
    Figure("reads_per_rank_s", "1/s", "reads of a waiting rank"),
]
WHY = ("The interval of polls has a floor that grows with the job, but a poll reads each version that came since: at "
       "the pace of this chain that alone is more than the limit. Ranks that look ahead ask less.")

EXPERIMENT = Experiment(
    id="E11",
    name="large job",
    question="What do 1,024 ranks and 1,000 producers ask of an object store, and what does it cost?",
    paper="",
    budget=Budget(quick_s=15, full_s=360, gate_s=12),
    needs=frozenset({"release", "package"}),
    cells=cells,
    figures=FIGURES,
    bars=[
        *(Bar(f"reads a second below manifest/, all ranks waiting, {producers:,} producers, {steps:g} steps/s",
              functools.partial(job_figure, "manifest_reads_per_s", producers, steps), "<=", largejob.READS_MAX,
              unit="1/s", modelled=True, counted=steps <= 1, evidence=WHY)
          for producers in PRODUCERS for steps in STEPS_PER_S),
        Bar("slice GETs a second below one prefix of data, 10 steps/s",
            functools.partial(job_figure, "slice_gets_per_prefix", 1000, 10.0), "<=", largejob.READS_MAX, unit="1/s",
            modelled=True, counted=True),
        Bar("producers' reads a second, 1,000 of them",
            lambda r: r.value("reads_per_s", "turn", case="chain", producers=1000), "<=", largejob.READS_MAX,
            unit="1/s", modelled=True, counted=True),
        *(Bar(f"reads of a waiting rank over the arithmetic, {rate:g} commits/s",
              functools.partial(measured_over_paper, rate), "<=", 1.2, modelled=True) for rate in FOLLOWING_COMMITS),
    ],
    plots=[
        Plot("e11-requests", "1,024 waiting ranks, 128 producers", "steps/s", "requests/s", requests, log_x=True,
             log_y=True, modelled=True),
        Plot("e11-dollars", "Requests and transfer, 1,024 ranks, 100 KB slices", "steps/s", "$ an hour", dollars,
             log_x=True, log_y=True, modelled=True),
    ],
    remarks=[
        f"Store limits: {largejob.LIMITS_FROM}. Prices: {largejob.PRICES_FROM}. Neither was measured here.",
        "All ranks wait for each step, which is the most they can ask: with steps known ahead they do not poll.",
        "A step is one object of data; what ranks of one slice read once and share is counted for each.",
        "A restart is 3 requests a rank whatever the length of the chain (docs/design/restart.md); nothing lists it.",
    ],
    losses=losses,
)
