# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The report: losses first, then bars, the machine's limits, each experiment with its plots and their numbers."""

import dataclasses
import pathlib
from typing import Any, Iterator, Mapping, Sequence

from compare.document import Block, Heading, Listing, Picture, Table, Text
from compare.experiment import Experiment, Plot, Series
from compare.judge import KEPT, MISSED, OPEN, Verdict, judge
from compare.results import Results, Spread, number, spread

Record = Mapping[str, Any]
COUNTED = {"cpu_s": "CPU s", "server_cpu_s": "servers' CPU s", "bytes_in": "MB in", "bytes_out": "MB out"}
WIDE = 6


@dataclasses.dataclass(frozen=True)
class Told:
    """An experiment with what was measured, if it was."""

    experiment: Experiment
    record: Record | None

    @property
    def results(self) -> Results:
        return Results(self.record["cells"] if self.record else [])

    def verdicts(self) -> list[Verdict]:
        return judge(self.experiment.bars, self.results)


def digits(value: float) -> str:
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if size >= 0.001 or size == 0 else f"{value:.2e}"


def spread_text(value: Spread | None) -> str:
    if value is None:
        return "–"
    if value.least == value.most:
        return digits(value.median)
    return f"{digits(value.median)} ({digits(value.least)} – {digits(value.most)})"


def sign(bound: str) -> str:
    return {"<=": "≤", ">=": "≥"}[bound]


def with_unit(text: str, unit: str) -> str:
    return text if text == "–" or not unit else f"{text} {unit}"


def bar_row(told: Told, verdict: Verdict) -> list[str]:
    bar = verdict.bar
    labels = [label for label, holds in (("counted", bar.counted), ("modelled", bar.modelled)) if holds]
    return [told.experiment.id, bar.what + (f" ({', '.join(labels)})" if labels else ""),
            with_unit(spread_text(verdict.value), bar.unit), f"{sign(bar.bound)} {bar.limit:g}", f"**{verdict.word}**"]


def losses(all_told: Sequence[Told]) -> Iterator[Block]:
    """What is missed, lacks, or is better elsewhere."""
    yield Heading(2, "Losses first")
    items = []
    for told in all_told:
        for verdict in told.verdicts():
            if verdict.word == MISSED:
                bar = verdict.bar
                value = with_unit(spread_text(verdict.value), bar.unit)
                items.append(f"**{told.experiment.id}, missed**: {bar.what}: {value}, bar {sign(bar.bound)} "
                             f"{bar.limit:g}. {bar.evidence or 'Why is not known yet.'}")
        if told.record is not None and told.experiment.losses is not None:
            items += [f"{told.experiment.id}: {text}" for text in told.experiment.losses(told.results)]
    for told in all_told:
        if told.record is None:
            items.append(f"{told.experiment.id} was **not run**.")
        elif not told.record.get("complete"):
            items.append(f"{told.experiment.id} is **not complete**: {told.record.get('stopped')}.")
        open_bars = [verdict.bar.what for verdict in told.verdicts() if verdict.word == OPEN]
        if told.record is not None and open_bars:
            items.append(f"{told.experiment.id}, not measured: {'; '.join(open_bars)}.")
    yield Listing(items) if items else Text("Every bar is kept, every experiment complete.")


def bars(all_told: Sequence[Told]) -> Iterator[Block]:
    rows = [bar_row(told, verdict) for told in all_told for verdict in told.verdicts()]
    words = [row[-1].strip("*") for row in rows]
    yield Heading(2, "Bars")
    yield Text(f"{words.count(KEPT)} kept, {words.count(MISSED)} missed, {words.count(OPEN)} not measured. Medians "
               "(least – greatest) of the rounds; the median is judged. A ratio is of the two sides within a round.")
    yield Table(["", "what", "measured", "bar", ""], rows)


def point(at: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in at.items()) or "·"


def figure_text(rows: Sequence[Record], name: str) -> str:
    return spread_text(spread(found for row in rows if (found := number(row, name)) is not None))


def counted_columns(told: Told) -> list[str]:
    rows = [row for cell in told.results.cells for found in cell["rows"].values() for row in found]
    present = [name for name in COUNTED if any(row.get(name) is not None for row in rows)]
    verbs = sorted({verb for row in rows for verb in row.get("requests", {})})
    return present + [f"requests.{verb}" for verb in verbs]


def counted_text(rows: Sequence[Record], name: str) -> str:
    scale = 1e6 if name.startswith("bytes") else 1
    return spread_text(spread(found / scale for row in rows if (found := number(row, name)) is not None))


def measured(told: Told) -> Iterator[Block]:
    """Few figures: a line a cell and side. Many: a line a figure."""
    experiment, cells = told.experiment, told.results.cells
    extra = counted_columns(told)
    sides = [(cell, side) for cell in cells for side in cell["rows"] if cell["rows"][side]]
    if not sides:
        return
    if len(experiment.figures) > WIDE and len(sides) <= WIDE:
        head = ["figure", *(f"{side}, {point(cell['at'])}" if cell["at"] else side for cell, side in sides)]
        yield Table(head, [[f"{figure.what} ({figure.unit})",
                            *(figure_text(cell["rows"][side], figure.name) for cell, side in sides)]
                           for figure in experiment.figures])
        return
    head = ["at", "side", *(f"{figure.what} ({figure.unit})" for figure in experiment.figures),
            *(COUNTED.get(name, name.removeprefix("requests.")) for name in extra), "rounds"]
    rows = []
    for cell, side in sides:
        label = side + (" (modelled)" if cell["sides"].get(side, {}).get("modelled") else "")
        found = cell["rows"][side]
        rows.append([point(cell["at"]), label, *(figure_text(found, figure.name) for figure in experiment.figures),
                     *(counted_text(found, name) for name in extra), str(len(found))])
    yield Table(head, rows)


