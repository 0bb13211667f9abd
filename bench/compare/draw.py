# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Draws plots with matplotlib, in an environment of its own: a list of them as JSON on stdin, files in a folder.

    python draw.py FOLDER <plots.json
"""

import json
import pathlib
import sys
from typing import Any

import matplotlib  # type: ignore[import-not-found, unused-ignore]

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore]  # noqa: E402

# Okabe and Ito: told apart also by the colour-blind; grey for their yellow, which is lost on white. Marks and dashes
# tell lines apart without any colour.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
DASHES: list[Any] = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (5, 5))]
MANY = 8
CROWDED = 60   # letters below an axis
BESIDE = 5     # a longer legend would lie on the data


def whiskers(series: dict[str, Any]) -> list[list[float]] | None:
    if not series["low"] or series["low"] == series["high"]:
        return None
    return [[y - low for y, low in zip(series["y"], series["low"])],
            [high - y for y, high in zip(series["y"], series["high"])]]


def draw_bars(axes: Any, plot: dict[str, Any]) -> None:
    labels = list(dict.fromkeys(str(x) for series in plot["series"] for x in series["x"]))
    width = 0.8 / max(1, len(plot["series"]))
    for at, series in enumerate(plot["series"]):
        places = [labels.index(str(x)) - 0.4 + width * (at + 0.5) for x in series["x"]]
        axes.bar(places, series["y"], width, label=series["label"], color=COLOURS[at % MANY], yerr=whiskers(series),
                 capsize=2, edgecolor="black", linewidth=0.5, hatch="//" if at >= MANY else None)
    crowded = sum(map(len, labels)) > CROWDED
    axes.set_xticks(range(len(labels)), labels, rotation=25 if crowded else 0, ha="right" if crowded else "center")


def draw_lines(axes: Any, plot: dict[str, Any]) -> None:
    marked = plot["kind"] == "lines"
    for at, series in enumerate(plot["series"]):
        style = {"label": series["label"], "color": COLOURS[at % MANY], "linestyle": DASHES[at % MANY],
                 "marker": MARKS[at % MANY] if marked else None}
        if marked:
            axes.errorbar(series["x"], series["y"], yerr=whiskers(series), capsize=2, **style)
        else:
            axes.plot(series["x"], series["y"], **style)
    if plot["log_x"]:
        axes.set_xscale("log", base=2 if marked else 10)
        ticks = sorted({x for series in plot["series"] for x in series["x"]})
        if len(ticks) <= 10:
            axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
            axes.minorticks_off()


def draw(plot: dict[str, Any], folder: pathlib.Path) -> None:
    figure, axes = plt.subplots(figsize=(7.2, 4.2), dpi=110, layout="constrained")
    if plot["kind"] == "bars":
        draw_bars(axes, plot)
    else:
        draw_lines(axes, plot)
    if plot["log_y"]:
        axes.set_yscale("log")
    elif min((y for series in plot["series"] for y in [*series["y"], *series["low"]]), default=0) >= 0:
        axes.set_ylim(bottom=0)
    else:
        axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlabel(plot["x_label"])
    axes.set_ylabel(plot["y_label"])
    axes.set_title(plot["title"] + (" (modelled)" if plot["modelled"] else ""), fontsize=11)
    axes.grid(True, alpha=0.3)
    if len(plot["series"]) > BESIDE:
        figure.legend(fontsize=8, loc="outside right upper")
    elif len(plot["series"]) > 1:
        axes.legend(fontsize=8)
    # Without the version and the date, so that the same data make the same file.
    figure.savefig(folder / f"{plot['file']}.png", metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for plot in json.load(sys.stdin):
        draw(plot, folder)


if __name__ == "__main__":
    main()
