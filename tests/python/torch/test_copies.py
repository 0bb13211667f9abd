# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of a Consumer with a group, as DataLoader workers are: they go on, and begin no launch again."""

from __future__ import annotations

import os
import pickle
import tempfile
import unittest

import batchweave


class Copies(unittest.TestCase):
    """Of a consumer that has read one item of four."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        url = os.path.join(folder.name, "space")
        batchweave.init(url, dp=1, durable=False)
        with batchweave.Producer(url, "p", kind="raw") as producer:
            for number in range(4):
                producer.write([[bytes([number])]], offset=number + 1)
        self.consumer = batchweave.Consumer(url, dp=(0, 1), group="job", launch="a")
        self.addCleanup(self.consumer.close)
        self.consumer.next()

    def test_unpickled(self) -> None:
        with pickle.loads(pickle.dumps(self.consumer)) as twin:
            self.assertEqual(bytes(twin.next(60)), b"\1")

    def test_forked(self) -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if bytes(self.consumer.next(60)) == b"\1" else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(bytes(self.consumer.next(60)), b"\1")


if __name__ == "__main__":
    unittest.main()
