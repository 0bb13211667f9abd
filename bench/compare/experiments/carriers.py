# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What E1 and E4 share: a Kafka broker around cells, sides that carry batches through it and through ours."""

import contextlib
import functools
import importlib
import itertools
import json
import pathlib
import subprocess
import sys
from typing import Any, Iterator

from compare import environments
from compare.context import Context, TestStore
from compare.experiment import Side
from compare.results import Results, Spread

MODES = {"kafka-strict": "strict", "kafka-strict-tx": "strict_tx", "kafka-sliced": "sliced",
         "kafka-sliced, 4 a transaction": "sliced"}
WHY = {
    "kafka-strict": "librdkafka's CONFIGURATION.md: acks=all, idempotence; limits raised as the paper does",
    "kafka-strict-tx": "librdkafka's CONFIGURATION.md: transactional.id, read_committed",
    "kafka-sliced": "one transaction over a partition a slice and an order topic: no batch crosses the wire twice",
}
# Counts what is read of batches, apart from manifests.
DATA_RULE = {"name": "data", "verb": "get", "key": "*/data/*"}
# A fresh broker is slower for its first gigabytes: its code is not compiled yet.
WARM_BYTES = 3_000_000_000
HEAP_MB = {"full": 6144, "quick": 1024}


class Kafka:
    """A running broker; `storage` as of Context.folder."""

    def __init__(self, context: Context, broker: Any) -> None:
        self.context, self.broker = context, broker
        self._names = itertools.count()

    def side(self, name: str, **plan: Any) -> Side:
        """`plan` without a topic: each turn then needs one of its own, which kafka.py makes and removes."""
        mode = MODES.get(name, "strict")
        settings = {"address": self.broker.address, "broker_pid": self.broker.pid, "mode": mode,
                    "topic": f"{mode}-{next(self._names)}", **plan}
        return Side(name, [sys.executable, self.context.peer("kafka")], why=WHY.get(name, ""),
                    settings={**settings, "broker": self.broker.settings}, timeout_s=300)

    def run(self, side: Side) -> dict[str, Any]:
        """Outside of what is measured. Raises what it says when it fails."""
        return run(side)

    def warm(self, world: int, slice_bytes: int, total: int = WARM_BYTES) -> None:
        batches = max(1, total // 2 // (world * slice_bytes))
        for name in ("kafka-strict", "kafka-sliced"):
            self.run(self.side(name, action="produce", producers=2, batches=batches, world=world,
                               slice_bytes=slice_bytes))


def run(side: Side) -> dict[str, Any]:
    done = subprocess.run(list(map(str, side.command)), input=json.dumps(side.settings), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=side.timeout_s)
    if done.returncode != 0:
        raise RuntimeError(f"{side.name}: {done.stderr.strip()[-600:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "failed" in told["figures"]:
        raise RuntimeError(f"{side.name}: {told['settings']['failure']}")
    return told


@contextlib.contextmanager
def kafka(context: Context, storage: str = "memory", durable: bool = False) -> Iterator[Kafka]:
    environments.kafka()
    module = importlib.import_module("kafkabroker")
    with context.folder(storage) as folder:
        heap = HEAP_MB.get(context.mode, HEAP_MB["quick"])
        with module.Broker(folder / "kafka", durable=durable, heap_mb=heap) as broker:
            yield Kafka(context, broker)


# ---- ours

def ours(context: Context, name: str, **plan: Any) -> Side:
    return Side(name, [context.python("package"), context.peer("ours")], settings=plan, timeout_s=300)


def files(context: Context, name: str, folder: pathlib.Path, **plan: Any) -> Side:
    """On a folder; each turn makes a namespace there and removes it."""
    return ours(context, name, url=f"file://{folder / 'space'}", **plan)


def objects(context: Context, name: str, store: TestStore, space: str, **plan: Any) -> Side:
    return ours(context, name, url=store.url.replace("/ns?", f"/{space}?"), teststore=store.port, servers=[store.pid],
                **plan)


# ---- questions

def ratio(figure: str, side: str, over: str, at: dict[str, Any], results: Results) -> "Spread | None":
    return results.ratio(figure, side, over, **at)


def value(figure: str, side: str, at: dict[str, Any], results: Results) -> "Spread | None":
    return results.value(figure, side, **at)


def asked(question: Any, *words: Any) -> Any:
    """A question about results with its words given."""
    return functools.partial(question, *words)
