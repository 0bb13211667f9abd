# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""sh tools/bench: runs experiments, judges them, writes the report."""

import argparse
import contextlib
import pathlib
import signal
import sys
import tempfile
import time
from typing import Any, Iterator, Sequence

from compare import collect, context, limits, machine, output, raw, registry
from compare.experiment import Experiment
from compare.judge import KEPT, MISSED, OPEN, judge
from compare.report import Told
from compare.results import Results

GATE_SLACK = 10
OUT = context.ROOT / "build" / "compare"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sh tools/bench", description=__doc__)
    parser.add_argument("experiments", nargs="*", metavar="E1", help="which; all without")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", dest="mode", action="store_const", const="quick", help="proves that all works: 5 min")
    mode.add_argument("--gate", dest="mode", action="store_const", const="gate",
                      help="exact counters and virtual time only; exit 5 when a bar of these is missed")
    parser.add_argument("--again", action="store_true", help="also what was measured of this code already")
    parser.add_argument("--report", action="store_true", help="runs nothing: the report of what is there")
    parser.add_argument("--publish", action="store_true", help="docs/performance.md, docs/plots, README.md from it")
    parser.add_argument("--slack", type=float, default=1, metavar="N", help="N times the budgets, on a busy machine")
    parser.add_argument("--list", action="store_true", help="the experiments and their budgets")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="raw data and report (default build/compare)")
    parser.set_defaults(mode="full")
    return parser.parse_args(words)


def chosen(experiments: Sequence[Experiment], names: Sequence[str], mode: str) -> list[Experiment]:
    by_id = {experiment.id: experiment for experiment in experiments}
    unknown = [name for name in names if name.upper() not in by_id]
    if unknown:
        raise SystemExit(f"bench: no experiment {', '.join(unknown)}; --list shows them")
    wanted = [by_id[name.upper()] for name in names] or list(experiments)
    return [experiment for experiment in wanted if registry.budget_s(experiment, mode) > 0]


class Progress:
    """What runs, and for how long still at most."""

    def __init__(self, experiments: Sequence[Experiment], mode: str, slack: float = 1) -> None:
        self.left = {experiment.id: slack * registry.budget_s(experiment, mode) for experiment in experiments}
        self.began: dict[str, float] = {}

    def left_s(self, now: float) -> float:
        """Of each that is under way what it has not used yet."""
        return sum(max(0.0, left - (now - self.began.get(name, now))) for name, left in self.left.items())

    def tell(self, experiment: Experiment, what: str) -> None:
        now = time.monotonic()
        self.began.setdefault(experiment.id, now)
        left = self.left_s(now)
        print(f"bench: {experiment.id} {experiment.name}: {what} (at most {left / 60:.1f} min left)", file=sys.stderr,
              flush=True)

    def done(self, experiment: Experiment) -> None:
        self.left.pop(experiment.id, None)


def run_one(experiment: Experiment, mode: str, slack: float, store: raw.Store, of: "dict[str, Any]",
            progress: Progress, folders: "tuple[pathlib.Path, pathlib.Path]") -> dict[str, Any]:
    """`of`: what is written beside what is found."""
    # Of the gate no time is judged, and what runs it has a clock.
    budget = registry.budget_s(experiment, mode) * slack * (GATE_SLACK if mode == "gate" else 1)
    surroundings = context.Context(mode, *folders, deadline=time.monotonic() + budget)
    record: dict[str, Any] = {}
    for found in collect.run(experiment, surroundings, lambda what: progress.tell(experiment, what)):
        record = {"id": experiment.id, "mode": mode, **of, **found}
        store.write(record)
    return record


@contextlib.contextmanager
def folders() -> "Iterator[tuple[pathlib.Path, pathlib.Path]]":
    """On a memory file system and on a disk; removed at the end, also after an interrupt."""
    memory = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="batchweave-bench-", dir=memory) as first, \
            tempfile.TemporaryDirectory(prefix="batchweave-bench-") as second:
        yield pathlib.Path(first), pathlib.Path(second)


