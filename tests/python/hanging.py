# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""An object store in a thread, as S3 speaks, that can be made to hang: it takes a request and never answers.

No stand-in for a real one (tests/servers has those): it is for waits, and knows no keys and no signatures.
"""

import http.server
import threading
import urllib.parse
from typing import Any, Callable, Dict, List, Optional
from xml.sax.saxutils import escape


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # an open comes with a dozen connections at once

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked does not wait for the answer any more."""


class Store:
    """`hangs` (method, path) -> bool says which requests are not answered; `held` is set once one was not."""

    def __init__(self) -> None:
        self.objects: Dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.hangs: Callable[[str, str], bool] = lambda method, path: False
        self.held, self.released = threading.Event(), threading.Event()
        handler = type("Handler", (Handler,), {"store": self})
        self.server = Server(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def settings(self) -> Dict[str, Any]:
        """Of a namespace here."""
        return {"endpoint": f"http://127.0.0.1:{self.server.server_address[1]}", "region": "here", "style": "path",
                "anonymous": True}

    def hang(self, method: str, word: str = "") -> None:
        """From now on, requests of `method` with `word` in their path are not answered."""
        self.held.clear()
        self.hangs = lambda m, path: m == method and word in path

    def answer(self) -> None:
        """From now on, again; those that were not answered are cut off, and nothing of them was done."""
        self.hangs = lambda method, path: False
        self.released.set()
        self.released = threading.Event()

    def close(self) -> None:
        self.answer()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second would wait for the first one's acknowledgement
    store: Store

    def log_message(self, *_: object) -> None:
        pass

    def begin(self) -> Optional[bytes]:
        """The body; None: this one hung, and is not to be answered."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        released = self.store.released
        if self.store.hangs(self.command, self.path):
            self.store.held.set()
            released.wait()
            self.close_connection = True
            return None
        return body

    def tell(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fail(self, status: int, code: str) -> None:
        self.tell(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    @property
    def key(self) -> str:
        return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)

    def do_PUT(self) -> None:
        body = self.begin()
        if body is None:
            return
        with self.store.lock:
            there = self.key in self.store.objects
            if not (there and "If-None-Match" in self.headers):
                self.store.objects[self.key] = body
        if there and "If-None-Match" in self.headers:
            self.fail(412, "PreconditionFailed")
        else:
            self.tell(200, ETag='"x"')

    def do_GET(self) -> None:
        if self.begin() is None:
            return
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if "list-type" in query:
            self.list(query)
            return
        with self.store.lock:
            body = self.store.objects.get(self.key)
        if body is None:
            self.fail(404, "NoSuchKey")
        elif "Range" in self.headers:
            first, last = (int(n) for n in self.headers["Range"].removeprefix("bytes=").split("-"))
            part = body[first:last + 1]
            self.tell(206, part, Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(body)}")
        else:
            self.tell(200, body)

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        if self.begin() is None:
            return
        with self.store.lock:
            self.store.objects.pop(self.key, None)
        self.tell(204)

    def list(self, query: Dict[str, List[str]]) -> None:
        folder = self.key.rstrip("/") + "/"
        prefix, after = query.get("prefix", [""])[0], query.get("start-after", [""])[0]
        with self.store.lock:
            names = sorted(name.removeprefix(folder) for name in self.store.objects if name.startswith(folder))
        found = [name for name in names if name.startswith(prefix) and name > after]
        rows = "".join(f"<Contents><Key>{escape(urllib.parse.quote(name))}</Key><Size>1</Size></Contents>"
                       for name in found)
        self.tell(200, ("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
                        f"{rows}</ListBucketResult>").encode())
