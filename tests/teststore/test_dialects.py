# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The three dialects without a fault: what each answers to each request, by the standard library alone.

    test_dialects.py BATCHWEAVE_TESTSTORE
"""

import base64
import hashlib
import json
import time
import urllib.parse

import stores
from stores import Azure, Gcs, S3, StoreCase

BODY = bytes(range(256)) * 40
ODD_KEYS = ["a b", "plus+and&amp;<x>", "ünïcode/ключ", "percent%41", "quote'\"", "dots/../x", "a//b", "tail/"]


def crc32c(data):
    """Bit by bit, from the polynomial."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def crc64(data):
    crc = 0xffffffffffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x9a6c9329ac4bc9b5 if crc & 1 else 0)
    return crc ^ 0xffffffffffffffff


def text_of(data):
    return base64.b64encode(data).decode()


class Objects(StoreCase):

    def test_create_once_then_exists_and_the_first_bytes_stay(self):
        for client in self.each():
            self.expect(client.put("k", BODY, create=True), client.CREATED)
            self.expect(client.put("k", b"other", create=True), client.EXISTS)
            self.assertEqual(client.get("k").body, BODY)

    def test_put_overwrites(self):
        for client in self.each():
            self.expect(client.put("k", b"one"), client.CREATED)
            self.expect(client.put("k", b"three"), client.CREATED)
            self.assertEqual(client.get("k").body, b"three")

    def test_put_on_a_version(self):
        for client in self.each():
            first = client.version(client.put("k", b"one"))
            second = client.version(client.put("k", b"two", match=first))
            self.expect(client.put("k", b"late", match=first), client.CONDITION)
            self.assertEqual(client.get("k").body, b"two")
            self.expect(client.put("k", b"three", match=second), client.CREATED)

    def test_missing_things(self):
        for client in self.each():
            self.expect(client.get("none"), client.NO_OBJECT)
            self.expect(client.head("none"), 404)
            self.expect(client.delete("none"), client.DELETED_NOTHING)
            self.expect(client.put("k", b"x", container="none"), client.NO_CONTAINER)

    def test_delete_then_create_again(self):
        for client in self.each():
            client.put("k", b"one", create=True)
            self.expect(client.delete("k"), client.DELETED)
            self.expect(client.get("k"), client.NO_OBJECT)
            self.expect(client.put("k", b"two", create=True), client.CREATED)
            self.assertEqual(client.get("k").body, b"two")

    def test_containers(self):
        for number, client in enumerate(self.each()):
            name = f"made{number}"
            self.expect(client.probe(name), 404)
            self.expect(client.make(name), 201 if client.name == "azure" else 200)
            self.expect(client.probe(name), 200)
            self.expect(client.make(name), 409)
            self.expect(client.put("k", b"x", container=name), client.CREATED)

    def test_empty_object(self):
        for client in self.each():
            self.expect(client.put("empty", b"", create=True), client.CREATED)
            self.assertEqual(client.get("empty").body, b"")
            self.expect(client.get("empty", span="0-0"), 416)

    def test_head_tells_the_size(self):
        for client in self.each():
            client.put("k", BODY)
            answer = client.head("k")
            size = json.loads(answer.body)["size"] if client.name == "gcs" else answer.headers["content-length"]
            self.assertEqual(int(size), len(BODY))

    def test_odd_keys_come_back(self):
        for client in self.each():
            for number, key in enumerate(ODD_KEYS):
                self.expect(client.put(key, b"%d" % number, create=True), client.CREATED)
            for number, key in enumerate(ODD_KEYS):
                self.assertEqual(client.get(key).body, b"%d" % number, key)
            self.assertEqual(client.list()[1], sorted(ODD_KEYS, key=lambda key: key.encode()))

    def test_long_and_broken_keys(self):
        client = S3(self.server)
        self.expect(client.put("k" * 1024, b"x"), 200)
        self.expect(client.put("k" * 1025, b"x"), (400, "KeyTooLongError"))
        client.connection.request("PUT", "/bkt/%ff", b"x")
        response = client.connection.getresponse()
        response.read()
        self.assertEqual(response.status, 400)
        client.close()

    def test_big_object(self):
        body = hashlib.sha256(b"seed").digest() * (1 << 19)  # 16 MiB
        for client in self.each():
            self.expect(client.put("big", body, create=True), client.CREATED)
            self.assertEqual(hashlib.sha256(client.get("big").body).digest(), hashlib.sha256(body).digest())
            self.assertEqual(client.get("big", span="1000000-1999999").body, body[1000000:2000000])


