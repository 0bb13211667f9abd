# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Kafka as a carrier of global batches, in three ways that keep all ranks on one order.

strict       one message is one whole batch, one partition: what the paper compares with
strict_tx    the same, a transaction for each batch, read_committed
sliced       Kafka at its best, which the paper leaves out: a message for each slice in a partition of its own and one
             in an order topic, in one transaction; a rank reads its partition and the order, and joins them

actions: `produce` (measured; the topic is made for it and, unless `keep`, removed), `consume`, `orders`, `drop`.
"""

import ctypes
import importlib
import struct
import sys
import time
from typing import Any

import carried
import kafkainstall
import librdkafka
import side
from carried import STAMP, TIMEOUT_S

MODES = ("strict", "strict_tx", "sliced")
IN_FLIGHT_BYTES, IN_FLIGHT_MAX = 64_000_000, 5
# Of a batch of one record, with the marker of its transaction: what a fetch that ends between batches has beside them.
OVERHEAD_BYTES = 160
FETCH_BYTES = 1 << 20


def producer_settings(plan: dict[str, Any], name: str) -> dict[str, Any]:
    settings = {
        "bootstrap.servers": plan["address"], "acks": "all", "enable.idempotence": True, "linger.ms": 0,
        "compression.type": "none", "message.max.bytes": 400_000_000, "queue.buffering.max.kbytes": 2_097_151,
        "request.timeout.ms": 60_000, "delivery.timeout.ms": TIMEOUT_S * 1000, "log_level": 3,
    }
    if plan["mode"] != "strict":
        settings |= {"transactional.id": name, "transaction.timeout.ms": TIMEOUT_S * 1000}
    return settings


def consumer_settings(plan: dict[str, Any], large: bool) -> dict[str, Any]:
    """Fetches end where a batch ends: else the broker fills them with the beginning of the next one, which crosses the
    wire again, and amplification would not be the layout's."""
    unit = message_bytes(plan) + OVERHEAD_BYTES
    fetch = unit * max(1, FETCH_BYTES // unit)
    settings = {
        "bootstrap.servers": plan["address"], "group.id": "none", "enable.auto.commit": False,
        "isolation.level": "read_uncommitted" if plan["mode"] == "strict" else "read_committed",
        "fetch.message.max.bytes": fetch, "fetch.max.bytes": 2 * fetch, "receive.message.max.bytes": 2 * fetch + 4096,
        "queued.max.messages.kbytes": max(65_536, 2 * fetch // 1000), "fetch.wait.max.ms": 100,
        "check.crcs": False, "log_level": 3,
    }
    return settings if large else settings | {"fetch.queue.backoff.ms": 1}


def batch_bytes(plan: dict[str, Any]) -> int:
    return int(plan["world"] * plan["slice_bytes"])


def message_bytes(plan: dict[str, Any]) -> int:
    return int(plan["slice_bytes"]) if plan["mode"] == "sliced" else batch_bytes(plan)


def library_of(plan: dict[str, Any]) -> tuple[librdkafka.Library, bool]:
    large = message_bytes(plan) >= kafkainstall.LARGE_BYTES
    return librdkafka.use(kafkainstall.install() / ("client-large" if large else "client")), large


# ---- topics

def order_topic(plan: dict[str, Any]) -> str:
    return f"{plan['topic']}-order"


def topics_of(plan: dict[str, Any]) -> dict[str, int]:
    if plan["mode"] == "sliced":
        return {plan["topic"]: plan["world"], order_topic(plan): 1}
    return {plan["topic"]: 1}


def admin(plan: dict[str, Any]) -> Any:
    folder = str(kafkainstall.install() / "client")
    if folder not in sys.path:
        sys.path.append(folder)
    module = importlib.import_module("confluent_kafka.admin")
    return module.AdminClient({"bootstrap.servers": plan["address"], "log_level": 3})


def make_topics(plan: dict[str, Any], topics: dict[str, int]) -> None:
    client = admin(plan)  # the futures fail when it goes
    new_topic = importlib.import_module("confluent_kafka.admin").NewTopic
    made = client.create_topics([new_topic(name, count, 1, config={"max.message.bytes": "400000000"})
                                   for name, count in topics.items()], operation_timeout=60)
    for future in made.values():
        future.result()


def drop_topics(plan: dict[str, Any], topics: dict[str, int]) -> None:
    client = admin(plan)
    for future in client.delete_topics(list(topics), operation_timeout=60).values():
        future.result()


# ---- produce

class Payload:
    """Bytes of a batch that nobody can compress, at a fixed place, so that nothing copies them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.slice_bytes, self.world = plan["slice_bytes"], plan["world"]
        self.memory = carried.payload(batch_bytes(plan))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self._order = ctypes.create_string_buffer(8)

    def stamp(self, number: int) -> None:
        carried.stamp(self.memory, self.world, number)
        struct.pack_into("<Q", self._order, 0, number)

    @property
    def order_address(self) -> int:
        return ctypes.addressof(self._order)


def send(producer: librdkafka.Producer, plan: dict[str, Any], payload: Payload) -> None:
    if plan["mode"] == "sliced":
        for slot in range(plan["world"]):
            producer.send(plan["topic"], slot, payload.address + slot * payload.slice_bytes, payload.slice_bytes)
        producer.send(order_topic(plan), 0, payload.order_address, 8)
    else:
        producer.send(plan["topic"], 0, payload.address, len(payload.memory))


def produce_batches(producer: librdkafka.Producer, plan: dict[str, Any], payload: Payload, count: int) -> None:
    """`stamped`: each batch is told from others, one at a time; else several are under way."""
    stamped, per_transaction = plan.get("stamped", False), plan.get("per_transaction", 1)
    at_once = 1 if stamped else max(1, min(IN_FLIGHT_MAX, IN_FLIGHT_BYTES // batch_bytes(plan)))
    for first in range(0, count, per_transaction):
        if plan["mode"] != "strict":
            producer.begin()
        for number in range(first, min(first + per_transaction, count)):
            if stamped:
                producer.wait()
                payload.stamp(number)
            if plan["mode"] == "strict":
                producer.wait(at_once - 1)
            send(producer, plan, payload)
        if plan["mode"] != "strict":
            producer.commit(TIMEOUT_S)
    producer.wait()


def produce(plan: dict[str, Any]) -> dict[str, Any]:
    library, _ = library_of(plan)
    make_topics(plan, topics_of(plan))
    payload = Payload(plan)
    settings = producer_settings(plan, "")
    producers = [librdkafka.Producer(library, producer_settings(plan, f"{plan['topic']}-{number}"))
                 for number in range(plan["producers"])]
    shares = carried.shares(plan["batches"], plan["producers"])
    meter = side.Meter(servers=[plan["broker_pid"]])
    try:
        if plan["mode"] != "strict":
            carried.in_threads(len(producers), lambda number: producers[number].start_transactions(TIMEOUT_S))
        with meter:
            carried.in_threads(len(producers),
                               lambda number: produce_batches(producers[number], plan, payload, shares[number]))
    finally:
        for producer in producers:
            producer.close()
        if not plan.get("keep"):
            drop_topics(plan, topics_of(plan))
    return side.row(carried.produce_figures(meter, plan["batches"], plan["batches"] * batch_bytes(plan)), meter,
                    settings={**settings, "librdkafka": library.version,
                              "per_transaction": plan.get("per_transaction", 1)})


# ---- consume

class Rank:
    """One rank: a client of its own, as in a process of its own."""

    def __init__(self, library: librdkafka.Library, plan: dict[str, Any], rank: int, large: bool) -> None:
        self.plan, self.rank = plan, rank
        self.client = librdkafka.Consumer(library, consumer_settings(plan, large))
        self.own = ctypes.create_string_buffer(plan["slice_bytes"])
        self.waits: list[float] = []
        self.order: list[int] = []
        self._slices: dict[int, Any] = {}
        self._steps: list[int] = []

    def read(self, steps: int) -> None:
        sliced = self.plan["mode"] == "sliced"
        self.client.assign([(self.plan["topic"], self.rank), (order_topic(self.plan), 0)] if sliced
                           else [(self.plan["topic"], 0)])
        for _ in range(steps):
            began = time.monotonic()
            message, at = self._joined() if sliced else self._whole()
            ctypes.memmove(self.own, at, self.plan["slice_bytes"])
            self.waits.append(time.monotonic() - began)
            self.client.give_back(message)
            self.order.append(carried.own_slice(self.own, self.rank))

    def _whole(self) -> tuple[Any, int]:
        message = self.client.next(TIMEOUT_S)
        return message, message.contents.payload + self.rank * self.plan["slice_bytes"]

    def _joined(self) -> tuple[Any, int]:
        """The slice of the next batch of the order topic."""
        while not self._steps or self._steps[0] not in self._slices:
            message = self.client.next(TIMEOUT_S)
            if message.contents.length == 8:
                self._steps.append(struct.unpack("<Q", ctypes.string_at(message.contents.payload, 8))[0])
                self.client.give_back(message)
            else:
                number, _ = STAMP.unpack(ctypes.string_at(message.contents.payload, STAMP.size))
                self._slices[number] = message
        message = self._slices.pop(self._steps.pop(0))
        return message, message.contents.payload

    def close(self) -> None:
        for message in self._slices.values():
            self.client.give_back(message)
        self._slices.clear()
        self.client.close()


def consume(plan: dict[str, Any]) -> dict[str, Any]:
    """All ranks read `steps` batches, each its own slice of them; from the assignment on."""
    library, large = library_of(plan)
    ranks = [Rank(library, plan, rank, large) for rank in range(plan["ranks"])]
    settings = consumer_settings(plan, large)
    try:
        with side.Meter(servers=[plan["broker_pid"]]) as meter:
            carried.in_threads(len(ranks), lambda rank: ranks[rank].read(plan["steps"]))
    finally:
        for rank in ranks:
            rank.close()
    carried.same_order([rank.order for rank in ranks])
    useful = plan["ranks"] * plan["steps"] * plan["slice_bytes"]
    received = sum(rank.client.received_bytes for rank in ranks)
    return side.row(carried.read_figures(meter, [rank.waits for rank in ranks], useful, received), meter,
                    bytes_out=float(received), settings=settings | {"librdkafka": library.version})


# ---- a queue of two topics

def orders(plan: dict[str, Any]) -> dict[str, Any]:
    """Two sources, a topic each, and ranks that read both and take what comes: the usual way to mix sources through a
    queue. How many of the ranks' orders differ from that of rank 0, and from which step on the first does."""
    library = librdkafka.use(kafkainstall.install() / "client")
    plan = plan | {"mode": "strict"}
    topics = [f"{plan['topic']}-{source}" for source in "ab"]
    make_topics(plan, {topic: 1 for topic in topics})
    seen: list[list[tuple[int, int]]] = [[] for _ in range(plan["ranks"])]

    def source(number: int) -> None:
        producer = librdkafka.Producer(library, producer_settings(plan, ""))
        payload = Payload(plan)
        for step in range(plan["steps"] // 2):
            payload.stamp(step)
            producer.send(topics[number], 0, payload.address, len(payload.memory))
            producer.wait()
        producer.close()

    def rank(number: int) -> None:
        client = librdkafka.Consumer(library, consumer_settings(plan, False))
        client.assign([(topic, 0) for topic in topics])
        while len(seen[number]) < plan["steps"] // 2 * 2:
            message = client.next(TIMEOUT_S)
            step, _ = STAMP.unpack(ctypes.string_at(message.contents.payload, STAMP.size))
            seen[number].append((topics.index(client.topic_of(message)), step))
            client.give_back(message)
        client.close()

    try:
        carried.in_threads(2 + plan["ranks"], lambda number: source(number) if number < 2 else rank(number - 2))
    finally:
        drop_topics(plan, {topic: 1 for topic in topics})
    return side.row(order_figures(seen), settings={"librdkafka": library.version})


def order_figures(seen: list[list[tuple[int, int]]]) -> dict[str, float]:
    first, others = seen[0], seen[1:]
    apart = [next((at for at, (a, b) in enumerate(zip(first, other)) if a != b), len(first)) for other in others]
    steps = sum(1 for rows in zip(*seen) if len(set(rows)) > 1)
    return {"ranks_that_differ": float(sum(at < len(first) for at in apart)),
            "first_step_apart": float(min(apart, default=len(first))),
            "steps_mixed_share": steps / len(first) if first else 0.0}


def drop(plan: dict[str, Any]) -> dict[str, Any]:
    drop_topics(plan, topics_of(plan))
    return side.row({})


ACTIONS = {"produce": produce, "consume": consume, "orders": orders, "drop": drop}


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    """A limit that Kafka meets is a result: the row then tells it instead of figures."""
    try:
        return ACTIONS[plan["action"]](plan)
    except librdkafka.Failure as failure:
        return side.row({"failed": 1.0}, settings={"failure": str(failure)})


if __name__ == "__main__":
    side.main(measure)
