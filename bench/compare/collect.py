# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of an experiment: sides in turns, round by round, each turn a process, within the budget."""

import dataclasses
import json
import os
import signal
import subprocess
import time
from typing import Any, Callable, Iterator

from compare.context import Context
from compare.experiment import Cell, Experiment, Row, Side

ROUNDS = {"quick": 1, "full": 5, "gate": 1}
END_SECONDS = 10


class Failed(Exception):
    """A side ended with an error, printed no row, or ran into its time."""


class OverBudget(Exception):
    pass


def order(sides: int, round_number: int) -> list[int]:
    """A B, then B A: a drift of the machine strikes each side alike."""
    forward = list(range(sides))
    return forward if round_number % 2 == 0 else forward[::-1]


def last_line(printed: str) -> Row:
    """The row of bench/peers/side.py."""
    lines = printed.rstrip().splitlines()
    if not lines:
        raise ValueError("printed nothing")
    told = json.loads(lines[-1])
    names = {field.name for field in dataclasses.fields(Row)}
    if not isinstance(told, dict) or "figures" not in told or not set(told) <= names:
        raise ValueError(f"no row: {lines[-1][:200]}")
    return Row(**{name: value for name, value in told.items() if value is not None})


def end(process: "subprocess.Popen[str]") -> None:
    """It and all it has started; asked first, for what has servers running ends them then."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        try:
            process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def run_process(side: Side, limit_s: float) -> Row:
    """One turn. The processor seconds are of all that it and its children have used: nothing else of this process's
    runs meanwhile but servers, which end later."""
    began, used = time.monotonic(), children_seconds()
    words = list(map(str, side.command))
    process = subprocess.Popen(words, env={**os.environ, **side.environment}, stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               errors="replace")
    try:
        printed, complaints = process.communicate(side.stdin or json.dumps(side.settings), timeout=max(1.0, limit_s))
    except BaseException as error:
        end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"{side.name}: no end after {limit_s:.0f} s") from None
        raise
    if process.returncode != 0:
        raise Failed(f"{side.name}: exit {process.returncode}: {complaints.strip()[-800:]}")
    try:
        row = (side.read or last_line)(printed)
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"{side.name}: {error}; {complaints.strip()[-400:]}") from None
    row.wall_s, row.process_cpu_s = time.monotonic() - began, children_seconds() - used
    return row


def turn(side: Side, context: Context) -> Row:
    left = context.remaining_s()
    if left <= 0:
        raise OverBudget
    if side.call is not None:
        return side.call()
    try:
        return run_process(side, min(side.timeout_s, left))
    except Failed:
        if context.remaining_s() <= 0:
            raise OverBudget from None
        raise


def rounds_of(cell: Cell, mode: str) -> int:
    """At least five in a full run, unless all of it is exact."""
    if all(side.counted for side in cell.sides):
        return 1
    usual = ROUNDS[mode]
    return max(usual, cell.rounds) if cell.rounds and mode == "full" else usual


def run_cell(cell: Cell, context: Context, tell: Callable[[str], None]) -> None:
    cell.rows = {side.name: [] for side in cell.sides}
    for number in range(rounds_of(cell, context.mode)):
        for at in order(len(cell.sides), number):
            side = cell.sides[at]
            if not (side.counted and number > 0):
                tell(f"{point_text(cell)}: {side.name}, round {number + 1}")
                cell.rows[side.name].append(turn(side, context))


def point_text(cell: Cell) -> str:
    return ", ".join(f"{name} {value}" for name, value in cell.at.items()) or "·"


def as_record(cell: Cell) -> dict[str, Any]:
    rows = {name: [{field: value for field, value in dataclasses.asdict(row).items() if value not in (None, {})}
                   for row in rows] for name, rows in cell.rows.items()}
    sides = {side.name: {"settings": side.settings, "why": side.why, "modelled": side.modelled,
                         "counted": side.counted} for side in cell.sides}
    for found in rows.values():
        for row in found:
            row.setdefault("figures", {})
    return {"at": cell.at, "rows": rows, "sides": sides}


def run(experiment: Experiment, context: Context, tell: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The record so far after each cell; `stopped` is why there are no more, if it is not that all are done."""
    cells: list[dict[str, Any]] = []
    stopped = ""
    source = experiment.cells(context)
    began = time.monotonic()
    while not stopped:
        cell = None
        try:
            cell = next(source, None)
            if cell is None:
                break
            run_cell(cell, context, tell)
        except OverBudget:
            stopped = "its budget is used up"
        except Failed as error:
            stopped = str(error)
        except Exception as error:  # what it holds did not start, say; the other experiments go on
            stopped = f"{type(error).__name__}: {error}"
        finally:
            if stopped:
                source_close(source)
        if cell is not None and any(cell.rows.values()):
            cells.append(as_record(cell))
        yield {"cells": cells, "complete": False, "stopped": stopped, "seconds": time.monotonic() - began}
    yield {"cells": cells, "complete": not stopped, "stopped": stopped, "seconds": time.monotonic() - began}


def source_close(source: Iterator[Cell]) -> None:
    """A generator ends what it holds (a server, a folder) where it stands."""
    close = getattr(source, "close", None)
    if close is not None:
        close()