class Ranges(StoreCase):

    def test_exact_and_clamped(self):
        for client in self.each():
            client.put("k", BODY)
            for first, last in [(0, 0), (10, 19), (0, len(BODY) - 1), (len(BODY) - 1, len(BODY) - 1)]:
                answer = client.get("k", span=f"{first}-{last}")
                self.expect(answer, 206)
                self.assertEqual(answer.body, BODY[first:last + 1])
                self.assertEqual(answer.headers["content-range"], f"bytes {first}-{last}/{len(BODY)}")
            answer = client.get("k", span=f"10000-{len(BODY) + 99}")
            self.expect(answer, 206)
            self.assertEqual(answer.headers["content-range"], f"bytes 10000-{len(BODY) - 1}/{len(BODY)}")

    def test_past_the_end(self):
        for client in self.each():
            client.put("k", BODY)
            answer = client.get("k", span=f"{len(BODY)}-{len(BODY)}")
            self.expect(answer, 416)
            self.assertEqual(answer.headers["content-range"], f"bytes */{len(BODY)}")

    def test_open_and_suffix(self):
        for client in self.each():
            client.put("k", BODY)
            self.assertEqual(client.get("k", span="100-").body, BODY[100:])
            suffix = client.get("k", span="-10")
            if client.name == "azure":  # has none: everything
                self.expect(suffix, 200)
                self.assertEqual(suffix.body, BODY)
                self.expect(client.get("k", span="0-"), 200)
            else:
                self.expect(suffix, 206)
                self.assertEqual(suffix.body, BODY[-10:])

    def test_nonsense_is_no_range(self):
        for client in self.each():
            client.put("k", BODY)
            for span in ["x", "5-2", "1-2,4-5", "-"]:
                self.expect(client.get("k", span=span), 200)

    def test_if_match_on_get(self):
        for client in [S3(self.server), Azure(self.server)]:
            first = client.put("k", b"one").headers["etag"]
            self.expect(client.get("k", headers={"If-Match": first}), 200)
            client.put("k", b"two")
            self.expect(client.get("k", headers={"If-Match": first}), client.CONDITION)
            client.close()


class Lists(StoreCase):

    def pages(self, client, most, **query):
        token, pages = None, []
        while True:
            answer, names, token = client.list(token=token, most=most, **query)
            self.expect(answer, 200)
            pages.append(names)
            if token is None:
                return pages

    def test_pages_prefix_and_order(self):
        names = [f"p/{number:03}" for number in range(25)] + ["p-", "p.x", "q", "P/1"]
        for client in self.each():
            for name in reversed(names):
                client.put(name, b"x")
            pages = self.pages(client, 10, prefix="p/")
            self.assertEqual([len(page) for page in pages], [10, 10, 5])
            self.assertEqual(sum(pages, []), sorted(names[:25]))
            self.assertEqual(sum(self.pages(client, 7), []), sorted(names))
            self.assertEqual(client.list(prefix="none")[1], [])

    def test_start_after(self):
        for client in [S3(self.server), Gcs(self.server)]:
            for number in range(10):
                client.put(f"n{number}", b"x")
            self.assertEqual(client.list(after="n6")[1], ["n7", "n8", "n9"])
            self.assertEqual(client.list(after="n6x")[1], ["n7", "n8", "n9"])
            client.close()

    def test_more_than_a_thousand(self):
        client = S3(self.server)
        names = [f"many/{number:05}" for number in range(1105)]
        for name in names:
            client.put(name, b"")
        pages = self.pages(client, None, prefix="many/")
        self.assertEqual([len(page) for page in pages], [1000, 105])
        self.assertEqual(sum(pages, []), names)
        client.close()

    def test_url_encoded_names(self):
        client = S3(self.server)
        client.put("a b/ü", b"x")
        names = client.list(**{"encoding-type": "url"})[1]
        self.assertEqual([urllib.parse.unquote(name) for name in names], ["a b/ü"])
        self.assertEqual(names, ["a%20b/%C3%BC"])
        client.close()

    def test_bad_token_and_delimiter_are_refused(self):
        client = S3(self.server)
        self.expect(client.list(token="not-a-token")[0], (400, "InvalidArgument"))
        self.expect(client.list(delimiter="/")[0], (501, "NotImplemented"))
        client.close()


