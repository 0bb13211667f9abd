# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The C client that the confluent-kafka wheel has inside, called without the copies that its Python layer makes of
every payload: of messages that are whole batches these would be a large part of what is measured, and not Kafka's.

`use(folder)` loads the library of a folder that the wheel was unpacked into. A handle belongs to one thread.
"""

import ctypes
import pathlib
import socket
import struct
from typing import Any, Callable

PRODUCER, CONSUMER = 0, 1
OFFSET_BEGINNING = -2
QUEUE_FULL, PARTITION_EOF = -184, -191
# Of struct tcp_info (linux/tcp.h): the u64 tcpi_bytes_received.
TCP_RECEIVED_AT, TCP_INFO_BYTES = 128, 256


class Failure(RuntimeError):
    """What the library or the broker said."""


class Message(ctypes.Structure):
    """rd_kafka_message_t, part of the library's stable interface."""

    _fields_ = [("err", ctypes.c_int), ("topic", ctypes.c_void_p), ("partition", ctypes.c_int32),
                ("payload", ctypes.c_void_p), ("length", ctypes.c_size_t), ("key", ctypes.c_void_p),
                ("key_length", ctypes.c_size_t), ("offset", ctypes.c_int64), ("private", ctypes.c_void_p)]


DELIVERED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Message), ctypes.c_void_p)
CLOSED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

P, I, Z, S = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "version_str": (S, []),
    "err2str": (S, [I]),
    "last_error": (I, []),
    "conf_new": (P, []),
    "conf_set": (I, [P, S, S, S, Z]),
    "conf_set_dr_msg_cb": (None, [P, DELIVERED]),
    "conf_set_closesocket_cb": (None, [P, CLOSED]),
    "new": (P, [I, P, S, Z]),
    "destroy": (None, [P]),
    "topic_new": (P, [P, S, P]),
    "topic_destroy": (None, [P]),
    "topic_name": (S, [P]),
    "produce": (I, [P, ctypes.c_int32, I, P, Z, P, Z, P]),
    "poll": (I, [P, I]),
    "flush": (I, [P, I]),
    "init_transactions": (P, [P, I]),
    "begin_transaction": (P, [P]),
    "commit_transaction": (P, [P, I]),
    "error_string": (S, [P]),
    "error_destroy": (None, [P]),
    "poll_set_consumer": (I, [P]),
    "topic_partition_list_new": (P, [I]),
    "topic_partition_list_add": (P, [P, S, ctypes.c_int32]),
    "topic_partition_list_set_offset": (I, [P, S, ctypes.c_int32, ctypes.c_int64]),
    "topic_partition_list_destroy": (None, [P]),
    "assign": (I, [P, P]),
    "consumer_poll": (ctypes.POINTER(Message), [P, I]),
    "message_destroy": (None, [ctypes.POINTER(Message)]),
    "consumer_close": (I, [P]),
}


class Library:
    """The functions by their names without rd_kafka_. Calls release the interpreter's lock."""

    def __init__(self, path: pathlib.Path) -> None:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(loaded, f"rd_kafka_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.version = self.version_str().decode()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def must(self, error: int | None) -> None:
        """Of functions that answer an rd_kafka_error_t, or none."""
        if error:
            text = self.error_string(error).decode()
            self.error_destroy(error)
            raise Failure(text)


def use(folder: str | pathlib.Path) -> Library:
    found, = (pathlib.Path(folder) / "confluent_kafka.libs").glob("librdkafka-*.so.1")
    return Library(found)


class Handle:
    """A client with settings of its own; it counts what its sockets received, as the kernel did, when they close."""

    def __init__(self, library: Library, kind: int, settings: dict[str, Any],
                 delivered: Callable[[int], None] | None = None) -> None:
        self.library, self.received_bytes = library, 0
        self._topics: dict[str, int] = {}
        # ctypes forgets a callback that nobody holds.
        self._closed = CLOSED(self._count)
        self._delivered = DELIVERED(lambda _rk, message, _opaque: delivered(message.contents.err) if delivered
                                    else None)
        told = ctypes.create_string_buffer(512)
        conf = library.conf_new()
        for name, value in settings.items():
            text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
            if library.conf_set(conf, name.encode(), text.encode(), told, 512) != 0:
                raise Failure(told.value.decode())
        library.conf_set_closesocket_cb(conf, self._closed)
        if kind == PRODUCER:
            library.conf_set_dr_msg_cb(conf, self._delivered)
        self.pointer = library.new(kind, conf, told, 512)
        if not self.pointer:
            raise Failure(told.value.decode())

    def _count(self, number: int, _opaque: Any) -> int:
        with socket.socket(fileno=number) as one:
            info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            if len(info) >= TCP_RECEIVED_AT + 8:
                self.received_bytes += struct.unpack_from("=Q", info, TCP_RECEIVED_AT)[0]
        return 0

    def topic(self, name: str) -> int:
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.pointer, name.encode(), None)
            if not self._topics[name]:
                raise Failure(self.library.err2str(self.library.last_error()).decode())
        return self._topics[name]

    def close(self) -> None:
        for topic in self._topics.values():
            self.library.topic_destroy(topic)
        self._topics.clear()
        if self.pointer:
            self.library.destroy(self.pointer)
            self.pointer = None


