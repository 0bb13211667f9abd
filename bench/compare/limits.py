# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The machine's limits, by bw-bench: each figure is a share of one of them."""

import json
import pathlib
import subprocess
from typing import Any

from compare import raw
from compare.context import ROOT

ID = "limits"


def measure(store: raw.Store, mode: str, of: dict[str, Any], memory: pathlib.Path, disk: pathlib.Path,
            ) -> dict[str, Any]:
    words = [str(ROOT / "build" / "bench" / "bw-bench"), ID, "-o", "json", "--memory", str(memory), "--disk", str(disk)]
    if mode == "quick":
        words.append("--quick")
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"bw-bench limits: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    record = {"id": ID, "mode": mode, **of, "key": ID, "complete": True, "rows": rows}
    store.write(record)
    return record


def done(store: raw.Store, mode: str, code: str) -> bool:
    return store.done(ID, mode, code, ID)