class Digests(StoreCase):

    def test_s3(self):
        client = S3(self.server)
        good = text_of(crc32c(BODY).to_bytes(4, "big"))
        answer = client.put("k", BODY, headers={"x-amz-checksum-crc32c": good})
        self.expect(answer, 200)
        self.assertEqual(answer.headers["x-amz-checksum-crc32c"], good)
        self.expect(client.put("w", BODY, headers={"x-amz-checksum-crc32c": text_of(b"xxxx")}), (400, "BadDigest"))
        md5 = text_of(hashlib.md5(BODY).digest())
        self.expect(client.put("m", BODY, headers={"Content-MD5": md5}), 200)
        self.expect(client.put("w", BODY + b"x", headers={"Content-MD5": md5}), (400, "BadDigest"))
        self.expect(client.put("w", BODY, headers={"Content-MD5": "short"}), (400, "InvalidDigest"))
        self.expect(client.get("w"), client.NO_OBJECT)
        self.assertNotIn("x-amz-checksum-crc32c", client.get("k").headers)
        answer = client.get("k", headers={"x-amz-checksum-mode": "ENABLED"})
        self.assertEqual(answer.headers["x-amz-checksum-crc32c"], good)
        client.close()

    def test_gcs(self):
        client = Gcs(self.server)
        good = text_of(crc32c(BODY).to_bytes(4, "big"))
        answer = client.put("k", BODY, headers={"X-Goog-Hash": "crc32c=" + good})
        self.assertEqual(json.loads(answer.body)["crc32c"], good)
        self.expect(client.put("w", BODY, headers={"X-Goog-Hash": "crc32c=" + text_of(b"xxxx")}), (400, "invalid"))
        self.expect(client.get("w"), 404)
        self.assertEqual(client.get("k").headers["x-goog-hash"], "crc32c=" + good)
        client.close()

    def test_azure(self):
        client = Azure(self.server)
        self.assertEqual(crc64(b"123456789"), 0xae8b14860a799888)
        good = text_of(crc64(BODY).to_bytes(8, "little"))
        answer = client.put("k", BODY, headers={"x-ms-content-crc64": good})
        self.expect(answer, 201)
        self.assertEqual(answer.headers["x-ms-content-crc64"], good)
        self.expect(client.put("w", BODY[:-1], headers={"x-ms-content-crc64": good}), (400, "Crc64Mismatch"))
        md5 = text_of(hashlib.md5(BODY).digest())
        self.expect(client.put("m", BODY, headers={"Content-MD5": md5}), 201)
        self.expect(client.put("w", BODY + b"x", headers={"Content-MD5": md5}), (400, "Md5Mismatch"))
        self.expect(client.get("w"), client.NO_OBJECT)
        answer = client.get("k", span="5-99", headers={"x-ms-range-get-content-crc64": "true"})
        self.assertEqual(answer.headers["x-ms-content-crc64"], text_of(crc64(BODY[5:100]).to_bytes(8, "little")))
        client.close()


