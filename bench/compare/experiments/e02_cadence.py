# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E2: when to commit. Every policy on a virtual clock with the commit machine that ships, in the paper's own loop, and
some with processes. What is virtual is exact: the same numbers on every machine."""

import functools
import json
from typing import Iterator, Mapping

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Row, Series, Side
from compare.results import Results, Spread

POLICIES = ["naive", "fixed:10", "fixed:100", "incr", "aimd:interval", "aimd:rate", "dac", "turn"]
ORDERED = ["dac", "incr", "fixed:100", "fixed:10", "naive"]          # the paper's order, fastest first
PAPER = {"dac": (431.9, 96.3), "incr": (110.5, 64.2), "fixed:100": (107.5, 64.3), "aimd:interval": (79.0, 95.5),
         "fixed:10": (50.0, 13.1), "naive": (7.1, 9.0)}
PRODUCERS = [8, 32, 128]
REAL = ["naive", "dac", "turn"]
VIRTUAL = "the clock, the store (GET 30 ms, PUT 60 ms, log-normal), the rate of batches"
# Who attempts all the time takes long to compute and little time to settle.
HOURS_5 = 300
BUSY_MINUTES = {8: 60, 32: 30, 128: 4}
CALM = {8: {"incr", "aimd:rate", "dac", "turn"}, 32: {"aimd:rate", "dac", "turn"}, 128: {"dac", "turn"}}


def read(printed: str) -> Row:
    told = json.loads(printed.strip().splitlines()[-1])
    names = ["commits_per_s", "batches_per_s", "success_percent", "lag_p50_s", "lag_p99_s", "lag_max_s",
             "reads_per_commit", "run_p50", "run_p99", "manifest_bytes", "requests_per_s", "processor_percent", "open"]
    named = {name: told[name] for name in names if name in told}
    named["conflict_percent"] = 100 - told["success_percent"]
    settings = {"virtual minutes": told["minutes"]} if "minutes" in told else {"seconds": told["seconds"]}
    return Row(named, settings=settings)


def minutes_of(context: Context, producers: int, policy: str) -> int:
    """Five virtual hours where that can be had."""
    calm = {"gate": {8: 60, 32: 60, 128: 90}, "quick": {8: 20, 32: 30, 128: 60}}.get(context.mode)
    if calm is not None:
        return calm[producers] if policy in CALM[producers] else 1
    return HOURS_5 if policy in CALM[producers] else BUSY_MINUTES[producers]


def virtual(context: Context, producers: int, policy: str, case: str, minutes: int) -> Side:
    words = [context.bw_bench, "cadence", "--virtual", "--minutes", minutes, "--producers", producers, "--policy",
             policy, "--case", case, "-o", "json"]
    return Side(policy, words, settings={"GET": "30 ms", "PUT": "60 ms", "seed": 1}, read=read, counted=True,
                modelled=VIRTUAL)


def real(context: Context, policy: str, folder: object) -> Side:
    words = [context.bw_bench, "cadence", "--real", "--seconds", context.pick(8, 1), "--rounds", 1, "--producers", 32,
             "--latency", "30,60", "--policy", policy, "-o", "json", "--memory", folder, "--disk", folder]
    return Side(policy, words, settings={"reads": "30 ms", "writes": "60 ms", "batch": "1 KiB each 237 ms"}, read=read,
                modelled="the store's latency; processes and chain are real")


def cells(context: Context) -> Iterator[Cell]:
    gate, quick = context.mode == "gate", context.quick
    for producers in PRODUCERS:
        policies = ["dac", "turn"] if gate or (quick and producers > 8) else POLICIES
        yield Cell({"case": "virtual", "producers": producers}, [
            virtual(context, producers, policy, "base", minutes_of(context, producers, policy)) for policy in policies])
    # The paper's loop: making batches and committing in turns, so that attempts cost throughput.
    minutes = context.pick(30, 2)
    policies = ORDERED if gate or quick else [*ORDERED, "aimd:interval", "aimd:rate", "turn"]
    yield Cell({"case": "paper's loop", "producers": 32},
               [virtual(context, 32, policy, "paper", minutes) for policy in policies])
    if not gate:
        with context.folder() as folder:
            yield Cell({"case": "processes", "producers": 32}, [real(context, policy, folder) for policy in REAL])


def lag_over_dac(producers: int, results: Results) -> Spread | None:
    return results.ratio("lag_p50_s", "turn", "dac", case="virtual", producers=producers)


def faster(policy: str, than: str, results: Results) -> Spread | None:
    return results.ratio("batches_per_s", policy, than, case="paper's loop", producers=32)


def conflicts(policy: str, producers: int, results: Results) -> Spread | None:
    return results.value("conflict_percent", policy, case="virtual", producers=producers)


def over_producers(figure: str, results: Results) -> list[Series]:
    return [Series(policy, *results.along(figure, policy, "producers", case="virtual"))
            for policy in reversed(POLICIES)]


def in_the_loop(results: Results) -> list[Series]:
    """Ours and the paper's, each over its dac."""
    known = {policy: found.median for policy in ORDERED
             if (found := results.ratio("batches_per_s", policy, "dac", case="paper's loop", producers=32))}
    if not known:
        return []
    return [Series("here", list(known), list(known.values())),
            Series("the paper", list(known), [PAPER[policy][0] / PAPER["dac"][0] for policy in known])]


