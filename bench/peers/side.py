# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What each peer's program shares: settings in, one row out, processor seconds, servers' counters.

    def measure(settings):
        with side.Meter() as meter:
            …                                      # what is measured, and nothing else
        return side.row({"mb_per_s": …}, meter, settings={…, "version": …})

    if __name__ == "__main__":
        side.main(measure)

The settings are one JSON object, the first argument or stdin. Whatever else is printed goes to stderr: libraries talk.
"""

import json
import os
import sys
import time
import urllib.request
from types import TracebackType
from typing import Any, Callable, Iterable

Settings = dict[str, Any]


def processor_seconds(pids: Iterable[int]) -> float:
    """User and system of these processes and of children that they have seen end; what has ended counts 0."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Meter:
    """Wall and processor seconds of a block: of this process and of its children that ended in it, of `children` that
    go on, and apart from these of `servers`, by their process ids; of a test store also its counters."""

    def __init__(self, servers: Iterable[int] = (), children: Iterable[int] = (), teststore: int | None = None) -> None:
        self.servers, self.children, self.teststore = list(servers), list(children), teststore
        self.wall_s = self.cpu_s = 0.0
        self.server_cpu_s: float | None = None
        self.counted: dict[str, Any] = {}

    def __enter__(self) -> "Meter":
        self._counters = self._count()
        self._server, self._child = processor_seconds(self.servers), processor_seconds(self.children)
        self._own, self._wall = own_seconds(), time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.wall_s = time.monotonic() - self._wall
        self.cpu_s = own_seconds() - self._own + processor_seconds(self.children) - self._child
        if self.servers:
            self.server_cpu_s = processor_seconds(self.servers) - self._server
        if kind is None and self.teststore is not None:
            self.counted = difference(self._count(), self._counters)

    def _count(self) -> dict[str, Any]:
        return {} if self.teststore is None else counters(self.teststore)


def counters(port: int) -> dict[str, Any]:
    """Of a test store: requests by verb, bytes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_control/counters", timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def difference(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Of numbers, also nested; the rest as it is now."""
    result: dict[str, Any] = {}
    for name, value in now.items():
        old = before.get(name)
        if isinstance(value, dict):
            result[name] = difference(value, old if isinstance(old, dict) else {})
        elif isinstance(value, (int, float)) and isinstance(old, (int, float)):
            result[name] = value - old
        else:
            result[name] = value
    return result


def by_verb(counted: dict[str, Any]) -> dict[str, float]:
    """Requests of a test store's counters, all statuses of a verb together."""
    return {verb: float(sum(statuses.values())) for verb, statuses in counted["requests"].items() if statuses}


def quantile(samples: list[float], share: float) -> float:
    """The least that at least this share of them does not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def row(figures: dict[str, float], meter: Meter | None = None, **more: Any) -> dict[str, Any]:
    """One row, with what the meter has seen; fields in `more` (compare/experiment.py, Row) win."""
    result: dict[str, Any] = {"figures": figures}
    if meter is not None:
        result |= {"cpu_s": meter.cpu_s, "server_cpu_s": meter.server_cpu_s}
        if meter.counted:
            result |= {"bytes_in": float(sum(meter.counted["bytes_in"].values())),
                       "bytes_out": float(sum(meter.counted["bytes_out"].values())),
                       "requests": by_verb(meter.counted)}
    return result | more


def main(measure: Callable[[Settings], dict[str, Any]]) -> None:
    """Runs it with this process's settings and prints its row, alone, on the real stdout."""
    told = os.dup(1)
    os.dup2(2, 1)
    settings = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read())
    line = json.dumps(measure(settings)) + "\n"
    sys.stdout.flush()
    with os.fdopen(told, "w", encoding="utf-8") as out:
        out.write(line)
