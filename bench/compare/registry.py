# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments there are, and what of the tree decides what each does."""

import importlib
import pathlib
import pkgutil

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


def sources(experiment: Experiment) -> list[pathlib.Path]:
    """Its module, what the experiments share, and the peers' programs."""
    number = f"e{int(experiment.id[1:]):02}_"
    own = sorted((HERE / "experiments").glob(f"{number}*.py"))
    shared = sorted(path for path in (HERE / "experiments").glob("*.py") if not path.name.startswith("e"))
    return [*own, *shared, *sorted(path for path in (HERE.parent / "peers").rglob("*") if path.suffix in {".py", ".c"})]


def budget_s(experiment: Experiment, mode: str) -> float:
    budget = experiment.budget
    return {"quick": budget.quick_s, "full": budget.full_s, "gate": budget.gate_s}[mode]