def plot_numbers(plot: Plot, series: Sequence[Series]) -> Table:
    """Beside the picture; of a long course every so many points."""
    xs = list(dict.fromkeys(x for line in series for x in line.x))
    if plot.kind == "course" and len(xs) > 9:
        xs = xs[::max(1, len(xs) // 8)]
    rows = []
    for x in xs:
        found = []
        for line in series:
            at = list(line.x).index(x) if x in line.x else None
            found.append("–" if at is None else spread_text(
                Spread(line.y[at], (line.low or line.y)[at], (line.high or line.y)[at])))
        rows.append([digits(x) if isinstance(x, (int, float)) else x, *found])
    return Table([f"{plot.x_label} ↓ · {plot.y_label}", *(line.label for line in series)], rows)


def settings_text(settings: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} `{value}`" for name, value in settings.items()) or "–"


def settings(told: Told) -> Iterator[Block]:
    """Of each side, those that are the same in all its cells; what varies stands in the points."""
    sides: dict[str, dict[str, Any]] = {}
    for cell in told.results.cells:
        for name, side in cell["sides"].items():
            rows = cell["rows"].get(name) or [{}]
            effect = {**side["settings"], **rows[0].get("settings", {})}
            known = sides.setdefault(name, {"settings": effect, "why": side["why"], "modelled": side["modelled"]})
            known["settings"] = {key: value for key, value in known["settings"].items() if effect.get(key) == value}
    if sides:
        yield Table(["side", "settings in all its cells", "why these", "modelled"],
                    [[name, settings_text(side["settings"]), side["why"] or "–", side["modelled"] or "–"]
                     for name, side in sides.items()])


def one(told: Told, pictures: Mapping[str, pathlib.Path]) -> Iterator[Block]:
    experiment = told.experiment
    yield Heading(2, f"{experiment.id}: {experiment.name}")
    yield Text(experiment.question + (f" The paper's {experiment.paper}." if experiment.paper else ""))
    if told.record is None:
        yield Text("Not run.")
        return
    record = told.record
    state = "complete" if record.get("complete") else f"**not complete**: {record.get('stopped')}"
    yield Text(f"{state}; {record.get('seconds', 0) / 60:.1f} min, mode `{record['mode']}`, commit "
               f"`{record['commit'][:12]}`.")
    if experiment.remarks:
        yield Listing(list(experiment.remarks))
    yield Table(["", "bar", "measured", "limit", ""], [bar_row(told, verdict) for verdict in told.verdicts()])
    values = [[value.what, value.paper, value.ours(told.results)] for value in experiment.paper_values]
    if values:
        yield Table(["", "the paper", "here"], values)
    for plot in experiment.plots:
        series = plot.series(told.results)
        if any(line.y for line in series):
            if plot.file in pictures:
                yield Picture(pictures[plot.file], plot.title)
            yield plot_numbers(plot, series)
    yield from measured(told)
    yield from settings(told)


def machine_texts(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """One each, with the least and greatest load that an experiment met when it began."""
    loads: dict[str, list[float]] = {}
    for machine in machines:
        text = (f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB of memory, kernel "
                f"{machine['kernel']}, Python {machine['python']}")
        loads.setdefault(text, []).append(machine["load"])
    return [f"{text}; load when an experiment began {min(met):g}" + (f" – {max(met):g}" if max(met) > min(met) else "")
            for text, met in loads.items()]


def limits(record: Record | None) -> Iterator[Block]:
    yield Heading(2, "Limits of the machine, measured first")
    if record is None:
        yield Text("Not measured.")
        return
    rows = [[row["name"], with_unit(spread_text(Spread(row["value"], row["value_min"], row["value_max"])), row["unit"])]
            for row in record["rows"]]
    yield Table(["limit", "measured"], rows)


def introduction(all_told: Sequence[Told]) -> Iterator[Block]:
    records = [told.record for told in all_told if told.record is not None]
    modes = sorted({record["mode"] for record in records})
    machines = machine_texts([record["machine"] for record in records])
    commits = list(dict.fromkeys(record["commit"] for record in records))
    yield Text(f"Made by `sh tools/bench` from its raw data. {len(records)} of {len(all_told)} experiments, mode "
               f"{', '.join(modes) or '–'}, commit {', '.join(f'`{commit[:12]}`' for commit in commits) or '–'}.")
    if "quick" in modes:
        yield Text("**Quick runs prove that everything works; their figures mean little.**")
    yield Listing([f"Machine: {text}." for text in machines] + [
        "Sides run in turns A B, B A, …, each turn a process of its own; medians (least – greatest); headline numbers "
        "are ratios of two sides in the same round.",
        "All sides share the machine's cores over loopback. Rates are this machine's; ratios, bytes and counts carry "
        "over.",
        "What is labelled modelled has a modelled trainer, latency or clock. Nothing is claimed about GPUs.",
    ])


def build(all_told: Sequence[Told], limits_record: Record | None, pictures: Mapping[str, pathlib.Path]) -> list[Block]:
    blocks: list[Block] = [*introduction(all_told), *losses(all_told), *bars(all_told), *limits(limits_record)]
    for told in all_told:
        blocks += one(told, pictures)
    return blocks
