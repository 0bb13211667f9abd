# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of which number and every byte can be told: what all sides store and hand out.

A sample begins with its number; behind it is a window of one pool of random bytes, at a place that follows from the
number. So whoever gets one knows which it is, and whether it is whole; and it does not compress.
"""

import random
import zlib
from typing import Any

HEAD = 8
POOL = random.Random(20).randbytes(1 << 20)


def window(number: int, size: int) -> bytes:
    start = number * 7919 % len(POOL)
    return (POOL * ((start + size) // len(POOL) + 1))[start:start + size]


def made(number: int, size: int) -> bytes:
    """Sample `number`, of `size` bytes (HEAD or more)."""
    return number.to_bytes(HEAD, "little") + window(number, size - HEAD)


def number_of(data: Any) -> int:
    """Which sample it is."""
    return int.from_bytes(bytes(memoryview(data)[:HEAD]), "little")


def checked(data: Any) -> tuple[int, int]:
    """(number, CRC-32) of a sample. Raises ValueError when a byte of it is wrong."""
    whole = bytes(memoryview(data))
    number = number_of(whole)
    if whole[HEAD:] != window(number, len(whole) - HEAD):
        raise ValueError(f"sample {number} of {len(whole)} bytes is not what was stored")
    return number, zlib.crc32(whole)


def length_of(number: int, least: int = 64, most: int = 1024) -> int:
    """Tokens that sample `number` counts as where batches are packed: uneven, the same each time."""
    return least + random.Random(number).randrange(most - least)