class OfEach(StoreCase):
    """What only one dialect has."""

    def test_s3_delete_many(self):
        client = S3(self.server)
        for number in range(30):
            client.put(f"d/{number}&", b"x")
        names = "".join(f"<Object><Key>d/{number}&amp;</Key></Object>" for number in range(20))
        body = f"<Delete>{names}<Object><Key>none</Key></Object></Delete>".encode()
        self.expect(client.ask("POST", "/bkt", body, query={"delete": ""}), (400, "InvalidRequest"))
        md5 = {"Content-MD5": text_of(hashlib.md5(body).digest())}
        answer = client.ask("POST", "/bkt", body, md5, {"delete": ""})
        self.expect(answer, 200)
        self.assertEqual(answer.body.count(b"<Deleted>"), 21)
        self.assertEqual(len(client.list(prefix="d/")[1]), 10)
        for wrong in [b"", b"<Delete></Delete>", b"<Delete><Object><Key>x</Object></Delete>",
                      b"<Delete><Object><Key>&nothing;</Key></Object></Delete>"]:
            md5 = {"Content-MD5": text_of(hashlib.md5(wrong).digest())}
            self.expect(client.ask("POST", "/bkt", wrong, md5, {"delete": ""}), (400, "MalformedXML"))
        client.close()

    def test_s3_host_style(self):
        client = S3(self.server)
        host = {"Host": f"bkt.s3.localhost:{self.server.port}"}
        self.expect(client.ask("PUT", "/by/host", b"x", host), 200)
        self.assertEqual(client.get("by/host").body, b"x")
        self.assertEqual(client.ask("GET", "/by/host", headers=host).body, b"x")
        self.assertIn(b"<Key>by/host</Key>", client.ask("GET", "/", headers=host, query={"list-type": "2"}).body)
        client.close()

    def test_s3_what_is_not_there_is_refused(self):
        client = S3(self.server)
        for headers in [{"If-None-Match": '"x"'}, {"x-amz-copy-source": "/a/b"},
                        {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}]:
            self.expect(client.put("k", b"x", headers=headers), (501, "NotImplemented"))
        self.expect(client.put("k", b"x", match='"nonsense"'), client.NO_OBJECT)
        self.expect(client.ask("GET", "/bkt", query={"versioning": ""}), 200)
        self.expect(client.ask("GET", "/bkt", query={"lifecycle": ""}), (404, "NoSuchLifecycleConfiguration"))
        self.expect(client.ask("PATCH", "/bkt/k"), (405, "MethodNotAllowed"))
        self.assertEqual(client.probe("bkt").headers["x-amz-bucket-region"], "us-east-1")
        client.close()

    def test_gcs_multipart(self):
        client = Gcs(self.server)
        body = b"\r\n--=x\r\n\r\n" + BODY
        self.expect(client.put("m/p", body, create=True, multipart=True), 200)
        self.expect(client.put("m/p", b"other", create=True, multipart=True), client.EXISTS)
        self.assertEqual(client.get("m/p").body, body)
        answer = client.ask("POST", "/upload/storage/v1/b/bkt/o", b"no parts",
                            {"Content-Type": "multipart/related; boundary=b"}, {"uploadType": "multipart"})
        self.expect(answer, (400, "parseError"))
        self.expect(client.ask("POST", "/upload/storage/v1/b/bkt/o", b"",
                               query={"uploadType": "resumable", "name": "x"}), (501, "notImplemented"))
        client.close()

    def test_gcs_reads_one_generation(self):
        client = Gcs(self.server)
        first = client.version(client.put("k", b"one"))
        self.assertEqual(client.ask_object("GET", "k", "bkt", {"alt": "media", "generation": first}).body, b"one")
        second = client.version(client.put("k", b"two"))
        self.expect(client.ask_object("GET", "k", "bkt", {"alt": "media", "generation": first}), 404)
        self.assertEqual(client.ask_object("GET", "k", "bkt", {"alt": "media", "generation": second}).body, b"two")
        self.expect(client.ask_object("DELETE", "k", "bkt", {"generation": first}), 404)
        self.expect(client.ask_object("DELETE", "k", "bkt", {"generation": second}), 204)
        client.close()

    def test_gcs_if_none_match_means_nothing(self):
        client = Gcs(self.server)
        client.put("k", b"one", create=True)
        self.expect(client.put("k", b"two", headers={"If-None-Match": "*"}), 200)
        self.assertEqual(client.get("k").body, b"two")
        client.close()

    def test_azure_asks_for_the_type_of_blob(self):
        client = Azure(self.server)
        self.expect(client.ask("PUT", "/bkt/k", b"x"), (400, "MissingRequiredHeader"))
        self.expect(client.ask("PUT", "/bkt/k", b"x", {"x-ms-blob-type": "PageBlob"}), (501, "NotImplemented"))
        answer = client.get("none")
        self.assertEqual(answer.headers["x-ms-error-code"], "BlobNotFound")
        self.assertEqual(answer.headers["x-ms-version"], "2021-12-02")
        client.close()

    def test_every_answer_has_a_date_and_an_id(self):
        names = {"s3": "x-amz-request-id", "gcs": "x-guploader-uploadid", "azure": "x-ms-request-id"}
        for client in self.each():
            seen = set()
            for answer in [client.put("k", b"x"), client.get("k"), client.get("none")]:
                when = time.mktime(time.strptime(answer.headers["date"], "%a, %d %b %Y %H:%M:%S GMT"))
                self.assertLess(abs(when - time.mktime(time.gmtime())), 5)
                seen.add(int(answer.headers[names[client.name]], 16))
            self.assertEqual(len(seen), 3)