def verdicts(experiment: Experiment, record: "dict[str, Any] | None", counted_only: bool) -> list[str]:
    """A line a bar; says it on the screen and counts."""
    words = []
    bars = [bar for bar in experiment.bars if bar.counted or not counted_only]
    for verdict in judge(bars, Results(record["cells"] if record else [])):
        value = "" if verdict.value is None else f"{verdict.value.median:.4g} {verdict.bar.unit}, "
        print(f"{experiment.id} {verdict.word:12} {verdict.bar.what}: {value}bar {verdict.bar.bound} "
              f"{verdict.bar.limit:g}")
        words.append(verdict.word)
    return words


def run_all(wanted: Sequence[Experiment], options: argparse.Namespace, store: raw.Store) -> int:
    """The number of experiments that were not completed."""
    of: dict[str, Any] = {"commit": raw.commit(), "code": raw.code(), "machine": machine.describe()}
    progress, stopped = Progress(wanted, options.mode, options.slack), 0
    if options.mode != "gate" and (options.again or not limits.done(store, options.mode, of["code"])):
        print("bench: limits of the machine", file=sys.stderr)
        context.prepare(frozenset({"release"}))
        with folders() as own:
            limits.measure(store, options.mode, of, *own)
    for experiment in wanted:
        key = raw.key(experiment.id, options.mode, registry.sources(experiment))
        again = options.again or options.mode == "gate"
        if not again and store.done(experiment.id, options.mode, of["code"], key):
            print(f"bench: {experiment.id}: is there, of this code", file=sys.stderr)
            progress.done(experiment)
            continue
        try:
            context.prepare(experiment.gate_needs if options.mode == "gate" else experiment.needs)
        except Exception as error:  # the others can be run all the same; the report says that this one lacks
            print(f"bench: {experiment.id}: cannot be prepared: {error}", file=sys.stderr)
            stopped += 1
            progress.done(experiment)
            continue
        with folders() as own:
            with_key = {**of, "machine": machine.describe(), "key": key}
            record = run_one(experiment, options.mode, options.slack, store, with_key, progress, own)
        progress.done(experiment)
        if not record["complete"]:
            print(f"bench: {experiment.id}: stopped: {record['stopped']}", file=sys.stderr)
            stopped += 1
    return stopped


def main(words: Sequence[str]) -> int:
    options = arguments(words)
    experiments = registry.load()
    if options.list:
        for experiment in experiments:
            print(f"{experiment.id:4} {experiment.name:14} {experiment.budget.quick_s:4g} s quick, "
                  f"{experiment.budget.full_s / 60:4.1f} min full, {experiment.budget.gate_s:3g} s gate  "
                  f"{experiment.question}")
        return 0
    wanted = chosen(experiments, options.experiments, options.mode)
    store = raw.Store(options.out / "raw")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    stopped = 0 if options.report else run_all(wanted, options, store)
    told = [Told(experiment, store.read(experiment.id, options.mode))
            for experiment in (experiments if options.publish or options.report else wanted)]
    if options.mode != "gate":
        output.write(told, store.read(limits.ID, options.mode), options.out)
        print(f"bench: {options.out / 'report.md'}, {options.out / 'report.html'}", file=sys.stderr)
    if options.publish:
        output.publish(told, store.read(limits.ID, options.mode), context.ROOT)
    gate = options.mode == "gate"
    words_told = [word for experiment in wanted
                  for word in verdicts(experiment, store.read(experiment.id, options.mode), gate)]
    kept, missed, unknown = (words_told.count(word) for word in (KEPT, MISSED, OPEN))
    if gate:
        failed = missed + unknown + stopped
        print(f"{kept} passed, {failed} failed")
        return 5 if failed or not kept else 0
    print(f"{kept} bars kept, {missed} missed, {unknown} not measured")
    return 4 if stopped else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
