# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of what peers carry: producers publish global batches, ranks read their slices.

actions: `produce` (measured; into a new namespace that is removed after, unless `keep`), `consume`, and `commits` (a
batch each, as lancecommits.py). Producers and ranks are threads of this process, for the machine has two cores; each
rank opens the namespace by itself, as in a process of its own. `read` of consume: "product"; or, by a plain client that
reads nothing ahead, to tell what the layout alone costs: "plain" (the slice by one ranged GET), "footer" (the object's
end, then the slice: where offsets are not beside the name), "dense" (the whole batch, as a reader must that knows no
slices).
"""

import http.client
import itertools
import json
import os
import shutil
import struct
import threading
import time
import urllib.request
from typing import Any, Callable

import batchweave
import numpy

import lancecommits
import side

# To be set on the test store: it changes nothing, and counts.
DATA_RULE = {"name": "data", "verb": "get", "key": "*/data/*"}
STAMP = struct.Struct("<QI")
TIMEOUT_S = 120
# What a reader takes from an object's end that knows neither where the footer begins nor how long it is.
TAIL_BYTES = 64 << 10
# Slices and items begin at multiples of 64; before the one item lie the slice's head and the item's row
# (docs/format.md, 5.1 and 5.2).
ALIGN, ITEM_AT = 64, 128


def payload(plan: dict[str, Any]) -> bytearray:
    """Bytes of a batch that nobody can compress."""
    total = plan["world"] * plan["slice_bytes"]
    some = os.urandom(min(total, 4 << 20))
    return bytearray(some * -(-total // len(some)))[:total]


def slices(memory: bytearray, plan: dict[str, Any]) -> list[list[memoryview]]:
    view, size = memoryview(memory), plan["slice_bytes"]
    return [[view[slot * size:(slot + 1) * size]] for slot in range(plan["world"])]


def stamp(memory: bytearray, plan: dict[str, Any], number: int) -> None:
    for slot in range(plan["world"]):
        STAMP.pack_into(memory, slot * plan["slice_bytes"], number, slot)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Raises the first failure, when all have ended."""
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- produce

def make(plan: dict[str, Any]) -> None:
    """All of a batch in one object: a batch that is read whole is then one request."""
    batchweave.init(plan["url"], dp=plan["world"], part_size=1 << 30, **space_settings(plan))


def space_settings(plan: dict[str, Any]) -> dict[str, Any]:
    return {"durable": bool(plan.get("durable", True))}


def remove(plan: dict[str, Any]) -> None:
    if plan.get("keep"):
        return
    if plan.get("teststore"):
        asked = urllib.request.Request(f"http://127.0.0.1:{plan['teststore']}/_control",
                                       json.dumps({"reset": "objects"}).encode())
        urllib.request.urlopen(asked, timeout=60).close()
    else:
        shutil.rmtree(plan["url"].removeprefix("file://"), ignore_errors=True)


def publish(producer: Any, plan: dict[str, Any], memory: bytearray, count: int) -> None:
    """`stamped`: each batch is told from others, one at a time; else as many are under way as are staged."""
    rows = slices(memory, plan)
    for number in range(count):
        if plan.get("stamped"):
            stamp(memory, plan, number)
        producer.write(rows, offset=producer.resume_offset + number + 1, timeout=TIMEOUT_S)
        if plan.get("stamped"):
            producer.flush(urgent=True, timeout=TIMEOUT_S)
    producer.flush(urgent=True, timeout=TIMEOUT_S)


