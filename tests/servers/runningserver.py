# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A real server as a process of its own: started, killed, started again on the same data."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import realservers
import signedrequest

READY_SECONDS = 60
TERM_SECONDS = 20
# What a user may have set, and what would decide instead of the keys of the test.
FOREIGN = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE",
           "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS",
           "BATCHWEAVE_FAULT")


def free_port(count=1):
    """The first of `count` ports in a row that nobody has; far from those that connections get."""
    for first in range(20000 + os.getpid() % 8000, 32000, count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    probe = stack.enter_context(socket.socket())
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return first
    raise SystemExit("stores: no free port")


def client_environment(home, **more):
    """For programs of ours: the keys of the servers, and no file of the user's."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, **realservers.KEYS, "HOME": str(home), **more}


class RunningServer:
    def __init__(self, server, folder, tls=None):
        self.server, self.folder, self.tls = server, folder, tls
        self.data = folder / "data"
        self.port = free_port(server.ports)
        self.endpoint = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.ca_file = str(tls / "ca.crt") if tls else None
        self.settings = ""  # of each URL, as they stand in it
        self.environment = client_environment(folder, STORE_ENDPOINT=self.endpoint, STORE_URL=self.url("run"))
        self.process = None
        server.prepare(self.data)

    def url(self, path, trusted=True):
        more = f"&ca_file={self.ca_file}" if self.tls and trusted else ""
        return f"{self.server.place}/{path}?endpoint={self.endpoint}{more}{self.settings}"

    def files(self, path):
        return self.server.files_of(self.data, path)

    def start(self):
        """Until it takes objects."""
        words = [str(word) for word in self.server.words(self.data, self.port, self.tls)]
        environment = {**os.environ, **self.server.environment()}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        until = time.monotonic() + READY_SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            if self.is_ready():
                return
            time.sleep(0.1)
        tail = (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"{self.server.name} did not start:\n{tail}")

    def is_ready(self):
        try:
            signedrequest.send("GET", self.endpoint + self.server.ready, ca_file=self.ca_file)
            return self.server.make_bucket(self.endpoint, self.ca_file)
        except OSError:
            return False

    def end(self, how=signal.SIGKILL):
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, how)
        try:
            self.process.wait(TERM_SECONDS)
        except subprocess.TimeoutExpired:
            if how == signal.SIGKILL:
                raise
            self.end()
            raise RuntimeError(f"{self.server.name} does not end on signal {how}") from None
        self.process = None


@contextlib.contextmanager
def running(server, tls=None):
    """A server of its own, with an empty bucket."""
    realservers.install(server)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"batchweave-{server.name}-"))
    one = RunningServer(server, folder, tls)
    try:
        one.start()
        yield one
    finally:
        one.end()
        shutil.rmtree(folder, ignore_errors=True)
