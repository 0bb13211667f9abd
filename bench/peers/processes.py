# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of a job that is measured: lines of JSON that they tell, who their children are, an end for all."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


def end_at_term() -> None:
    """As an exception, so that what was started is ended: it is in sessions of its own."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class Program:
    """A file of this folder as a process, in a session of its own with what it starts."""

    def __init__(self, name: str, settings: dict[str, Any], **environment: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.failure: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, HERE / f"{name}.py", json.dumps(settings)], env={**os.environ, **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._complaints)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.append(json.loads(line))

    def _complaints(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.failure = [*self.failure[-20:], line.rstrip()]

    def code(self) -> int | None:
        return self.process.poll()

    def reason(self) -> str:
        """The last line that it complained in."""
        return next((line for line in reversed(self.failure) if "Error" in line),
                    next((line for line in reversed(self.failure) if line.strip()), ""))

    def end(self) -> None:
        """It, and all it has started that is in its session."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for thread in self._threads:
            thread.join(5)


def parents() -> dict[int, int]:
    """pid → parent, of every process of this machine."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="latin-1")
        except OSError:
            continue
        found[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    return found


def descendants(pid: int) -> list[int]:
    """Children and theirs, the nearest first."""
    known, found, front = parents(), list[int](), [pid]
    while front:
        front = sorted(child for child, parent in known.items() if parent in front)
        found += front
    return found


def title(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