def produce(plan: dict[str, Any]) -> dict[str, Any]:
    make(plan)
    memory = payload(plan)
    shares = [len(range(number, plan["batches"], plan["producers"])) for number in range(plan["producers"])]
    settings = {"policy": plan["policy"]} if plan.get("policy") else {}
    meter = side.Meter(servers=plan.get("servers", ()), teststore=plan.get("teststore"))
    with batchweave.Space(plan["url"], mode="write", **space_settings(plan)) as space:
        producers = [batchweave.Producer(space, f"p{number}", kind="raw", timeout=TIMEOUT_S, **settings)
                     for number in range(plan["producers"])]
        try:
            with meter:
                in_threads(len(producers), lambda number: publish(producers[number], plan, memory, shares[number]))
        finally:
            for producer in producers:
                producer.close()
        if space.info()["next_step"] != plan["batches"]:
            raise RuntimeError(f"{space.info()['next_step']} steps of {plan['batches']}")
    remove(plan)
    total = plan["batches"] * len(memory)
    cpu_s = meter.cpu_s + (meter.server_cpu_s or 0)
    return side.row({"mb_per_s": total / 1e6 / meter.wall_s, "batches_per_s": plan["batches"] / meter.wall_s,
                     "cpu_s_per_gb": cpu_s / (total / 1e9)}, meter,
                    settings={"version": batchweave.__version__, **space_settings(plan), **settings})


# ---- consume

class ProductRank:
    def __init__(self, plan: dict[str, Any], rank: int) -> None:
        self.plan, self.rank = plan, rank
        self.space = batchweave.Space(plan["url"], timeout=TIMEOUT_S, **plan.get("space", {}))

    def begin(self) -> None:
        self.consumer = batchweave.Consumer(self.space, dp=(self.rank, self.plan["world"]), timeout=TIMEOUT_S)

    def next(self, own: Any) -> None:
        numpy.copyto(own, numpy.frombuffer(memoryview(self.consumer.next(TIMEOUT_S)), numpy.uint8))

    def close(self) -> None:
        self.consumer.close()
        self.space.close()


