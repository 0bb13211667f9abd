# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments there are, and what of the tree decides what each does."""

import importlib
import pathlib
import pkgutil
import re

from compare import experiments
from compare.experiment import Experiment

HERE = pathlib.Path(__file__).resolve().parent
# With the limits, which are measured first.
BUDGET_S = {"quick": 300.0, "full": 7200.0, "gate": 120.0}
LIMITS_S = {"quick": 15.0, "full": 60.0, "gate": 0.0}


def load() -> list[Experiment]:
    """By number."""
    names = [found.name for found in pkgutil.iter_modules(experiments.__path__) if found.name.startswith("e")]
    found = [importlib.import_module(f"compare.experiments.{name}").EXPERIMENT for name in names]
    return sorted(found, key=lambda experiment: int(experiment.id[1:]))


def sources(experiment: Experiment, here: pathlib.Path = HERE) -> list[pathlib.Path]:
    """Its module, and of what the experiments share and the peers' programs those that are named there, or in one of
    these: a change of another peer is no reason to measure again."""
    number = f"e{int(experiment.id[1:]):02}_"
    found = sorted((here / "experiments").glob(f"{number}*.py"))
    others = sorted(path for folder in (here / "experiments", here.parent / "peers") for path in folder.rglob("*.py")
                    if not re.match(r"e\d\d_|__init__", path.name))
    for path in found:  # which grows meanwhile
        words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
        found += [other for other in others if other.stem in words and other not in found]
    return found


def budget_s(experiment: Experiment, mode: str) -> float:
    budget = experiment.budget
    return {"quick": budget.quick_s, "full": budget.full_s, "gate": budget.gate_s}[mode]
