# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment finds around it: the mode, programs, environments, folders, a test store."""

import contextlib
import dataclasses
import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any, Iterator

from compare import environments
from compare.experiment import Row

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODES = ("quick", "full", "gate")
# What an experiment may need, in the order in which it is prepared: the release build; the environment with the
# package of this tree (torch in it); the pinned peers of PyPI; Kafka, a broker and its client.
PARTS = ("release", "package", "peers", "kafka")


class TestStore:
    """A running batchweave-teststore, container `bkt`."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process, self.port, self.pid = process, port, process.pid
        self.url = f"s3://bkt/ns?endpoint=http://127.0.0.1:{port}&region=us-east-1&style=path&anonymous=true"

    def control(self, path: str = "", **settings: Any) -> Any:
        """Counters with "/counters"; with settings, sets them (docs/design/teststore.md)."""
        data = json.dumps(settings).encode() if settings else None
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_control{path}", data, timeout=60) as answer:
            body = answer.read()
        return json.loads(body) if body.strip() else None


@dataclasses.dataclass
class Context:
    """`mode`: quick proves that all works and measures little; full; gate: only what is exact."""

    mode: str
    memory: pathlib.Path             # an own folder on a memory file system
    disk: pathlib.Path               # an own folder on a disk
    deadline: float                  # time.monotonic() at which the budget of this experiment ends
    build: pathlib.Path = ROOT / "build"

    @property
    def quick(self) -> bool:
        return self.mode == "quick"

    def pick(self, full: Any, quick: Any) -> Any:
        """By mode; the gate's figures are exact, so small is enough."""
        return full if self.mode == "full" else quick

    def remaining_s(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @property
    def bw_bench(self) -> pathlib.Path:
        return self.build / "bench" / "bw-bench"

    @property
    def batchweave(self) -> pathlib.Path:
        return self.build / "cli" / "batchweave"

    def python(self, which: str = "peers") -> pathlib.Path:
        """The interpreter that has the pinned peers, or the package of this tree ("package")."""
        return environments.python(which)

    def peer(self, name: str) -> pathlib.Path:
        """bench/peers/NAME.py"""
        return ROOT / "bench" / "peers" / f"{name}.py"

    def folder(self, where: str = "memory") -> "contextlib.AbstractContextManager[pathlib.Path]":
        """An empty folder on "memory" or "disk", removed at the end of the block."""
        return own_folder(self.memory if where == "memory" else self.disk)

    @contextlib.contextmanager
    def teststore(self, *options: str, **config: Any) -> Iterator[TestStore]:
        """With settings as of POST /_control: latency, bandwidth, rules."""
        program = str(self.build / "bench" / "teststore" / "batchweave-teststore")
        words = [program, "--with-parent", "--container", "bkt", *options]
        if config:
            words += ["--config", json.dumps(config)]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the test store did not start: exit {process.wait()}")
            yield TestStore(process, json.loads(line)["port"])
        finally:
            process.terminate()
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()


@contextlib.contextmanager
def own_folder(parent: pathlib.Path) -> Iterator[pathlib.Path]:
    path = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def prepare(parts: frozenset[str]) -> None:
    """Raises what stops it; each part once in a process."""
    for part in PARTS:
        if part in parts:
            prepare_part(part)


@functools.cache
def prepare_part(part: str) -> None:
    if part == "release":
        subprocess.run(["sh", "tools/build"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    elif part == "kafka":
        environments.kafka()
    else:
        environments.python(part)


def json_lines(name: str = "name", value: str = "value") -> "Any":
    """A `read` for rows of bw-bench -o json: each row's value is a figure of its name."""
    def read(printed: str) -> Row:
        rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return Row({row[name]: row[value] for row in rows})
    return read
