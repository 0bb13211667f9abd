# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Tests over tests/golden: each NAME.bin is decoded, compared member by member with NAME.json, and written back byte
for byte. The parts of a TGB are proved together: packing, keys and every item."""

import json
import os
import re

import bwencode
import bwformat as bw

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
PAGE = os.path.join(FOLDER, "..", "..", "docs", "format.md")
# What the page has an object for; a golden file of each must be there.
WANTED = {"cursor", "genesis", "hint", "manifest", "marker", "page", "part", "segment", "state"}
FORMS = ("uniform", "inline", "footer")


def number(value):
    """JSON readers of some languages stop at 2^63: larger ones are written as text."""
    return value if value < 1 << 63 else str(value)


def sum_text(value):
    return value.to_bytes(16, "little").hex()


def nonce_text(value):
    return f"{value:016x}"


def genesis(g):
    out = {"object": "genesis", "uuid": g.uuid.hex(), "created": g.created, "dp": g.dp, "cp": g.cp,
           "items_default": g.items_default, "expected_producers": g.expected_producers, "block_size": g.block_size,
           "tail_cap": g.tail_cap, "part_bytes": g.part_bytes, "page_min": g.page_min, "layout": g.layout,
           "schema": g.schema.decode()}
    return out | {name: getattr(g, name) for name in ("max_lag", "max_bytes") if getattr(g, name) is not None}


def descriptor(step, d):
    s = d.shape
    return {"step": step, "id": d.id, "nonce": nonce_text(d.nonce), "start": d.start, "end": d.end, "seq": d.seq,
            "epoch": d.epoch, "form": FORMS[s.form], "kind": s.kind, "parts": s.parts, "items": s.items,
            "footer_bytes": s.footer_bytes, "place": s.place, "total_bytes": s.total, "samples": s.samples,
            "tokens": s.tokens, "tag": number(s.tag), "side": s.side.hex(), "term": sum_text(bw.term(step, d))}


def reference(ref):
    return {"first": ref.first, "last": ref.last, "hash": ref.hash.hex(), "sum_before": sum_text(ref.sum_before),
            "bytes": ref.bytes, "level": ref.level}


def segment(s):
    out = {"object": "segment", "uuid": s.uuid.hex(), "level": s.level, "first": s.first, "last": s.last}
    if s.level:
        return out | {"references": [reference(ref) for ref in s.references]}
    return out | {"descriptors": [descriptor(s.first + k, d) for k, d in enumerate(s.descriptors)]}


def entry(e):
    out = {"id": e.id, "epoch": e.epoch, "finished": e.finished, "forgotten": e.forgotten, "slot": e.slot,
           "token": e.token.hex(), "seq": e.seq, "offset": e.offset, "swept_seq": e.swept_seq,
           "swept_offset": e.swept_offset, "last_publish": e.last_publish, "last_commit": e.last_commit}
    if e.state_name is None:
        return out | {"state": e.state.hex()}
    n = e.state_name
    return out | {"state_object": {"epoch": n.epoch, "seq": n.seq, "nonce": nonce_text(n.nonce), "bytes": n.bytes,
                                   "hash": n.hash.hex()}}


def page(p):
    return {"object": "page", "uuid": p.uuid.hex(), "version": p.version, "entries": [entry(e) for e in p.entries]}


def group(g):
    return {"name": g.name, "launch": g.launch.decode(), "launch_number": g.launch_number,
            "hold": g.hold, "pinned": g.pinned, "cursor_hash": g.cursor_hash.hex(),
            "last_version": g.last_version, "last_clock": g.last_clock,
            "pins": [{"id": p.id.decode(), "nonce": nonce_text(p.nonce), "step": p.step, "item": p.item,
                      "cursor_hash": p.cursor_hash.hex()} for p in g.pins]}


def manifest(m):
    out = {"object": "manifest", "uuid": m.uuid.hex(), "version": m.version, "nonce": m.nonce.hex(),
           "previous": m.previous.hex(), "clock": m.clock, "next": m.next, "trim": m.trim, "swept": m.swept,
           "sealed": m.sealed, "committed_bytes": m.committed_bytes, "swept_bytes": m.swept_bytes,
           "finished_producers": m.finished, "sum": sum_text(m.sum), "committer": m.committer, "turn": m.turn,
           "references": [reference(ref) for ref in m.references],
           "tail": [descriptor(m.tail_first + k, d) for k, d in enumerate(m.tail)],
           "producers": [entry(e) for e in m.producers], "groups": [group(g) for g in m.groups]}
    if m.page is not None:
        p = m.page
        out["page"] = {"version": p.version, "nonce": nonce_text(p.nonce), "hash": p.hash.hex(), "bytes": p.bytes,
                       "entries": p.entries}
    return out


def cursor(c):
    out = {"object": "cursor", "hash": c.hash().hex(), "namespace": c.namespace.hex(), "step": c.step, "item": c.item,
           "mode": c.mode, "dp": c.dp, "version": c.version, "skips": c.skips,
           **({"tags": c.tags} if c.tags else {}), **({"way": c.way} if c.way else {})}
    return out if c.nonce is None else out | {"nonce": nonce_text(c.nonce)}


def footer(f, at):
    slices = [{"framed": framed, "items_set": filled, "samples": [raw.decode() for raw in ids]}
              for framed, filled, ids in zip(f.lengths, f.filled, f.samples)]
    return {"offset": at, "nonce": nonce_text(f.nonce), "dp": f.dp, "cp": f.cp, "items": f.items, "kind": f.kind,
            "media_type": f.media_type.decode(), "metadata": f.metadata.decode(), "slices": slices}


def frame(f, at, length):
    rows, end = [], 64 + 16 * len(f.items)
    for item in f.items:
        start = bw.align64(end)
        rows.append({"pad": item.pad, "offset": start, "data": item.stored.hex()})
        if item.packed is not None:
            rows[-1]["plain"] = item.data.hex()
        end = start + len(item.stored)
    return {"offset": at, "nonce": nonce_text(f.nonce), "slice": f.slice, "framed": length,
            "plain": sum(len(item.data) for item in f.items), "stored": sum(len(item.stored) for item in f.items),
            "kind": f.kind, "items": rows}


# object -> (decode, encode, render)
SIMPLE = {
    "genesis": (bw.decode_genesis, bwencode.genesis, genesis),
    "manifest": (bw.decode_manifest, bwencode.manifest, manifest),
    "segment": (bw.decode_segment, bwencode.segment, segment),
    "page": (bw.decode_page, bwencode.page, page),
    "marker": (bw.decode_marker, bwencode.marker,
               lambda m: {"object": "marker", "uuid": m.uuid.hex(), "block": m.block}),
    "state": (bw.decode_state, bwencode.state,
              lambda s: {"object": "state", "uuid": s.uuid.hex(), "epoch": s.epoch, "seq": s.seq,
                         "state": s.state.hex()}),
    "hint": (bw.decode_hint, bwencode.hint, lambda h: {"object": "hint", "uuid": h.uuid.hex(), "version": h.version}),
    "cursor": (lambda data: bw.decode_cursor(data.decode()), lambda c: c.json().encode(), cursor),
}


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def describe(name):
    return json.loads(read(name + ".json"))


def same(got, expected, where=""):
    """Equal, or an error that names the first member that is not."""
    if isinstance(got, dict) and isinstance(expected, dict):
        assert set(got) == set(expected), f"{where}: members {set(got) ^ set(expected)}"
        for key in got:
            same(got[key], expected[key], f"{where}.{key}")
    elif isinstance(got, list) and isinstance(expected, list):
        assert len(got) == len(expected), f"{where}: {len(got)} instead of {len(expected)}"
        for k, pair in enumerate(zip(got, expected)):
            same(*pair, f"{where}[{k}]")
    else:
        assert type(got) is type(expected) and got == expected, f"{where}: {got!r} instead of {expected!r}"


def check_object(name):
    data, expected = read(name + ".bin"), describe(name)
    decode, encode, render = SIMPLE[expected["object"]]
    if expected["object"] in ("manifest", "segment"):
        record = decode(data, expected.pop("slices"), expected.pop("part_bytes"))
    else:
        record = decode(data)
    got = render(record)
    if "hash" in expected and "hash" not in got:
        got["hash"] = bw.object_hash(data).hex()
    same(got, expected, name)
    assert encode(record) == data, f"{name}: written back with other bytes"


def check_tgb(name, count):
    """All parts of one TGB: NAME.000000 …"""
    parts = [(read(f"{name}.{k:06}.bin"), describe(f"{name}.{k:06}")) for k in range(count)]
    last, told = parts[-1][0], parts[-1][1]
    at = told["footer"]["offset"]
    foot = bw.decode_footer(last[at:])
    assert bwencode.footer(foot) == last[at:]
    packing = bw.pack(foot.lengths, told["part_bytes"], len(last) - at)
    assert packing.part_sizes == [len(data) for data, _ in parts] and packing.footer == (count - 1, at)
    frames = [[] for _ in parts]
    rebuilt = [bytearray(len(data)) for data, _ in parts]
    for index, (length, (part, place)) in enumerate(zip(foot.lengths, packing.places)):
        raw = parts[part][0][place:place + length]
        f = bw.decode_frame(raw)
        items = [None if i.pad else i.data if i.packed is None else (len(i.data), i.packed) for i in f.items]
        assert bwencode.frame(f.nonce, index, f.kind, items) == raw
        rebuilt[part][place:place + length] = raw
        frames[part].append(frame(f, place, length))
        if f.kind == 1:
            for item in f.items:
                assert item.pad or bwencode.samples(bw.decode_samples(item.data)) == item.data
    rebuilt[-1][at:] = last[at:]
    for k, (data, expected) in enumerate(parts):
        assert rebuilt[k] == data, f"{name}, part {k}: padding is not zero"
        kind, (_, producer, epoch, seq, nonce, part) = bw.parse_key(expected["key"])
        assert kind == "part" and bw.part_key(producer, epoch, seq, nonce, part) == expected["key"]
        assert (nonce, part) == (foot.nonce, k)
        got = {"object": "part", "key": expected["key"], "part": k, "parts": count, "part_bytes": told["part_bytes"],
               "slices": frames[k]}
        same(got if k < count - 1 else got | {"footer": footer(foot, at)}, expected, f"{name}.{k:06}")


def check_all_are_here():
    names = [name[:-5] for name in os.listdir(FOLDER) if name.endswith(".json")]
    assert {describe(name)["object"] for name in names} == WANTED
    assert sorted(names) == sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".bin"))
    with open(PAGE, encoding="utf-8") as page:
        table = page.read().split("\n## 16. Golden files\n")[1]
    assert set(names) == set(re.findall(r"`([a-z-]+(?:\.[0-9]{6})?)`", table)), table


def tests():
    out, parts = [("golden.all are here", check_all_are_here)], {}
    for name in sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".bin")):
        match = re.fullmatch(r"(.+)\.([0-9]{6})", name)
        if match:
            parts[match[1]] = int(match[2]) + 1
        else:
            out.append((f"golden.{name}", lambda name=name: check_object(name)))
    return out + [(f"golden.{name}", lambda name=name, count=count: check_tgb(name, count))
                  for name, count in parts.items()]
