# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Keys, tokens and passwords that are planted: nothing that a command says, logs, saves or stores has a piece of one.

Each store's jobs run with all that may be said turned on; what goes wrong is wrong keys, endpoints, servers that
answer with what they were sent, and proxies. Environment: BATCHWEAVE_BINARY, BATCHWEAVE_TESTSTORE.
"""

import base64
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import unittest
import urllib.parse

from harness import CliTest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "teststore"))
sys.argv.insert(1, os.environ["BATCHWEAVE_TESTSTORE"])
import stores  # noqa: E402

WINDOW = 10  # so many characters of a secret in a row are a leak

SECRETS = {
    "secret key": "Zq8vKx2mPw5t/Ry7uBn4+Jd6hGf3sLc9eTa1",
    "session token": "FwoGZXIvYXdzEHplanted//token+session=Vx7Qm2Kp9",
    "bearer token": "ya29.planted-Bearer_Wk4Tn8Hz2Sc6Lj0",
    "account key": base64.b64encode(b"planted account key: 0123456789abcdef").decode(),
    "signature": "q3PlantedSig/7hN2+vB5xM8kD1wR6tY0uI4oE9aZcFjs=",
    "proxy password": "Hd5-planted.proxy~Yb7Ws3Ne",
    "wrong key": "Up6oWrongPlantedKey/4tRe2+Xc8Vb1Nm5Lk7Jh",
    "key in a URL": "Gt3inUrlPlanted9Kf5Vr7Bs1Mw",
}


def forms(secret):
    """A secret as it might be written: as it is, percent-encoded, hex, and base64 at each of three places."""
    for plain in {secret.encode(), raw_key(secret)}:
        yield plain
        yield urllib.parse.quote(plain, safe="").encode()
        yield urllib.parse.quote(plain, safe="").lower().encode()
        yield urllib.parse.quote(urllib.parse.quote(plain, safe=""), safe="").encode()
        yield b"".join(b"%%%02X" % byte for byte in plain)
        yield plain.hex().encode()
        yield plain.hex().upper().encode()
        for lead in range(3):
            coded = base64.b64encode(b"\0" * lead + plain)[4 if lead else 0:].rstrip(b"=")[:-1]
            yield coded
            yield coded.translate(bytes.maketrans(b"+/", b"-_"))


def raw_key(secret):
    """The bytes of the account key; of all others as they are."""
    return base64.b64decode(secret) if secret == SECRETS["account key"] else secret.encode()


def pieces(form):
    return {form[at:at + WINDOW] for at in range(len(form) - WINDOW + 1)}


NEEDLES = {name: sorted(set().union(*(pieces(form) for form in forms(secret)))) for name, secret in SECRETS.items()}


def leaks(text):
    """The names of the secrets of which `text` has a piece."""
    return [name for name, needles in NEEDLES.items() if any(needle in text for needle in needles)]


TOKENS = (b"x-amz-security-token", b"authorization: bearer")


class Echo:
    """Answers every request with a refusal that says all that was asked; as a proxy, too."""

    def __init__(self, status, content="text/plain", head=b"%s"):
        self.answer, self.content, self.head = status, content, head
        self.heard = b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    self.serve(connection)
                except OSError:
                    pass

    def serve(self, connection):
        heard = b""
        while b"\r\n\r\n" not in heard:
            more = connection.recv(65536)
            if not more:
                return
            heard += more
        self.heard += heard
        # Messages are cut: what is secret comes first.
        lines = sorted(heard.split(b"\r\n"), key=lambda line: not line.lower().startswith(TOKENS))
        said = b" ".join(lines).translate(bytes.maketrans(b'"', b"'"))
        if self.content == XML[0]:
            said = said.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        body = self.head % said
        connection.sendall(f"HTTP/1.1 {self.answer}\r\nContent-Type: {self.content}\r\nContent-Length: {len(body)}\r\n"
                           "Proxy-Authenticate: Basic realm=x\r\nConnection: close\r\n\r\n".encode() + body)

    def close(self):
        self.socket.close()


S3 = {"AWS_ACCESS_KEY_ID": "AKIDPLANTED", "AWS_SECRET_ACCESS_KEY": SECRETS["secret key"],
      "AWS_SESSION_TOKEN": SECRETS["session token"], "AWS_REGION": "us-east-1"}
GCS = {"GOOGLE_OAUTH_ACCESS_TOKEN": SECRETS["bearer token"]}
AZURE = {"AZURE_STORAGE_KEY": SECRETS["account key"]}
SAS = {"AZURE_STORAGE_SAS_TOKEN": "sv=2021-12-02&sp=rwdl&sig=" + urllib.parse.quote(SECRETS["signature"], safe="")}
CONNECTION = {"AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={stores.ACCOUNT};"
                                                 f"AccountKey={SECRETS['account key']}"}
# URL, environment, the same with something wrong, options of a server that checks them, what an echo answers.
XML = ("application/xml", b"<?xml version='1.0'?><Error><Code>%s</Code><Message>%%s</Message></Error>")
JSON = ("application/json", b'{"error":{"code":403,"message":"%s","errors":[{"reason":"forbidden","message":"%s"}]}}')
STORES = {
    "s3": ("s3://bkt/run", S3, {**S3, "AWS_SECRET_ACCESS_KEY": SECRETS["wrong key"]},
           ("--access-key", "AKIDPLANTED", "--secret-key", SECRETS["secret key"], "--session-token",
            SECRETS["session token"]), (XML[0], XML[1] % b"AccessDenied")),
    "gcs": ("gs://bkt/run", GCS, {"GOOGLE_OAUTH_ACCESS_TOKEN": SECRETS["wrong key"]},
            ("--bearer", SECRETS["bearer token"]), (JSON[0], JSON[1] % (b"%s", b""))),
    "azure": (f"az://{stores.ACCOUNT}/bkt/run", AZURE,
              {"AZURE_STORAGE_KEY": base64.b64encode(SECRETS["wrong key"].encode()).decode()},
              ("--account-key", SECRETS["account key"]), (XML[0], XML[1] % b"AuthenticationFailed")),
    "sas": (f"az://{stores.ACCOUNT}/bkt/run", SAS, {"AZURE_STORAGE_SAS_TOKEN": "sig=" + SECRETS["wrong key"]}, (),
            (XML[0], XML[1] % b"AuthenticationFailed")),
    "connection string": (f"az://{stores.ACCOUNT}/bkt/run", CONNECTION,
                          {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName={stores.ACCOUNT};AccountKey=no base64 "
                                                              f"{SECRETS['wrong key']}"},
                          ("--account-key", SECRETS["account key"]), (XML[0], XML[1] % b"AuthenticationFailed")),
}
NAMES = {name for _, good, bad, _, _ in STORES.values() for name in (*good, *bad)} | {
    "AWS_PROFILE", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}


class Secrets(CliTest):

    def setUp(self):
        super().setUp()
        for name in NAMES & set(os.environ):
            self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))
        (self.folder / "input.txt").write_text("a document\n" * 40)

    def serve(self, *options):
        server = stores.Server(*options)
        self.addCleanup(server.stop)
        return server

    def clean(self, text, where):
        self.assertEqual(leaks(text), [], f"{where}: {text[:4000]!r}")

    def run_one(self, url, endpoint, env, command, form, *more, timeout="300ms"):
        """A command with all that may be said; its exit code."""
        result = self.run_cli(*(url if word == "URL" else word for word in command), "-o", form, "--set", "log=debug",
                              "--set", f"endpoint={endpoint}", "--set", "request_timeout=500ms", "--set",
                              "retry_limit=50ms", "--timeout", timeout, *more, expect=None,
                              env={"HOME": str(self.folder), "AWS_EC2_METADATA_DISABLED": "true", **env})
        self.clean(result.out, f"{command} says")
        self.clean(result.err.encode(), f"{command} tells")
        return result.code

    def all_fail(self, cases, codes_fine=(2, 4, 5)):
        """(URL, endpoint, environment, command, more settings …), for people and for programs; many at once, since
        they mostly wait."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda case: self.run_one(*case[0][:4], case[1], *case[0][4:]),
                                  [(case, form) for case in cases for form in ("text", "json")]))
        self.assertEqual(set(codes) - set(codes_fine), set(), list(zip(codes, cases)))

    def clean_files(self):
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.clean(str(path).encode() + path.read_bytes(), path)

    JOB = [("init", "URL", "--dp", "2", "--set", "block_size=2"),
           ("produce", "URL", "--id", "p", "text:input.txt", "--seq-len", "16", "--progress"),
           ("consume", "URL", "--world", "2", "--group", "job", "--launch", "one", "--steps", "2", "--cursor", "cursor",
            "--digest", "--out", "items", "--pin-every", "1"),
           ("info", "URL"), ("inspect", "URL"), ("inspect", "URL", "genesis"), ("get", "URL", "1", "0", "0"),
           ("verify", "URL", "--deep"), ("group", "ls", "URL"), ("pin", "URL", "job", "kept", "--cursor", "cursor"),
           ("release", "URL", "job", "kept"), ("gc", "URL"), ("gc", "URL", "--apply"), ("seal", "URL"),
           ("consume", "URL", "--world", "2"), ("tail", "URL"), ("doctor", "URL")]

    def test_jobs_that_succeed(self):
        for name, (url, env, _, options, _) in STORES.items():
            with self.subTest(store=name):
                for left in ("cursor", "items"):
                    subprocess.run(["rm", "-rf", self.folder / left], check=True)
                server = self.serve(*options)
                at = f"http://127.0.0.1:{server.port}"
                codes = [self.run_one(url, at, env, command, form, timeout="20") for command in self.JOB
                         for form in ("text", "json")]
                self.assertGreater(codes.count(0), 24, codes)
                self.clean_files()
                stored = [entry["key"] for entry in server.journal() if entry["event"] == "created"]
                self.assertGreater(len(stored), 10)
                self.clean(json.dumps(server.journal()).encode(), "names on the store")
                self.clean_objects(server, stored, options)

    def clean_objects(self, server, stored, options):
        """What was written, read past the server's checks: by a dialect whose keys it was not given."""
        client = (stores.Gcs if "--access-key" in options else stores.S3)(server)
        read = 0
        for key in stored:
            answer = client.get(key.removeprefix("bkt/"))
            if answer.status == 200:
                read += 1
                self.clean(answer.body, key)
        client.close()
        self.assertGreater(read, 5)

    FEW = [("init", "URL", "--dp", "1"), ("info", "URL")]

    def test_wrong_keys(self):
        cases = []
        for url, _, env, options, _ in STORES.values():
            server = self.serve(*(options or ("--account-key", SECRETS["account key"])))
            cases += [(url, f"http://127.0.0.1:{server.port}", env, command) for command in
                      (*self.FEW, ("produce", "URL", "--id", "p", "text:input.txt"), ("consume", "URL", "--world", "1"),
                       ("doctor", "URL"))]
        self.all_fail(cases, (1, 2, 4))

    def test_what_the_store_refuses(self):
        cases, servers = [], []
        for url, env, _, options, _ in STORES.values():
            servers.append(self.serve(*options))
            cases.append((url, f"http://127.0.0.1:{servers[-1].port}", env, self.FEW[0]))
        for error in ("expired", "denied", "skewed", "bad_signature", "internal", "no_container", "slow_down", None):
            for server in servers:
                server.control(rules=[{"error": error} if error else {"end": "reset"}])
            self.all_fail(cases)

    def test_no_server_there(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.all_fail([(url, endpoint, env, self.FEW[0]) for url, env, _, _, _ in STORES.values() for endpoint in
                       (f"http://127.0.0.1:{port}", "http://192.0.2.1", "ftp://127.0.0.1", "nonsense",
                        f"http://user:{SECRETS['key in a URL']}@127.0.0.1:{port}")], (1, 2, 4))

    def test_keys_in_urls(self):
        key = SECRETS["key in a URL"]
        coded = urllib.parse.quote(SECRETS["signature"], safe="")
        for url in (f"s3://AKID:{key}@bkt/run", f"s3://bkt/run?secret_access_key={key}", f"s3://bkt/run?sig={coded}",
                    f"az://a/bkt/run?sv=1&sig={coded}", f"gs://bkt/run?access_token={key}", f"gs://u:{key}@bkt/run",
                    f"az://a:{key}@h/bkt/run", f"https://u:{key}@h/bkt", f"s3://bkt/run?endpoint=http://u:{key}@h"):
            for words in (("info", url), ("doctor", url), ("init", url, "--dp", "1"), ("verify", url, "-o", "json")):
                result = self.run_cli(*words, expect=None, env={**S3, "HOME": str(self.folder)})
                self.assertNotEqual(result.code, 0)
                self.clean(result.out + result.err.encode(), url.replace(key, "…"))

    def test_servers_that_say_what_they_heard(self):
        """They do, in debug pages and in the text of refusals: with the token in it, or the signature."""
        cases, echoes = [], []
        for url, env, _, _, (content, head) in STORES.values():
            for status in ("403 Forbidden", "400 Bad Request", "500 Oops", "302 Found", "200 OK"):
                echoes.append(Echo(status, content, head))
                cases += [(url, f"http://127.0.0.1:{echoes[-1].port}", env, command) for command in self.FEW]
        self.all_fail(cases)
        heard = b""
        for echo in echoes:
            echo.close()
            self.assertIn(b"HTTP/1.1", echo.heard)
            heard += echo.heard
        for name in ("session token", "bearer token", "signature"):
            self.assertIn(name, leaks(heard))  # it was there to be told

    def test_proxies(self):
        password = urllib.parse.quote(SECRETS["proxy password"], safe="")
        cases, echoes = [], [Echo("407 Proxy Authentication Required"), Echo("502 Bad Gateway")]
        for url, env, _, _, _ in STORES.values():
            for port in (*(echo.port for echo in echoes), 1):
                proxy = f"http://user:{password}@127.0.0.1:{port}"
                cases += [(url, endpoint, {**env, "http_proxy": proxy, "https_proxy": proxy}, self.FEW[0], "--set",
                           "plain_http=true") for endpoint in ("http://192.0.2.1", "https://192.0.2.1")]
        self.all_fail(cases)
        for echo in echoes:
            echo.close()
            self.assertIn("proxy password", leaks(echo.heard))

    def test_the_scan_finds_each_secret_in_each_form(self):
        for name, secret in SECRETS.items():
            for form in forms(secret):
                self.assertIn(name, leaks(b"before: " + form + b", after"), form)
            self.assertIn(name, leaks(b"cut off: " + secret.encode()[5:18] + b"..."))
        self.assertEqual(leaks(b"nothing of the kind, AKIDPLANTED"), [])


if __name__ == "__main__":
    unittest.main()
