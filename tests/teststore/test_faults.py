# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of the test store, on every dialect: the client sees it, and the journal has what truly happened.

    test_faults.py BATCHWEAVE_TESTSTORE
"""

import base64
import hashlib
import http.client
import json
import socket
import threading
import time

import stores
from stores import DIALECTS, S3, FaultCase, events

BODY = bytes(range(256)) * 400  # 100 KB


class Applied(FaultCase):
    """Between what was applied and what the client was told."""

    def test_reply_lost_after_applying(self):
        for end in ["reset", "close"]:
            for client in self.each():
                self.rules({"verb": "create", "nth": 1, "end": end})
                self.fails(client.put, "k", BODY, create=True)
                self.assertEqual(events(self.server), [("created", "once")])
                self.expect(client.put("k", BODY, create=True), client.EXISTS)  # its own
                self.assertEqual(client.get("k").body, BODY)
                counts = self.server.counters()
                self.assertEqual(counts["lost"]["create"], 1)
                self.assertEqual(self.fired(), [1])

    def test_error_after_applying(self):
        for client in self.each():
            self.rules({"verb": "create", "nth": 1, "error": "internal", "apply": "once"})
            self.expect(client.put("k", b"x", create=True), 500)
            self.expect(client.put("k", b"x", create=True), client.EXISTS)

    def test_error_applies_nothing(self):
        for client in self.each():
            self.rules({"verb": "create", "nth": 1, "error": "internal"})
            self.expect(client.put("k", b"x", create=True), 500)
            self.assertEqual(events(self.server), [])
            self.expect(client.put("k", b"x", create=True), client.CREATED)

    def test_late_apply(self):
        for client in self.each():
            self.rules({"verb": "create", "nth": 1, "apply": "late", "after_ms": 250, "end": "close"})
            self.fails(client.put, "k", b"late", create=True)
            self.expect(client.get("k"), client.NO_OBJECT)  # proves nothing
            self.settle()
            self.assertEqual(client.get("k").body, b"late")
            self.assertEqual(events(self.server), [("created", "late")])
            self.assertEqual(self.server.counters()["late_applied"], 1)

    def test_late_apply_loses_to_a_second_try(self):
        for client in self.each():
            self.rules({"verb": "create", "nth": 1, "apply": "late", "after_ms": 250, "error": "slow_down"})
            self.expect(client.put("k", b"first", create=True), client.SLOW)
            self.expect(client.put("k", b"second", create=True), client.CREATED)
            self.settle()
            self.assertEqual(client.get("k").body, b"second")
            self.assertEqual(events(self.server), [("created", "once")])

    def test_late_put_overwrites(self):
        for client in self.each():
            self.rules({"verb": "put", "nth": 1, "apply": "late", "after_ms": 250, "end": "reset"})
            self.fails(client.put, "k", b"first")
            self.expect(client.put("k", b"second"), client.CREATED)
            self.settle()
            self.assertEqual(client.get("k").body, b"first")

    def test_double_apply(self):
        for client in self.each():
            self.rules({"verb": "create", "nth": 1, "apply": "twice", "after_ms": 250})
            self.expect(client.put("k", b"x", create=True), client.CREATED)
            client.delete("k")  # the second application brings it back
            self.settle()
            self.assertEqual(client.get("k").body, b"x")
            self.assertEqual(events(self.server), [("created", "once"), ("deleted", "once"), ("created", "again")])

    def test_late_delete(self):
        for client in self.each():
            client.put("k", b"one")
            self.rules({"verb": "delete", "nth": 1, "apply": "late", "after_ms": 250, "end": "close"})
            self.fails(client.delete, "k")
            self.expect(client.put("k", b"two"), client.CREATED)
            self.settle()
            self.expect(client.get("k"), client.NO_OBJECT)

    def test_condition_ignored(self):
        for client in self.each():
            self.rules({"verb": "create", "condition": "ignored"})
            self.expect(client.put("k", b"one", create=True), client.CREATED)
            self.expect(client.put("k", b"two", create=True), client.CREATED)
            self.assertEqual(client.get("k").body, b"two")
            self.assertEqual(events(self.server), [("created", "once"), ("overwrote", "once")])


class Errors(FaultCase):
    """What each dialect says, with nothing applied."""

    SPELLED = {
        "slow_down": {"s3": (503, "SlowDown"), "gcs": (429, "rateLimitExceeded"), "azure": (503, "ServerBusy")},
        "internal": {"s3": (500, "InternalError"), "gcs": (500, "backendError"), "azure": (500, "InternalError")},
        "conflict": {"s3": (409, "ConditionalRequestConflict"), "gcs": (409, "conflict"),
                     "azure": (409, "PendingCopyOperation")},
        "aborted": {"s3": (409, "OperationAborted"), "gcs": (409, "conflict"),
                    "azure": (409, "ContainerBeingDeleted")},
        "skewed": {"s3": (403, "RequestTimeTooSkewed"), "gcs": (401, "authError"),
                   "azure": (403, "AuthenticationFailed")},
        "expired": {"s3": (400, "ExpiredToken"), "gcs": (401, "authError"), "azure": (403, "AuthenticationFailed")},
        "timeout": {"s3": (400, "RequestTimeout"), "gcs": (408, "timeout"), "azure": (500, "OperationTimedOut")},
        "denied": {"s3": (403, "AccessDenied"), "gcs": (403, "forbidden"),
                   "azure": (403, "AuthorizationPermissionMismatch")},
        "unavailable": {"s3": (503, "ServiceUnavailable"), "gcs": (503, "backendError"),
                        "azure": (503, "ServerBusy")},
    }

    def test_spelling(self):
        for name, spelled in self.SPELLED.items():
            for client in self.each():
                self.rules({"error": name})
                self.expect(client.put("k", b"x", create=True), spelled[client.name])
                self.expect(client.list()[0], spelled[client.name])
                self.expect(client.delete("k"), spelled[client.name])
                self.assertEqual(client.get("k").status, spelled[client.name][0])
                self.assertEqual(events(self.server), [])

    def test_own_spelling_headers_and_retry_after(self):
        for client in self.each():
            self.rules({"error": "conflict", "status": 412, "code": "LeaseIdMissing", "retry_after_s": 7,
                        "headers": {"x-amz-bucket-region": "eu-1"}})
            answer = client.put("k", b"x")
            self.expect(answer, (412, "LeaseIdMissing"))
            self.assertEqual(answer.headers["retry-after"], "7")
            self.assertEqual(answer.headers["x-amz-bucket-region"], "eu-1")

    def test_redirect(self):
        client = S3(self.server)
        self.rules({"error": "internal", "status": 307, "code": "TemporaryRedirect",
                    "headers": {"Location": "http://127.0.0.1:1/bkt/k"}})
        answer = client.get("k")
        self.expect(answer, (307, "TemporaryRedirect"))
        self.assertEqual(answer.headers["location"], "http://127.0.0.1:1/bkt/k")
        client.close()

    def test_success_with_the_body_of_an_error(self):
        for client in self.each():
            self.rules({"reply": "ok_error", "error": "internal"})
            answer = client.put("k", b"x", create=True)
            self.assertEqual(answer.status, 200)
            self.assertIn(json.dumps("backendError").encode() if client.name == "gcs"
                          else b"<Code>InternalError</Code>", answer.body)
            self.assertEqual(events(self.server), [])

    def test_some_names_of_many_are_not_deleted(self):
        client = S3(self.server)
        for name in ["a", "b", "c"]:
            client.put(name, b"x")
        self.rules({"verb": "delete", "key": "b", "error": "internal"},
                   {"verb": "delete", "key": "c", "error": "slow_down", "apply": "once"})
        body = b"<Delete>" + b"".join(b"<Object><Key>%c</Key></Object>" % name for name in b"abc") + b"</Delete>"
        md5 = {"Content-MD5": base64.b64encode(hashlib.md5(body).digest()).decode()}
        answer = client.ask("POST", "/bkt", body, md5, {"delete": ""})
        self.expect(answer, 200)
        self.assertIn(b"<Deleted><Key>a</Key></Deleted>", answer.body)
        self.assertIn(b"<Error><Key>b</Key><Code>InternalError</Code>", answer.body)
        self.assertIn(b"<Error><Key>c</Key><Code>SlowDown</Code>", answer.body)
        self.assertEqual(client.list()[1], ["b"])
        client.close()

    def test_rival_there_is_another_answer(self):
        """The stores that answer 409 to the loser and not 412."""
        client = S3(self.server)
        self.rules({"verb": "create", "present": True, "error": "conflict"})
        self.expect(client.put("k", b"one", create=True), 200)
        self.expect(client.put("k", b"two", create=True), (409, "ConditionalRequestConflict"))
        self.assertEqual(client.get("k").body, b"one")
        client.close()


class Bodies(FaultCase):

    def test_reset_within_the_answer(self):
        for client in self.each():
            client.put("k", BODY)
            self.rules({"verb": "get", "nth": 1, "end": "reset", "body_bytes": 50000})
            self.fails(client.get, "k")
            self.assertEqual(client.get("k").body, BODY)
            counts = self.server.counters()
            self.assertEqual(counts["bytes_out"]["get"], len(BODY) + 50000)
            self.assertEqual(counts["lost"]["get"], 1)

    def test_truncated_with_the_right_length(self):
        for client in self.each():
            client.put("k", BODY)
            self.rules({"verb": "get", "end": "close", "body_bytes": 99999})
            error = self.fails(client.get, "k")
            self.assertIsInstance(error, http.client.IncompleteRead)
            self.assertEqual(error.partial, BODY[:99999])

    def test_cut_within_the_status_line(self):
        for client in self.each():
            self.rules({"verb": "create", "end": "close", "head_bytes": 10})
            self.fails(client.put, "k", b"x", create=True)
            self.assertEqual(events(self.server), [("created", "once")])
        with self.server.raw() as connection:
            connection.sendall(b"PUT /bkt/z HTTP/1.1\r\nIf-None-Match: *\r\nContent-Length: 0\r\n\r\n")
            self.assertEqual(connection.recv(100), b"HTTP/1.1 2")
            self.assertEqual(connection.recv(100), b"")

    def test_corrupted(self):
        for client in self.each():
            client.put("k", BODY)
            for at in [0, 50000, len(BODY) - 1, 10 ** 9]:
                self.rules({"verb": "get", "corrupt_at": at, "reply": "corrupt"})
                got = client.get("k")
                self.expect(got, 200)
                wrong = [i for i in range(len(BODY)) if got.body[i] != BODY[i]]
                self.assertEqual(wrong, [min(at, len(BODY) - 1)])
            self.rules()
            self.assertEqual(client.get("k").body, BODY)  # what is stored is whole

    def test_whole_instead_of_a_range(self):
        for client in self.each():
            client.put("k", BODY)
            self.rules({"verb": "get", "reply": "full"})
            answer = client.get("k", span="10-19")
            self.expect(answer, 200)
            self.assertEqual(answer.body, BODY)

    def test_less_than_the_range(self):
        for client in self.each():
            client.put("k", BODY)
            self.rules({"verb": "get", "reply": "short"})
            answer = client.get("k", span="10-109")
            self.expect(answer, 206)
            self.assertEqual(answer.body, BODY[10:60])
            self.assertEqual(answer.headers["content-range"], f"bytes 10-59/{len(BODY)}")

    def test_request_cut_by_the_server(self):
        for client in self.each():
            self.rules({"verb": "create,put", "nth": 1, "read_bytes": 20000})
            self.fails(client.put, "k", BODY * 50, create=True)
            self.assertEqual(events(self.server), [])
            self.assertEqual(self.server.counters()["bytes_in"]["create"], 20000)
            self.expect(client.put("k", BODY, create=True), client.CREATED)

    def test_refused_without_reading(self):
        """As a server that knows the answer early: the answer may be lost, but nothing is stored."""
        for client in self.each():
            self.rules({"verb": "create", "read_bytes": 0, "error": "exists"})
            self.expect(client.put("k", b"x" * 1000, create=True), client.EXISTS)
            self.assertEqual(events(self.server), [])

    def test_request_cut_by_the_client_is_not_stored(self):
        with self.server.raw() as connection:
            connection.sendall(b"PUT /bkt/cut HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + b"x" * 40000)
        client = S3(self.server)
        self.until(lambda: self.server.counters()["lost"]["put"])
        self.expect(client.get("cut"), client.NO_OBJECT)
        client.close()

    def test_reset_and_close_are_two_things(self):
        for end in ["reset", "close"]:
            self.rules({"verb": "get", "end": end})
            with self.server.raw() as connection:
                connection.sendall(b"GET /bkt/none HTTP/1.1\r\nHost: h\r\n\r\n")
                if end == "reset":
                    self.assertRaises(ConnectionResetError, connection.recv, 100)
                else:
                    self.assertEqual(connection.recv(100), b"")

    def test_silence(self):
        for dialect in DIALECTS:
            self.fresh()
            self.rules({"verb": "create", "nth": 1, "end": "hang"})
            client = dialect(self.server, timeout=0.5)
            self.assertIsInstance(self.fails(client.put, "k", b"x", create=True), socket.timeout)
            self.expect(client.put("k", b"x", create=True), client.EXISTS)
            client.close()

    def test_stall_within_the_body(self):
        client = S3(self.server, timeout=1)
        client.put("k", BODY)
        self.rules({"verb": "get", "end": "hang", "body_bytes": 1000})
        self.assertIsInstance(self.fails(client.get, "k"), socket.timeout)
        client.close()

    def test_idle_connections_are_closed(self):
        self.server.control(idle_close_ms=50)
        with self.server.raw() as connection:
            connection.sendall(b"GET /bkt/none HTTP/1.1\r\nHost: h\r\n\r\n")
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 404"))
            start = time.monotonic()
            self.assertEqual(connection.recv(4096), b"")
            self.assertLess(time.monotonic() - start, 5)


class Connections(FaultCase):

    def test_most_at_once(self):
        self.server.control(latency={"get": {"p50_ms": 1500}})
        clients = [S3(self.server) for _ in range(12)]
        threads = [threading.Thread(target=client.get, args=("none",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = self.server.counters()
        self.assertEqual((counts["in_flight"], counts["in_flight_max"]), (0, 12))
        self.assertEqual(counts["open"], 13)  # with the one that asks
        for client in clients:
            client.close()
        self.fresh()
        counts = self.server.counters()
        self.assertEqual(counts["in_flight_max"], 0)
        self.assertLess(counts["open_max"], 13)

    def test_all_dropped(self):
        self.rules({"verb": "create", "delay_ms": 500})
        client, waiting = S3(self.server), S3(self.server)
        client.put("k", b"x")
        thread = threading.Thread(target=self.fails, args=(waiting.put, "late", b"x"), kwargs={"create": True})
        thread.start()
        self.until(lambda: self.server.counters()["in_flight"])
        self.server.control(drop=True)
        self.fails(client.get, "k")
        thread.join()
        self.assertEqual(client.get("k").body, b"x")  # by a new connection
        self.until(lambda: client.get("late").status == 200)  # what the server had is applied all the same
        self.assertEqual(self.server.counters()["lost"]["create"], 1)
        client.close()
        waiting.close()

    def test_a_client_that_leaves_in_the_middle(self):
        client = S3(self.server)
        client.put("k", BODY * 300)
        with self.server.raw() as connection:
            connection.sendall(b"GET /bkt/k HTTP/1.1\r\nHost: h\r\n\r\n")
            got = len(connection.recv(1000))
        self.until(lambda: self.server.counters()["lost"]["get"])
        sent = self.server.counters()["bytes_out"]["get"]
        self.assertTrue(got - 1000 < sent < len(BODY) * 300, sent)
        client.close()


class Lists(FaultCase):

    def names(self, client, most=10):
        token, names = None, []
        while True:
            page = client.list(most=most, token=token)
            names += page[1]
            token = page[2]
            if token is None:
                return names

    def test_stale(self):
        for client in self.each():
            client.put("old", b"x")
            client.put("gone", b"x")
            time.sleep(0.3)
            then = time.monotonic()
            time.sleep(0.3)
            client.put("new", b"x")
            client.delete("gone")
            self.rules({"verb": "list", "stale_ms": 1000 * (time.monotonic() - then)})
            self.assertEqual(client.list()[1], ["gone", "old"])
            self.rules()
            self.assertEqual(client.list()[1], ["new", "old"])

    def test_stale_reads(self):
        for client in self.each():
            self.rules({"verb": "get", "stale_ms": 60000})
            client.put("k", b"x")
            self.expect(client.get("k"), client.NO_OBJECT)
            self.rules({"verb": "get", "stale_ms": 10})
            time.sleep(0.02)
            self.assertEqual(client.get("k").body, b"x")

    def test_a_reset_between_the_list_and_its_answer(self):
        self.rules({"verb": "list", "reply_delay_ms": 400})
        client, got = S3(self.server), []
        for number in range(20):
            client.put(f"{number:02}", b"x")
        thread = threading.Thread(target=lambda: got.extend(client.list()[1]))
        thread.start()
        self.until(lambda: self.server.counters()["in_flight"])
        time.sleep(0.1)
        self.server.control(reset="objects")
        thread.join()
        self.assertIn(got, ([], [f"{number:02}" for number in range(20)]))
        client.close()

    def test_unordered(self):
        wanted = [f"{number:02}" for number in range(40)]
        for client in self.each():
            for name in wanted:
                client.put(name, b"")
            self.rules({"verb": "list", "unordered": True})
            names = self.names(client)
            self.assertEqual(sorted(names), wanted)
            self.assertNotEqual(names, wanted)

    def test_repeated(self):
        wanted = [f"{number:02}" for number in range(40)]
        for client in self.each():
            for name in wanted:
                client.put(name, b"")
            self.rules({"verb": "list", "repeat": 3})
            names = self.names(client)
            self.assertEqual(sorted(set(names)), wanted)
            self.assertGreater(len(names), 45)


class Picked(FaultCase):
    """Which requests a rule picks."""

    def statuses(self, count):
        client = S3(self.server)
        got = [client.put(f"k{number}", b"x").status for number in range(count)]
        client.close()
        return got

    def test_nth_every_from_times(self):
        for fields, wanted in [({"nth": 3}, [3]), ({"every": 3}, [3, 6, 9]), ({"from": 8}, [8, 9, 10]),
                               ({"times": 2}, [1, 2]), ({"every": 2, "from": 5}, [6, 8, 10]), ({}, range(1, 11))]:
            self.rules({"error": "internal", **fields})
            got = self.statuses(10)
            self.assertEqual([n + 1 for n, status in enumerate(got) if status == 500], list(wanted), fields)

    def test_key_container_verb_dialect(self):
        for client in self.each():
            self.rules({"error": "internal", "key": "chain/*", "verb": "create,get", "container": "b?t",
                        "dialect": "s3,gcs"})
            struck = client.name != "azure"
            self.assertEqual(client.put("chain/1", b"x", create=True).status == 500, struck)
            self.assertNotEqual(client.put("chain/1", b"x").status, 500)
            self.assertNotEqual(client.put("data/1", b"x", create=True).status, 500)
            self.assertEqual(client.get("chain/1").status == 500, struck)

    def test_probability_is_the_seeds(self):
        runs = []
        for seed in [7, 7, 8]:
            self.fresh()
            self.server.control(seed=seed, rules=[{"error": "internal", "probability": 0.2}])
            runs.append(self.statuses(400))
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])
        for run in runs:
            self.assertTrue(50 <= run.count(500) <= 110, run.count(500))

    def test_over_a_rate(self):
        self.rules({"verb": "put", "over_per_s": 100, "error": "slow_down"})
        start = time.monotonic()
        got = self.statuses(300)
        spent = time.monotonic() - start
        self.assertIn(503, got)
        self.assertLessEqual(got.count(200), 10 + 100 * spent + 1)
        self.assertEqual(got[:10], [200] * 10)  # a tenth of a second's worth at once

    def test_several_rules_add_up_and_the_first_wins(self):
        client = S3(self.server)
        self.rules({"verb": "put", "error": "slow_down"}, {"error": "internal"}, {"retry_after_s": 3})
        answer = client.put("k", b"x")
        self.expect(answer, (503, "SlowDown"))
        self.assertEqual(answer.headers["retry-after"], "3")
        self.expect(client.delete("k"), (500, "InternalError"))
        self.assertEqual(self.fired(), [1, 2, 2])
        client.close()


if __name__ == "__main__":
    stores.main()
