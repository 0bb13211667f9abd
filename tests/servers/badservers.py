# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Servers that others use for tests and that break the promise: each must be refused, and with the right reason.

s3rver ignores the condition: whatever opens for writing refuses it. moto checks and then stores: it looks right to any
one process, so that `init` takes it, and only a race tells. A pause between the two makes its window wide enough to
be hit every time; without one it was hit in one of some races.
"""

import pathlib
import shutil
import sys

import realservers
import runningserver
import signedrequest
import unsafestores

MOTO_WITH_PAUSE = """
import sys, time
import moto.s3.models
from moto.server import main
put = moto.s3.models.S3Backend.put_object
def slow_put(*words, **named):
    time.sleep(0.02)
    return put(*words, **named)
moto.s3.models.S3Backend.put_object = slow_put
main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""


class S3rver(realservers.S3Server):
    name, version = "s3rver", "3.7.1"
    keys = ("S3RVER", "S3RVER")

    def program(self):
        return self.folder() / "bin" / "s3rver"

    def install(self):
        realservers.npm_install(f"s3rver@{self.version}", self.folder(), "s3rver/bin/s3rver.js", self.program())

    def words(self, data, port, tls):
        return [self.program(), "-a", "127.0.0.1", "-p", port, "-d", data, "--configure-bucket", realservers.BUCKET]

    def make_bucket(self, endpoint, ca_file):
        return signedrequest.s3(endpoint, self.keys, "PUT", f"/{realservers.BUCKET}/ready", b"x")[0] == 200


class Moto(realservers.S3Server):
    name, version = "moto", "5.2.5"
    keys = realservers.ROOT_KEYS

    def program(self):
        return self.folder() / "bin" / "moto_server"

    def install(self):
        shutil.rmtree(self.folder(), ignore_errors=True)
        realservers.command([sys.executable, "-m", "venv", self.folder()])
        realservers.command([self.folder() / "bin" / "pip", "install", "-q", f"moto[server]=={self.version}"])

    def words(self, data, port, tls):
        script = pathlib.Path(data) / "paused.py"
        script.write_text(MOTO_WITH_PAUSE, encoding="utf-8")
        return [self.folder() / "bin" / "python", script, port]

    def make_bucket(self, endpoint, ca_file):
        return (signedrequest.s3(endpoint, self.keys, "PUT", f"/{realservers.BUCKET}")[0] == 200
                and super().make_bucket(endpoint, ca_file))


def environment_of(server):
    return {**server.environment, "AWS_ACCESS_KEY_ID": server.server.keys[0],
            "AWS_SECRET_ACCESS_KEY": server.server.keys[1]}


def check_s3rver(tally, server):
    environment = environment_of(server)
    tally.refused(environment, ["overwrites an object", "[STORE_UNSAFE]"], "init", server.url("new"), "--dp", "1")


def check_moto(tally, server):
    environment = environment_of(server)
    tally.batchweave(environment, "init", server.url("new"), "--dp", "1")
    for number in range(unsafestores.RACES):
        good, said = unsafestores.race(tally, server.url(f"race-{number}"), environment)
        tally.expect(0 <= good < unsafestores.NAMES // 2 and "heard CREATED, the object is" in said,
                     f"moto, race {number}: {good} of {unsafestores.NAMES} names went well:\n{said[-1000:]}")


SERVERS = {server.name: server for server in (S3rver(), Moto())}
CHECKS = {"s3rver": check_s3rver, "moto": check_moto}
# Minutes to install: only where somebody has.
FROM_CACHE = ("moto",)


def check_bad(tally):
    for name, server in SERVERS.items():
        if name in FROM_CACHE and not server.program().is_file():
            print(f"{name}: not in the cache, so not run (tools/stores install {name})", flush=True)
            continue
        with tally.part(f"{name} {server.version}, which breaks its promise"):
            with runningserver.running(server) as running:
                CHECKS[name](tally, running)
