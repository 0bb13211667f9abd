# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What the client does otherwise where the store is behind a network."""

import json
import os
import subprocess
import tempfile
import unittest

import stores

BINARY = os.environ["BATCHWEAVE_BINARY"]
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


class Client(unittest.TestCase):
    STEPS = 40

    def setUp(self):
        self.server = stores.Server()
        self.addCleanup(self.server.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.input = os.path.join(folder.name, "in.jsonl")
        with open(self.input, "w", encoding="utf-8") as file:
            file.writelines(f"{n}\n" for n in range(2 * self.STEPS))
        self.url = f"s3://bkt/ns?endpoint=http://127.0.0.1:{self.server.port}&region=us-east-1"
        self.run_cli("init", self.url, "--dp", 2, "--cp", 1)

    def run_cli(self, *words):
        done = subprocess.run([BINARY, *map(str, words)], env={**os.environ, **KEYS}, text=True, timeout=60,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def produce(self, *more):
        return json.loads(self.run_cli("produce", self.url, "--id", "a", f"jsonl:{self.input}", "-o", "json", *more))

    def test_producers_take_turns(self):
        self.assertEqual(self.produce()["stats"]["policy"], "turn")

    def test_unless_told_otherwise(self):
        self.assertEqual(self.produce("--set", "policy=fixed:10")["stats"]["policy"], "fixed")

    def test_requests_do_not_wait_for_threads(self):
        self.produce()
        self.server.control(latency={"get": {"p50_ms": 300}}, reset="counters")
        self.run_cli("consume", self.url, "--rank", 0, "--world", 2, "--from", 0, "--steps", self.STEPS,
                     "--set", "threads=2", "--set", "prefetch=16")
        self.assertGreaterEqual(self.server.counters()["in_flight_max"], 16)


if __name__ == "__main__":
    stores.main()
