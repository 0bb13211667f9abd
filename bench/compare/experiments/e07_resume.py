# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E7: a job is killed with -9 and goes on: how soon it has a batch, and whether it trains on what it would have."""

import contextlib
import functools
import json
import pathlib
import subprocess
from typing import Any, Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, Plot, Series, Side
from compare.results import Results, Spread

OURS, LITDATA, MOSAIC, STATEFUL = "batchweave", "litdata", "mosaicml-streaming", "StatefulDataLoader"
TRIPS, LATENCIES = 3, (20, 100)
FIRST = "from kill -9 to the first batch"
SAME, MORE, FEWER = "same world, 2 → 2", "more ranks, 2 → 4", "fewer ranks, 2 → 1"
MID, DYNAMIC = "between microbatches, 2 → 2", "packed batches, 1 → 1"
# What is asked of each: case of bench/peers/resume.py, ranks before and after.
CASES: dict[str, tuple[str, int, int]] = {
    SAME: ("static", 2, 2), MORE: ("static", 2, 4), FEWER: ("static", 2, 1), MID: ("mid-step", 2, 2),
    DYNAMIC: ("dynamic", 1, 1)}
WHY = {
    LITDATA: "litdata README, resume: StreamingDataLoader.state_dict of rank 0 for all, constant global batch",
    MOSAIC: "streaming docs, resumption and elastic determinism: StreamingDataLoader, num_canonical_nodes fixed, "
            "constant global batch",
    STATEFUL: "torchdata docs: StatefulDataLoader over StatefulDistributedSampler, each rank its own state; packing: "
              "a dataset with a state of its own, which its user writes",
}
STEPS, SAVE = 8, 3


def side(context: Context, peer: str, case: tuple[str, int, int], folder: pathlib.Path, place: str, name: str = "",
         **more: Any) -> Side:
    own = folder / (name or peer)
    own.mkdir(exist_ok=True)
    settings: dict[str, Any] = {
        "peer": peer, "case": case[0], "from": case[1], "to": case[2], "folder": str(own), "place": place, "global": 8,
        "samples": 400, "size": 4096, "save_step": SAVE, "steps": STEPS, "nodes": 2, "compare": True}
    python = context.python("peers" if peer in (LITDATA, MOSAIC) else "package")
    settings |= more
    return Side(name or peer, [python, context.peer("resume")], settings=settings, why=WHY.get(peer, ""),
                counted=bool(settings["compare"]))


