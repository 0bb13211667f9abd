# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Installs what the Kafka baseline takes, into the cache: python3 bench/peers/kafkainstall.py prints its folder.

jars/ has the broker, by Maven; client/ the wheel of confluent-kafka with the C client; client-large/ an older one, for
messages of 2^28 bytes and more, which the newer cannot produce (its request holds the size in 28 bits). Java and Maven
come from Debian where they are missing. Nothing of it is part of the product.
"""

import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

POM = pathlib.Path(__file__).with_name("kafka.pom.xml")
CLIENTS = {"client": ["confluent-kafka==2.16.1", "typing-extensions==4.16.0"],
           "client-large": ["confluent-kafka==2.0.2"]}
PROGRAMS = {"java": "openjdk-17-jre-headless", "mvn": "maven"}
# Bytes of a message from which on client-large must send it.
LARGE_BYTES = 1 << 28
VERSION = "4.4.0"


def cache() -> pathlib.Path:
    usual = os.environ.get("XDG_CACHE_HOME")
    return pathlib.Path(usual) if usual else pathlib.Path.home() / ".cache"


def folder() -> pathlib.Path:
    what = [POM.read_text(encoding="utf-8"), repr(CLIENTS), sys.version]
    return cache() / f"batchweave-kafka-{hashlib.sha256(chr(10).join(what).encode()).hexdigest()[:12]}"


def command(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def install_programs() -> None:
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise RuntimeError(f"install {' and '.join(name for name in PROGRAMS if shutil.which(name) is None)} first")
    root = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    command(*apt, "update")
    command(*apt, "install", "-y", "--no-install-recommends", *missing)


def make(target: pathlib.Path) -> None:
    """Into a folder beside it, put in place by one rename."""
    print(f"bench: making {target}: a Kafka broker and its C client, 100 MB", file=sys.stderr, flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="batchweave-kafka-", dir=target.parent) as made:
        new = pathlib.Path(made) / "new"
        new.mkdir()
        command("mvn", "-q", "-B", "-f", POM, "dependency:copy-dependencies", f"-DoutputDirectory={new / 'jars'}")
        for name, pins in CLIENTS.items():
            command(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check",
                    "--only-binary", ":all:", "--target", new / name, *pins)
        if target.is_dir():
            return  # another was faster
        new.rename(target)


@functools.cache
def install() -> pathlib.Path:
    """The folder; made when it is not there."""
    install_programs()
    target = folder()
    if not target.is_dir():
        make(target)
    return target


if __name__ == "__main__":
    print(install())
