# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a small, correct namespace in a directory, by the rules of docs/format.md: input for tests that break it."""

import dataclasses
import os
import random

import bwencode
import bwformat as bw

UUID = bytes(range(16))


class TinySpace:
    """Commits as two producers would: each publish is one manifest, folds and merges included."""

    def __init__(self, root, slices=2, tail_cap=256, block_size=4, part_bytes=4096, seed=1):
        self.root = root
        self.random = random.Random(seed)
        self.genesis = bw.Genesis(UUID, 5, slices, 1, 2, 0, block_size, tail_cap, part_bytes, 2, None, None, "", b"")
        self.chain = []
        self.bytes = {}  # what was written, by key
        self.put("genesis", bwencode.genesis(self.genesis))
        first = bw.Manifest(UUID, 1, self.nonce(), bw.object_hash(self.bytes["genesis"]), 7, 0, 0, 0, False, 0, 0, 0,
                            0, "", "", None, [], [], [])
        self.commit(first)

    def nonce(self):
        return self.random.randbytes(16)

    def put(self, key, data):
        path = os.path.join(self.root, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        self.bytes[key] = data

    def commit(self, m):
        self.chain.append(m)
        self.put(bw.manifest_key(m.version), bwencode.manifest(m))

    def next_manifest(self, **changes):
        """The next version with its base folded and merged as section 15 has it."""
        base = self.chain[-1]
        references, tail = list(base.references), list(base.tail)
        levels = [ref.level for ref in references]
        run = [k for k, level in enumerate(levels) if level == min(levels)][:16]
        if len(run) == 16:
            children = references[run[0]:run[0] + 16]
            ref = self.put_segment(children[0].level + 1, children[0].first, children[-1].last,
                                   children[0].sum_before, [], children)
            references[run[0]:run[0] + 16] = [ref]
        if tail and len(bwencode.block(tail)) * 2 > self.genesis.tail_cap:
            references.append(self.put_segment(0, base.tail_first, base.next - 1, bw.sum_before_tail(base), tail, []))
            tail = []
        previous = bw.object_hash(self.bytes[bw.manifest_key(base.version)])
        fields = dict(version=base.version + 1, nonce=self.nonce(), previous=previous, references=references, tail=tail)
        return dataclasses.replace(base, **{**fields, **changes})

    def put_segment(self, level, first, last, before, descriptors, references):
        data = bwencode.segment(bw.Segment(UUID, level, first, last, descriptors, references))
        ref = bw.Reference(first, last, bw.object_hash(data), before, len(data), level)
        self.put(bw.segment_key(ref), data)
        return ref

    def open(self, name):
        m = self.next_manifest()
        entry = bw.Entry(name, 1, 0, 0, self.nonce(), 0, 0, 0, 0, 0, m.version, b"", None)
        self.commit(dataclasses.replace(m, producers=sorted(m.producers + [entry], key=lambda e: e.id)))

    def entry(self, name):
        return next(e for e in self.chain[-1].producers if e.id == name)

    def stage(self, d_id, seq, epoch, items, nonce):
        """Writes the parts of a batch (items[slice][item] = bytes or None); returns its shape."""
        frames = [bwencode.frame(nonce, k, 0, row) for k, row in enumerate(items)]
        lengths = [len(f) for f in frames]
        foot = bwencode.footer(bw.Footer(nonce, self.genesis.dp, self.genesis.cp, len(items[0]), 0, b"x/y", b"{}",
                                            lengths,
                                         [sum(i is not None for i in row) for row in items], [[b"id"] for _ in items]))
        packing = bw.pack(lengths, self.genesis.part_bytes, len(foot))
        parts = [bytearray(size) for size in packing.part_sizes]
        for raw, (part, at) in zip(frames + [foot], packing.places + [packing.footer]):
            parts[part][at:at + len(raw)] = raw
        for number, part in enumerate(parts):
            self.put(bw.part_key(d_id, epoch, seq, nonce, number), bytes(part))
        side = b"".join(map(bwencode.leb128, lengths))
        form, place, side_used = bw.FORM_INLINE, 0, side
        if len(set(lengths)) == 1:
            form, place, side_used = bw.FORM_UNIFORM, lengths[0], b""
        elif len(side) > bw.INLINE_BYTES_MAX:
            form, place, side_used = bw.FORM_FOOTER, packing.footer[1], b""
        return bw.Shape(form, 0, len(parts), len(items[0]), len(foot), place, packing.total, len(items), 0, 0,
                        side_used,
                        None if form == bw.FORM_FOOTER else tuple(lengths))

    def publish(self, name, items, span=3):
        e = self.entry(name)
        nonce = self.random.getrandbits(64)
        shape = self.stage(name, e.seq + 1, e.epoch, items, nonce)
        d = bw.Descriptor(nonce, e.offset, e.offset + span, e.seq + 1, e.epoch, name, shape)
        m = self.next_manifest()
        mine = dataclasses.replace(e, seq=d.seq, offset=d.end, last_publish=m.version, last_commit=m.version)
        self.commit(dataclasses.replace(
            m, tail=m.tail + [d], next=m.next + 1, committed_bytes=m.committed_bytes + shape.total,
            sum=(m.sum + bw.term(m.next, d)) % bw.SUM_MOD,
            producers=[mine if x.id == name else x for x in m.producers]))
        return d

    def finish(self, name):
        m = self.next_manifest()
        mine = dataclasses.replace(self.entry(name), flags=bw.FINISHED, last_commit=m.version)
        self.commit(dataclasses.replace(m, finished=m.finished + 1,
                                        producers=[mine if x.id == name else x for x in m.producers]))

    def reopen(self, name):
        """Finished as it is: the next epoch goes on behind it, and one fewer is finished."""
        m, e = self.next_manifest(), self.entry(name)
        mine = dataclasses.replace(e, flags=0, epoch=e.epoch + 1, token=self.nonce(), last_commit=m.version)
        self.commit(dataclasses.replace(m, finished=m.finished - 1,
                                        producers=[mine if x.id == name else x for x in m.producers]))

    def retire(self, block):
        self.put(bw.marker_key(block), bwencode.marker(bw.Marker(UUID, block)))
        for version in range(block * self.genesis.block_size, (block + 1) * self.genesis.block_size):
            path = os.path.join(self.root, bw.manifest_key(version))
            if os.path.exists(path):
                os.unlink(path)

    def random_items(self, equal=False):
        slices, count = self.genesis.slices, self.random.choice((1, 2, 3))
        size = self.random.randrange(900)
        return [[self.random.randbytes(size if equal else self.random.randrange(1500)) for _ in range(count)]
                for _ in range(slices)]
