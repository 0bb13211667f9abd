# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E8: what a commit costs behind a long history, in time and in metadata; beside Lance."""

import functools
from typing import Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, Plot, Series, Side
from compare.experiments import benchrows
from compare.results import Results, Spread

OURS, LANCE = "ours", "lance"
COMMITS, QUICK_COMMITS = 4000, 60
# "over": the long history over the short one.
HISTORY = {"history.1e3.commit_p50": "commit_1e3_us", "history.1e6.commit_p50": "commit_1e6_us",
           "history.1e3.manifest": "bytes_1e3", "history.1e6.manifest": "bytes_1e6"}
MANIFEST = {"manifest.32_producers.mean": "bytes_32_producers"}


def cells(context: Context) -> Iterator[Cell]:
    # Sizes, no times: one turn.
    yield Cell({"what": "a manifest, 32 producers"},
               [benchrows.side(context, OURS, "manifest", MANIFEST, counted=True)])
    if context.mode == "gate":
        return
    # Both lengths take turns in rounds of the program's own.
    yield Cell({"what": "10^3 and 10^6 steps"}, [benchrows.side(context, OURS, "history", HISTORY)])
    commits = context.pick(COMMITS, QUICK_COMMITS)
    with context.folder() as ours, context.folder() as lance:
        yield Cell({"what": f"{commits} commits"}, [
            Side(OURS, [context.python("package"), context.peer("ours")],
                 settings={"action": "commits", "commits": commits, "world": 1, "durable": False,
                           "url": f"file://{ours / 'space'}"}),
            Side(LANCE, [context.python("peers"), context.peer("lancecommits")],
                 settings={"commits": commits, "folder": str(lance)},
                 why="its documents: write_dataset(mode=\"append\"), one commit a call; nothing is flushed")])


AT_COMMITS = {"what": f"{COMMITS} commits"}


def commits_at(results: Results) -> "dict[str, str] | None":
    return next((cell["at"] for cell in results.cells if cell["at"]["what"].endswith(" commits")), None)


def commits_ratio(figure: str, over: str, under: str, results: Results) -> "Spread | None":
    """Of the full number only: fewer say little of history."""
    return results.ratio(figure, over, under, **AT_COMMITS)


def value(figure: str, what: str, results: Results) -> "Spread | None":
    return results.value(figure, OURS, what=what)


def courses(results: Results) -> list[Series]:
    at, found = commits_at(results), []
    for side in (OURS, LANCE) if at is not None else ():
        y = results.course("commit_us", side, **(at or {}))
        found.append(Series(side, [(place + 1) * 100 / len(y) for place in range(len(y))], y))
    return found


def losses(results: Results) -> list[str]:
    rate = commits_ratio("commits_per_s", OURS, LANCE, results)
    return [] if rate is None or rate.median >= 1 else [f"ours commits {rate.median:.2f} × as often a second as Lance"]


def headline(results: Results) -> str | None:
    over = commits_ratio("metadata_bytes", LANCE, OURS, results)
    return None if over is None else f"{over.median:.0f} times less metadata than Lance after {COMMITS:,} commits"


EXPERIMENT = Experiment(
    id="E8",
    name="history",
    question="What does a commit cost when millions lie behind it, in time and in metadata?",
    paper="",
    budget=Budget(quick_s=13, full_s=600, gate_s=15),
    cells=cells,
    figures=[Figure("commit_1e3_us", "µs", "a commit behind 1,000 steps, half of them"),
             Figure("commit_1e6_us", "µs", "behind 1,000,000"),
             Figure("commit_1e6_us.over", "×", "one over the other, in turns"),
             Figure("bytes_1e3", "B", "manifest a commit, behind 1,000 steps"),
             Figure("bytes_1e6", "B", "behind 1,000,000"),
             Figure("bytes_32_producers", "B", "manifest a commit with 32 producers"),
             Figure("commits_per_s", "1/s", "commits, one after the other, nothing flushed"),
             Figure("commit_us", "µs", "half of the commits"), Figure("first_us", "µs", "of the first twentieth"),
             Figure("last_us", "µs", "of the last"),
             Figure("metadata_bytes", "B", "all but data, at the end"),
             Figure("metadata_bytes_per_commit", "B", "the same a commit")],
    bars=[Bar("a commit behind 1,000,000 steps over one behind 1,000",
              functools.partial(value, "commit_1e6_us.over", "10^3 and 10^6 steps"), "<=", 1.05),
          Bar("bytes of a commit with 32 producers",
              functools.partial(value, "bytes_32_producers", "a manifest, 32 producers"), "<=", 12288, unit="B",
              counted=True),
          Bar(f"metadata of Lance over ours after {COMMITS} commits",
              functools.partial(commits_ratio, "metadata_bytes", LANCE, OURS), ">=", 12),
          Bar(f"commits a second over Lance's, {COMMITS} commits, nothing flushed",
              functools.partial(commits_ratio, "commits_per_s", OURS, LANCE), ">=", 10)],
    plots=[Plot("e08-commits", "A commit as history grows, nothing flushed", "share of the commits (%)",
                "a commit (µs)", courses, kind="course", log_y=True)],
    losses=losses,
    headline=headline,
    remarks=["Both keep every version: ours without a sweep, Lance without cleanup_old_versions.",
             "One process, each commit waited for; Lance opens the data set at each append, as its documents do."],
    needs=frozenset({"release", "package", "peers"}),
)
