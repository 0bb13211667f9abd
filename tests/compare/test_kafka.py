# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The Kafka baseline without a broker: what it sends and asks, in which order a rank joins, how it is judged."""

import ctypes
import pathlib
import struct
import types
import unittest

import fixed  # noqa: F401  (the folders of what is tested)
import kafka
import kafkabroker
import kafkainstall
import librdkafka

WORLD, SLICE_BYTES = 4, 64


def plan(mode, **more):
    return {"mode": mode, "topic": "t", "address": "127.0.0.1:1", "world": WORLD, "slice_bytes": SLICE_BYTES, **more}


class Recorder:
    """A producer that only notes what it was asked."""

    def __init__(self):
        self.calls, self.waited = [], []

    def begin(self):
        self.calls.append("begin")

    def commit(self, _timeout):
        self.calls.append("commit")

    def send(self, topic, partition, address, length):
        self.calls.append((topic, partition, length, ctypes.string_at(address, length)[:12]))

    def wait(self, at_most=0):
        self.waited.append(at_most)


class Producing(unittest.TestCase):
    def test_a_batch_is_one_message(self):
        producer, payload = Recorder(), kafka.Payload(plan("strict"))
        kafka.produce_batches(producer, plan("strict"), payload, 2)
        self.assertEqual([call[:3] for call in producer.calls], [("t", 0, WORLD * SLICE_BYTES)] * 2)

    def test_several_batches_are_under_way(self):
        producer, payload = Recorder(), kafka.Payload(plan("strict"))
        kafka.produce_batches(producer, plan("strict"), payload, 2)
        self.assertEqual(producer.waited, [kafka.IN_FLIGHT_MAX - 1] * 2 + [0])

    def test_slices_and_order_are_one_transaction(self):
        """Each slice in its own partition, all bytes once, and the number of the batch."""
        producer, payload = Recorder(), kafka.Payload(plan("sliced"))
        kafka.produce_batches(producer, plan("sliced", stamped=True), payload, 2)
        one = producer.calls[:WORLD + 3]
        self.assertEqual((one[0], one[-1]), ("begin", "commit"))
        self.assertEqual([call[:3] for call in one[1:-1]],
                         [("t", slot, SLICE_BYTES) for slot in range(WORLD)] + [("t-order", 0, 8)])
        self.assertEqual([kafka.STAMP.unpack(call[3]) for call in one[1:-2]], [(0, slot) for slot in range(WORLD)])
        self.assertEqual(producer.calls[2 * WORLD + 4][3], struct.pack("<Q", 1))

    def test_several_batches_in_a_transaction(self):
        producer, payload = Recorder(), kafka.Payload(plan("strict_tx"))
        kafka.produce_batches(producer, plan("strict_tx", per_transaction=2), payload, 3)
        words = [call if isinstance(call, str) else "send" for call in producer.calls]
        self.assertEqual(words, ["begin", "send", "send", "commit", "begin", "send", "commit"])

    def test_strict_has_no_transaction(self):
        self.assertNotIn("transactional.id", kafka.producer_settings(plan("strict"), "p"))
        self.assertEqual(kafka.producer_settings(plan("sliced"), "p")["transactional.id"], "p")
        for mode in kafka.MODES:
            settings = kafka.producer_settings(plan(mode), "p")
            self.assertEqual((settings["acks"], settings["enable.idempotence"]), ("all", True))


