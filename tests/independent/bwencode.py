# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny encoder for the tests of the decoder: it writes the records that bwformat returns."""

import struct

import bwformat as bw
from crc32c import crc32c


def le(width, *values):
    return b"".join(value.to_bytes(width, "little") for value in values)


def text(width, raw):
    return le(width, len(raw)) + raw


def seal(magic, body):
    head = struct.pack("<4sHHQ", magic, 1, 0, len(body))
    return head + body + le(4, crc32c(head + body))


def genesis(g):
    limits = (g.max_lag is not None) | (g.max_bytes is not None) << 1
    return seal(b"BWGN", g.uuid + le(8, g.created) + le(4, g.dp, g.cp, g.items_default, g.expected_producers,
                                                        g.block_size, g.tail_cap) + le(8, g.part_bytes)
                + le(4, g.page_min, limits) + le(8, g.max_lag or 0, g.max_bytes or 0)
                + text(1, g.layout.encode()) + text(4, g.schema))


def frame(nonce, index, kind, items):
    """items: bytes, None for a pad, or (plain length, zstd frame)."""
    rows, body, plain, stored = b"", b"\0" * (16 * len(items)), 0, 0
    for item in items:
        packed = isinstance(item, tuple)
        size, raw = item if packed else (len(item or b""), item or b"")
        rows += le(4, len(raw), size, 0 if item is None else crc32c(raw), (item is None) | packed << 8)
        body = body.ljust(bw.align64(64 + len(body)) - 64, b"\0") + raw
        plain, stored = plain + size, stored + len(raw)
    head = bw.FRAME_HEAD.pack(b"BWSL", 1, 0, nonce, index, len(items), 64 + len(body), plain, stored, kind,
                              bytes(11), 0)[:60]
    return head + le(4, crc32c(head + rows)) + rows + body[len(rows):]


def footer(f):
    out = le(8, f.nonce) + le(4, f.dp, f.cp, f.items) + le(1, f.kind) + bytes(3) + text(1, f.media_type)
    out += text(4, f.metadata) + le(8, *f.lengths) + le(4, *f.filled)
    for ids in f.samples:
        out += le(4, len(ids)) + b"".join(text(2, raw) for raw in ids)
    return seal(b"BWTF", out)


def samples(rows):
    out = le(4, len(rows))
    for fields in rows:
        out += le(2, len(fields)) + b"".join(text(2, key) + text(4, value) for key, value in fields)
    return out


def leb128(value):
    out = b""
    while value >= 0x80:
        out += le(1, value & 0x7F | 0x80)
        value >>= 7
    return out + le(1, value)


def block(records):
    ids, shapes = [], []
    for d in records:
        if d.id not in ids:
            ids.append(d.id)
        if d.shape not in shapes:
            shapes.append(d.shape)
    side = rows = table = ends = b""
    raw = b""
    for name in ids:
        raw += name.encode()
        ends += le(4, len(raw))
    for s in shapes:
        rows += bw.SHAPE.pack(s.form, s.kind, s.parts, s.items, s.footer_bytes, len(side) if s.side else 0,
                              s.place, s.total, s.samples, s.tokens, s.tag)
        side += s.side
    for d in records:
        table += bw.RECORD.pack(d.nonce, d.start, d.end, d.seq, d.epoch, ids.index(d.id), shapes.index(d.shape))
    return le(4, len(ids), len(shapes), len(records), len(raw), len(side)) + ends + raw + rows + table + side


def reference(ref):
    return (le(8, ref.first, ref.last) + ref.hash + le(16, ref.sum_before) + le(8, ref.bytes) + le(1, ref.level)
            + bytes(7))


def segment(s):
    body = block(s.descriptors) if s.level == 0 else b"".join(map(reference, s.references))
    return seal(b"BWSG", s.uuid + le(1, s.level) + bytes(7) + le(8, s.first, s.last) + body)


def entry(e):
    out = text(1, e.id.encode()) + le(4, e.epoch) + le(1, e.flags) + le(2, e.slot) + e.token
    out += le(8, e.seq, e.offset, e.swept_seq, e.swept_offset, e.last_publish, e.last_commit)
    if e.state_name is None:
        return out + text(2, e.state)
    n = e.state_name
    return out + le(4, n.epoch) + le(8, n.seq, n.nonce) + le(4, n.bytes) + n.hash


def page(p):
    return seal(b"BWPG", p.uuid + le(8, p.version) + le(4, len(p.entries)) + b"".join(map(entry, p.entries)))


def group(g):
    out = text(1, g.name.encode()) + text(1, g.launch) + le(8, g.launch_number) + le(1, g.pinned)
    out += le(8, g.hold) + g.cursor_hash + le(8, g.last_version, g.last_clock) + le(1, len(g.pins))
    for p in g.pins:
        out += text(1, p.id) + le(8, p.nonce, p.step) + le(4, p.item) + p.cursor_hash
    return out


def manifest(m):
    out = m.uuid + le(8, m.version) + m.nonce + m.previous + le(8, m.clock, m.next, m.trim, m.swept)
    out += le(4, m.sealed | (m.page is not None) << 1) + le(8, m.committed_bytes, m.swept_bytes, m.finished)
    out += le(16, m.sum) + text(1, m.committer.encode()) + text(1, m.turn.encode())
    if m.page is not None:
        out += le(8, m.page.version, m.page.nonce) + m.page.hash + le(8, m.page.bytes) + le(4, m.page.entries)
    out += le(4, len(m.references)) + b"".join(map(reference, m.references)) + text(4, block(m.tail))
    out += le(4, len(m.producers)) + b"".join(map(entry, m.producers))
    return seal(b"BWMF", out + le(4, len(m.groups)) + b"".join(map(group, m.groups)))


def marker(m):
    return seal(b"BWRT", m.uuid + le(8, m.block))


def state(s):
    return seal(b"BWST", s.uuid + le(4, s.epoch) + le(8, s.seq) + text(4, s.state))


def hint(h):
    return seal(b"BWHT", h.uuid + le(8, h.version))
