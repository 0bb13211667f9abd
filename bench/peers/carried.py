# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What both ways of carrying batches share, so that both are measured alike: marks in payloads, threads, figures."""

import itertools
import os
import statistics
import struct
import threading
from typing import Any, Callable

import side

# At the beginning of each slice: number of the batch, slice.
STAMP = struct.Struct("<QI")
TIMEOUT_S = 120


def payload(total: int) -> bytearray:
    """Bytes that nobody can compress."""
    some = os.urandom(min(total, 4 << 20))
    return bytearray(some * -(-total // len(some)))[:total]


def stamp(memory: bytearray, world: int, number: int) -> None:
    size = len(memory) // world
    for slot in range(world):
        STAMP.pack_into(memory, slot * size, number, slot)


def shares(batches: int, producers: int) -> list[int]:
    """How many of the batches each producer makes."""
    return [len(range(number, batches, producers)) for number in range(producers)]


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Raises the first failure, when all have ended."""
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def cpu_s_per_gb(meter: side.Meter, payload_bytes: int) -> float:
    return (meter.cpu_s + (meter.server_cpu_s or 0)) / (payload_bytes / 1e9)


def produce_figures(meter: side.Meter, batches: int, payload_bytes: int) -> dict[str, float]:
    return {"mb_per_s": payload_bytes / 1e6 / meter.wall_s, "batches_per_s": batches / meter.wall_s,
            "cpu_s_per_gb": cpu_s_per_gb(meter, payload_bytes)}


def read_figures(meter: side.Meter, waits: list[list[float]], useful_bytes: int, wire_bytes: float) -> dict[str, float]:
    """Of all ranks; without each rank's first wait, which is that of its opening."""
    later = list(itertools.chain.from_iterable(one[1:] for one in waits)) or list(itertools.chain(*waits))
    return {"mb_per_s_per_rank": useful_bytes / 1e6 / meter.wall_s / len(waits),
            "amplification": wire_bytes / useful_bytes,
            **{f"p{share}_ms": side.quantile(later, share / 100) * 1e3 for share in (50, 95, 99)},
            "cpu_s_per_gb": cpu_s_per_gb(meter, useful_bytes)}


def commit_figures(samples: list[float], metadata_bytes: int, wall_s: float) -> dict[str, float]:
    edge = max(1, len(samples) // 20)
    return {"commits_per_s": len(samples) / wall_s, "metadata_bytes": float(metadata_bytes),
            "metadata_bytes_per_commit": metadata_bytes / len(samples),
            "commit_us": statistics.median(samples) * 1e6, "first_us": statistics.median(samples[:edge]) * 1e6,
            "last_us": statistics.median(samples[-edge:]) * 1e6}


def course_us(samples: list[float], points: int = 100) -> list[float]:
    """Medians of consecutive equal parts."""
    size = max(1, len(samples) // points)
    return [statistics.median(samples[at:at + size]) * 1e6 for at in range(0, len(samples), size)]


def same_order(orders: list[list[int]]) -> None:
    if any(order != orders[0] for order in orders):
        raise RuntimeError("ranks saw batches in different orders")


def own_slice(start: Any, rank: int) -> int:
    """The number of the batch that a slice begins with; raises where it is another rank's."""
    number, slot = STAMP.unpack_from(start)
    if slot != rank:
        raise RuntimeError(f"rank {rank} got the slice of rank {slot}")
    return int(number)