class Object:
    """Where the batch of a step lies, as the report of steps tells it."""

    def __init__(self, path: str, size: int, slice_bytes: int) -> None:
        self.path, self.size = path, size
        self._stride = -(-(ITEM_AT + slice_bytes) // ALIGN) * ALIGN

    def item_at(self, slot: int) -> int:
        return slot * self._stride + ITEM_AT


class PlainRank:
    """One connection, one request at a time."""

    def __init__(self, plan: dict[str, Any], rank: int, objects: list[Object]) -> None:
        self.plan, self.rank, self.objects = plan, rank, iter(objects)
        whole = max(one.size for one in objects) if plan["read"] == "dense" else plan["slice_bytes"]
        self.buffer = memoryview(bytearray(max(whole, TAIL_BYTES)))

    def begin(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.plan["teststore"], timeout=TIMEOUT_S)

    def _get(self, path: str, first: int, size: int) -> None:
        self.connection.request("GET", path, headers={"Range": f"bytes={first}-{first + size - 1}"})
        answer = self.connection.getresponse()
        at = 0
        while at < size:
            count = answer.readinto(self.buffer[at:size])
            if count == 0:
                raise RuntimeError(f"{path}: {answer.status}, {at} of {size} bytes")
            at += count
        answer.read()

    def next(self, own: Any) -> None:
        one, size = next(self.objects), self.plan["slice_bytes"]
        at = one.item_at(self.rank)
        if self.plan["read"] == "dense":
            self._get(one.path, 0, one.size)
            numpy.copyto(own, numpy.frombuffer(self.buffer[at:at + size], numpy.uint8))
            return
        if self.plan["read"] == "footer":
            self._get(one.path, max(0, one.size - TAIL_BYTES), min(one.size, TAIL_BYTES))
        self._get(one.path, at, size)
        numpy.copyto(own, numpy.frombuffer(self.buffer[:size], numpy.uint8))

    def close(self) -> None:
        self.connection.close()


def objects_of(plan: dict[str, Any]) -> list[Object]:
    """Of the first steps."""
    with batchweave.Space(plan["url"]) as space:
        rows = space.steps(last=plan["steps"])
    bucket = plan["url"].removeprefix("s3://").split("?")[0]
    return [Object(f"/{bucket}/{row['key']}", row["bytes"], plan["slice_bytes"]) for row in rows]


def read(rank: Any, own: Any, plan: dict[str, Any], waits: list[float], order: list[int]) -> None:
    rank.begin()
    for _ in range(plan["steps"]):
        began = time.monotonic()
        rank.next(own)
        waits.append(time.monotonic() - began)
        number, slot = STAMP.unpack_from(own)
        if slot != rank.rank:
            raise RuntimeError(f"rank {rank.rank} got the slice of rank {slot}")
        order.append(number)


def data_reads(plan: dict[str, Any]) -> float:
    """Of data objects, by the store's rule of that name, which DATA_RULE sets."""
    return float(sum(rule["matched"] for rule in side.counters(plan["teststore"])["rules"] if rule["name"] == "data"))


def consume(plan: dict[str, Any]) -> dict[str, Any]:
    """All ranks read `steps` batches, each its own slice of them; from their opening on."""
    count = plan["ranks"]
    objects = [] if plan["read"] == "product" else objects_of(plan)
    ranks = [ProductRank(plan, rank) if plan["read"] == "product" else PlainRank(plan, rank, objects)
             for rank in range(count)]
    own = [numpy.empty(plan["slice_bytes"], numpy.uint8) for _ in ranks]
    waits: list[list[float]] = [[] for _ in ranks]
    orders: list[list[int]] = [[] for _ in ranks]
    before = data_reads(plan)
    with side.Meter(servers=plan["servers"], teststore=plan["teststore"]) as meter:
        in_threads(count, lambda rank: read(ranks[rank], own[rank], plan, waits[rank], orders[rank]))
    matched = data_reads(plan) - before
    for rank in ranks:
        rank.close()
    if any(order != orders[0] for order in orders):
        raise RuntimeError("ranks saw batches in different orders")
    return side.row(read_figures(plan, waits, matched, meter), meter,
                    settings={"version": batchweave.__version__, "read": plan["read"], **plan.get("space", {})})


def read_figures(plan: dict[str, Any], waits: list[list[float]], data_gets: float, meter: side.Meter,
                 ) -> dict[str, float]:
    """Without each rank's first wait, which is that of its opening."""
    later = list(itertools.chain.from_iterable(one[1:] for one in waits)) or list(itertools.chain(*waits))
    steps = plan["ranks"] * plan["steps"]
    useful = steps * plan["slice_bytes"]
    cpu_s = meter.cpu_s + (meter.server_cpu_s or 0)
    sent = float(sum(meter.counted["bytes_out"].values()))
    return {"mb_per_s_per_rank": useful / 1e6 / meter.wall_s / plan["ranks"], "amplification": sent / useful,
            "gets_per_rank_step": side.by_verb(meter.counted).get("get", 0.0) / steps,
            "data_gets_per_rank_step": data_gets / steps,
            "p50_ms": side.quantile(later, 0.5) * 1e3, "p95_ms": side.quantile(later, 0.95) * 1e3,
            "p99_ms": side.quantile(later, 0.99) * 1e3, "cpu_s_per_gb": cpu_s / (useful / 1e9)}


# ---- commits

def commits(plan: dict[str, Any]) -> dict[str, Any]:
    """Batches of a few bytes, each committed alone and waited for."""
    make(plan)
    rows, samples = [[b"x" * 64]], []
    with batchweave.Space(plan["url"], mode="write", **space_settings(plan)) as space:
        producer = batchweave.Producer(space, "p0", kind="raw", policy="naive", timeout=TIMEOUT_S)
        with side.Meter() as meter:
            for number in range(plan["commits"]):
                began = time.monotonic()
                producer.write(rows, offset=number + 1)
                producer.flush(urgent=True, timeout=TIMEOUT_S)
                samples.append(time.monotonic() - began)
        producer.close()
        counted = sum(row["bytes"] for row in space.report("list") if row["kind"] != "part")
    remove(plan)
    return side.row(lancecommits.figures(samples, counted, meter.wall_s), meter,
                    series={"commit_us": [value * 1e6 for value in lancecommits.course(samples)]},
                    settings={"version": batchweave.__version__, "policy": "naive", **space_settings(plan),
                              "commits": plan["commits"]})


ACTIONS = {"produce": produce, "consume": consume, "commits": commits}

if __name__ == "__main__":
    side.main(lambda plan: ACTIONS[plan["action"]](plan))
