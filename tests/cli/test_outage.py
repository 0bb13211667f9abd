# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A store that fails for some seconds, and comes back: the test store (environment BATCHWEAVE_TESTSTORE)."""

import json
import os
import socket
import subprocess
import time
import unittest
import urllib.request

from harness import CliTest

OUTAGE_SECONDS = 3
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


class Outage(CliTest):

    def setUp(self):
        super().setUp()
        words = [os.environ["BATCHWEAVE_TESTSTORE"], "--with-parent", "--container", "bkt"]
        self.server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.endpoint = f"http://127.0.0.1:{json.loads(self.server.stdout.readline())['port']}"
        self.url = f"s3://bkt/space?endpoint={self.endpoint}"

    def control(self, **settings):
        request = urllib.request.Request(self.endpoint + "/_control", json.dumps(settings).encode())
        urllib.request.urlopen(request, timeout=10).close()

    def fired(self):
        with urllib.request.urlopen(self.endpoint + "/_control/counters", timeout=10) as answer:
            return sum(rule["fired"] for rule in json.load(answer)["rules"])

    def test_a_trainer_outlives_it(self):
        """A wait in slices took what a slice ended with for the end: a second without a store ended the job."""
        self.run_cli("init", self.url, "--dp", 2, env=KEYS)
        path = self.write_frames("in.frames", [b"%d" % n for n in range(40)])
        self.run_cli("produce", self.url, "--id", "p", f"frames:{path}", env=KEYS)
        self.run_cli("seal", self.url, env=KEYS)
        self.control(rules=[{"verb": "get", "key": "*data/*", "end": "reset"}])
        trainer = self.start("consume", self.url, "--world", 2, "-o", "json", env=KEYS)
        time.sleep(OUTAGE_SECONDS)
        self.assertIsNone(trainer.poll(), "it ended while the store failed")
        self.assertGreater(self.fired(), 2)
        self.control(rules=[])
        self.assertEqual(json.loads(self.finish(trainer).out)["items"], 40)

    def test_why_nobody_answers(self):
        """The time limit alone was told, when it was shorter than the one of retries."""
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            for endpoint, cause in [(f"http://127.0.0.1:{closed.getsockname()[1]}", "Connection refused"),
                                    (f"https://{'a' * 64}.example", "Could not resolve host")]:
                url = f"s3://bkt/space?endpoint={endpoint}"
                self.assertIn(cause, self.refused("TIMEOUT", "info", url, "--timeout", 1, env=KEYS).err)
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            url = f"s3://bkt/space?endpoint=http://127.0.0.1:{deaf.getsockname()[1]}"
            result = self.refused("TIMEOUT", "info", url, "--timeout", 1, env=KEYS)
            self.assertIn("the store has not answered", result.err)

    def test_the_time_limit_ends_the_wait(self):
        self.run_cli("init", self.url, "--dp", 2, env=KEYS)
        path = self.write_frames("in.frames", [b"1", b"2"])
        self.run_cli("produce", self.url, "--id", "p", f"frames:{path}", env=KEYS)
        self.control(rules=[{"verb": "get", "key": "*data/*", "end": "reset"}])
        self.refused("IO", "consume", self.url, "--world", 2, "--timeout", 2, env=KEYS)


if __name__ == "__main__":
    unittest.main()
