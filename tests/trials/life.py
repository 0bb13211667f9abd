# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The life of one namespace on a store that goes wrong: founded, filled by two producers, read by two ranks,
pinned and swept, while each leg's rules strike. What is put is a function of who puts it and its number."""

import ctypes
import hashlib
import random
import time

import matrix
import product
from judge import Judge
from product import Piece, Refused

LEGS = 3
FOUNDINGS = 6  # of namespaces in which nothing else happens
PRODUCERS = ["p0", "p1"]
SLICES = 2
CALL_NS = 3 * 10**9
PATIENCE_S = 60
INIT = {"dp": SLICES, "block_size": 2, "tail_cap": "128", "part_size": "4096", "page_min": 2, "producers": 2}


def payload(name, number, slice_):
    """What slice `slice_` of a producer's batch `number` (from 1) holds."""
    draw = hashlib.shake_128(f"{name} {number} {slice_}".encode())
    return draw.digest(600 if number % 3 else 2500)


def state_of(name, number):
    """The resume state behind a batch: every other one is too large for the manifest."""
    return hashlib.shake_128(f"state {name} {number}".encode()).digest(20 if number % 2 else 400)


# What must be noticed: rules beside those of the matrix, or a hand that reaches into the store at the end; and what
# is then said.
PLANTS = {"conditions ignored": "was replaced", "a part lost": "deleted too early", "a byte changed": "two contents"}
IGNORED = {"verb": "create", "key": "*/manifest/*", "condition": "ignored"}


class Producer:
    """A producer of the name, opened again whenever its handle is at its end."""

    def __init__(self, life, name):
        self.life, self.name = life, name
        self.handle = self.space = None
        self.put_count = 0  # batches ever handed over
        self.acknowledged = {}  # number of a batch: its step, as an event said
        self.known = 0  # batches that a flush or an open proved
        self.lent = {}  # number of a batch: its memory, until it is given back

    def open(self, commit_timeout="1s"):
        p, life = self.life.product, self.life
        self.space = life.open(life.url, life.writing)
        config = p.config(policy=life.draw.choice(["naive", "fixed:2", "dac", "turn"]), commit_timeout=commit_timeout)
        self.handle = life.insist(
            lambda: p.handle("bw_producer_open", self.space, self.name.encode(), config, CALL_NS), "producer")
        offset, state, size = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_size_t()
        p.plain("bw_producer_resume", self.handle, ctypes.addressof(offset), ctypes.addressof(state),
                ctypes.addressof(size))
        at = offset.value
        if not self.known <= at <= self.put_count:
            life.wrong(f"{self.name} goes on at {at}: {self.known} were acknowledged, {self.put_count} put")
        wanted = state_of(self.name, at) if at else b""
        if (ctypes.string_at(state, size.value) if size.value else b"") != wanted:
            life.wrong(f"{self.name} has another state than of batch {at}")
        self.known = at
        self.put_count = at

    def close(self, patience_ns=0):
        p = self.life.product
        try:
            p.call("bw_producer_close", self.handle, patience_ns)
        except Refused:
            pass  # it says what was not acknowledged; the next open tells
        self.lent.clear()
        p.plain("bw_space_close", self.space)
        self.handle = self.space = None

    def reopen(self):
        self.close()
        self.open()

    def put(self):
        """Hands the next batch over."""
        p, number = self.life.product, self.put_count + 1
        try:
            batch = p.handle("bw_batch_new", self.handle, 1)
        except Refused:
            return self.reopen()
        pieces = []
        for slice_ in range(SLICES):
            data = payload(self.name, number, slice_)
            pieces.append(Piece(data, len(data)))
            p.call("bw_batch_item", batch, slice_, 0, 0, ctypes.addressof(pieces[-1]), 1)
        state = state_of(self.name, number)
        try:
            p.call("bw_producer_put", self.handle, batch, number, ctypes.cast(state, ctypes.c_void_p), len(state),
                   number, CALL_NS)
        except Refused:
            p.plain("bw_batch_free", batch)
            return self.reopen()
        self.lent[number] = pieces
        self.put_count = number
        return None

    def take_events(self):
        p = self.life.product
        while True:
            try:
                event = p.handle("bw_producer_event", self.handle, 0)
            except Refused:
                return
            kind, number = p.plain("bw_event_what", event), p.plain("bw_event_token", event)
            if kind == 1:
                self.lent.pop(number, None)
            if kind == 2:
                step = p.plain("bw_event_step", event)
                if self.acknowledged.setdefault(number, step) != step:
                    self.life.wrong(f"{self.name}: batch {number} is acknowledged for two steps")
                self.known = max(self.known, number)
            p.plain("bw_event_free", event)

    def settle(self, wanted):
        """Until `wanted` batches are on the chain, whatever it takes."""
        p, deadline = self.life.product, time.monotonic() + PATIENCE_S
        while True:
            while self.put_count < wanted:
                self.put()
            try:
                p.call("bw_producer_flush", self.handle, 1, CALL_NS)
                self.known = self.put_count
                self.take_events()
                if self.put_count == wanted:
                    return
            except Refused as refused:
                self.take_events()
                if time.monotonic() > deadline:
                    raise
                if refused.kind != product.WAIT:
                    self.reopen()


