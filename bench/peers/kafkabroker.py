# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""One KRaft broker, its own controller, as a process of this one; it ends with it.

Limits are raised as batches of hundreds of megabytes ask for; socket.request.max.bytes among them, which else caps
messages at 100 MB without saying so. All factors are 1, for there is one broker. `durable`: every appended batch is
flushed to the device before it is acknowledged, as a file store of ours does; else it is in the page cache, as ours
with durable=false.
"""

import base64
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import kafkainstall

MESSAGE_BYTES_MAX = 400_000_000
START_S, STOP_S = 240, 60
LOGGING = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
"""


def properties(place: pathlib.Path, port: int, controller: int, durable: bool) -> dict[str, object]:
    return {
        "process.roles": "broker,controller", "node.id": 1,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "log.dirs": place / "logs",
        "auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": 0,
        "message.max.bytes": MESSAGE_BYTES_MAX, "replica.fetch.max.bytes": MESSAGE_BYTES_MAX,
        "replica.fetch.response.max.bytes": MESSAGE_BYTES_MAX,
        "socket.request.max.bytes": 419_430_400, "fetch.max.bytes": 419_430_400,
        "offsets.topic.replication.factor": 1, "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1, "share.coordinator.state.topic.min.isr": 1,
        # A segment must hold more than a batch.
        "log.segment.bytes": 1 << 30,
        # What a turn wrote is gone before the next one needs the room.
        "log.segment.delete.delay.ms": 100, "log.retention.hours": -1,
        **({"log.flush.interval.messages": 1} if durable else {}),
    }


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def end_with_parent() -> None:
    """In the child, before it becomes the broker."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


class Broker:
    """A fresh one, its data in `place`, which is emptied before and removed after."""

    def __init__(self, place: pathlib.Path, *, durable: bool = False, heap_mb: int = 4096) -> None:
        self.place, self.durable, self.heap_mb = place, durable, heap_mb
        self.folder = kafkainstall.install()
        self.port, self._controller = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.settings = {name: str(value) for name, value in
                         properties(place, self.port, self._controller, durable).items()
                         if name.endswith((".bytes", ".interval.messages", ".factor", ".isr"))}
        self.settings |= {"kafka": kafkainstall.VERSION, "java": f"-Xms{heap_mb}m -Xmx{heap_mb}m -XX:+UseG1GC"}

    @property
    def pid(self) -> int:
        return self._process.pid

    def _java(self) -> list[str]:
        memory = [f"-Xms{self.heap_mb}m", f"-Xmx{self.heap_mb}m", f"-XX:MaxDirectMemorySize={self.heap_mb}m"]
        return ["java", *memory, "-XX:+UseG1GC", f"-Dlog4j2.configurationFile={self.place / 'log4j2.properties'}",
                "-cp", f"{self.folder / 'jars'}/*"]

    def start(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        (self.place / "log4j2.properties").write_text(LOGGING, encoding="ascii")
        given = self.place / "server.properties"
        given.write_text("".join(f"{name}={value}\n" for name, value in properties(
            self.place, self.port, self._controller, self.durable).items()), encoding="utf-8")
        # As `kafka-storage random-uuid` makes it; a machine that runs for seconds is not worth compiling for.
        identity = base64.urlsafe_b64encode(b"\0" + os.urandom(15)).decode().rstrip("=")
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", *self._java()[5:]]
        subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(given), "--standalone"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.log = self.place / "broker.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen([*self._java(), "kafka.Kafka", str(given)], stdin=subprocess.DEVNULL,
                                             stdout=output, stderr=subprocess.STDOUT, preexec_fn=end_with_parent)
        try:
            self._await_start()
        except BaseException:
            self.stop()
            raise

    def _await_start(self) -> None:
        end = time.monotonic() + START_S
        while b"Kafka Server started" not in self.log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > end:
                tail = self.log.read_text(encoding="utf-8", errors="replace")[-1500:]
                raise RuntimeError(f"the broker did not start: {tail}")
            time.sleep(0.2)

    def resident_bytes(self) -> int:
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.place, ignore_errors=True)

    def __enter__(self) -> "Broker":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
