# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E6: training with heavy preprocessing, end to end: in processes of its own, or beside the trainer as users do it."""

import functools
from typing import Any, Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Series, Side
from compare.results import Results, Spread

OURS, LOADER, LOCAL, KAFKA, RAY = "batchweave", "DataLoader", "Local", "Kafka", "Ray Data"
WORKLOADS = {"video": "frames of video, decoded and resized", "tokens": "text, tokenized and packed"}
SUPPLY = 1.1
TRAINING, RAY_TRAINING, KILLED, MODEL = "training", "training beside Ray Data", "a worker killed", "supply"
WHY = {
    LOADER: "the paper's setting: num_workers=1, prefetch_factor=4 in each rank; the dataset yields whole items",
    LOCAL: "the paper's Local: worker threads, a collator, a bounded queue, with the threads that two cores can hold",
    KAFKA: "librdkafka CONFIGURATION.md: idempotent producer, acks=all; a broker of this side's own, page cache, 512 "
           "MB heap",
    RAY: "Ray Data user guide: streaming_split over the ranks, a pool of actors for preprocessing with state",
}


def side(context: Context, system: str, workload: str, folder: str, kill: bool = False) -> Side:
    steps = context.pick(60, 8)
    settings: dict[str, Any] = {"system": system, "workload": workload, "steps": steps, "world": 2, "workers": 1,
                                "kill_at": steps // 4 if kill else None, "folder": folder}
    return Side(system, [context.python("package"), context.peer("endtoend")], settings=settings,
                why=WHY.get(system, ""), counted=kill)


def supply(context: Context, system: str, folder: str) -> Side:
    settings = {"system": system, "supply": SUPPLY, "step_s": 0.05, "steps": context.pick(200, 40), "ranks": 4,
                "workers": 2, "bytes": 100_000, "folder": folder}
    return Side(system, [context.python("package"), context.peer("supply")], settings=settings, why=WHY.get(system, ""),
                modelled="the trainer waits 50 ms a step, preprocessing is a sleep, log-normal with sigma 0.5")


def cells(context: Context) -> Iterator[Cell]:
    systems = context.pick([OURS, LOADER, LOCAL, KAFKA], [OURS, LOADER])
    with context.folder() as memory:
        folder = str(memory)
        yield Cell({"what": MODEL}, [supply(context, system, folder) for system in (OURS, LOADER, LOCAL)])
        yield Cell({"what": KILLED, "workload": "video"},
                   [side(context, system, "video", folder, kill=True) for system in systems])
        for workload in context.pick(list(WORKLOADS), ["tokens"]):
            yield Cell({"what": TRAINING, "workload": workload},
                       [side(context, system, workload, folder) for system in systems])
        if context.mode == "full":
            # Last: what does not start here takes nothing else with it.
            yield Cell({"what": RAY_TRAINING, "workload": "video"},
                       [side(context, system, "video", folder) for system in (OURS, RAY)])


def modelled(figure: str, results: Results) -> Spread | None:
    return results.value(figure, OURS, what=MODEL)


def killed(figure: str, system: str, results: Results) -> float | None:
    value = results.value(figure, system, what=KILLED)
    return None if value is None else value.least


def step_times(results: Results) -> list[Series]:
    found = []
    for name in results.sides():
        known = [(workload, value) for workload in WORKLOADS
                 if (value := results.value("steps_per_s", name, what=TRAINING, workload=workload)) is not None]
        found.append(Series(name, [workload for workload, _ in known], [value.median for _, value in known],
                            [value.least for _, value in known], [value.most for _, value in known]))
    return found


def courses(results: Results) -> list[Series]:
    return [Series(name, list(range(len(y))), y) for name in (OURS, LOADER, LOCAL)
            if (y := results.course("step_ms", name, what=MODEL))]


def over_loader(results: Results) -> str:
    told = []
    for workload in WORKLOADS:
        value = results.ratio("steps_per_s", OURS, LOADER, what=TRAINING, workload=workload)
        if value is not None:
            told.append(f"{workload} {value.median:.2f} ×")
    return ", ".join(told) or "–"


def over_read(results: Results) -> str:
    told = []
    for workload in WORKLOADS:
        value = results.value("made_over_read", OURS, what=TRAINING, workload=workload)
        if value is not None:
            told.append(f"{workload} {value.median:.1f} ×")
    return ", ".join(told) or "–"


EXPERIMENT = Experiment(
    id="E6",
    name="endtoend",
    question="Does training stall on heavy preprocessing, and what becomes of the job when a worker dies?",
    paper="figures 1, 5",
    budget=Budget(quick_s=40, full_s=1080),
    needs=frozenset({"package", "kafka"}),
    cells=cells,
    figures=[
        Figure("steps_per_s", "1/s", "steps, by the slowest rank of each"),
        Figure("p50_ms", "ms", "a step, p50"),
        Figure("p95_ms", "ms", "a step, p95"),
        Figure("p95_over_p50", "×", "a step, p95 over p50"),
        Figure("stall", "%", "of the time waited for data"),
        Figure("wait_p99_ms", "ms", "waited in a step, p99"),
        Figure("step_mb", "MB", "items of a step, all ranks"),
        Figure("made_over_read", "×", "bytes of items over bytes of input"),
        Figure("survived", "", "1: the job did all its steps"),
        Figure("steps", "steps", "that the job did"),
        Figure("once", "", "1: every batch was published once, the killed producer's too"),
    ],
    bars=[Bar(f"time waited for data at a supply of {SUPPLY} × demand", functools.partial(modelled, "stall"), "<=", 1.0,
              unit="%", modelled=True),
          Bar(f"a step's p95 over p50 at a supply of {SUPPLY} × demand", functools.partial(modelled, "p95_over_p50"),
              "<=", 1.05, modelled=True),
          Bar("a producer is killed: the job goes on", functools.partial(killed, "survived", OURS), ">=", 1, unit=""),
          Bar("a producer is killed: every batch once", functools.partial(killed, "once", OURS), ">=", 1, unit=""),
          Bar("a worker of the DataLoader is killed: its job ends", functools.partial(killed, "survived", LOADER),
              "<=", 0, unit="")],
    plots=[Plot("e06-steps", "Training with preprocessing on the same two cores", "workload", "steps/s", step_times,
                kind="bars"),
           Plot("e06-course", f"Steps at a supply of {SUPPLY} × demand", "step", "ms", courses, kind="course",
                modelled=True)],
    paper_values=[
        PaperValue("steps/s over the colocated loader", "2.68 × (GR00T), 7.73 × (HoloAssist), 5.17 × (BEHAVIOR-1K)",
                   over_loader),
        PaperValue("bytes made over bytes read", "figure 1, by workload", over_read),
    ],
    remarks=[
        "Real training runs trainer and preprocessing on the same two cores, whichever side they belong to: "
        "preprocessing elsewhere, which is what separate producers are for, cannot win there what it wins on "
        "machines of its own. The paper's ratios are not to be compared with these.",
        "The supply experiment is a model on both ends; only hand-over, read-ahead and their processes are real.",
        "A killed producer is started again by its supervisor and goes on at its offset. The ranks of a DataLoader, "
        "and the process whose threads preprocess, are the job itself. Nobody killed an actor of Ray Data here.",
    ],
)
