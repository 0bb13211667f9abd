# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers under asyncio: nothing blocks the loop, and no cancellation loses anything."""

import asyncio
import logging
import random
import tempfile
import time
import unittest
from typing import Any, List

import batchweave
from batchweave import aio, errors

DEADLINE = 60.0


class AioTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # that a busy machine is slow is no news
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.url = self.folder.name

    def init(self, **settings: Any) -> None:
        batchweave.init(self.url, dp=1, producers=1, **settings)

    async def producer(self, id: str = "p", **settings: Any) -> aio.Producer:
        return await aio.Producer.open(self.url, id, kind="raw", policy="fixed:1", **settings)

    async def consumer(self) -> aio.Consumer:
        return await aio.Consumer.open(self.url, dp=(0, 1), start="earliest")

    async def test_written_and_read(self) -> None:
        self.init()
        told: List[int] = []
        async with await self.producer() as producer:
            producer.on_commit(lambda commit: told.append(commit.offset))
            for k in range(10):
                await producer.write([[b"%d" % k]], offset=k + 1)
            await producer.finish()
            self.assertEqual([commit.offset for commit in await producer.poll(0)], told)
        self.assertEqual(told, list(range(1, 11)))
        async with await self.consumer() as consumer:
            self.assertEqual([bytes(item) async for item in consumer], [b"%d" % k for k in range(10)])
            self.assertEqual(consumer.cursor.step, 10)

    async def test_a_waiting_consumer_leaves_the_loop_free_and_gets_what_comes(self) -> None:
        self.init()
        async with await self.consumer() as consumer, await self.producer() as producer:
            waiting = asyncio.create_task(consumer.next(20))
            for _ in range(30):
                await asyncio.sleep(0.01)
            self.assertFalse(waiting.done(), "the loop stood still for as long as the consumer waited")
            await producer.write([[b"x"]], offset=1)
            self.assertEqual(bytes(await asyncio.wait_for(waiting, DEADLINE)), b"x")

    async def test_a_cancelled_wait_ends_at_once(self) -> None:
        self.init()
        async with await self.consumer() as consumer:
            waiting = asyncio.create_task(consumer.next(None))
            await asyncio.sleep(0.05)
            began = time.monotonic()
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertLess(time.monotonic() - began, 0.2)
            with self.assertRaises(errors.Starved):  # not interrupted any more
                await consumer.next(0.05)

    async def test_a_storm_of_cancellations_loses_no_item(self) -> None:
        """Cancelled before, while and after items come; the cursor never runs ahead of what was given."""
        self.init()
        rng, count = random.Random(1), 300
        got: List[int] = []
        cancelled = 0

        async def produce() -> None:
            async with await self.producer() as producer:
                for k in range(count):
                    await producer.write([[b"%d" % k]], offset=k + 1)
                    if rng.random() < 0.5:
                        await producer.flush()
                await producer.finish()

        async with await self.consumer() as consumer:
            producing = asyncio.create_task(produce())
            while True:
                task = asyncio.create_task(consumer.next(DEADLINE))
                for _ in range(rng.randint(0, 3)):
                    await asyncio.sleep(rng.choice([0, 0, 0.0005, 0.002]))
                task.cancel()
                try:
                    item = await task
                except asyncio.CancelledError:
                    cancelled += 1
                    self.assertEqual(consumer.cursor.step, len(got))
                    continue
                except errors.EndOfData:
                    break
                got.append(int(bytes(item)))
                self.assertEqual(consumer.cursor.step, len(got))
            await producing
        self.assertEqual(got, list(range(count)))
        self.assertGreater(cancelled, 30)

    async def test_tasks_that_ask_at_once_are_served_in_turn(self) -> None:
        self.init()
        async with await self.consumer() as consumer, await self.producer() as producer:
            asking = [asyncio.create_task(consumer.next()) for _ in range(20)]
            await asyncio.sleep(0)
            for k in range(20):
                await producer.write([[b"%d" % k]], offset=k + 1)
            got = await asyncio.wait_for(asyncio.gather(*asking), DEADLINE)
            self.assertEqual([bytes(item) for item in got], [b"%d" % k for k in range(20)])

    async def test_a_cancelled_write_was_not_taken_and_others_were(self) -> None:
        """A group that does not move blocks the producer; so writes wait for room."""
        self.init(max_lag=4)
        with batchweave.Consumer(self.url, group="g", launch="1", dp=(0, 1), start="earliest") as held:
            producer = await self.producer(staged_bytes="1MiB")
            taken: List[int] = []
            size = 300 << 10
            for k in range(40):
                task = asyncio.create_task(producer.write([[bytes([k]) * size]], offset=k + 1))
                try:
                    await asyncio.wait_for(task, DEADLINE if k < 3 else 0.05)  # three fit whatever the time
                    taken.append(k)
                except asyncio.TimeoutError:
                    pass
            self.assertLess(len(taken), 12)
            self.assertGreaterEqual(len(taken), 3)
            got = []
            ending = asyncio.create_task(producer.finish())
            while True:
                try:
                    got.append(bytes(held.next(0.5))[0])
                except errors.Starved:
                    await asyncio.sleep(0.01)
                except errors.EndOfData:
                    break
                held.pin(f"c{len(got)}", held.cursor, [f"c{len(got) - 1}"] if len(got) > 1 else [])
                await asyncio.sleep(0)
            await asyncio.wait_for(ending, DEADLINE)
            await producer.close()
        self.assertEqual(got, taken)

    async def test_cancelled_flushes_leave_writes_and_flushes_alone(self) -> None:
        self.init()
        rng = random.Random(2)
        async with await aio.Producer.open(self.url, "p", kind="raw", policy="fixed:30") as producer:
            for k in range(60):
                await producer.write([[b"%d" % k]], offset=k + 1)
                flushing = asyncio.create_task(producer.flush())
                await asyncio.sleep(rng.choice([0, 0.001, 0.003]))
                flushing.cancel()
                await asyncio.wait([flushing])
            await asyncio.wait_for(producer.flush(urgent=True), DEADLINE)
            self.assertEqual(producer.sync.poll(), [])
            await producer.finish()
        with batchweave.Consumer(self.url, dp=(0, 1), start="earliest") as consumer:
            self.assertEqual([int(bytes(item)) for item in consumer], list(range(60)))

    async def test_a_cancelled_open_does_not_fence_the_next(self) -> None:
        self.init()
        for k in range(5):
            for _ in range(3):
                opening = asyncio.create_task(self.producer())
                await asyncio.sleep(0)
                opening.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await opening
            async with await self.producer() as producer:
                await producer.write([[b"x"]], offset=k + 1)
                await asyncio.sleep(0.02)

    async def test_who_is_fenced_is_told(self) -> None:
        self.init()
        first = await self.producer()
        waiting = asyncio.create_task(first.poll())
        await asyncio.sleep(0)
        second = await self.producer()
        await second.write([[b"y"]], offset=1)
        await second.flush()
        await first.write([[b"x"]], offset=1)
        for call in (waiting, first.flush(), first.poll()):
            with self.assertRaises(errors.Fenced):
                await asyncio.wait_for(call, DEADLINE)
        await first.close()
        await second.close()

    async def test_who_polls_is_told_that_the_namespace_was_sealed(self) -> None:
        self.init()
        producer = await self.producer()
        waiting = asyncio.create_task(producer.poll())
        await asyncio.sleep(0.02)
        with batchweave.Space(self.url, mode="write") as space:
            space.seal(force=True)
        await producer.write([[b"x"]], offset=1)
        with self.assertRaisesRegex(errors.Failed, "seal"):
            await asyncio.wait_for(waiting, DEADLINE)
        with self.assertRaises(errors.Sealed):
            await producer.flush()
        await producer.close()

    async def test_close_ends_what_waits(self) -> None:
        self.init()
        consumer = await self.consumer()
        waiting = asyncio.create_task(consumer.next(None))
        await asyncio.sleep(0.05)
        await consumer.close()
        with self.assertRaises(errors.Interrupted):
            await asyncio.wait_for(waiting, DEADLINE)

    async def test_a_poll_waits_for_a_commit(self) -> None:
        self.init()
        async with await self.producer() as producer:
            self.assertEqual(await producer.poll(0.01), [])
            waiting = asyncio.create_task(producer.poll(DEADLINE))
            await asyncio.sleep(0.02)
            await producer.write([[b"x"]], offset=7)
            self.assertEqual([commit.offset for commit in await waiting], [7])


if __name__ == "__main__":
    unittest.main()
