# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Global batches: packing, frames, samples, footers (section 5)."""

import ctypes
import struct
from dataclasses import dataclass

from bwbase import FRAME_MAX, ITEMS_MAX, KINDS, MIB, SLICES_MAX, Reader, align64, is_zero, open_object
from crc32c import crc32c


@dataclass
class Packing:
    places: list  # per slice: (part, offset)
    footer: tuple  # (part, offset)
    part_sizes: list

    @property
    def total(self):
        return sum(self.part_sizes)


def pack(lengths, part_bytes, footer_bytes):
    """Section 5.1: where each slice and the footer lie, from the framed lengths alone."""
    at, part, places, sizes = 0, 0, [], []
    for length in lengths:
        start = align64(at)
        if start > 0 and start + length > part_bytes:
            sizes.append(at)
            part += 1
            start = 0
        places.append((part, start))
        at = start + length
    start = align64(at)
    sizes.append(start + footer_bytes)
    return Packing(places, (part, start), sizes)


@dataclass
class Item:
    data: bytes  # plain
    pad: bool
    packed: bytes | None = None  # the zstd frame that is stored instead

    @property
    def stored(self):
        return self.data if self.packed is None else self.packed


@dataclass
class Frame:
    nonce: int
    slice: int
    kind: int
    items: list

    @property
    def filled(self):
        return sum(not item.pad for item in self.items)


ZSTD_MAGIC, ZSTD_WINDOW_MAX = b"\x28\xb5\x2f\xfd", 8 * MIB


def check_zstd(raw, plain):
    """RFC 8878: exactly one frame, of that content size, without a dictionary, with a small window."""
    if raw[:4] != ZSTD_MAGIC or len(raw) < 6:
        return "no zstd frame"
    descriptor, at = raw[4], 5
    single, dictionary = descriptor >> 5 & 1, (0, 1, 2, 4)[descriptor & 3]
    if not single:
        exponent, mantissa, at = raw[5] >> 3, raw[5] & 7, 6
        if (1 << 10 + exponent) // 8 * (8 + mantissa) > ZSTD_WINDOW_MAX:
            return "a large window"
    elif plain > ZSTD_WINDOW_MAX:
        return "a large window"
    if int.from_bytes(raw[at:at + dictionary], "little"):
        return "a dictionary"
    at += dictionary
    width = ((1 if single else 0), 2, 4, 8)[descriptor >> 6]
    size = int.from_bytes(raw[at:at + width], "little") + (256 if width == 2 else 0)
    if width == 0 or size != plain:
        return "another content size"
    at, last = at + width, False
    while not last:
        if at + 3 > len(raw):
            return "no last block"
        head = int.from_bytes(raw[at:at + 3], "little")
        last, kind = head & 1, head >> 1 & 3
        at += 3 + (1 if kind == 1 else head >> 3)
    at += 4 * (descriptor >> 2 & 1)
    return None if at == len(raw) else "not one frame"


def unzstd(raw, plain):
    """The plain bytes, by the system's library: zstd is not ours to write twice."""
    out = ctypes.create_string_buffer(plain)
    made = ctypes.CDLL("libzstd.so.1").ZSTD_decompress
    made.restype, made.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return out.raw if made(out, plain, raw, len(raw)) == plain else None


FRAME_HEAD = struct.Struct("<4sHHQIIQQQB11sI")
ITEM_ROW = struct.Struct("<IIII")


