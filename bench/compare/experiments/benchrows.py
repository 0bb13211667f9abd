# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Sides that bw-bench measures: a group of its rows, by names of the experiment."""

import functools
import json
from typing import Mapping

from compare.context import Context
from compare.experiment import Row, Side


def read(names: Mapping[str, str], printed: str) -> Row:
    """A row's value under the name given for it; its ratio, where it has one, under NAME.over, which the program has
    from turns of its own."""
    row = Row({})
    for line in printed.splitlines():
        told = json.loads(line)
        name = names.get(told["name"])
        if name is not None:
            row.figures[name] = told["value"]
            if told["ratio"] is not None:
                row.figures[f"{name}.over"] = told["ratio"]
    lacking = [name for name in names.values() if name not in row.figures]
    if lacking:
        raise ValueError(f"no row for {lacking[0]}")
    return row


def side(context: Context, name: str, group: str, names: Mapping[str, str], modelled: str = "",
         counted: bool = False) -> Side:
    """One round of the program's, for there are rounds of turns. `counted`: of sizes alone, so that once is enough."""
    words = [context.bw_bench, group, "-o", "json", *(["--rounds", "1"] if context.mode == "full" else ["--quick"])]
    return Side(name, words, read=functools.partial(read, names), settings={"program": f"bw-bench {group}"},
                modelled=modelled, counted=counted)
