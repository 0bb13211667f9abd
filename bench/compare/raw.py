# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Raw data: a JSON file an experiment, with what makes a later run the same: the code that is measured, settings."""

import hashlib
import json
import os
import pathlib
import subprocess
import time
from typing import Any, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, text=True, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def commit() -> str:
    """Of this tree; what is not committed makes it another."""
    head = git("rev-parse", "HEAD").strip() or "unknown"
    changed = git("diff", "HEAD")
    return head if not changed else f"{head}+{hashlib.sha256(changed.encode()).hexdigest()[:12]}"


# What is measured. A change of anything else is no reason to measure again.
MEASURED = ["src", "include", "cli", "sim", "python", "bench/*.c", "bench/*.h", "bench/teststore", "meson.build",
            "meson_options.txt"]


def code() -> str:
    """Of what is measured, committed or not. Without git it is another each time."""
    listed = git("ls-files", "--stage", "--", *MEASURED)
    told = f"{listed}\n{git('diff', '--', *MEASURED)}" if listed else str(time.time_ns())
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def key(identity: str, mode: str, sources: Sequence[pathlib.Path]) -> str:
    """Of the settings: mode, and the texts that decide what is run."""
    digest = hashlib.sha256(f"{identity}\n{mode}\n".encode())
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """The folder of raw files."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def path(self, identity: str, mode: str) -> pathlib.Path:
        return self.folder / f"{identity.lower()}-{mode}.json"

    def write(self, record: Mapping[str, Any]) -> None:
        """Whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(record["id"], record["mode"])
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(partial, path)

    def read(self, identity: str, mode: str) -> dict[str, Any] | None:
        """None where there is none, or none that can be read."""
        try:
            record = json.loads(self.path(identity, mode).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) and record.get("id") == identity else None

    def done(self, identity: str, mode: str, of_code: str, of_key: str) -> bool:
        """Whether running it again would only repeat it."""
        record = self.read(identity, mode)
        return (record is not None and record.get("complete") is True and record.get("code") == of_code
                and record.get("key") == of_key)
