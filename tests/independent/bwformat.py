# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A strict decoder of every object of BatchWeave, written from docs/format.md alone.

Nothing of the library is used here: this file is the proof that a stranger can write a reader from that
page. Section numbers in comments are the page's. Every function takes bytes, checks them to the last one,
and returns plain records; whatever breaks a rule raises FormatError.
"""

import struct
from dataclasses import dataclass, field

from bwbase import (FINISHED, FORGOTTEN, FORM_FOOTER, FORM_INLINE, FORM_UNIFORM, FRAME_MAX, INDEX_FANOUT,
                    INLINE_BYTES_MAX,
                    ITEMS_MAX, KINDS, MIB, NUMBERS, OVERHEAD, RECORDS_MAX, SLICES_MAX, STATE_OBJECT, SUM_MOD,
                    FormatError,
                    Reader,
                    align64, is_name, is_zero, object_hash, open_object)
from bwkeys import (Cursor, decode_cursor, manifest_key, marker_key, page_key, parse_key, part_key, segment_key,
                    state_key)
from bwtgb import FRAME_HEAD, Footer, Frame, Item, Packing, decode_footer, decode_frame, decode_samples, pack

__all__ = ["FINISHED", "FORGOTTEN", "FORM_FOOTER", "FORM_INLINE", "FORM_UNIFORM", "FRAME_HEAD", "INDEX_FANOUT",
           "INLINE_BYTES_MAX", "RECORD", "SHAPE", "STATE_OBJECT", "SUM_MOD", "FormatError", "align64", "is_zero",
           "object_hash", "Cursor", "Descriptor", "Entry", "Footer", "Frame", "Genesis", "Group", "Hint", "Item",
           "Manifest",
           "Marker", "Packing", "Page", "PageName", "Pin", "Reference", "Segment", "Shape", "State", "StateName",
           "decode_block", "decode_cursor", "decode_footer", "decode_frame", "decode_genesis", "decode_hint",
           "decode_manifest", "decode_marker", "decode_page", "decode_samples", "decode_segment", "decode_state",
           "leb128_bytes", "manifest_key", "marker_key", "pack", "page_key", "parse_key", "part_key", "segment_key",
           "state_key", "sum_before_tail", "term"]

# --- 4 genesis ---------------------------------------------------------------------------------------

@dataclass
class Genesis:
    uuid: bytes
    created: int
    dp: int
    cp: int
    items_default: int
    expected_producers: int
    block_size: int
    tail_cap: int
    part_bytes: int
    page_min: int
    max_lag: int | None
    max_bytes: int | None
    layout: str
    schema: bytes

    @property
    def slices(self):
        return self.dp * self.cp


def decode_genesis(data):
    r = open_object(data, b"BWGN")
    uuid, created = r.take(16), r.u64()
    dp, cp = r.u32(), r.u32()
    r.need(dp >= 1 and cp >= 1 and dp * cp <= SLICES_MAX, f"a mesh of {dp} x {cp}")
    items = r.u32()
    r.need(1 <= items <= ITEMS_MAX, f"items default {items}")
    expected = r.u32()
    block_size = r.u32()
    r.need(block_size >= 2, f"block size {block_size}")
    tail_cap = r.u32()
    r.need(64 <= tail_cap <= MIB, f"tail cap {tail_cap}")
    part_bytes = r.u64()
    r.need(4096 <= part_bytes <= 1 << 40 and part_bytes % 64 == 0, f"part bytes {part_bytes}")
    page_min = r.u32()
    r.need(page_min >= 1, f"page min {page_min}")
    limits = r.u32()
    r.need(limits < 4, f"unknown limits {limits:#x}", "CANONICAL")
    values = []
    for bit in (1, 2):
        value = r.u64()
        r.need(limits & bit or value == 0, "a limit that is not set is not zero", "CANONICAL")
        values.append(value if limits & bit else None)
    layout = r.text(1)
    r.need(layout in (b"", b"contiguous", b"headtail"), f"layout {layout!r}")
    schema = r.text(4, 65536)
    r.done()
    return Genesis(uuid, created, dp, cp, items, expected, block_size, tail_cap, part_bytes, page_min,
                   values[0], values[1], layout.decode(), schema)


# --- 6 descriptors -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Shape:
    form: int
    kind: int
    parts: int
    items: int
    footer_bytes: int
    place: int  # uniform: the framed length; footer: its offset in the last part; inline: 0
    total: int
    samples: int
    tokens: int
    tag: int
    side: bytes
    lengths: tuple | None  # None: in the footer


@dataclass(frozen=True)
class Descriptor:
    nonce: int
    start: int
    end: int
    seq: int
    epoch: int
    id: str
    shape: Shape

    @property
    def name(self):
        return self.id, self.epoch, self.seq, self.nonce


RECORD = struct.Struct("<QQQQIHH")
SHAPE = struct.Struct("<BBHIIIQQQQQ")


def read_leb128(r):
    value = shift = 0
    while True:
        byte = r.u8()
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            r.need(byte or shift == 0, "LEB128 is not minimal", "CANONICAL")
            return value
        shift += 7
        r.need(shift < 63, "LEB128 is too long")


def leb128_bytes(value):
    return max(1, (value.bit_length() + 6) // 7)


def _decode_shape(r, side, slices, part_bytes):
    row = r.take(SHAPE.size)
    form, kind, parts, items, footer_bytes, offset, place, total, samples, tokens, tag = SHAPE.unpack(row)
    r.need(form <= 2, f"form {form}")
    r.need(kind < len(KINDS), f"kind {kind}")
    r.need(1 <= parts <= slices and 1 <= items <= ITEMS_MAX, f"{parts} parts, {items} items")
    r.need(OVERHEAD < footer_bytes <= 16 * MIB + OVERHEAD, f"a footer of {footer_bytes} bytes")
    lengths, used = None, b""
    if form == FORM_UNIFORM:
        lengths = (place,) * slices
    elif form == FORM_INLINE:
        r.need(offset == side.at, f"side offset {offset}, {side.at} expected", "CANONICAL")
        lengths = tuple(read_leb128(side) for _ in range(slices))
        used = side.data[offset:side.at]
        r.need(place == 0, "an inline row's last place is not zero", "CANONICAL")
        r.need(len(used) <= INLINE_BYTES_MAX, f"{len(used)} inline bytes", "CANONICAL")
        r.need(len(set(lengths)) > 1, "equal lengths are not uniform", "CANONICAL")
    else:
        r.need(slices > 1, "one slice is always uniform", "CANONICAL")
        r.need(place % 64 == 0, f"a footer at {place}")
    r.need(form == FORM_INLINE or offset == 0, "side offset is not zero", "CANONICAL")
    if lengths is not None:
        low = align64(64 + 16 * items)
        r.need(all(low <= length <= FRAME_MAX for length in lengths), "a framed length cannot be")
        if part_bytes is not None:
            packing = pack(lengths, part_bytes, footer_bytes)
            r.need(len(packing.part_sizes) == parts, f"{parts} parts, {len(packing.part_sizes)} by packing")
            r.need(packing.total == total, f"{total} bytes, {packing.total} by packing")
    return Shape(form, kind, parts, items, footer_bytes, place, total, samples, tokens, tag, used, lengths)


def _decode_ids(r, count, id_bytes):
    ends = [r.u32() for _ in range(count)]
    names, raw, begin = [], r.take(id_bytes), 0
    for end in ends:
        r.need(begin < end <= id_bytes, "the ends of the ids do not rise")
        r.need(is_name(raw[begin:end]), f"{raw[begin:end]!r} is no name")
        names.append(raw[begin:end].decode())
        begin = end
    r.need(begin == id_bytes, "bytes follow the last id", "TRAILING")
    r.need(len(set(names)) == count, "an id stands twice", "CANONICAL")
    return names


def decode_block(data, slices, part_bytes=None, where="block"):
    """Section 6.3: the descriptors of one block, in order. With part_bytes, parts and totals are proved too."""
    r = Reader(data, where)
    ids, shapes, records, id_bytes, side_bytes = (r.u32() for _ in range(5))
    r.need(records <= RECORDS_MAX, f"{records} records")
    size = 20 + 4 * ids + id_bytes + SHAPE.size * shapes + RECORD.size * records + side_bytes
    r.need(size <= len(data), f"{size} bytes wanted, {len(data)} present", "TRUNCATED")
    r.need(size == len(data), f"{len(data) - size} bytes follow the block", "TRAILING")
    names = _decode_ids(r, ids, id_bytes)
    side = Reader(data[len(data) - side_bytes:], where + " side")
    rows = [_decode_shape(r, side, slices, part_bytes) for _ in range(shapes)]
    side.done()
    r.need(len(set(rows)) == shapes, "a shape stands twice", "CANONICAL")
    out, ids_seen, shapes_seen = [], 0, 0
    for _ in range(records):
        nonce, start, end, seq, epoch, id_index, shape_index = RECORD.unpack(r.take(RECORD.size))
        r.need(start <= end and seq >= 1 and epoch >= 1, f"a record with [{start}, {end}), seq {seq}, epoch {epoch}")
        r.need(id_index <= ids_seen and shape_index <= shapes_seen,
               "ids or shapes do not stand in the order of their first use", "CANONICAL")
        r.need(id_index < ids and shape_index < shapes, "an index beyond its table")
        ids_seen = max(ids_seen, id_index + 1)
        shapes_seen = max(shapes_seen, shape_index + 1)
        out.append(Descriptor(nonce, start, end, seq, epoch, names[id_index], rows[shape_index]))
    r.need((ids_seen, shapes_seen) == (ids, shapes), "an id or a shape is not used", "CANONICAL")
    return out


def term(step, d):
    """Section 6.4: what a step adds to the sum."""
    s = d.shape
    raw = struct.pack("<QB", step, len(d.id)) + d.id.encode()
    raw += RECORD.pack(d.nonce, d.start, d.end, d.seq, d.epoch, 0, 0)
    raw += SHAPE.pack(s.form, s.kind, s.parts, s.items, s.footer_bytes, 0, s.place, s.total, s.samples,
                      s.tokens, s.tag)
    return int.from_bytes(object_hash(raw + s.side), "little")


# --- 7, 8 segments and references --------------------------------------------------------------------

@dataclass(frozen=True)
class Reference:
    first: int
    last: int
    hash: bytes
    sum_before: int
    bytes: int
    level: int


def read_reference(r):
    first, last, name, before, size, level = r.u64(), r.u64(), r.take(16), r.u128(), r.u64(), r.u8()
    r.zero(7)
    r.need(first <= last, f"a reference from {first} to {last}")
    r.need(OVERHEAD < size <= 16 * MIB + OVERHEAD, f"a segment of {size} bytes")
    return Reference(first, last, name, before, size, level)


@dataclass
class Segment:
    uuid: bytes
    level: int
    first: int
    last: int
    descriptors: list
    references: list


def decode_segment(data, slices, part_bytes=None):
    r = open_object(data, b"BWSG")
    uuid, level = r.take(16), r.u8()
    r.zero(7)
    first, last = r.u64(), r.u64()
    r.need(first <= last, f"steps from {first} to {last}")
    descriptors, references = [], []
    if level == 0:
        descriptors = decode_block(r.take(r.end - r.at), slices, part_bytes, "segment block")
        r.need(len(descriptors) == last - first + 1, f"{len(descriptors)} records for [{first}, {last}]")
    else:
        references = [read_reference(r) for _ in range(INDEX_FANOUT)]
        at = first
        for ref in references:
            r.need(ref.level == level - 1, f"a child of level {ref.level} under level {level}")
            r.need(ref.first == at, f"a child begins at {ref.first}, {at} expected")
            at = ref.last + 1
        r.need(at == last + 1, f"the last child ends at {at - 1}, {last} expected")
    r.done()
    return Segment(uuid, level, first, last, descriptors, references)


# --- 9 producer entries, 12 pages --------------------------------------------------------------------

@dataclass
class StateName:
    epoch: int
    seq: int
    nonce: int
    bytes: int
    hash: bytes


@dataclass
class Entry:
    id: str
    epoch: int
    flags: int
    slot: int
    token: bytes
    seq: int
    offset: int
    swept_seq: int
    swept_offset: int
    last_publish: int
    last_commit: int
    state: bytes | None
    state_name: StateName | None

    @property
    def finished(self):
        return bool(self.flags & FINISHED)

    @property
    def forgotten(self):
        return bool(self.flags & FORGOTTEN)


def read_entry(r):
    name, epoch, flags, slot, token = r.name(), r.u32(), r.u8(), r.u16(), r.take(16)
    r.need(epoch >= 1, f"producer {name}: epoch 0")
    r.need(flags < 8, f"producer {name}: unknown flags {flags:#x}", "CANONICAL")
    seq, offset, swept_seq, swept_offset, publish, commit = (r.u64() for _ in range(6))
    r.need(seq < NUMBERS, f"producer {name}: seq {seq}")
    r.need(seq > 0 or offset == 0, f"producer {name}: offset {offset} without a seq")
    r.need(swept_seq <= seq and swept_offset <= offset, f"producer {name}: swept beyond published")
    r.need((publish == 0) == (seq == 0), f"producer {name}: seq {seq}, last publish in version {publish}")
    state = state_name = None
    if flags & STATE_OBJECT:
        state_name = StateName(r.u32(), r.u64(), r.u64(), r.u32(), r.take(16))
    else:
        state = r.text(2, 256)
    return Entry(name, epoch, flags, slot, token, seq, offset, swept_seq, swept_offset, publish, commit,
                 state, state_name)


def read_sorted(r, read, key, what, count):
    out = []
    for _ in range(count):
        out.append(read(r))
        r.need(len(out) < 2 or key(out[-2]) < key(out[-1]), f"{what} are not strictly ascending", "CANONICAL")
    return out


@dataclass
class Page:
    uuid: bytes
    version: int
    entries: list


def decode_page(data):
    r = open_object(data, b"BWPG")
    uuid, version, count = r.take(16), r.u64(), r.u32()
    r.need(count >= 1, "a page without entries")
    entries = read_sorted(r, read_entry, lambda e: e.id, "producers", count)
    r.done()
    r.need(all(e.finished or e.forgotten for e in entries), "an entry that is neither finished nor forgotten")
    return Page(uuid, version, entries)


# --- 10 manifest, 11 groups --------------------------------------------------------------------------

@dataclass
class Pin:
    id: bytes
    nonce: int
    step: int
    item: int
    cursor_hash: bytes


@dataclass
class Group:
    name: str
    launch: bytes
    launch_number: int
    hold: int
    pinned: bool
    cursor_hash: bytes
    last_version: int
    last_clock: int
    pins: list


def _read_pin(r):
    name = r.text(1, 128)
    r.need(name != b"", "a pin without an id")
    return Pin(name, r.u64(), r.u64(), r.u32(), r.take(16))


def read_group(r):
    name, launch, number, flags, hold = r.name(), r.text(1, 128), r.u64(), r.u8(), r.u64()
    r.need(launch != b"" and number >= 1, f"group {name}: launch {launch!r} number {number}")
    r.need(flags < 2, f"group {name}: unknown flags {flags:#x}", "CANONICAL")
    cursor, version, clock, count = r.take(16), r.u64(), r.u64(), r.u8()
    r.need(count <= 64, f"group {name}: {count} pins")
    pins = read_sorted(r, _read_pin, lambda p: p.id, "pins", count)
    return Group(name, launch, number, hold, bool(flags), cursor, version, clock, pins)


@dataclass
class PageName:
    version: int
    nonce: int
    hash: bytes
    bytes: int
    entries: int


@dataclass
class Manifest:
    uuid: bytes
    version: int
    nonce: bytes
    previous: bytes
    clock: int
    next: int
    trim: int
    swept: int
    sealed: bool
    committed_bytes: int
    swept_bytes: int
    finished: int
    sum: int
    committer: str
    turn: str
    page: PageName | None
    references: list
    tail: list
    producers: list
    groups: list = field(default_factory=list)

    @property
    def tail_first(self):
        return self.next - len(self.tail)

    @property
    def first(self):
        """The first step that this manifest describes."""
        return self.references[0].first if self.references else self.tail_first


def _check_span(r, m):
    t = m.tail_first
    r.need(t >= 0, f"a tail of {len(m.tail)} records before step {m.next}")
    if not m.references:
        r.need(t == m.swept, f"the tail begins at {t}, the swept step is {m.swept}")
        return
    head = m.references[0]
    r.need(head.first <= m.swept <= head.last, f"the first reference [{head.first}, {head.last}], swept {m.swept}")
    at, level = head.first, head.level
    for ref in m.references:
        r.need(ref.first == at, f"a reference begins at {ref.first}, {at} expected")
        r.need(ref.level <= level, "levels rise from left to right")
        at, level = ref.last + 1, ref.level
    r.need(at == t, f"the references end at {at}, the tail begins at {t}")


def decode_manifest(data, slices, part_bytes=None):
    r = open_object(data, b"BWMF")
    uuid, version, nonce, previous, clock = r.take(16), r.u64(), r.take(16), r.take(16), r.u64()
    r.need(1 <= version < NUMBERS, f"version {version}")
    step_next, trim, swept, flags = r.u64(), r.u64(), r.u64(), r.u32()
    r.need(swept <= trim <= step_next < NUMBERS, f"swept {swept}, trim {trim}, next {step_next}")
    r.need(flags < 4, f"unknown flags {flags:#x}", "CANONICAL")
    committed, swept_bytes, finished, total = r.u64(), r.u64(), r.u64(), r.u128()
    r.need(swept_bytes <= committed, f"{swept_bytes} bytes swept of {committed}")
    committer, turn = r.name_or_empty(), r.name_or_empty()
    page = PageName(r.u64(), r.u64(), r.take(16), r.u64(), r.u32()) if flags & 2 else None
    references = [read_reference(r) for _ in range(r.u32())]
    tail = decode_block(r.text(4), slices, part_bytes, "tail")
    producers = read_sorted(r, read_entry, lambda e: e.id, "producers", r.u32())
    count = r.u32()
    r.need(count <= 64, f"{count} groups")
    groups = read_sorted(r, read_group, lambda g: g.name, "groups", count)
    r.done()
    m = Manifest(uuid, version, nonce, previous, clock, step_next, trim, swept, bool(flags & 1), committed,
                 swept_bytes, finished, total, committer, turn, page, references, tail, producers, groups)
    _check_span(r, m)
    r.need(page is None or (page.version <= version and page.entries >= 1), "the page's name cannot be")
    for g in groups:
        kept = [g.hold] + [p.step for p in g.pins]
        r.need(trim <= min(kept) and max(kept) <= step_next, f"group {g.name} keeps a step that is not there")
    return m


def sum_before_tail(m):
    """The sum before the first step of the tail, by the terms of the tail."""
    first = m.tail_first
    return (m.sum - sum(term(first + k, d) for k, d in enumerate(m.tail))) % SUM_MOD


# --- 13 marker, state, hint --------------------------------------------------------------------------

@dataclass
class Marker:
    uuid: bytes
    block: int


@dataclass
class State:
    uuid: bytes
    epoch: int
    seq: int
    state: bytes


@dataclass
class Hint:
    uuid: bytes
    version: int


def decode_marker(data):
    r = open_object(data, b"BWRT")
    marker = Marker(r.take(16), r.u64())
    r.done()
    return marker


def decode_state(data):
    r = open_object(data, b"BWST")
    state = State(r.take(16), r.u32(), r.u64(), r.text(4))
    r.done()
    return state


def decode_hint(data):
    r = open_object(data, b"BWHT")
    hint = Hint(r.take(16), r.u64())
    r.done()
    return hint