def of_paper(policy: str, results: Results) -> str:
    rate = results.value("batches_per_s", policy, case="paper's loop", producers=32)
    success = results.value("success_percent", policy, case="paper's loop", producers=32)
    return "–" if rate is None or success is None else f"{rate.median:.0f} batches/s, {success.median:.1f} %"


def losses(results: Results) -> list[str]:
    found = []
    for producers in PRODUCERS:
        turn = results.value("reads_per_commit", "turn", case="virtual", producers=producers)
        dac = results.value("reads_per_commit", "dac", case="virtual", producers=producers)
        if turn and dac and turn.median > dac.median:
            found.append(f"with {producers} producers `turn` reads {turn.median:.1f} objects a commit, `dac` "
                         f"{dac.median:.1f}, and commits more often: it pays for its lag with requests")
    naive = results.value("lag_p50_s", "naive", case="virtual", producers=8)
    turn = results.value("lag_p50_s", "turn", case="virtual", producers=32)
    naive32 = results.value("lag_p50_s", "naive", case="virtual", producers=32)
    if naive and turn and naive32 and naive32.median < turn.median:
        found.append(f"with 32 producers `naive` has a smaller median lag ({naive32.median:.2f} s) than `turn` "
                     f"({turn.median:.2f} s)")
    return found


def headline(results: Results) -> str | None:
    ratio = lag_over_dac(32, results)
    return None if ratio is None else (f"new data visible {1 / ratio.median:.0f} × sooner than with the paper's commit "
                                       "policy (32 producers, virtual time)")


FIGURES: Mapping[str, tuple[str, str]] = {
    "batches_per_s": ("batches/s", "published"), "commits_per_s": ("1/s", "commits"),
    "success_percent": ("%", "creates that won"), "lag_p50_s": ("s", "visible lag p50"),
    "lag_p99_s": ("s", "p99"), "lag_max_s": ("s", "max"), "run_p50": ("steps", "run of one producer p50"),
    "reads_per_commit": ("GETs", "reads a commit"), "manifest_bytes": ("B", "metadata a commit"),
}

EXPERIMENT = Experiment(
    id="E2",
    name="cadence",
    question="When should producers commit, so that few attempts are lost and batches are seen soon?",
    paper="figure 7",
    budget=Budget(quick_s=20, full_s=720, gate_s=35),
    cells=cells,
    figures=[Figure(name, *unit) for name, unit in FIGURES.items()],
    bars=[
        *(Bar(f"visible lag p50 of `turn` over the paper's `dac`, {n} producers", functools.partial(lag_over_dac, n),
              "<=", round(1 / 15, 4), counted=True) for n in PRODUCERS),
        *(Bar(f"the paper's order: `{a}` over `{b}`, batches/s", functools.partial(faster, a, b), ">=", 1, counted=True)
          for a, b in zip(ORDERED[:-1], ORDERED[1:-1])),
        Bar("the paper's order: `fixed:10` over `naive`, batches/s", functools.partial(faster, "fixed:10", "naive"),
            ">=", 1, evidence="Ten milliseconds are no gap beside a create of 60: both attempt all the time. The "
                              "paper's FIXED10 counts batches."),
        *(Bar(f"conflicts of `dac` (its budget is 5 %), {n} producers", functools.partial(conflicts, "dac", n), "<=", 6,
              unit="%", counted=True) for n in PRODUCERS),
        *(Bar(f"conflicts of `turn`, {n} producers", functools.partial(conflicts, "turn", n), "<=", 5, unit="%",
              counted=True) for n in PRODUCERS),
        Bar("lag of `turn` over `dac`, 32 processes", lambda r: r.ratio("lag_p50_s", "turn", "dac", case="processes",
                                                                      producers=32), "<=", 1, modelled=True),
    ],
    plots=[
        Plot("e02-lag", "Visible lag, median", "producers", "lag (s)", functools.partial(over_producers, "lag_p50_s"),
             log_x=True, log_y=True, modelled=True),
        Plot("e02-success", "Creates that won", "producers", "of all attempts (%)",
             functools.partial(over_producers, "success_percent"), log_x=True, modelled=True),
        Plot("e02-order", "Batches/s in the paper's loop, over dac", "policy", "share of dac's rate (×)", in_the_loop,
             kind="bars", modelled=True),
    ],
    paper_values=[PaperValue(f"`{policy}`, 32 producers", f"{rate} MB/s, {success} % success",
                             functools.partial(of_paper, policy)) for policy, (rate, success) in PAPER.items()],
    remarks=[
        "Virtual: the commit machine that ships in every process; the world is modelled (docs/design/cadence.md).",
        "Policies that attempt all the time are computed for fewer virtual minutes; the table says how many.",
        "`dac` has no steady state within the seconds of the row with processes: what is not told by the end counts "
        "with its age, so its lag there is a lower bound.",
        "The paper's FIXED and INCR count batches where these count milliseconds, and its commits grow with history.",
    ],
    headline=headline,
    losses=losses,
)
