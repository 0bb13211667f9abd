# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs with known content, and the proof that what was delivered is exactly them.

Frames, lines and samples carry their own number, so two are never equal; documents are random text of
several lengths, empty ones included.
"""

import collections
import io
import json
import os
import tarfile

import bwformat as bw


def write_frames(path, rng, label, count):
    """A frames file; returns its frames."""
    frames = [f"{label} {k} ".encode() + rng.randbytes(rng.choice((0, 10, 300, 1500))) for k in range(count)]
    with open(path, "wb") as file:
        for frame in frames:
            file.write(len(frame).to_bytes(4, "little") + frame)
    return frames


def write_documents(folder, rng, count):
    """A tree of text documents; returns {name: bytes}."""
    words = ["weave", "batch", "loom", "thread", "schuß", "織る", "\n", "0"]
    documents = {}
    for k in range(count):
        name = f"d{k % 3}/doc-{k:03}.txt"
        text = " ".join(rng.choice(words) for _ in range(rng.choice((0, 1, 30, 200, 900))))
        documents[name] = text.encode()
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(documents[name])
    return documents


def write_lines(path, rng, count):
    """Lines of JSON; returns them."""
    lines = [json.dumps({"k": k, "text": "weave " * rng.randrange(60)}).encode() for k in range(count)]
    with open(path, "wb") as file:
        file.write(b"\n".join(lines))
    return lines


def write_archives(folder, rng, archives, count):
    """WebDataset shards s0.tar …; returns the samples, each as its fields in order."""
    os.makedirs(folder)
    samples = []
    for a in range(archives):
        with tarfile.open(os.path.join(folder, f"s{a}.tar"), "w") as archive:
            for k in range(count):
                key = f"{a}-{k:03}"
                fields = [(b"__key__", key.encode()), (b"jpg", rng.randbytes(rng.choice((0, 10, 700)))),
                          (b"cls", b"%d" % k)]
                for extension, data in fields[1:]:
                    info = tarfile.TarInfo(f"{key}.{extension.decode()}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
                samples.append(tuple(fields))
    return samples


def item_major(rows):
    """The items of a step in the order in which a producer fills its slots: item 0 of every slice, then item 1 …"""
    for item in range(len(rows[0])):
        for row in rows:
            yield row[item]


def delivered_of(steps, producer):
    """The items of one producer in stream order; offsets must count them and pads may only end a batch."""
    out = []
    for step, d, rows in steps:
        if d.id != producer:
            continue
        slots = list(item_major(rows))
        filled = [data for data, pad in slots if not pad]
        if any(pad for _, pad in slots[:len(filled)]):
            raise ValueError(f"step {step}: a pad stands before an item")
        if (d.start, d.end) != (len(out), len(out) + len(filled)):
            raise ValueError(f"step {step}: [{d.start}, {d.end}) holds {len(filled)} items after {len(out)}")
        out += filled
    return out


def prove_frames(steps, producer, frames):
    got = delivered_of(steps, producer)
    if got != frames:
        raise ValueError(f"producer {producer}: {len(got)} frames delivered, {len(frames)} given, or not the same ones")


def prove_records(steps, producers, wanted, epochs, fields=None):
    """Each record as often as there were epochs; `fields`: which of a sample's make it."""
    got = collections.Counter()
    for name in producers:
        for item in delivered_of(steps, name):
            for sample in bw.decode_samples(item):
                got[tuple((bytes(k), bytes(v)) for k, v in sample if fields is None or bytes(k) in fields)] += 1
    if got != collections.Counter({record: epochs for record in wanted}):
        raise ValueError(f"{producers}: {sum(got.values())} records delivered, {epochs} x {len(wanted)} given, "
                         "or not the same ones")


def fragments(item):
    """(document, at, bytes) of each sample of an item of kind `samples`."""
    for sample in bw.decode_samples(item):
        fields = dict(sample)
        yield fields[b"doc"].decode(), int.from_bytes(fields[b"at"], "little"), fields[b"tokens"]


def join_fragments(pieces):
    """{document: bytes} from fragments in any order; each document's must tile it from 0."""
    by_name = {}
    for name, at, data in pieces:
        by_name.setdefault(name, []).append((at, data))
    out = {}
    for name, parts in by_name.items():
        parts.sort(key=lambda part: part[0])
        end = 0
        for at, data in parts:
            if at != end or not data:
                raise ValueError(f"document {name}: a fragment of {len(data)} bytes at {at}, {end} expected")
            end += len(data)
        out[name] = b"".join(data for _, data in parts)
    return out


def prove_documents(steps, producers, documents):
    pieces = [piece for name in producers for item in delivered_of(steps, name) for piece in fragments(item)]
    got = join_fragments(pieces)
    if got != {name: data for name, data in documents.items() if data}:
        raise ValueError(f"{len(got)} documents delivered, {len(documents)} given, or not the same bytes")
