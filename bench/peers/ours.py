# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of what peers carry: producers publish global batches, ranks read their slices.

actions: `produce` (measured; into a new namespace that is removed after, unless `keep`), `bare` (files instead),
`consume`, and `commits` (a batch each, as lancecommits.py). Producers and ranks are threads of this process, for the
machine has two cores; each rank opens the namespace by itself, as in a process of its own. `read` of consume:
"product"; or, by a plain client that reads nothing ahead, to tell what the layout alone costs: "plain" (the slice by
one ranged GET), "footer" (the object's end, then the slice: where offsets are not beside the name), "dense" (the whole
batch, as a reader must that knows no slices).
"""

import http.client
import json
import os
import shutil
import time
import urllib.request
from typing import Any

import batchweave
import numpy

import carried
import side
from carried import TIMEOUT_S

# What a reader takes from an object's end that knows neither where the footer begins nor how long it is.
TAIL_BYTES = 64 << 10
# Slices and items begin at multiples of 64; before the one item lie the slice's head and the item's row
# (docs/format.md, 5.1 and 5.2).
ALIGN, ITEM_AT = 64, 128


def slices(memory: bytearray, plan: dict[str, Any]) -> list[list[memoryview]]:
    view, size = memoryview(memory), plan["slice_bytes"]
    return [[view[slot * size:(slot + 1) * size]] for slot in range(plan["world"])]


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
            carried.stamp(memory, plan["world"], number)
        producer.write(rows, offset=producer.resume_offset + number + 1, timeout=TIMEOUT_S)
        if plan.get("stamped"):
            producer.flush(urgent=True, timeout=TIMEOUT_S)
    producer.flush(urgent=True, timeout=TIMEOUT_S)


def produce(plan: dict[str, Any]) -> dict[str, Any]:
    make(plan)
    memory = carried.payload(plan["world"] * plan["slice_bytes"])
    shares = carried.shares(plan["batches"], plan["producers"])
    settings = {"policy": plan["policy"]} if plan.get("policy") else {}
    meter = side.Meter(servers=plan.get("servers", ()), teststore=plan.get("teststore"))
    with batchweave.Space(plan["url"], mode="write", **space_settings(plan)) as space:
        producers = [batchweave.Producer(space, f"p{number}", kind="raw", timeout=TIMEOUT_S, **settings)
                     for number in range(plan["producers"])]
        try:
            with meter:
                carried.in_threads(len(producers),
                                   lambda number: publish(producers[number], plan, memory, shares[number]))
        finally:
            for producer in producers:
                producer.close()
        if space.info()["next_step"] != plan["batches"]:
            raise RuntimeError(f"{space.info()['next_step']} steps of {plan['batches']}")
    remove(plan)
    return side.row(carried.produce_figures(meter, plan["batches"], plan["batches"] * len(memory)), meter,
                    settings={"version": batchweave.__version__, **space_settings(plan), **settings})


def bare(plan: dict[str, Any]) -> dict[str, Any]:
    """The same bytes by the same threads in files of a batch each, and nothing else: what the file system can take."""
    folder = plan["url"].removeprefix("file://")
    os.makedirs(folder)
    memory = carried.payload(plan["world"] * plan["slice_bytes"])
    shares = carried.shares(plan["batches"], plan["producers"])

    def work(number: int) -> None:
        for batch in range(shares[number]):
            with open(f"{folder}/{number}-{batch}", "xb", buffering=0) as file:
                at = 0
                while at < len(memory):
                    at += file.write(memoryview(memory)[at:]) or 0

    with side.Meter() as meter:
        carried.in_threads(plan["producers"], work)
    remove(plan)
    return side.row(carried.produce_figures(meter, plan["batches"], plan["batches"] * len(memory)), meter)


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
        order.append(carried.own_slice(own, rank.rank))


def data_reads(plan: dict[str, Any]) -> float:
    """Of data objects, by the store's rule of that name, where one is set (compare/experiments/carriers.py)."""
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
        carried.in_threads(count, lambda rank: read(ranks[rank], own[rank], plan, waits[rank], orders[rank]))
    matched = data_reads(plan) - before
    for rank in ranks:
        rank.close()
    carried.same_order(orders)
    rank_steps, sent = count * plan["steps"], sum(meter.counted["bytes_out"].values())
    figures = carried.read_figures(meter, waits, rank_steps * plan["slice_bytes"], sent)
    figures |= {"gets_per_rank_step": side.by_verb(meter.counted).get("get", 0.0) / rank_steps,
                "data_gets_per_rank_step": matched / rank_steps}
    return side.row(figures, meter,
                    settings={"version": batchweave.__version__, "read": plan["read"], **plan.get("space", {})})


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
    return side.row(carried.commit_figures(samples, counted, meter.wall_s), meter,
                    series={"commit_us": carried.course_us(samples)},
                    settings={"version": batchweave.__version__, "policy": "naive", **space_settings(plan),
                              "commits": plan["commits"]})


ACTIONS = {"produce": produce, "consume": consume, "commits": commits, "bare": bare}

if __name__ == "__main__":
    side.main(lambda plan: ACTIONS[plan["action"]](plan))
