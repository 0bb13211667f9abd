# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The machine, in words that fit many: no names, no addresses."""

import os
import pathlib
import platform
import re


def describe() -> dict[str, str | int | float]:
    memory = re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    model = re.search(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo"), re.MULTILINE)
    return {
        "cores": os.cpu_count() or 0,
        "processor": model.group(1).strip() if model else platform.machine(),
        "memory_gib": round(int(memory.group(1)) / 2**20, 1) if memory else 0,
        "kernel": ".".join(platform.release().split(".")[:2]),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