def make(context: Context, peer: str, place: str, case: str = "static") -> str:
    python = context.python("peers" if peer in (LITDATA, MOSAIC) else "package")
    told = {"peer": peer, "place": place, "case": case, "samples": 400, "size": 4096}
    subprocess.run([python, context.peer("resume_make"), json.dumps(told)], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return place


def first_batches(context: Context, folder: pathlib.Path, places: dict[str, str], peers: list[str]) -> Iterator[Cell]:
    """Ours from an object store with latency; the peers' sets lie in this machine's memory, in their favour."""
    case = ("static", 1, 1)
    with contextlib.ExitStack() as stack:
        sides = []
        for latency in LATENCIES:
            store = stack.enter_context(context.teststore())
            make(context, OURS, store.url)
            store.control(latency={"any": {"p50_ms": latency}})
            sides.append(side(context, OURS, case, folder, store.url, f"{OURS}, {latency} ms a request", compare=False,
                              latency_ms=latency, store=store.port))
        sides += [side(context, peer, case, folder, places.get(peer, ""), f"{peer}, no latency", compare=False)
                  for peer in peers]
        yield Cell({"what": FIRST}, sides)


def cells(context: Context) -> Iterator[Cell]:
    peers = context.pick([LITDATA, MOSAIC, STATEFUL], [LITDATA])
    with context.folder() as folder:
        places = {peer: make(context, peer, str(folder / f"set-{peer}")) for peer in peers if peer != STATEFUL}
        yield from first_batches(context, folder, places, peers)
        ours = {case: make(context, OURS, f"file://{folder}/{case}", case) for case in ("static", "dynamic")}
        ours["mid-step"] = ours["static"]
        for what in context.pick(list(CASES), [MORE, DYNAMIC]):
            case = CASES[what]
            yield Cell({"what": what}, [side(context, OURS, case, folder, ours[case[0]])] + [
                side(context, peer, case, folder, places.get(peer, "")) for peer in context.pick(peers, [])])


def over_trips(latency: int, results: Results) -> Spread | None:
    return results.value("over_trips_ms", f"{OURS}, {latency} ms a request", what=FIRST)


def exact(what: str, results: Results) -> float | None:
    value = results.value("exact", OURS, what=what)
    return None if value is None else value.least


def times(results: Results) -> list[Series]:
    found = []
    names = [name for name in results.sides() if results.samples("open_ms", name, what=FIRST)]
    for figure, label in (("open_ms", "opening to first batch"), ("imports_ms", "start of Python, imports")):
        values = [value for name in names if (value := results.value(figure, name, what=FIRST)) is not None]
        found.append(Series(label, names, [value.median for value in values], [value.least for value in values],
                            [value.most for value in values]))
    return found


def equal(results: Results) -> list[Series]:
    """1 where the job trains on exactly what an undisturbed one does."""
    found = []
    for peer in (OURS, LITDATA, MOSAIC, STATEFUL):
        known = [(what, value.median) for what in CASES
                 if (value := results.value("exact", peer, what=what)) is not None]
        found.append(Series(peer, [what for what, _ in known], [value for _, value in known]))
    return found


EXPERIMENT = Experiment(
    id="E7",
    name="resume",
    question="How soon does a killed job have its next batch, and is it the one that it would have had?",
    paper="",
    budget=Budget(quick_s=25, full_s=960),
    needs=frozenset({"release", "package", "peers"}),
    cells=cells,
    figures=[
        Figure("open_ms", "ms", "from opening to the first batch, the slowest rank"),
        Figure("over_trips_ms", "ms", f"that beyond {TRIPS} round trips of the store's latency"),
        Figure("imports_ms", "ms", "start of Python and imports, before"),
        Figure("kill_ms", "ms", "from the kill to the first batch of all ranks, process start and imports included"),
        Figure("state_bytes", "B", "the state of a rank"),
        Figure("exact", "", "1: every step holds what it does in the undisturbed job"),
        Figure("moved", "steps", "that hold something else"),
        Figure("lost", "samples", "of these steps that never came"),
        Figure("doubled", "samples", "that came in these steps and should not have, or not again"),
    ],
    bars=[Bar(f"opening to the first batch beyond {TRIPS} round trips of {latency} ms",
              functools.partial(over_trips, latency), "<=", 50, unit="ms") for latency in LATENCIES]
    + [Bar(f"exact, {what}", functools.partial(exact, what), ">=", 1, unit="", counted=True) for what in CASES],
    plots=[Plot("e07-first-batch", FIRST, "side", "ms", times, kind="bars", log_y=True),
           Plot("e07-exact", "Exactly what an undisturbed job trains on", "case", "exact (1) or not (0)", equal,
                kind="bars")],
    remarks=[
        "On a static set with constant global batch litdata and mosaicml-streaming resume exactly, too, also with "
        "other numbers of ranks: that is no distinction of BatchWeave's. What differs is batches that are made while "
        "the job runs.",
        "Packed batches: BatchWeave's were packed with chance by their producer and cannot be made again, only read "
        "again. litdata's and mosaicml-streaming's are packed behind their loader, whose state does not know the "
        "packer's window. StatefulDataLoader is exact with a dataset whose user has written a state that holds the "
        "window; it is for the same number of ranks. webdataset's loader has no state (AttributeError) and is left "
        "out.",
        "The peers' sets lie in memory without latency, in their favour; BatchWeave reads from an object store with "
        "the latency that is told. Import times are those of the packages and part of any restart.",
    ],
)
