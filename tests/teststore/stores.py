# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A test store as a process, and clients of its three dialects that share no code with the product."""

import http.client
import json
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import xml.etree.ElementTree

PROGRAM = sys.argv.pop(1)
ACCOUNT = "devstoreaccount1"
VERSION = {"x-ms-version": "2021-12-02"}


class Answer:
    """Status, headers (names in lower case), body, and the error code as the dialect has it."""

    def __init__(self, response, body, code=None):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = body
        self.code = code


class Server:
    """A running batchweave-teststore."""

    def __init__(self, *options):
        self.process = subprocess.Popen([PROGRAM, "--with-parent", "--container", "bkt", *options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = json.loads(line)["port"]

    def stop(self):
        self.process.terminate()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code

    def connect(self, timeout=20):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def control(self, path="", **settings):
        connection = self.connect()
        connection.request("POST" if settings else "GET", "/_control" + path,
                           json.dumps(settings) if settings else None)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        if response.status != 200:
            raise ValueError(f"{response.status} {body}")
        return body

    def counters(self):
        return json.loads(self.control("/counters"))

    def journal(self):
        """Every entry, page by page."""
        entries = []
        while True:
            page = self.control(f"/log?after={len(entries)}&max=50000").splitlines()
            entries += [json.loads(line) for line in page]
            if not page:
                return entries


class Client:
    """What the three dialects have in common: one connection, kept."""

    name = None

    def __init__(self, server, timeout=20):
        self.connection = server.connect(timeout)
        self.port = server.port

    def close(self):
        self.connection.close()

    def ask(self, method, path, body=None, headers=None, query=None):
        target = urllib.parse.quote(path, safe="/")
        if query:
            target += "?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        try:
            self.connection.request(method, target, body, headers or {})
            response = self.connection.getresponse()
            answer = Answer(response, response.read())
        except Exception:
            self.connection.close()
            raise
        answer.code = self.code_of(answer)
        return answer

    def code_of(self, answer):
        if b"<Code>" not in answer.body:
            return None
        return xml.etree.ElementTree.fromstring(answer.body).findtext("Code")


class S3(Client):
    name = "s3"
    EXISTS = (412, "PreconditionFailed")
    CONDITION = (412, "PreconditionFailed")
    NO_OBJECT = (404, "NoSuchKey")
    NO_CONTAINER = (404, "NoSuchBucket")
    CREATED, DELETED, DELETED_NOTHING = 200, 204, 204
    SLOW = (503, "SlowDown")

    def put(self, key, body, container="bkt", create=False, headers=None, match=None):
        headers = dict(headers or {})
        if create:
            headers["If-None-Match"] = "*"
        if match:
            headers["If-Match"] = match
        return self.ask("PUT", f"/{container}/{key}", body, headers)

    def get(self, key, container="bkt", span=None, headers=None):
        headers = dict(headers or {})
        if span:
            headers["Range"] = f"bytes={span}"
        return self.ask("GET", f"/{container}/{key}", headers=headers)

    def head(self, key, container="bkt"):
        return self.ask("HEAD", f"/{container}/{key}")

    def delete(self, key, container="bkt"):
        return self.ask("DELETE", f"/{container}/{key}")

    def make(self, container):
        return self.ask("PUT", f"/{container}")

    def probe(self, container):
        return self.ask("HEAD", f"/{container}")

    def version(self, answer):
        return answer.headers["etag"]

    def list(self, prefix="", token=None, most=None, after=None, **query):
        query = {"list-type": "2", "prefix": prefix, **query}
        if token:
            query["continuation-token"] = token
        if most:
            query["max-keys"] = most
        if after:
            query["start-after"] = after
        answer = self.ask("GET", "/bkt", query=query)
        if answer.status != 200:
            return answer, [], None
        space = {"s": "http://s3.amazonaws.com/doc/2006-03-01/"}
        root = xml.etree.ElementTree.fromstring(answer.body)
        names = [element.text for element in root.findall("s:Contents/s:Key", space)]
        assert int(root.findtext("s:KeyCount", None, space)) == len(names)
        token = root.findtext("s:NextContinuationToken", None, space)
        assert (root.findtext("s:IsTruncated", None, space) == "true") == (token is not None)
        return answer, names, token


class Gcs(Client):
    name = "gcs"
    EXISTS = (412, "conditionNotMet")
    CONDITION = (412, "conditionNotMet")
    NO_OBJECT = (404, None)
    NO_CONTAINER = (404, "notFound")
    CREATED, DELETED, DELETED_NOTHING = 200, 204, 404
    SLOW = (429, "rateLimitExceeded")

    def code_of(self, answer):
        if answer.status < 400 or not answer.body.startswith(b"{"):
            return None
        return json.loads(answer.body)["error"]["errors"][0]["reason"]

    def put(self, key, body, container="bkt", create=False, headers=None, match=None, multipart=False):
        query = {"uploadType": "multipart" if multipart else "media"}
        if create:
            query["ifGenerationMatch"] = "0"
        if match:
            query["ifGenerationMatch"] = match
        headers = dict(headers or {})
        if multipart:
            headers["Content-Type"] = 'multipart/related; boundary="=x="'
            body = (b"--=x=\r\nContent-Type: application/json\r\n\r\n" + json.dumps({"name": key}).encode()
                    + b"\r\n--=x=\r\nContent-Type: application/octet-stream\r\n\r\n" + body + b"\r\n--=x=--")
        else:
            query["name"] = key
        return self.ask("POST", f"/upload/storage/v1/b/{container}/o", body, headers, query)

    def object(self, key, container):
        return f"/storage/v1/b/{container}/o/" + urllib.parse.quote(key, safe="")

    def ask_object(self, method, key, container, query=None, headers=None):
        # The name is one segment: quoted twice by ask() unless it is kept from doing so.
        target = self.object(key, container) + ("?" + urllib.parse.urlencode(query) if query else "")
        try:
            self.connection.request(method, target, headers=headers or {})
            response = self.connection.getresponse()
            answer = Answer(response, response.read())
        except Exception:
            self.connection.close()
            raise
        answer.code = self.code_of(answer)
        return answer

    def get(self, key, container="bkt", span=None, headers=None):
        headers = dict(headers or {})
        if span:
            headers["Range"] = f"bytes={span}"
        return self.ask_object("GET", key, container, {"alt": "media"}, headers)

    def head(self, key, container="bkt"):
        return self.ask_object("GET", key, container)

    def delete(self, key, container="bkt"):
        return self.ask_object("DELETE", key, container)

    def make(self, container):
        return self.ask("POST", "/storage/v1/b", json.dumps({"name": container}), query={"project": "p"})

    def probe(self, container):
        return self.ask("GET", f"/storage/v1/b/{container}")

    def version(self, answer):
        return json.loads(answer.body)["generation"]

    def list(self, prefix="", token=None, most=None, after=None):
        query = {"prefix": prefix}
        if token:
            query["pageToken"] = token
        if most:
            query["maxResults"] = most
        if after:
            query["startOffset"] = after + "\x01"
        answer = self.ask("GET", "/storage/v1/b/bkt/o", query=query)
        if answer.status != 200:
            return answer, [], None
        page = json.loads(answer.body)
        return answer, [item["name"] for item in page.get("items", [])], page.get("nextPageToken")


class Azure(Client):
    name = "azure"
    EXISTS = (409, "BlobAlreadyExists")
    CONDITION = (412, "ConditionNotMet")
    NO_OBJECT = (404, "BlobNotFound")
    NO_CONTAINER = (404, "ContainerNotFound")
    CREATED, DELETED, DELETED_NOTHING = 201, 202, 404
    SLOW = (503, "ServerBusy")

    def ask(self, method, path, body=None, headers=None, query=None):
        return super().ask(method, f"/{ACCOUNT}{path}", body, {**VERSION, **(headers or {})}, query)

    def put(self, key, body, container="bkt", create=False, headers=None, match=None):
        headers = {"x-ms-blob-type": "BlockBlob", **(headers or {})}
        if create:
            headers["If-None-Match"] = "*"
        if match:
            headers["If-Match"] = match
        return self.ask("PUT", f"/{container}/{key}", body, headers)

    def get(self, key, container="bkt", span=None, headers=None):
        headers = dict(headers or {})
        if span:
            headers["x-ms-range"] = f"bytes={span}"
        return self.ask("GET", f"/{container}/{key}", headers=headers)

    def head(self, key, container="bkt"):
        return self.ask("HEAD", f"/{container}/{key}")

    def delete(self, key, container="bkt"):
        return self.ask("DELETE", f"/{container}/{key}")

    def make(self, container):
        return self.ask("PUT", f"/{container}", query={"restype": "container"})

    def probe(self, container):
        return self.ask("GET", f"/{container}", query={"restype": "container"})

    def version(self, answer):
        return answer.headers["etag"]

    def list(self, prefix="", token=None, most=None, after=None):
        query = {"restype": "container", "comp": "list", "prefix": prefix}
        if token:
            query["marker"] = token
        if most:
            query["maxresults"] = most
        answer = self.ask("GET", "/bkt", query=query)
        if answer.status != 200:
            return answer, [], None
        root = xml.etree.ElementTree.fromstring(answer.body)
        names = [element.text for element in root.findall("Blobs/Blob/Name")]
        return answer, names, root.findtext("NextMarker") or None


DIALECTS = [S3, Gcs, Azure]
LOST = (ConnectionError, http.client.HTTPException, socket.timeout)


class StoreCase(unittest.TestCase):
    """One server for all tests of a class; each test begins without objects, rules and counts."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}")

    def setUp(self):
        self.fresh()

    def fresh(self):
        self.server.control(reset="all", rules=[], latency={}, bandwidth={}, clock_skew_ms=0, idle_close_ms=0,
                            seed=1)

    def rules(self, *rules):
        self.server.control(rules=list(rules))

    def each(self):
        """A fresh store and a client for each dialect."""
        for dialect in DIALECTS:
            with self.subTest(dialect=dialect.name):
                self.fresh()
                client = dialect(self.server)
                try:
                    yield client
                finally:
                    client.close()

    def expect(self, answer, wanted):
        if isinstance(wanted, int):
            self.assertEqual(answer.status, wanted, answer.body)
        else:
            self.assertEqual((answer.status, answer.code), wanted, answer.body)


def events(server):
    return [(entry["event"], entry["applied"]) for entry in server.journal()]


class FaultCase(StoreCase):

    def fails(self, call, *arguments, **named):
        """The connection ends instead of an answer."""
        with self.assertRaises(LOST) as caught:
            call(*arguments, **named)
        return caught.exception

    def until(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, "it never came")
            time.sleep(0.002)

    def settle(self):
        """Waits for late writes."""
        self.until(lambda: not self.server.counters()["late_pending"])

    def fired(self):
        return [rule["fired"] for rule in self.server.counters()["rules"]]


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