class Http(StoreCase):

    def talk(self, sent, timeout=20):
        """What comes back until the server closes."""
        with self.server.raw(timeout) as connection:
            connection.sendall(sent)
            got = b""
            while chunk := connection.recv(65536):
                got += chunk
            return got

    def test_one_connection_carries_many_requests(self):
        for client in self.each():
            before = self.server.counters()["connections"]
            for number in range(50):
                client.put(f"{number}", b"x")
                client.get(f"{number}")
            # This client's, and those of the two looks at the counters.
            self.assertEqual(self.server.counters()["connections"], before + 2)

    def test_pipelined_requests_are_answered_in_order(self):
        requests = b"".join(b"PUT /bkt/p%d HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n%02d" % (n, n)
                            for n in range(40))
        requests += b"".join(b"GET /bkt/p%d HTTP/1.1\r\nHost: h\r\n\r\n" % n for n in range(39))
        requests += b"GET /bkt/p39 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        got = self.talk(requests)
        self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 80)
        bodies = [part.split(b"\r\n\r\n", 1)[1] for part in got.split(b"HTTP/1.1 200 OK")[41:]]
        self.assertEqual(bodies, [b"%02d" % n for n in range(40)])

    def test_expect_continue(self):
        with self.server.raw() as connection:
            connection.sendall(b"PUT /bkt/e HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(connection.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"hello")
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200 OK"))

    def test_bodies_of_unknown_length_are_refused(self):
        got = self.talk(b"PUT /bkt/c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"5\r\nhello\r\n0\r\n\r\n", 30)
        self.assertTrue(got.startswith(b"HTTP/1.1 411 "), got)
        self.assertIn(b"MissingContentLength", got)
        got = self.talk(b"PUT /bkt/c HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 411 "), got)

    def test_what_is_no_request(self):
        for text in [b"HELLO\r\n\r\n", b"GET bkt HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
                     b"GET /%zz HTTP/1.1\r\n\r\n", b"GET /%00 HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                     b"PUT /bkt/x HTTP/1.1\r\nContent-Length: ten\r\n\r\n"]:
            self.assertTrue(self.talk(text).startswith(b"HTTP/1.1 400 "), text)
        self.assertTrue(self.talk(b"GET / HTTP/1.1\r\nx: " + b"y" * 20000).startswith(b"HTTP/1.1 400 "))

    def test_byte_by_byte(self):
        with self.server.raw() as connection:
            for byte in b"PUT /bkt/slow HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc":
                connection.sendall(bytes([byte]))
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200 OK"))

    def test_many_connections(self):
        clients = [S3(self.server) for _ in range(400)]
        for number, client in enumerate(clients):
            self.expect(client.put(f"c{number}", b"%d" % number), 200)
        for number, client in enumerate(clients):
            self.assertEqual(client.get(f"c{number}").body, b"%d" % number)
            client.close()


class Accounts(StoreCase):
    """Counts and journal are exact."""

    options = ("--digest",)

    def test_counts_by_verb_status_and_bytes(self):
        for client in self.each():
            for number in range(10):
                client.put(f"k{number}", BODY, create=True)
            error = sum(len(client.put("k0", BODY, create=True).body) for _ in range(3))
            client.put("k1", b"12345")
            for _ in range(4):
                client.get("k0")
            client.get("k0", span="0-99")
            client.delete("k9")
            client.list()
            counts = self.server.counters()
            created, exists = str(client.CREATED), str(client.EXISTS[0])
            self.assertEqual(counts["requests"]["create"], {created: 10, exists: 3})
            self.assertEqual(counts["requests"]["put"], {created: 1})
            self.assertEqual(counts["requests"]["get"], {"200": 4, "206": 1})
            self.assertEqual(counts["requests"]["delete"], {str(client.DELETED): 1})
            self.assertEqual(counts["requests"]["list"], {"200": 1})
            self.assertEqual(counts["bytes_in"]["create"], 13 * len(BODY))
            self.assertEqual(counts["bytes_in"]["put"], 5)
            self.assertEqual(counts["bytes_out"]["get"], 4 * len(BODY) + 100)
            if client.name != "gcs":  # whose creates are answered with a description
                self.assertEqual(counts["bytes_out"]["create"], error)
            self.assertEqual((counts["objects"], counts["object_bytes"]), (9, 8 * len(BODY) + 5))
            self.assertEqual(set(counts["lost"].values()), {0})

    def test_the_journal_has_everything_that_was_ever_stored(self):
        for client in self.each():
            ids = {"s3": "x-amz-request-id", "gcs": "x-guploader-uploadid", "azure": "x-ms-request-id"}
            answer = client.put("a", BODY, create=True)
            client.put("a", b"lost", create=True)
            client.put("a", b"over")
            client.delete("a")
            client.delete("a")
            client.put("a", b"again", create=True)
            journal = self.server.journal()
            self.assertEqual([(e["event"], e["size"]) for e in journal],
                             [("created", len(BODY)), ("overwrote", 4), ("deleted", 4), ("created", 5)])
            self.assertEqual({e["key"] for e in journal}, {"bkt/a"})
            self.assertEqual([e["number"] for e in journal], [1, 2, 3, 4])
            self.assertEqual(int(journal[0]["request"], 16), int(answer.headers[ids[client.name]], 16))
            self.assertEqual(journal[0]["crc32c"], f"{crc32c(BODY):08x}")
            self.assertEqual(journal[0]["sha256_128"], hashlib.sha256(BODY).hexdigest()[:32])
            self.assertEqual(journal[3]["crc32c"], f"{crc32c(b'again'):08x}")

    def test_control_is_strict(self):
        for settings in [{"rulez": []}, {"rules": [{"vrb": "get"}]}, {"rules": [{"verb": "got"}]},
                         {"rules": [{"error": "nothing"}]}, {"rules": [{"status": 418}]}, {"rules": {}},
                         {"latency": {"gt": {"p50_ms": 1}}}, {"latency": {"get": {"p50": 1}}},
                         {"bandwidth": {"all": 1}}, {"rules": [{"probability": 2}]}, {"reset": "some"},
                         {"rules": [{"read_bytes": 1, "apply": "once"}]}]:
            with self.assertRaises(ValueError, msg=settings):
                self.server.control(**settings)

    def test_limit_of_memory(self):
        server = stores.Server("--bytes-max", "1000", "--journal-max", "3")
        try:
            client = S3(server)
            self.expect(client.put("a", b"x" * 900), 200)
            self.expect(client.put("b", b"x" * 101), (507, "InsufficientStorage"))
            client.delete("a")
            self.expect(client.put("b", b"x" * 101), 200)
            client.put("c", b"x")
            self.assertEqual(server.counters()["journal_lost"], 1)
            client.close()
        finally:
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    stores.main()
