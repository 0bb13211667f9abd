# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a packer as bytes: LEB128 numbers, small enough to travel with each commit.

    1, seq_len, method, open_rows, age, long, bytes of the input's digest, these, next, complete rows, open rows,
    then each row: pieces, and each piece: zigzag(index − index before), start, length

The index before the first piece is `next`.
"""

from __future__ import annotations

from typing import List, Sequence, Tuple

from .errors import Invalid

FORMAT = 1
SETTINGS = 5
Place = Tuple[int, int, int]
State = Tuple[Tuple[int, ...], bytes, int, List[List[Place]], List[List[Place]]]


def _put(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def encode(settings: Sequence[int], digest: bytes, following: int, ready: Sequence[Sequence[Place]],
           opened: Sequence[Sequence[Place]]) -> bytes:
    """(index, start, length) of all pieces of all rows."""
    out = bytearray()
    for number in (FORMAT, *settings, len(digest)):
        _put(out, number)
    out += digest
    for number in (following, len(ready), len(opened)):
        _put(out, number)
    before = following
    for row in (*ready, *opened):
        _put(out, len(row))
        for index, start, length in row:
            step = index - before
            _put(out, step << 1 if step >= 0 else (-step << 1) - 1)
            _put(out, start)
            _put(out, length)
            before = index
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            if self._at >= len(self._data) or shift > 63:
                raise Invalid("the packer's state is damaged")
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def count(self) -> int:
        """Of what takes a byte each at least."""
        value = self.number()
        if value > len(self._data) - self._at:
            raise Invalid("the packer's state is damaged")
        return value

    def blob(self) -> bytes:
        size = self.count()
        self._at += size
        return self._data[self._at - size:self._at]

    def end(self) -> None:
        if self._at != len(self._data):
            raise Invalid("the packer's state is damaged: something follows it")


def decode(state: bytes) -> State:
    """(settings, digest of the input, next, complete rows, open rows). Raises Invalid."""
    reader = _Reader(state)
    if reader.number() != FORMAT:
        raise Invalid("the state is none of a packer, or of a newer one")
    settings = tuple(reader.number() for _ in range(SETTINGS))
    digest = reader.blob()
    following = reader.number()
    counts = reader.count(), reader.count()
    before = following
    rows: List[List[Place]] = []
    for _ in range(sum(counts)):
        row = []
        used = 0
        for _ in range(reader.count()):
            step = reader.number()
            before += (step + 1) // -2 if step & 1 else step >> 1
            row.append((before, reader.number(), reader.number()))
            used += row[-1][2]
            if not 0 <= before < following or row[-1][2] == 0:
                raise Invalid("the packer's state is damaged: a piece of no sample")
        if not row or used > settings[0]:
            raise Invalid("the packer's state is damaged: a row that cannot be")
        rows.append(row)
    reader.end()
    return settings, digest, following, rows[:counts[0]], rows[counts[0]:]
