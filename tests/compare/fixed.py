# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment with made-up rows, for tests of the harness."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "peers")]

from compare.experiment import (Bar, Budget, Cell, Experiment, Figure, PaperValue, Plot, Row, Series,  # noqa: E402
                                Side)


def row(value, **more):
    return {"figures": {"mb_per_s": value}, **more}


def side(**more):
    return {"settings": {"acks": "all"}, "why": "its manual", "modelled": "", "counted": False, **more}


def cell(at, **rows):
    return {"at": at, "rows": rows, "sides": {name: side() for name in rows}}


CELLS = [
    cell({"n": 8}, ours=[row(10.0), row(30.0), row(20.0)], peer=[row(5.0), row(20.0), row(8.0)]),
    cell({"n": 128}, ours=[row(200.0), row(100.0), row(300.0)], peer=[row(400.0), row(100.0), row(100.0)]),
]


def record(**more):
    return {"id": "E1", "mode": "full", "commit": "c0ffee" * 6, "key": "k", "complete": True, "stopped": "",
            "seconds": 66.0, "cells": CELLS,
            "machine": {"cores": 2, "processor": "a processor", "memory_gib": 24.0, "kernel": "6.1", "python": "3.11",
                        "load": 0.1}, **more}


def lines(results):
    return [Series(name, *results.along("mb_per_s", name, "n")) for name in results.sides()]


def experiment(**more):
    fields = {
        "id": "E1", "name": "producers", "question": "How fast?", "paper": "figure 6",
        "budget": Budget(quick_s=5, full_s=60, gate_s=5), "cells": lambda context: iter(()),
        "figures": [Figure("mb_per_s", "MB/s", "throughput")],
        "bars": [
            Bar("ours over peer at 8", lambda r: r.ratio("mb_per_s", "ours", "peer", n=8), ">=", 1.5),
            Bar("ours over peer at 128", lambda r: r.ratio("mb_per_s", "ours", "peer", n=128), ">=", 1.5,
                evidence="The cores are full."),
            Bar("of nobody", lambda r: r.value("mb_per_s", "nobody", n=8), "<=", 1, counted=True),
        ],
        "plots": [Plot("e01-throughput", "Throughput", "producers", "MB/s", lines, log_x=True)],
        "paper_values": [PaperValue("128 producers", "6.00 ×", lambda r: "1 ×")],
        "losses": lambda r: ["the peer starts faster"],
        "headline": lambda r: "2 times the peer",
        **more}
    return Experiment(**fields)


def program(text):
    """A side's command."""
    return [sys.executable, "-c", text]


def printing(value, **more):
    return program(f"print('chatter'); print({__import__('json').dumps({'figures': {'v': value}, **more})!r})")


__all__ = ["Bar", "Budget", "Cell", "Row", "Side", "ROOT"]
