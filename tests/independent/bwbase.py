# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What all of docs/format.md rests on: heads and checks, a bounded reader, names (sections 1 and 2)."""

import hashlib
import re
import struct

from crc32c import crc32c

MIB = 1 << 20
HEAD_BYTES = 16
CHECK_BYTES = 4
OVERHEAD = HEAD_BYTES + CHECK_BYTES
ITEMS_MAX = 1 << 20
NUMBERS = 1 << 63  # versions, steps and seqs are below
SLICES_MAX = 1 << 20
FRAME_MAX = 1 << 32
RECORDS_MAX = 65535
INLINE_BYTES_MAX = 1024
INDEX_FANOUT = 16
SUM_MOD = 1 << 128
KINDS = ("raw", "samples", "safetensors")
FORM_UNIFORM, FORM_INLINE, FORM_FOOTER = 0, 1, 2
FINISHED, FORGOTTEN, STATE_OBJECT = 1, 2, 4

# magic -> (name, cap of the body)
OBJECTS = {
    b"BWGN": ("genesis", MIB),
    b"BWMF": ("manifest", 16 * MIB),
    b"BWSG": ("segment", 16 * MIB),
    b"BWPG": ("page", 16 * MIB),
    b"BWRT": ("marker", 64 - OVERHEAD),
    b"BWTF": ("footer", 16 * MIB),
    b"BWST": ("state", 16 * MIB),
    b"BWHT": ("hint", 64 - OVERHEAD),
}


class FormatError(Exception):
    """kind: TRUNCATED TRAILING MAGIC VERSION FLAGS LENGTH CRC VALUE CANONICAL ZSTD KEY CURSOR."""

    def __init__(self, kind, where, why):
        super().__init__(f"{kind} in {where}: {why}")
        self.kind = kind
        self.where = where
        self.why = why


def object_hash(data):
    return hashlib.sha256(data).digest()[:16]


def align64(x):
    return (x + 63) & ~63


def is_zero(data):
    return data.count(0) == len(data)


NAME = re.compile(rb"[a-z0-9][a-z0-9._-]{0,63}")


def is_name(raw):
    return NAME.fullmatch(raw) is not None and b".." not in raw


class Reader:
    """A bounded little-endian reader; `done` proves that nothing follows."""

    def __init__(self, data, where, at=0, end=None):
        self.data = data
        self.where = where
        self.at = at
        self.end = len(data) if end is None else end

    def fail(self, kind, why):
        raise FormatError(kind, f"{self.where}+{self.at}", why)

    def need(self, ok, why, kind="VALUE"):
        if not ok:
            self.fail(kind, why)

    def take(self, count):
        if count > self.end - self.at:
            self.fail("TRUNCATED", f"{count} bytes wanted, {self.end - self.at} left")
        raw = self.data[self.at:self.at + count]
        self.at += count
        return raw

    def number(self, width):
        return int.from_bytes(self.take(width), "little")

    def u8(self):
        return self.number(1)

    def u16(self):
        return self.number(2)

    def u32(self):
        return self.number(4)

    def u64(self):
        return self.number(8)

    def u128(self):
        return self.number(16)

    def zero(self, count):
        self.need(is_zero(self.take(count)), "reserved bytes are not zero", "CANONICAL")

    def text(self, width, most=None):
        size = self.number(width)
        if most is not None:
            self.need(size <= most, f"text of {size} bytes, at most {most}")
        return self.take(size)

    def name(self):
        raw = self.text(1)
        self.need(is_name(raw), f"{raw!r} is no name")
        return raw.decode()

    def name_or_empty(self):
        raw = self.text(1)
        self.need(raw == b"" or is_name(raw), f"{raw!r} is no name")
        return raw.decode()

    def done(self):
        if self.at != self.end:
            self.fail("TRAILING", f"{self.end - self.at} bytes follow the last field")


def open_object(data, magic):
    """Section 2: proves head and check, returns a reader of the body."""
    name, cap = OBJECTS[magic]

    def need(ok, kind, why):
        if not ok:
            raise FormatError(kind, name, why)

    need(len(data) >= OVERHEAD, "TRUNCATED", f"{len(data)} bytes")
    found, version, flags, body = struct.unpack_from("<4sHHQ", data)
    need(found == magic, "MAGIC", f"{found!r} instead of {magic!r}")
    need(version == 1, "VERSION", f"format version {version}")
    need(flags == 0, "FLAGS", f"unknown must-understand flags {flags:#x}")
    need(body <= cap, "LENGTH", f"a body of {body} bytes, the cap is {cap}")
    need(body == len(data) - OVERHEAD, "LENGTH",
         f"the head says {body} bytes of body, there are {len(data) - OVERHEAD}")
    stored = int.from_bytes(data[-CHECK_BYTES:], "little")
    need(stored == crc32c(data[:-CHECK_BYTES]), "CRC", "the check does not fit the bytes")
    return Reader(data, name, HEAD_BYTES, len(data) - CHECK_BYTES)
