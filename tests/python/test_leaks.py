# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing grows: objects, memory, files and threads, over 10^5 operations with `tools/python test --full`."""

import gc
import os
import sys
import threading
import time
import unittest
from typing import Callable

import batchweave as bw
from batchweave import errors
from support import FULL, Case

# Of what the allocator keeps and the system counts late; less than 200 bytes an operation of the 10^5.
MEMORY_MAX = 16 << 20
# A leak of one object in a hundred operations is one.
BLOCKS_MAX = 500


class Usage:
    def __init__(self) -> None:
        gc.collect()
        self.blocks = sys.getallocatedblocks()
        with open("/proc/self/statm", encoding="ascii") as file:
            self.memory = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.files = len(os.listdir("/proc/self/fd"))
        self.threads = len(os.listdir("/proc/self/task")), threading.active_count()


class Leaks(Case):
    def assert_nothing_grows(self, operation: Callable[[int], None], first: int, then: int) -> None:
        operation(first)
        before = Usage()
        operation(then)
        # A thread that was told to end may be seen for a moment.
        end = time.monotonic() + 60
        after = Usage()
        while (after.files, after.threads) != (before.files, before.threads) and time.monotonic() < end:
            time.sleep(0.05)
            after = Usage()
        self.assertEqual((after.files, after.threads), (before.files, before.threads))
        self.assertLess(after.memory - before.memory, MEMORY_MAX)
        self.assertLess(after.blocks - before.blocks, BLOCKS_MAX)

    def test_items(self) -> None:
        self.init(items=100)
        self.raw_steps(1000, items=100)

        def read(items: int) -> None:
            with bw.Consumer(self.url) as c:
                for _ in range(items):
                    item = c.next(60)
                    view = memoryview(item)
                    self.assertGreater(len(view), 0)
                    view.release()
                    item.__dlpack__()

        self.assert_nothing_grows(read, 5000, 100000 if FULL else 20000)

    def test_opens(self) -> None:
        self.init()
        self.raw_steps(3)

        def cycle(times: int) -> None:
            for _ in range(times):
                with bw.Space(self.url, mode="read") as s, bw.Consumer(s) as c:
                    c.next(60), c.cursor, s.info(), s.item(0)

        self.assert_nothing_grows(cycle, 50, 100000 if FULL else 150)

    def test_opens_that_fail(self) -> None:
        self.init()
        self.raw_steps(1)

        def cycle(times: int) -> None:
            for _ in range(times):
                for place, dp in ((self.url, (5, 3)), (self.url + "none", (0, 1))):
                    with self.assertRaises(errors.Error):
                        bw.Consumer(place, dp=dp)

        self.assert_nothing_grows(cycle, 50, 50000 if FULL else 150)

    def test_producers(self) -> None:
        self.init()

        def cycle(times: int) -> None:
            with bw.Space(self.url, mode="write", durable=False) as space:
                for _ in range(times):
                    with bw.Producer(space, "p0", kind="raw", policy="naive") as p:
                        p.write([[b"x" * 100]], offset=p.resume_offset + 1, state=b"here")
                        p.flush(urgent=True)
                        p.poll()

        self.assert_nothing_grows(cycle, 50, 100000 if FULL else 150)

    def test_batches(self) -> None:
        self.init()

        def write(times: int) -> None:
            with self.producer(kind="samples") as p:
                for _ in range(times):
                    p.write([[[{"k": b"v" * 100}, {"k": b"w"}]]], offset=p.resume_offset + 1)
                    p.resume_offset += 1
                    p.poll()

        self.assert_nothing_grows(write, 2000, 100000 if FULL else 5000)


if __name__ == "__main__":
    unittest.main()