class Life:
    """One namespace; `server` is a test store of its own, empty."""

    def __init__(self, lib, server, seed, plant=None):
        self.product, self.server, self.seed, self.plant = lib, server, seed, plant
        self.dialect = matrix.DIALECTS[seed % len(matrix.DIALECTS)]
        self.draw = random.Random(seed)
        self.place = {"s3": "s3://bkt/", "gcs": "gs://bkt/", "azure": "az://devstoreaccount1/bkt/"}[self.dialect]
        self.url = (self.place + "n").encode()
        self.faults = []
        self.hits = {}  # name of a rule: how many requests it struck
        self.came_late = 0
        self.calls_refused = {}
        self.retry = {"retry_limit": "2s"}
        self.store = {"endpoint": f"http://127.0.0.1:{server.port}", "anonymous": "true", "request_timeout": "10s",
                      "retry_budget": "100"}
        self.writing = lib.config(mode="write", reclaim="false", **self.store, **self.retry)
        self.reading = lib.config(mode="read", **self.store, **self.retry)
        self.initial = lib.config(**INIT, **self.store, **self.retry)
        self.judge = Judge(server, self.dialect, "n", self.wrong)
        self.eaten = {rank: {} for rank in range(SLICES)}  # rank: step: the digest of what it was handed

    def wrong(self, text):
        self.faults.append(text)

    def insist(self, call, what, fine=()):
        """Calls until it succeeds: no fault of the store is for good."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return call()
            except Refused as refused:
                key = f"{what}: {refused.name}"
                self.calls_refused[key] = self.calls_refused.get(key, 0) + 1
                if refused.name in fine:
                    return None
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.002)

    def open(self, url, config):
        p = self.product
        return self.insist(lambda: p.handle("bw_space_open", p.runtime, url, config, CALL_NS), "open")

    # -- rules --

    def arm(self, rules):
        self.disarm()
        planted = [IGNORED] if self.plant == "conditions ignored" else []
        self.server.control(rules=rules + planted, seed=self.draw.randrange(1 << 30))

    def disarm(self):
        """Waits for what is applied late, and counts what the rules have struck."""
        deadline = time.monotonic() + PATIENCE_S
        while (counters := self.server.counters())["late_pending"]:
            if time.monotonic() > deadline:
                self.wrong("a late write never came")
                break
            time.sleep(0.005)
        struck = {rule["name"]: rule["fired"] for rule in counters["rules"] if rule["fired"] and "/" in rule["name"]}
        later = {name for name in struck if name.split("/")[-1] in matrix.APPLIED_LATER}
        came = counters["late_applied"] - self.came_late
        self.came_late = counters["late_applied"]
        if came > sum(struck[name] for name in later):
            self.wrong("more was applied later than was to be")
        for name, count in struck.items():
            # A request whose client left before its end is not applied: then none of these is counted.
            if name not in later or came == sum(struck[other] for other in later):
                self.hits[name] = self.hits.get(name, 0) + count
        self.server.control(rules=[])

    # -- what happens --

    def found(self, number, url):
        """Init, as often as it takes; then it opens."""
        p = self.product
        self.arm(matrix.rules(number, self.dialect, self.draw, ("genesis", "manifest")))
        # Who was answered UNKNOWN may have made it.
        self.insist(lambda: p.call("bw_space_init", p.runtime, url, self.initial), "init", ("NOT_EMPTY",))
        for config in (self.writing, self.reading):
            p.plain("bw_space_close", self.open(url, config))

    def run(self):
        self.server.control(reset="all", rules=[])
        legs = self.seed // len(matrix.DIALECTS) * LEGS
        for n in range(FOUNDINGS):
            name = f"f{n}"
            self.found(legs + n + 1, (self.place + name).encode())
            self.disarm()
            Judge(self.server, self.dialect, name, self.wrong).close({}, {}, set())
        self.found(legs, self.url)
        producers = [Producer(self, name) for name in PRODUCERS]
        for n in range(LEGS):
            self.leg(legs + n, n, producers)
        self.disarm()
        self.doubt(self.draw.choice(producers))
        self.finish(producers)

    def leg(self, number, n, producers):
        self.arm(matrix.rules(number, self.dialect, self.draw))
        for producer in producers:
            producer.reopen() if producer.handle else producer.open()
        for burst in (1, 2, 1, 3):
            wanted = [producer.put_count + burst for producer in producers]
            for producer, most in zip(producers, wanted):
                while producer.put_count < most:
                    producer.put()
            for producer, most in zip(producers, wanted):
                producer.settle(most)
        total = sum(producer.put_count for producer in producers)
        self.arm(matrix.rules(number + len(matrix.WRITES) // 2, self.dialect, self.draw))
        self.train(n, total)
        self.sweep()
        for producer in producers:  # what is staged when a process ends
            if self.draw.random() < 0.5:
                producer.put()
                producer.reopen()

    def doubt(self, producer):
        """The store makes the next version, and neither answers whoever made it nor lets it be seen. That is no
        failure: the producer says that it does not know, whatever else it is asked, until it is told."""
        p, deadline = self.product, time.monotonic() + PATIENCE_S
        producer.close()
        producer.open(commit_timeout="100ms")
        self.judge.look()
        version = 1 + self.judge.newest()
        common = {"dialect": self.dialect, "key": f"*/manifest/{version:020}.manifest"}
        self.arm([{"name": "unheard", "verb": "create", "apply": "once", "end": "reset", **common},
                  {"name": "unseen", "verb": "get,head", "present": True, "error": "unavailable", **common}])
        producer.put()
        said = ""
        while said != "UNKNOWN" and time.monotonic() < deadline:
            try:
                p.call("bw_producer_flush", producer.handle, 1, CALL_NS // 10)
                self.wrong(f"version {version} was acknowledged, and nobody had seen it")
                break
            except Refused as refused:
                said = refused.name
        else:
            if said != "UNKNOWN":
                self.wrong(f"what became of version {version} is not known, and a flush says {said}")
        self.disarm()
        producer.settle(producer.put_count)

    def train(self, n, total):
        """Both ranks read on to the tip; rank 0 pins some steps before it."""
        p = self.product
        space = self.open(self.url, self.writing)
        ranks = [self.insist(lambda rank=rank: p.handle(
            "bw_consumer_open", space, b"job", p.config(d=rank, c=0, launch=f"l{n}"), None, CALL_NS), "consumer")
            for rank in range(SLICES)]
        kept = None
        for rank, consumer in enumerate(ranks):
            at = -1
            while at + 1 < total:
                at = self.take(rank, consumer)
                if rank == 0 and kept is None and at >= total - 5:
                    kept = p.handle("bw_consumer_cursor", consumer)
        if kept:
            self.insist(lambda: p.call("bw_consumer_pin", ranks[0], f"pin{n}".encode(), kept, None, 0, CALL_NS), "pin")
            if n > 0:
                old = (ctypes.c_char_p * 1)(f"pin{n - 1}".encode())
                self.insist(lambda: p.call("bw_consumer_pin", ranks[0], f"pin{n}".encode(), kept,
                                           ctypes.addressof(old), 1, CALL_NS), "pin")
            p.plain("bw_cursor_free", kept)
        for consumer in ranks:
            p.plain("bw_consumer_close", consumer)
        p.plain("bw_space_close", space)

    def take(self, rank, consumer, fine=()):
        """The step of the next item, which is noted; None where `fine` says so."""
        p = self.product
        item = self.insist(lambda: p.handle("bw_consumer_next", consumer, CALL_NS), "next", fine)
        if item is None:
            return None
        step, data, size = p.plain("bw_item_step", item), ctypes.c_void_p(), ctypes.c_size_t()
        p.plain("bw_item_view", item, ctypes.addressof(data), ctypes.addressof(size))
        digest = hashlib.sha256(ctypes.string_at(data, size.value)).digest()
        if self.eaten[rank].setdefault(step, digest) != digest:
            self.wrong(f"rank {rank} was handed other bytes of step {step} than before")
        p.plain("bw_item_release", item)
        return step

    def sweep(self):
        p = self.product
        space = self.open(self.url, self.writing)

        def sweep():
            self.judge.look()  # before it is gone
            p.report(space, "gc", apply="true", report_timeout="5s")

        self.insist(sweep, "gc")
        p.plain("bw_space_close", space)

    def meddle(self):
        """Does to a part what no store may."""
        self.judge.look()
        if self.plant not in ("a part lost", "a byte changed"):
            return
        parts = [key for key in self.judge.living() if key.endswith(".000000")]
        newest = max(parts, key=lambda key: key.split("/", 2)[2])  # of the last producer, and published
        name = self.judge.stem + newest
        connection = self.server.connect()
        data = bytearray(self.judge.kept[newest])
        data[-1] ^= 1
        connection.request("DELETE" if self.plant == "a part lost" else "PUT", "/" + name,
                           None if self.plant == "a part lost" else bytes(data))
        connection.getresponse().read()
        connection.close()

    def finish(self, producers):
        """Nothing goes wrong any more: all is sealed, read to its end, and judged."""
        p = self.product
        for producer in producers:
            producer.reopen()
            producer.settle(producer.put_count + 1)
            self.insist(lambda producer=producer: p.call("bw_producer_finish", producer.handle, CALL_NS), "finish")
            producer.close(CALL_NS)
        space = self.open(self.url, self.writing)
        for rank in range(SLICES):
            consumer = self.insist(lambda rank=rank: p.handle(
                "bw_consumer_open", space, b"job", p.config(d=rank, c=0, launch="last"), None, CALL_NS), "consumer")
            while self.take(rank, consumer, ("END",)) is not None:
                pass
            p.plain("bw_consumer_close", consumer)
        p.plain("bw_space_close", space)
        self.meddle()
        puts = {producer.name: producer.put_count for producer in producers}
        told = {(producer.name, number, step) for producer in producers
                for number, step in producer.acknowledged.items()}
        self.judge.close(puts, self.eaten, told)
