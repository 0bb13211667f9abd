# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Kafka between E6's preprocessing and its trainer, as strict global batches: one message is a step for all ranks, one
partition, acks=all, idempotent; every rank reads all of it and takes its part. By confluent-kafka, as its users do.

As a program: a producer of a shard. Started again it looks through the topic for the last batch of its own.
"""

import importlib
import json
import pickle
import sys
from typing import Any, Iterator

import kafkainstall
import workloads

TOPIC = "steps"
TIMEOUT_S = 120.0


def client() -> Any:
    folder = str(kafkainstall.folder() / "client")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("confluent_kafka")


def make_topic(address: str) -> None:
    client()
    admin = importlib.import_module("confluent_kafka.admin")
    kafka = admin.AdminClient({"bootstrap.servers": address})
    for made in kafka.create_topics([admin.NewTopic(TOPIC, 1, 1)]).values():
        made.result(TIMEOUT_S)


def reader(address: str) -> Any:
    kafka = client()
    consumer = kafka.Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False,
                               "auto.offset.reset": "earliest", "fetch.message.max.bytes": 1 << 26,
                               "fetch.wait.max.ms": 100})
    consumer.assign([kafka.TopicPartition(TOPIC, 0, 0)])
    return consumer


def source(settings: dict[str, Any]) -> Iterator[Any]:
    from train_sources import tensors

    consumer = reader(settings["address"])
    while True:
        message = consumer.poll(TIMEOUT_S)
        if message is None or message.error():
            raise RuntimeError(f"no batch: {message and message.error()}")
        yield tensors(pickle.loads(message.value())[settings["rank"]])


def published_before(address: str, shard: int) -> int:
    """How many batches of this shard the topic has."""
    consumer = reader(address)
    kafka = client()
    _, end = consumer.get_watermark_offsets(kafka.TopicPartition(TOPIC, 0), TIMEOUT_S)
    found = sum(1 for _ in range(end) if consumer.poll(TIMEOUT_S).key() == str(shard).encode())
    consumer.close()
    return found


def produce(settings: dict[str, Any]) -> None:
    shard, world = settings["shard"], settings["world"]
    made = workloads.WORKLOADS[settings["workload"]](shard, settings["shards"])
    producer = client().Producer({"bootstrap.servers": settings["address"], "acks": "all", "enable.idempotence": True,
                                  "linger.ms": 0, "message.max.bytes": 100_000_000})
    first = published_before(settings["address"], shard)
    items = made.items(first * world)
    size = 0
    for _ in range(first, settings["batches"]):
        batch = [next(items) for _ in range(world)]
        size += sum(map(workloads.size_of, batch))
        producer.produce(TOPIC, pickle.dumps(batch), key=str(shard).encode(), partition=0)
        producer.poll(0)
    if producer.flush(TIMEOUT_S) > 0:
        raise RuntimeError("batches were not acknowledged")
    print(json.dumps({"read": made.read, "made": size}), flush=True)


if __name__ == "__main__":
    produce(json.loads(sys.argv[1]))