class Consuming(unittest.TestCase):
    def test_fetches_hold_whole_batches(self):
        for mode, size in (("strict", 100_000), ("sliced", 100_000), ("strict_tx", 10_000_000)):
            asked = plan(mode, slice_bytes=size)
            settings = kafka.consumer_settings(asked, False)
            unit = kafka.message_bytes(asked) + kafka.OVERHEAD_BYTES
            self.assertEqual(settings["fetch.message.max.bytes"] % unit, 0)
            self.assertGreaterEqual(settings["queued.max.messages.kbytes"] * 1000, settings["fetch.message.max.bytes"])
            self.assertGreater(settings["receive.message.max.bytes"], settings["fetch.max.bytes"])

    def test_transactions_are_read_committed(self):
        levels = [kafka.consumer_settings(plan(mode), False)["isolation.level"] for mode in kafka.MODES]
        self.assertEqual(levels, ["read_uncommitted", "read_committed", "read_committed"])

    def test_what_the_older_client_lacks_is_left_out(self):
        self.assertIn("fetch.queue.backoff.ms", kafka.consumer_settings(plan("strict"), False))
        self.assertNotIn("fetch.queue.backoff.ms", kafka.consumer_settings(plan("strict"), True))

    def test_the_older_client_for_large_messages_alone(self):
        used = []
        real = kafka.librdkafka.use, kafka.kafkainstall.install
        kafka.librdkafka.use = lambda folder: used.append(folder.name)
        kafka.kafkainstall.install = lambda: pathlib.Path("cache")
        try:
            kafka.library_of(plan("strict", slice_bytes=kafkainstall.LARGE_BYTES // WORLD - 1))
            kafka.library_of(plan("strict", slice_bytes=kafkainstall.LARGE_BYTES // WORLD))
            kafka.library_of(plan("sliced", slice_bytes=kafkainstall.LARGE_BYTES // WORLD))
        finally:
            kafka.librdkafka.use, kafka.kafkainstall.install = real
        self.assertEqual(used, ["client", "client-large", "client"])


class Messages:
    """A client whose messages are there; it gives them back once."""

    def __init__(self, payloads):
        self.memory = [ctypes.create_string_buffer(payload, len(payload)) for payload in payloads]
        self.returned = []

    def assign(self, parts):
        self.parts = parts

    def next(self, _timeout):
        if not self.memory:
            raise librdkafka.Failure("no message")
        one = self.memory.pop(0)
        message = types.SimpleNamespace(contents=types.SimpleNamespace(
            payload=ctypes.addressof(one), length=len(one)), memory=one)
        return message

    def give_back(self, message):
        if message in self.returned:
            raise AssertionError("given back twice")
        self.returned.append(message)


def rank_of(mode, number, payloads):
    rank = object.__new__(kafka.Rank)
    rank.plan, rank.rank, rank.client = plan(mode), number, Messages(payloads)
    rank.own = ctypes.create_string_buffer(SLICE_BYTES)
    rank.waits, rank.order, rank._slices, rank._steps = [], [], {}, []
    return rank


def slice_of(number, slot):
    return kafka.STAMP.pack(number, slot).ljust(SLICE_BYTES, b"x")


class Joining(unittest.TestCase):
    def test_the_order_topic_decides(self):
        """Slices came 0, 1, 2, for two producers' transactions met; the order is 1, 0, 2."""
        order = [struct.pack("<Q", number) for number in (1, 0, 2)]
        rank = rank_of("sliced", 3, [slice_of(0, 3), order[0], slice_of(1, 3), order[1], slice_of(2, 3), order[2]])
        rank.read(3)
        self.assertEqual(rank.order, [1, 0, 2])
        self.assertEqual(rank.client.parts, [("t", 3), ("t-order", 0)])
        self.assertEqual(len(rank.client.returned), 6)

    def test_a_slice_of_another_rank_is_found(self):
        rank = rank_of("sliced", 3, [struct.pack("<Q", 0), slice_of(0, 2)])
        with self.assertRaisesRegex(RuntimeError, "rank 3 got the slice of rank 2"):
            rank.read(1)

    def test_a_rank_takes_its_part_of_a_whole_batch(self):
        whole = b"".join(slice_of(7, slot) for slot in range(WORLD))
        rank = rank_of("strict", 2, [whole])
        rank.read(1)
        self.assertEqual((rank.order, rank.own.raw), ([7], slice_of(7, 2)))


class Orders(unittest.TestCase):
    def test_agreement(self):
        same = [(0, 0), (1, 0), (0, 1)]
        self.assertEqual(kafka.order_figures([same, same, same]),
                         {"ranks_that_differ": 0, "first_step_apart": 3, "steps_mixed_share": 0})

    def test_difference(self):
        figures = kafka.order_figures([[(0, 0), (1, 0), (0, 1), (1, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)],
                                       [(0, 0), (1, 0), (0, 1), (1, 1)]])
        self.assertEqual(figures, {"ranks_that_differ": 1, "first_step_apart": 1, "steps_mixed_share": 0.5})


class Brokers(unittest.TestCase):
    def test_durable_flushes_each_batch(self):
        where = pathlib.Path("place")
        self.assertEqual(kafkabroker.properties(where, 1, 2, True)["log.flush.interval.messages"], 1)
        self.assertNotIn("log.flush.interval.messages", kafkabroker.properties(where, 1, 2, False))

    def test_limits_let_the_largest_batch_through(self):
        given = kafkabroker.properties(pathlib.Path("place"), 1, 2, False)
        for name in ("message.max.bytes", "socket.request.max.bytes", "replica.fetch.max.bytes", "fetch.max.bytes"):
            self.assertGreater(given[name], 32 * 10_000_000)
        self.assertGreater(given["log.segment.bytes"], given["message.max.bytes"])


if __name__ == "__main__":
    unittest.main()
