# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A producer of E6: preprocesses its shard and publishes whole batches; started again, it goes on where it was."""

import json
import sys
from typing import Any

import batchweave as bw

import workloads


def produce(settings: dict[str, Any]) -> None:
    shard, world = settings["shard"], settings["world"]
    made = workloads.WORKLOADS[settings["workload"]](shard, settings["shards"])
    try:
        producer = bw.Producer(settings["place"], f"p{shard}", durable=False)
    except bw.errors.Finished:
        return
    size = 0
    with producer:
        first = producer.resume_offset
        items = made.items(first * world)
        for offset in range(first, settings["batches"]):
            batch: list[list[Any]] = [[next(items)] for _ in range(world)]
            size += sum(workloads.size_of(item) for item, in batch)
            producer.write(batch, offset=offset + 1, samples=[f"{shard}:{offset}:{d}" for d in range(world)])
        producer.finish()
    print(json.dumps({"read": made.read, "made": size}), flush=True)


if __name__ == "__main__":
    produce(json.loads(sys.argv[1]))
