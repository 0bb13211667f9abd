# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Who is believed: only a server whose certificate is right. Nobody else sees a request; no redirect is followed."""

import contextlib
import pathlib
import socket
import ssl
import tempfile
import threading
import warnings

import realservers
import runningserver

PLACES = {"s3": f"s3://{realservers.BUCKET}/run", "gs": f"gs://{realservers.BUCKET}/run",
          "az": f"az://{realservers.ACCOUNT}/{realservers.BUCKET}/run"}
# "There is no such object", as each kind of store says it.
ABSENT = {
    "s3": ("application/xml", "", "<Error><Code>NoSuchKey</Code></Error>"),
    "gs": ("application/json", "", '{"error":{"code":404,"message":"absent","errors":[{"reason":"notFound"}]}}'),
    "az": ("application/xml", "x-ms-error-code: BlobNotFound\r\n", "<Error><Code>BlobNotFound</Code></Error>"),
}
REDIRECTS = (301, 302, 303, 307, 308)


def absent(dialect):
    kind, header, body = ABSENT[dialect]
    return (f"HTTP/1.1 404 Not Found\r\nContent-Type: {kind}\r\n{header}Connection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def moved(status, where):
    return (f"HTTP/1.1 {status} Moved\r\nLocation: {where}/bkt/run\r\nConnection: close\r\nContent-Length: 0\r\n"
            "\r\n").encode()


class Listener:
    """Answers every request on 127.0.0.1 with the same bytes, and counts the requests that it could read."""

    def __init__(self, certificate=None, key=None, answer=absent("s3"), newest=None):
        self.requests = 0
        self.answer = answer
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate, key)
        if newest is not None:
            self.context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                self.context.minimum_version = ssl.TLSVersion.TLSv1
                self.context.maximum_version = newest
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.authority = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), peer:
                peer.settimeout(10)
                if self.context is None:
                    self.reply(peer)
                    continue
                with self.context.wrap_socket(peer, server_side=True) as secured:
                    self.reply(secured)

    def reply(self, peer):
        heard = peer.recv(65536)
        # A greeting of TLS is no request.
        self.requests += heard[:1].isalpha()
        if heard:
            peer.sendall(self.answer)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def make(folder):
    """An authority, and what it signed: good, expired, for another host; and one that signed itself."""
    run = lambda *words: realservers.command(["openssl", *words], cwd=folder)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "30",
        "-subj", "/CN=authority of a test", "-addext", "basicConstraints=critical,CA:TRUE")
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    for name, days, names in (("good", "30", "IP:127.0.0.1"), ("expired", "-1", "IP:127.0.0.1"),
                              ("other", "30", "DNS:example.org")):
        (folder / "names").write_text(f"subjectAltName={names}\n", encoding="utf-8")
        run("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", days,
            "-extfile", "names", "-out", f"{name}.crt")
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "self.key", "-out", "self.crt", "-days", "30",
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")


class Matrix:
    def __init__(self, tally, folder):
        self.tally, self.folder = tally, folder
        self.key = folder / "server.key"
        self.environment = runningserver.client_environment(folder)

    def signed(self, name, **more):
        return Listener(self.folder / f"{name}.crt", self.key, **more)

    def row(self, dialect, name, server, code, heard, says, scheme="https", trusted=True):
        """`info` on that server ends in `code`, says why, and the server did or did not hear of it."""
        url = f"{PLACES[dialect]}?endpoint={scheme}://{server.authority}"
        url += f"&ca_file={self.folder}/ca.crt" if trusted else ""
        found, out, err = self.tally.ask(self.environment, "info", url, "--set", "retry_limit=10ms")
        server.close()
        self.tally.expect(found == code and (server.requests > 0) == heard and says in err,
                          f"{dialect}, {name}: exit {found} of {code}, {server.requests} requests, without "
                          f"\"{says}\":\n{out}{err}")

    def certificates(self, dialect):
        row = lambda *words, **more: self.row(dialect, *words, **more)
        row("the right certificate", self.signed("good", answer=absent(dialect)), 3, True, "NO_NAMESPACE")
        row("an authority that nobody trusts", self.signed("good"), 4, False, "unable to get local issuer",
            trusted=False)
        row("an expired one", self.signed("expired"), 4, False, "expired")
        row("another host's", self.signed("other"), 4, False, "host name")
        row("one that signed itself", Listener(self.folder / "self.crt", self.folder / "self.key"), 4, False,
            "self-signed")
        row("TLS 1.1", self.signed("good", newest=ssl.TLSVersion.TLSv1_1), 4, False, "protocol")
        row("no TLS at all", Listener(), 4, False, "SSL")

    def redirects(self, dialect):
        for status in REDIRECTS:
            for name, elsewhere, scheme in (("another host", self.signed("good"), "https"),
                                            ("plain http", Listener(), "http")):
                server = self.signed("good", answer=moved(status, f"{scheme}://{elsewhere.authority}"))
                self.row(dialect, f"{status} to {name}", server, 1, True, "redirects are not followed")
                elsewhere.close()
                self.tally.expect(elsewhere.requests == 0, f"{dialect}: {status} to {name} was followed")


def check_matrix(tally):
    with tempfile.TemporaryDirectory(prefix="batchweave-tls-") as folder:
        folder = pathlib.Path(folder)
        make(folder)
        matrix = Matrix(tally, folder)
        for dialect, place in PLACES.items():
            matrix.certificates(dialect)
            matrix.redirects(dialect)
            tally.refused(matrix.environment, ["plain http to another machine", "[INVALID]"], "info",
                          f"{place}?endpoint=http://192.0.2.1")


def check_private(tally, server, job):
    """A real server behind a certificate of a private authority: the main job, and a client that does not know it."""
    with tempfile.TemporaryDirectory(prefix="batchweave-tls-") as folder:
        folder = pathlib.Path(folder)
        make(folder)
        with runningserver.running(server, folder) as secured:
            job.check(secured, "jobs/run7")
            tally.refused(secured.environment, ["unable to get local issuer"], "info",
                          secured.url("jobs/run7", trusted=False), "--set", "retry_limit=10ms")
            if server.speaks_http2:
                check_http2(tally, secured, job)


def check_http2(tally, secured, job):
    """The main job again, by HTTP/2: that it is, the server's log says, where it has one."""
    told = lambda: secured.server.tells_http2 in (secured.folder / "log").read_text(encoding="utf-8", errors="replace")
    before = told()
    secured.settings = "&http=2"
    job.check(secured, "jobs/run8")
    if secured.server.tells_http2:
        tally.expect(not before and told(), f"{secured.server.name}: HTTP/2 was not spoken, or before it was asked for")