class Producer(Handle):
    def __init__(self, library: Library, settings: dict[str, Any]) -> None:
        self.waiting = 0
        self.failed: str | None = None
        super().__init__(library, PRODUCER, settings, self._told)

    def _told(self, error: int) -> None:
        self.waiting -= 1
        if error:
            self.failed = self.library.err2str(error).decode()

    def send(self, topic: str, partition: int, address: int, length: int) -> None:
        """The memory stays the caller's and must not change until it is delivered."""
        while self.library.produce(self.topic(topic), partition, 0, address, length, None, 0, None) != 0:
            code = self.library.last_error()
            if code != QUEUE_FULL:
                raise Failure(self.library.err2str(code).decode())
            self.wait(self.waiting - 1)
        self.waiting += 1

    def wait(self, at_most: int = 0) -> None:
        """Until not more than so many messages wait to be acknowledged."""
        while self.waiting > at_most and self.failed is None:
            self.library.poll(self.pointer, 100)
        if self.failed is not None:
            raise Failure(self.failed)

    def begin(self) -> None:
        self.library.must(self.library.begin_transaction(self.pointer))

    def commit(self, timeout_s: float) -> None:
        self.library.must(self.library.commit_transaction(self.pointer, int(timeout_s * 1000)))
        self.wait()

    def start_transactions(self, timeout_s: float) -> None:
        self.library.must(self.library.init_transactions(self.pointer, int(timeout_s * 1000)))


class Consumer(Handle):
    """Of partitions that it is assigned, from their beginning; no group."""

    def __init__(self, library: Library, settings: dict[str, Any]) -> None:
        super().__init__(library, CONSUMER, settings)
        library.poll_set_consumer(self.pointer)

    def assign(self, parts: list[tuple[str, int]]) -> None:
        library = self.library
        assigned = library.topic_partition_list_new(len(parts))
        for topic, partition in parts:
            library.topic_partition_list_add(assigned, topic.encode(), partition)
            library.topic_partition_list_set_offset(assigned, topic.encode(), partition, OFFSET_BEGINNING)
        code = library.assign(self.pointer, assigned)
        library.topic_partition_list_destroy(assigned)
        if code:
            raise Failure(library.err2str(code).decode())

    def next(self, timeout_s: float) -> "Any":
        """A pointer to a Message, to be given back by `give_back`."""
        message = self.library.consumer_poll(self.pointer, int(timeout_s * 1000))
        if not message:
            raise Failure(f"no message in {timeout_s:g} s")
        if message.contents.err:
            code = message.contents.err
            self.library.message_destroy(message)
            raise Failure(self.library.err2str(code).decode())
        return message

    def topic_of(self, message: "Any") -> str:
        name: str = self.library.topic_name(message.contents.topic).decode()
        return name

    def give_back(self, message: "Any") -> None:
        self.library.message_destroy(message)

    def close(self) -> None:
        if self.pointer:
            self.library.consumer_close(self.pointer)
        super().close()
