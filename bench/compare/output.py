# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the report, its plots, and the generated parts of the documentation."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any, Mapping, Sequence

from compare import document, environments, report
from compare.document import Heading, Text
from compare.report import Told

HERE = pathlib.Path(__file__).resolve().parent
TITLE = "BatchWeave beside what else there is"
MARK = "<!-- bench/compare: {} -->\n"
# What the README shows: the first of these that there are.
README_PLOTS = ["e01-ratio", "e01-throughput", "e04-throughput", "e02-lag", "e05-storage"]
README_NUMBERS = ["E1", "E4", "E9", "E2", "E8", "E5", "E7", "E6", "E10", "E11", "E3", "E12"]
NUMBERS = 3


def plots_of(all_told: Sequence[Told]) -> list[dict[str, Any]]:
    """For draw.py: what has data."""
    found = []
    for told in all_told:
        for plot in told.experiment.plots if told.record is not None else ():
            series = [dataclasses.asdict(line) for line in plot.series(told.results) if line.y]
            if series:
                found.append({"file": plot.file, "title": f"{told.experiment.id}: {plot.title}", "kind": plot.kind,
                              "x_label": plot.x_label, "y_label": plot.y_label, "log_x": plot.log_x,
                              "log_y": plot.log_y, "modelled": plot.modelled, "series": series})
    return found


def draw(all_told: Sequence[Told], folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """By name. Empty, with a word why, where matplotlib cannot be had: the numbers stand in the tables in any case."""
    plots = plots_of(all_told)
    if not plots:
        return {}
    try:
        subprocess.run([environments.python("plots"), HERE / "draw.py", folder], input=json.dumps(plots), text=True,
                       check=True, stdout=sys.stderr)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"bench: no plots: {error}", file=sys.stderr)
        return {}
    return {plot["file"]: folder / f"{plot['file']}.png" for plot in plots}


def write(all_told: Sequence[Told], limits: Mapping[str, Any] | None, out: pathlib.Path) -> None:
    """report.md and report.html, with plots/."""
    pictures = draw(all_told, out / "plots")
    blocks = [Heading(1, TITLE), *report.build(all_told, limits, pictures)]
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.md").write_text(document.markdown(blocks, "plots"), encoding="utf-8")
    (out / "report.html").write_text(document.page(TITLE, blocks), encoding="utf-8")


def between(text: str, begin: str, end: str, new: str) -> str:
    """The text with what stands between two marks replaced; ValueError where they are not there once."""
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the marks {begin.strip()} and {end.strip()} must be there once")
    before, rest = text.split(begin)
    return before + begin + new + end + rest.split(end)[1]


def headlines(all_told: Sequence[Told]) -> list[str]:
    by_id = {told.experiment.id: told for told in all_told}
    found = []
    for name in README_NUMBERS:
        told = by_id.get(name)
        if told is not None and told.record is not None and told.experiment.headline is not None:
            said = told.experiment.headline(told.results)
            if said:
                found.append(said)
    return found[:NUMBERS]


def readme_part(all_told: Sequence[Told], pictures: Mapping[str, pathlib.Path]) -> str:
    shown = next((name for name in README_PLOTS if name in pictures), next(iter(pictures), None))
    titles = {plot["file"]: plot["title"] for plot in plots_of(all_told)}
    lines = [f"- {text}" for text in headlines(all_told)]
    if shown is not None:
        lines += ["", f"![{titles[shown]}](docs/plots/{shown}.png)"]
    return "\n".join(lines) + "\n"


def publish(all_told: Sequence[Told], limits: Mapping[str, Any] | None, root: pathlib.Path) -> None:
    """Between the marks of docs/performance.md and README.md, and all of docs/plots."""
    folder = root / "docs" / "plots"
    shutil.rmtree(folder, ignore_errors=True)
    pictures = draw(all_told, folder)
    begin, end = MARK.format("begin"), MARK.format("end")
    page = root / "docs" / "performance.md"
    blocks = [Text(f"<!-- {TITLE}: written by tools/bench --publish -->"), *report.build(all_told, limits, pictures)]
    text = document.markdown(blocks, "plots")
    page.write_text(between(page.read_text(encoding="utf-8"), begin, end, text), encoding="utf-8")
    readme = root / "README.md"
    readme.write_text(between(readme.read_text(encoding="utf-8"), begin, end, readme_part(all_told, pictures)),
                      encoding="utf-8")


def local_paths(text: str) -> list[str]:
    """Paths of one machine in a text that is to be published."""
    return re.findall(r"(?<![\w./])/(?:home|root|tmp|work|dev/shm)/\S+", text)
