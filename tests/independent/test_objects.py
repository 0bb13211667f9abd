# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the decoder alone: every object round-trips, every damaged byte is an error or still canonical,
every rule of docs/format.md that is broken by hand is caught. Run by test_golden.py."""

import dataclasses
import random
import struct

import bwencode
import bwformat as bw
import crc32c

UUID = bytes(range(16))
SLICES = 3


def shape(**changes):
    lengths = (128, 200, 129)
    base = bw.Shape(bw.FORM_INLINE, 1, 1, 2, 90, 0, 576 + 90, 5, 6, 7, b"".join(map(bwencode.leb128, lengths)), lengths)
    return dataclasses.replace(base, **changes)


UNIFORM = dict(form=bw.FORM_UNIFORM, side=b"", place=192, lengths=(192,) * SLICES)
FOOTER = dict(form=bw.FORM_FOOTER, side=b"", place=640, lengths=None)


def descriptors():
    rows = [shape(), shape(**UNIFORM), shape(**FOOTER), shape()]
    return [bw.Descriptor(9 + k, 10 * k, 10 * k + 5, k + 1, 1, ("p2", "p1")[k // 3], s) for k, s in enumerate(rows)]


def entry(name, **changes):
    base = bw.Entry(name, 2, 0, 30, b"t" * 16, 5, 50, 1, 10, 8, 9, b"state", None)
    return dataclasses.replace(base, **changes)


def big_state(name, flags=0):
    return entry(name, flags=flags | bw.STATE_OBJECT, state=None, state_name=bw.StateName(2, 5, 77, 400, b"s" * 16))


def group(name="job", **changes):
    pins = [bw.Pin(b"a", 1, 4, 0, b"c" * 16), bw.Pin(b"b", 2, 6, 1, b"d" * 16)]
    return dataclasses.replace(bw.Group(name, b"launch-3", 3, 4, False, b"h" * 16, 11, 12, pins), **changes)


def references(level=0, count=2, first=2, width=3):
    return [bw.Reference(first + width * k, first + width * k + width - 1, bytes([k] * 16), k, 500, level)
            for k in range(count)]


def manifest(**changes):
    base = bw.Manifest(UUID, 12, b"n" * 16, b"p" * 16, 99, 12, 4, 3, False, 5000, 300, 1, 1 << 100, "p1", "p2",
                       bw.PageName(7, 5, b"g" * 16, 300, 2), references(), descriptors(),
                       [entry("p1"), big_state("p2")], [group()])
    return dataclasses.replace(base, **changes)


def segment(**changes):
    return dataclasses.replace(bw.Segment(UUID, 0, 5, 8, descriptors(), []), **changes)


def index(**changes):
    return dataclasses.replace(bw.Segment(UUID, 1, 2, 49, [], references(count=16)), **changes)


def genesis(**changes):
    base = bw.Genesis(UUID, 1, 8, 2, 4, 3, 1024, 8192, 1 << 26, 64, 100, None, "headtail", b"free text")
    return dataclasses.replace(base, **changes)


def footer(**changes):
    base = bw.Footer(7, 3, 1, 2, 1, b"text/plain", b'{"a":1}', [128, 200, 129], [2, 1, 0], [[b"x", b"y"], [], [b""]])
    return dataclasses.replace(base, **changes)


def page(**changes):
    return dataclasses.replace(bw.Page(UUID, 9, [entry("p1", flags=1), big_state("p3", 2)]), **changes)


def read_manifest(data):
    return bw.decode_manifest(data, SLICES)


def read_segment(data):
    return bw.decode_segment(data, SLICES)


# name -> (record, encoder, decoder)
OBJECTS = {
    "genesis": (genesis(), bwencode.genesis, bw.decode_genesis),
    "manifest": (manifest(), bwencode.manifest, read_manifest),
    "segment": (segment(), bwencode.segment, read_segment),
    "index": (index(), bwencode.segment, read_segment),
    "footer": (footer(), bwencode.footer, bw.decode_footer),
    "page": (page(), bwencode.page, bw.decode_page),
    "marker": (bw.Marker(UUID, 3), bwencode.marker, bw.decode_marker),
    "state": (bw.State(UUID, 2, 9, b"s" * 300), bwencode.state, bw.decode_state),
    "hint": (bw.Hint(UUID, 5), bwencode.hint, bw.decode_hint),
}


def fails(kind, work, *args):
    try:
        work(*args)
    except bw.FormatError as error:
        assert kind in (None, error.kind), f"{error.kind} instead of {kind}: {error}"
        return
    raise AssertionError(f"nothing was noticed, {kind} expected")


def reseal(data):
    return data[:-4] + crc32c.crc32c(data[:-4]).to_bytes(4, "little")


def test_crc_is_castagnoli():
    assert crc32c.crc32c(b"123456789") == 0xE3069283
    assert crc32c.crc32c(bytes(32)) == 0x8A9136AA
    rng = random.Random(3)
    for size in (0, 1, 255, 2047, 2048, 2049, 5000, 70000):
        data = rng.randbytes(size)
        assert crc32c.crc32c(data) == crc32c._simple(0xFFFFFFFF, data) ^ 0xFFFFFFFF
        assert crc32c.crc32c(data[9:], crc32c.crc32c(data[:9])) == crc32c.crc32c(data)


def test_every_object_round_trips():
    for record, encode, decode in OBJECTS.values():
        assert decode(encode(record)) == record


def test_every_cut_and_every_flip_is_noticed():
    for record, encode, decode in OBJECTS.values():
        data = encode(record)
        for size in range(len(data)):
            fails(None, decode, data[:size])
        fails(None, decode, data + b"\0")
        for at in range(len(data)):
            damaged = bytearray(data)
            damaged[at] ^= 1 << at % 8
            fails(None, decode, bytes(damaged))


def test_a_changed_byte_with_a_good_check_is_an_error_or_canonical():
    """One encoding: whatever is accepted must be written back byte for byte."""
    rng = random.Random(11)
    accepted = 0
    for record, encode, decode in OBJECTS.values():
        data = encode(record)
        for at in range(len(data) - 4):
            for value in {0, 1, 255, data[at] ^ 0x80, data[at] + 1 & 255, rng.randrange(256)} - {data[at]}:
                damaged = bytearray(data)
                damaged[at] = value
                damaged = reseal(bytes(damaged))
                try:
                    again = encode(decode(damaged))
                except bw.FormatError:
                    continue
                accepted += 1
                assert again == damaged, f"byte {at} of {type(record).__name__}"
    assert accepted > 1000


def test_heads():
    data = bwencode.genesis(genesis())
    for at, raw, kind in ((0, b"BWMF", "MAGIC"), (4, b"\2\0", "VERSION"), (6, b"\1\0", "FLAGS"),
                          (8, b"\0", "LENGTH"), (8, struct.pack("<Q", 1 << 21), "LENGTH")):
        fails(kind, bw.decode_genesis, reseal(data[:at] + raw + data[at + len(raw):]))
    fails("CRC", bw.decode_genesis, data[:-1] + bytes([data[-1] ^ 1]))
    fails("TRAILING", bw.decode_marker, bwencode.seal(b"BWRT", UUID + bytes(9)))
    fails("LENGTH", bw.decode_marker, bwencode.seal(b"BWRT", UUID + bytes(30)))


def test_genesis_rules():
    for changes in (dict(dp=0), dict(cp=0), dict(dp=1 << 20, cp=2), dict(items_default=0), dict(block_size=1),
                    dict(tail_cap=63), dict(tail_cap=(1 << 20) + 1), dict(part_bytes=4095), dict(part_bytes=4100),
                    dict(part_bytes=1 << 41), dict(page_min=0), dict(layout="other"), dict(schema=b"x" * 65537)):
        fails("VALUE", bw.decode_genesis, bwencode.genesis(genesis(**changes)))
    hidden = bytearray(bwencode.genesis(genesis(max_lag=None)))
    hidden[16 + 16 + 8 + 24 + 8 + 8] = 9  # max_lag though its bit is clear
    fails("CANONICAL", bw.decode_genesis, reseal(bytes(hidden)))


def test_block_rules():
    a, b, c, d = descriptors()

    def bad(records, kind, slices=SLICES, part_bytes=None):
        fails(kind, bw.decode_block, bwencode.block(records), slices, part_bytes)

    replace = dataclasses.replace
    bad([replace(a, start=6)], "VALUE")
    bad([replace(a, seq=0)], "VALUE")
    bad([replace(a, epoch=0)], "VALUE")
    bad([replace(a, id="P")], "VALUE")
    bad([replace(a, shape=shape(kind=3))], "VALUE")
    bad([replace(a, shape=shape(form=3))], "VALUE")
    bad([replace(a, shape=shape(parts=0))], "VALUE")
    bad([replace(a, shape=shape(items=0))], "VALUE")
    bad([replace(a, shape=shape(footer_bytes=20))], "VALUE")
    bad([replace(a, shape=shape(place=1))], "CANONICAL")
    bad([replace(a, shape=shape(side=bwencode.leb128(128) * 3))], "CANONICAL")  # equal lengths
    bad([replace(a, shape=shape(side=shape().side[:-2] + b"\x81\x81\0"))], "CANONICAL")  # LEB128 not minimal
    bad([replace(a, shape=shape(side=shape().side[:-1]))], "TRUNCATED")
    bad([replace(a, shape=shape(side=shape().side + b"\1"))], "TRAILING")
    bad([replace(a, shape=shape(side=b"\x50" * 2 + b"\x51"))], "VALUE")  # shorter than head and table
    bad([replace(a, shape=shape(**{**FOOTER, "place": 65}))], "VALUE")
    bad([replace(a, shape=shape(**FOOTER))], "CANONICAL", slices=1)
    bw.decode_block(bwencode.block([a]), SLICES, 4096)
    bad([replace(a, shape=shape(total=577 + 90))], "VALUE", part_bytes=4096)
    bad([replace(a, shape=shape(parts=2))], "VALUE", part_bytes=4096)
    raw = bwencode.block([a, b, c, d])
    fails("TRAILING", bw.decode_block, raw + b"\0", SLICES)
    fails("TRUNCATED", bw.decode_block, raw[:-1], SLICES)
    # The tables turned round: still valid but for the order of first use, and for a name that stands twice.
    at = 20 + 8
    fails("CANONICAL", bw.decode_block, raw[:at] + b"p1p1" + raw[at + 4:], SLICES)
    records = len(raw) - len(a.shape.side) - 4 * bw.RECORD.size
    turned = bytearray(raw)
    turned[records + 36] = 1
    fails("CANONICAL", bw.decode_block, bytes(turned), SLICES)


def test_segment_rules():
    fails("VALUE", read_segment, bwencode.segment(segment(last=9)))
    fails("VALUE", read_segment, bwencode.segment(segment(first=9)))
    refs = references(count=16)
    fails("VALUE", read_segment, bwencode.segment(index(last=50)))
    fails("VALUE", read_segment, bwencode.segment(index(level=2)))
    fails("VALUE", read_segment, bwencode.segment(index(references=refs[:3] + refs[2:3] + refs[4:])))
    fails("TRUNCATED", read_segment, bwencode.segment(index(references=refs[:15], last=46)))
    fails("TRAILING", read_segment, bwencode.segment(index(references=references(count=17))))


def test_manifest_rules():
    def bad(kind="VALUE", **changes):
        fails(kind, read_manifest, bwencode.manifest(manifest(**changes)))

    refs = references()
    bad(version=0)
    bad(trim=13)
    bad(swept=5)
    bad(swept_bytes=5001)
    bad(committer="Big")
    bad(turn="-x")
    bad(next=13)
    bad(next=3)
    bad(swept=1)
    bad(references=[])
    bad(references=refs[:1])
    bad(references=references(width=2, count=1) + references(first=5, count=1))
    bad(references=references(count=1) + references(first=5, level=1, count=1))
    bad(references=[dataclasses.replace(refs[0], bytes=20), refs[1]])
    bad(page=bw.PageName(13, 5, b"g" * 16, 300, 2))
    bad(page=bw.PageName(7, 5, b"g" * 16, 300, 0))
    bad("CANONICAL", producers=[entry("p2"), entry("p1")])
    bad("CANONICAL", producers=[entry("p1"), entry("p1")])
    for changes in (dict(epoch=0), dict(swept_seq=6), dict(swept_offset=51), dict(seq=0, swept_seq=0),
                    dict(last_publish=0), dict(state=b"s" * 257), dict(id="a..b")):
        bad(producers=[entry(**{"name" if k == "id" else k: v for k, v in ({"id": "p1"} | changes).items()})])
    bad("CANONICAL", producers=[entry("p1", flags=8)])
    bad("CANONICAL", groups=[group("b"), group("a")])
    bad(groups=[group(f"g{k:02}") for k in range(65)])
    for changes in (dict(launch=b""), dict(launch=b"l" * 129), dict(launch_number=0), dict(hold=3),
                    dict(hold=1 << 40), dict(pins=[bw.Pin(b"", 1, 4, 0, b"c" * 16)]),
                    dict(pins=[bw.Pin(b"a", 1, 3, 0, b"c" * 16)]), dict(pins=[bw.Pin(b"a" * 129, 1, 4, 0, b"c" * 16)]),
                    dict(pins=[bw.Pin(bytes([65 + k]), 1, 4, 0, b"c" * 16) for k in range(65)])):
        bad(groups=[group(**changes)])
    bad("CANONICAL", groups=[group(pins=group().pins[::-1])])
    read_manifest(bwencode.manifest(manifest(references=[], swept=8, trim=8, groups=[])))


def test_page_rules():
    fails("VALUE", bw.decode_page, bwencode.page(page(entries=[])))
    fails("VALUE", bw.decode_page, bwencode.page(page(entries=[entry("p1")])))
    fails("CANONICAL", bw.decode_page, bwencode.page(page(entries=[entry("b", flags=1), entry("a", flags=1)])))


def test_frame_rules():
    items = [b"", None, b"x" * 100, b"y", None]
    data = bwencode.frame(42, 3, 1, items)
    got = bw.decode_frame(data)
    assert [(i.data, i.pad) for i in got.items] == [(i or b"", i is None) for i in items]
    assert (got.nonce, got.slice, got.kind, got.filled, len(data) % 64) == (42, 3, 1, 3, 0)

    def changed(at, raw, check=True):
        out = bytearray(data)
        out[at:at + len(raw)] = raw
        if check:
            crc = crc32c.crc32c(bytes(out[64:64 + 16 * 5]), crc32c.crc32c(bytes(out[:60])))
            out[60:64] = crc.to_bytes(4, "little")
        return bytes(out)

    for at in range(len(data)):  # padding included: every byte counts
        fails(None, bw.decode_frame, changed(at, bytes([data[at] ^ 1]), check=False))
    for at, raw, kind in ((0, b"X", "MAGIC"), (4, b"\2", "VERSION"), (6, b"\1", "FLAGS"), (20, b"\0", "VALUE"),
                          (24, b"\1", "LENGTH"), (32, b"\0", "VALUE"), (40, b"\0", "VALUE"), (48, b"\3", "VALUE"),
                          (49, b"\1", "CANONICAL"), (64 + 12, b"\2", "CANONICAL"),
                          (64 + 13, b"\1", "VALUE"), (64 + 45, b"\1", "ZSTD"),
                          (64 + 13, b"\2", "VALUE"), (64 + 16 + 8, b"\1", "CANONICAL"), (64 + 48 + 8, b"\1", "CRC")):
        fails(kind, bw.decode_frame, changed(at, raw))
    fails("LENGTH", bw.decode_frame, data + b"\0")
    fails("LENGTH", bw.decode_frame, data[:-1])


def rle(size, head=None, block=None):
    """A zstd frame of `size` equal bytes."""
    head = bytes([0x60]) + (size - 256).to_bytes(2, "little") if head is None else head
    return b"\x28\xb5\x2f\xfd" + head + (block or (1 | 1 << 1 | size << 3).to_bytes(3, "little") + b"a")


def test_packed_items():
    data = bwencode.frame(7, 0, 0, [b"plain", (300, rle(300)), None, (2, rle(2, b"\x20\2"))])
    got = bw.decode_frame(data)
    assert [i.data for i in got.items] == [b"plain", b"a" * 300, b"", b"aa"]
    assert [i.packed is not None for i in got.items] == [False, True, False, True]
    good = rle(300)
    two = (0 | 1 << 1 | 300 << 3).to_bytes(3, "little") + b"a"
    for size, raw in ((299, good), (301, good), (300, good + b"\0"), (300, good + good), (300, good[:-1]),
                      (300, b"\x50" + good[1:]), (300, rle(300, b"\x61\5" + good[5:7])),
                      (300, rle(300, b"\x40\x69" + good[5:7])), (300, rle(300, b"\0\x50")), (300, rle(300, block=two)),
                      (300, b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip")):
        fails("ZSTD", bw.decode_frame, bwencode.frame(7, 0, 0, [(size, raw)]))
    for size, raw in ((0, good), (300, b""), (1024 * len(good) + 1, good), ((1 << 30) + 1, bytes(1 << 21))):
        fails("VALUE", bw.decode_frame, bwencode.frame(7, 0, 0, [(size, raw)]))


def test_samples():
    rows = [[(b"doc", b"a/b.py"), (b"tokens", b"\0\1")], [], [(b"", b"")]]
    data = bwencode.samples(rows)
    assert bw.decode_samples(data) == rows
    assert bw.decode_samples(bytes(4)) == []
    for size in range(len(data)):
        fails("TRUNCATED", bw.decode_samples, data[:size])
    fails("TRAILING", bw.decode_samples, data + b"\0")


def test_packing():
    p = bw.pack([100, 4000, 5000, 10], 4096, 30)
    assert p.places == [(0, 0), (1, 0), (2, 0), (3, 0)] and p.part_sizes == [100, 4000, 5000, 94]
    assert p.footer == (3, 64)
    p = bw.pack([64, 64, 3968], 4096, 5000)
    assert p.places == [(0, 0), (0, 64), (0, 128)] and p.footer == (0, 4096) and p.total == 9096
    p = bw.pack([65, 3969], 4096, 20)
    assert p.places == [(0, 0), (1, 0)]


def test_keys():
    rest = "p-1/0000000002-00000000000000000009-00000000000000ff"
    for key in ("genesis", "hint", "manifest/00000000000000000011.manifest", "retired/00000000000000000003",
                f"segment/{1:020}-{2:020}-{'ab' * 16}", bw.page_key(3, 255), bw.part_key("p-1", 2, 9, 255, 4),
                bw.state_key("p-1", 2, 9, 255), "probe/0123456789abcdef0123456789abcdef", "tmp/x"):
        bw.parse_key(key)
    assert bw.part_key("p-1", 2, 9, 255, 4).endswith(rest + ".000004")
    good = bw.part_key("p-1", 2, 9, 255, 4)
    wrong = f"data/{int(good[5:7], 16) ^ 1:02x}/{good[8:]}"
    for key in (wrong, "manifest/11.manifest", "manifest/x", "Genesis", "retired/3", "data/x", good + ".tmp", ""):
        fails("KEY", bw.parse_key, key)


def test_cursor():
    skips = [[5, 7], [9, 10]]
    cursor = bw.Cursor(UUID, 12, 1, "same_batch", 8, 0xABC, 33, skips)
    text = cursor.json()
    assert bw.decode_cursor(text) == cursor
    assert bw.decode_cursor(text.replace(",", " ,\n")) == cursor
    assert cursor.hash() == dataclasses.replace(cursor, nonce=None, version=1).hash()
    assert cursor.hash() != dataclasses.replace(cursor, skips=skips[:1]).hash()
    for old, new in (('"item":1', '"item":true'), ('"item":1', '"item":-1'), ('"item":1', '"item":1,"item":1'),
                     ('"item":1', '"item":1,"more":1'), ('"item":1,', ''), ("same_batch", "other"), ("[5,7]", "[5,9]"),
                     ("[5,7]", "[7,7]"), ('"step":12', '"step":9223372036854775808'),
                     ('"batchweave":1', '"batchweave":2'),
                     ("0000000000000abc", "abc"), (UUID.hex(), "00"), ('"step":12', '"step":1.0')):
        assert old in text
        fails("CURSOR", bw.decode_cursor, text.replace(old, new))
    tagged = dataclasses.replace(cursor, tags=[[0, 0], [2, 5], [7, None]])
    assert bw.decode_cursor(tagged.json()) == tagged and tagged.hash() != cursor.hash()
    for new in ("[]", "null", "[[1]]", "[[2,1]]", "[[1,2],[3,4]]", "[[1,null],[5,6]]", "[[null,6]]"):
        fails("CURSOR", bw.decode_cursor, tagged.json().replace("[[0,0],[2,5],[7,null]]", new))
    fails("CURSOR", bw.decode_cursor, text + "x")


def test_sum():
    m = manifest()
    expected = m.sum
    for k, d in enumerate(m.tail):
        expected -= bw.term(m.tail_first + k, d)
    assert bw.sum_before_tail(m) == expected % (1 << 128)
    a = m.tail[0]
    assert bw.term(5, a) != bw.term(6, a)
    assert bw.term(5, a) != bw.term(5, dataclasses.replace(a, id="p3"))
    assert bw.term(5, a) != bw.term(5, dataclasses.replace(a, shape=dataclasses.replace(a.shape, tag=1)))
