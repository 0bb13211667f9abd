# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Latency, bandwidth and the server's clock; the command line.

    test_times.py BATCHWEAVE_TESTSTORE
"""

import json
import subprocess
import threading
import time

import stores
from stores import S3, Azure, FaultCase, StoreCase

BODY = bytes(range(256)) * 400  # 100 KB


class Times(FaultCase):
    """The machine is others' too: only what must take longer is judged here. test_pace.c has the distributions."""

    def took(self, call, *arguments, **named):
        start = time.monotonic()
        call(*arguments, **named)
        return time.monotonic() - start

    def test_latency_by_verb(self):
        for client in self.each():
            self.server.control(latency={"get": {"p50_ms": 60}, "any": {"p50_ms": 20}})
            client.put("k", b"x")
            self.assertGreaterEqual(min(self.took(client.get, "k") for _ in range(3)), 0.060)
            self.assertGreaterEqual(min(self.took(client.put, "k", b"x") for _ in range(3)), 0.020)

    def test_applied_within_the_latency(self):
        """Half the latency before, half after: a reader sees it before the writer has the answer."""
        self.server.control(latency={"create": {"p50_ms": 400, "apply_at": 0.25}})
        writer, reader = S3(self.server), S3(self.server)
        thread = threading.Thread(target=writer.put, args=("k", b"x"), kwargs={"create": True})
        start = time.monotonic()
        thread.start()
        self.until(lambda: reader.get("k").status == 200)
        seen = time.monotonic() - start
        thread.join()
        self.assertGreaterEqual(seen, 0.1)
        self.assertLess(seen, time.monotonic() - start)
        self.assertGreaterEqual(time.monotonic() - start, 0.4)
        writer.close()
        reader.close()

    def test_a_delayed_answer_was_applied_before(self):
        self.rules({"verb": "create", "reply_delay_ms": 600})
        writer, reader = S3(self.server), S3(self.server)
        thread = threading.Thread(target=writer.put, args=("k", b"x"), kwargs={"create": True})
        thread.start()
        self.until(lambda: reader.get("k").status == 200)
        self.assertTrue(thread.is_alive())
        thread.join()
        writer.close()
        reader.close()

    def test_many_wait_on_few_threads(self):
        self.server.control(latency={"get": {"p50_ms": 1500}})
        clients = [S3(self.server) for _ in range(100)]
        threads = [threading.Thread(target=client.get, args=("none",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreater(self.server.counters()["in_flight_max"], 20)
        for client in clients:
            client.close()

    def test_bandwidth_of_a_connection(self):
        for client in self.each():
            self.server.control(bandwidth={"connection": 1000000})
            self.assertGreaterEqual(self.took(client.put, "k", BODY * 2), 0.2)
            self.assertGreaterEqual(self.took(client.get, "k"), 0.2)
            self.assertGreaterEqual(self.took(client.get, "k", span="0-99999"), 0.1)

    def test_bandwidth_of_all(self):
        client = S3(self.server)
        client.put("k", BODY)
        client.close()
        self.server.control(bandwidth={"total": 4000000})
        clients = [S3(self.server) for _ in range(8)]
        threads = [threading.Thread(target=lambda c=c: [c.get("k") for _ in range(3)]) for c in clients]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = time.monotonic() - start
        moved = self.server.counters()["bytes_out"]["get"]
        self.assertEqual(moved, 24 * len(BODY))
        self.assertGreaterEqual(spent, 0.95 * moved / 4000000)
        for one in clients:
            one.close()

    def test_clock_of_the_server(self):
        self.server.control(clock_skew_ms=-3600000)
        client = S3(self.server)
        when = time.mktime(time.strptime(client.get("none").headers["date"], "%a, %d %b %Y %H:%M:%S GMT"))
        self.assertAlmostEqual(time.mktime(time.gmtime()) - when, 3600, delta=10)
        client.close()


class Started(StoreCase):

    def test_options_from_the_command_line(self):
        config = {"rules": [{"verb": "put", "error": "denied"}], "latency": {"get": {"p50_ms": 30}}}
        server = stores.Server("--config", json.dumps(config), "--dialect", "azure", "--threads", "1",
                               "--container", "two", "--account", "acc")
        try:
            client = Azure(server)
            self.expect(client.put("k", b"x"), (403, "AuthorizationPermissionMismatch"))
            self.expect(client.put("k", b"x", container="two", create=True), 201)
            start = time.monotonic()
            client.get("k", container="two")
            self.assertGreaterEqual(time.monotonic() - start, 0.03)
            client.close()
        finally:
            self.assertEqual(server.stop(), 0)

    def test_wrong_options(self):
        for options in [["--nonsense"], ["--port", "x"], ["--access-key", "k"], ["--dialect", "ftp"], ["extra"]]:
            done = subprocess.run([stores.PROGRAM, *options], capture_output=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 1, options)
        done = subprocess.run([stores.PROGRAM, "--config", '{"rulez":1}'], capture_output=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"rulez", done.stderr)


if __name__ == "__main__":
    stores.main()