def decode_frame(data, where="frame"):
    """Section 5.2: one whole frame; the items are returned verified."""
    r = Reader(data, where)
    head = r.take(64)
    magic, version, flags, nonce, index, count, framed, plain, stored, kind, zero, check = FRAME_HEAD.unpack(head)
    r.need(magic == b"BWSL", f"{magic!r} instead of b'BWSL'", "MAGIC")
    r.need(version == 1, f"format version {version}", "VERSION")
    r.need(flags == 0, f"unknown must-understand flags {flags:#x}", "FLAGS")
    r.need(1 <= count <= ITEMS_MAX, f"{count} items")
    table = r.take(16 * count)
    r.need(check == crc32c(table, crc32c(head[:60])), "the check of head and item table does not fit", "CRC")
    r.need(framed <= FRAME_MAX and framed == len(data),
           f"framed length {framed}, {len(data)} bytes present", "LENGTH")
    r.need(is_zero(zero), "reserved bytes are not zero", "CANONICAL")
    r.need(kind < len(KINDS), f"kind {kind}")
    rows = list(ITEM_ROW.iter_unpack(table))
    r.need(sum(row[0] for row in rows) == stored, "the stored bytes do not add up")
    r.need(sum(row[1] for row in rows) == plain, "the plain bytes do not add up")
    items, unpacked = [], 0
    for number, (size, size_plain, crc, item_flags) in enumerate(rows):
        codec = item_flags >> 8 & 0xFF
        r.need(item_flags & ~0xFF01 == 0, f"item {number}: unknown flags {item_flags:#x}", "CANONICAL")
        r.need(codec <= 1, f"item {number}: codec {codec}")
        pad = bool(item_flags & 1)
        r.need(not pad or size == size_plain == crc == codec == 0, f"item {number}: a pad that is not empty",
               "CANONICAL")
        r.need(codec == 0 or (1 <= size_plain <= 1 << 30 and 0 < size and size_plain <= 1024 * size),
               f"item {number}: {size} bytes state {size_plain}")
        r.need(codec or size == size_plain, f"item {number}: stored and plain bytes differ without a codec")
        r.zero(align64(r.at) - r.at)
        body = r.take(size)
        r.need(crc32c(body) == crc, f"item {number}: its check does not fit its bytes", "CRC")
        if codec == 0:
            items.append(Item(body, pad))
            continue
        unpacked = align64(unpacked) + size_plain
        r.need(unpacked <= FRAME_MAX, "too much is packed")
        why = check_zstd(body, size_plain)
        r.need(why is None, f"item {number}: {why}", "ZSTD")
        data = unzstd(body, size_plain)
        r.need(data is not None, f"item {number} cannot be unpacked", "ZSTD")
        items.append(Item(data, False, body))
    # The items of no bytes at the end do not move L: it is end(M - 1), padding before them included.
    r.done()
    return Frame(nonce, index, kind, items)


def decode_samples(data, where="samples"):
    """Section 5.3: a list of samples, each a list of (key, value)."""
    r = Reader(data, where)
    samples = []
    for _ in range(r.u32()):
        samples.append([(r.text(2), r.text(4)) for _ in range(r.u16())])
    r.done()
    return samples


@dataclass
class Footer:
    nonce: int
    dp: int
    cp: int
    items: int
    kind: int
    media_type: bytes
    metadata: bytes
    lengths: list
    filled: list
    samples: list


def decode_footer(data):
    r = open_object(data, b"BWTF")
    nonce, dp, cp, items, kind = r.u64(), r.u32(), r.u32(), r.u32(), r.u8()
    r.need(dp >= 1 and cp >= 1 and dp * cp <= SLICES_MAX, f"a mesh of {dp} x {cp}")
    r.need(1 <= items <= ITEMS_MAX, f"{items} items")
    r.need(kind < len(KINDS), f"kind {kind}")
    r.zero(3)
    media, metadata = r.text(1), r.text(4, MIB)
    count = dp * cp
    r.need(12 * count <= r.end - r.at, f"{count} slices do not fit", "TRUNCATED")
    lengths = [r.u64() for _ in range(count)]
    r.need(all(align64(64 + 16 * items) <= length <= FRAME_MAX for length in lengths), "a framed length cannot be")
    filled = [r.u32() for _ in range(count)]
    r.need(all(n <= items for n in filled), f"a slice has more than {items} items")
    samples = [[r.text(2) for _ in range(r.u32())] for _ in range(count)]
    r.done()
    return Footer(nonce, dp, cp, items, kind, media, metadata, lengths, filled, samples)
