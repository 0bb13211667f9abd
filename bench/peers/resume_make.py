# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The set that a job of E7 reads: {"peer": …, "place": folder or URL, "case": …, "samples": 512, "size": 4096}"""

import importlib
import json
import random
import sys
from typing import Any

import blocks
import resume_rank

DP, ITEMS = 4, 2


def static_batches(samples: int, size: int) -> Any:
    for first in range(0, samples - DP * ITEMS + 1, DP * ITEMS):
        yield [[blocks.made(first + d * ITEMS + m, size) for m in range(ITEMS)] for d in range(DP)]


def dynamic_batches(steps: int) -> Any:
    """Packed while they are made, from a window and in numbers drawn by chance: nobody can make them again."""
    chance = random.SystemRandom()
    window: list[bytes] = []
    numbers = iter(range(1 << 30))

    def more() -> bytes:
        return blocks.made(next(numbers), resume_rank.CHUNK)

    for _ in range(steps):
        items = chance.randint(1, 3)
        chance.shuffle(window)
        yield [[b"".join(resume_rank.packed(window, more)) for _ in range(items)] for _ in range(DP)]


def publish(settings: dict[str, Any]) -> None:
    import batchweave as bw

    dynamic = settings["case"] == "dynamic"
    durable: dict[str, Any] = {"durable": False} if settings["place"].startswith("file:") else {}
    bw.init(settings["place"], dp=DP, producers=1, **durable)
    with bw.Producer(settings["place"], "p", kind="raw", **durable) as producer:
        made = (dynamic_batches(settings["samples"] // 8) if dynamic else
                static_batches(settings["samples"], settings["size"]))
        for number, batch in enumerate(made, 1):
            producer.write(batch, offset=number, items=len(batch[0]))
        producer.finish()


def main() -> None:
    settings = json.loads(sys.argv[1])
    if settings["peer"] == "batchweave":
        publish(settings)
    else:
        name = "static_litdata" if settings["peer"] == "litdata" else "static_streaming"
        importlib.import_module(name).write(settings["place"], settings["size"], settings["samples"])


if __name__ == "__main__":
    main()
