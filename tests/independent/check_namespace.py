# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Proves a local namespace, live or finished, from its bytes alone: check_namespace.py DIR [--json].

What is proved: genesis; the chain of manifests above the highest retirement marker, link by link; that no
step ever changed (every manifest's sum against the newest one's descriptors); gapless steps; per producer,
contiguous seqs and offsets that tile [0, offset); the trim step is what groups keep at the least; departed
producers stand on the page once nothing of theirs is left; every retained batch present, packed and framed as
its descriptor says, every byte of it covered by a check or zero. Ghosts (manifests in retired blocks), orphans
(data that nothing references), probes and temporary files are listed apart: they are no findings.
Exit code: 0 clean, 1 findings, 2 no namespace there.
"""

import json
import os
import sys
from dataclasses import dataclass, field

import bwformat as bw
from bwformat import FormatError


@dataclass
class Result:
    findings: list = field(default_factory=list)  # (code, where, why)
    retired: list = field(default_factory=list)
    ghosts: list = field(default_factory=list)
    orphans: list = field(default_factory=list)
    foreign: list = field(default_factory=list)
    versions: tuple = (0, 0)
    first_step: int = 0
    next_step: int = 0
    sealed: bool = False
    items: int = 0
    pads: int = 0
    part_bytes: int = 0
    segments: int = 0
    producers: dict = field(default_factory=dict)  # id -> {epoch, seq, offset, finished}

    @property
    def ok(self):
        return not self.findings

    def find(self, code, where, why):
        self.findings.append((code, where, str(why)))

    def as_dict(self):
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        out["findings"] = [{"code": c, "where": w, "why": y} for c, w, y in self.findings]
        return {"ok": self.ok, **out}


class Namespace:
    """A directory whose file paths are keys. Reads only; safe while others write and sweep manifests."""

    def __init__(self, root):
        self.root = root
        self.genesis_bytes = self.read("genesis")
        if self.genesis_bytes is None:
            raise FileNotFoundError(f"{root}: no genesis")
        self.genesis = bw.decode_genesis(self.genesis_bytes)

    def read(self, key, at=0, size=-1):
        try:
            with open(os.path.join(self.root, key), "rb") as file:
                file.seek(at)
                return file.read(size)
        except FileNotFoundError:
            return None

    def size(self, key):
        try:
            return os.stat(os.path.join(self.root, key)).st_size
        except FileNotFoundError:
            return None

    def keys(self):
        for folder, _, names in os.walk(self.root):
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")

    def list_numbers(self, kind):
        folder = os.path.join(self.root, {"manifest": "manifest", "marker": "retired"}[kind])
        names = os.listdir(folder) if os.path.isdir(folder) else []
        prefix = os.path.basename(folder) + "/"
        return sorted(bw.parse_key(prefix + name)[1][0] for name in names)

    def manifest(self, data):
        return bw.decode_manifest(data, self.genesis.slices, self.genesis.part_bytes)

    def segment(self, ref):
        """The segment that a reference names, proved to be it; None when it is not there."""
        key = bw.segment_key(ref)
        data = self.read(key)
        if data is None:
            return None
        s = bw.decode_segment(data, self.genesis.slices, self.genesis.part_bytes)
        if bw.object_hash(data) != ref.hash or len(data) != ref.bytes:
            raise FormatError("HASH", key, "not the object that the reference names")
        if (s.uuid, s.level, s.first, s.last) != (self.genesis.uuid, ref.level, ref.first, ref.last):
            raise FormatError("FOREIGN", key, "uuid, level or steps are not the reference's")
        return s

    def newest(self):
        """The newest manifest of the chain as read: versions above the highest marker, in order."""
        return read_chain(self)[1][-1][1]

    def lengths(self, d):
        """The framed lengths of all slices of a descriptor, from its footer when they are not in it."""
        return d.shape.lengths if d.shape.lengths is not None else self.footer(d).lengths

    def footer(self, d, at=None):
        s = d.shape
        key = bw.part_key(d.id, d.epoch, d.seq, d.nonce, s.parts - 1)
        at = s.place if at is None else at
        data = self.read(key, at, s.footer_bytes)
        if data is None or len(data) != s.footer_bytes:
            raise FormatError("MISSING", key, f"no footer of {s.footer_bytes} bytes at {at}")
        return bw.decode_footer(data)

    def batch(self, d):
        """All slices of one batch: a list of decoded frames. Every byte of every part is proved."""
        g, s = self.genesis, d.shape
        lengths = self.lengths(d)
        packing = bw.pack(lengths, g.part_bytes, s.footer_bytes)
        where = "/".join(map(str, d.name[:3]))
        _agree(where, "parts", len(packing.part_sizes), s.parts)
        _agree(where, "total bytes", packing.total, s.total)
        parts = []
        for number, size in enumerate(packing.part_sizes):
            key = bw.part_key(*d.name, number)
            data = self.read(key)
            if data is None:
                raise FormatError("MISSING", key, "a part of a retained step")
            _agree(key, "bytes", len(data), size)
            parts.append(data)
        frames, ends = [], [0] * len(parts)
        for index, (length, (part, at)) in enumerate(zip(lengths, packing.places)):
            if not bw.is_zero(parts[part][ends[part]:at]):
                raise FormatError("CANONICAL", where, f"bytes before slice {index} are not zero")
            ends[part] = at + length
            frame = bw.decode_frame(parts[part][at:at + length], f"{where} slice {index}")
            _agree(where, "frame (nonce, slice, items, kind)",
                   (frame.nonce, frame.slice, len(frame.items), frame.kind), (d.nonce, index, s.items, s.kind))
            frames.append(frame)
        self._check_footer(d, where, lengths, packing, parts, ends, frames)
        return frames

    def _check_footer(self, d, where, lengths, packing, parts, ends, frames):
        g, s = self.genesis, d.shape
        part, at = packing.footer
        if not bw.is_zero(parts[part][ends[part]:at]):
            raise FormatError("CANONICAL", where, "bytes before the footer are not zero")
        footer = bw.decode_footer(parts[part][at:])
        _agree(where, "footer", (footer.nonce, footer.dp, footer.cp, footer.items, footer.kind),
               (d.nonce, g.dp, g.cp, s.items, s.kind))
        _agree(where, "the footer's lengths", tuple(footer.lengths), tuple(lengths))
        _agree(where, "the footer's item counts", footer.filled, [f.filled for f in frames])
        if s.form == bw.FORM_FOOTER:
            _agree(where, "the footer's place", at, s.place)
            equal = len(set(lengths)) == 1
            if equal or sum(map(bw.leb128_bytes, lengths)) <= bw.INLINE_BYTES_MAX:
                raise FormatError("CANONICAL", where, "a cheaper form would have done")


def _agree(where, what, found, expected):
    if found != expected:
        raise FormatError("MISMATCH", where, f"{what}: {found}, expected {expected}")


def read_chain(ns):
    """The retired blocks and, above them, [(bytes, manifest)]; read again when a sweep moves the marker."""
    while True:
        markers = ns.list_numbers("marker")
        version = (markers[-1] + 1) * ns.genesis.block_size if markers else 1
        chain = []
        while (data := ns.read(bw.manifest_key(version))) is not None:
            chain.append((data, ns.manifest(data)))
            version += 1
        if ns.list_numbers("marker") == markers:
            if not chain:
                raise FormatError("CHAIN", bw.manifest_key(version), "there is no manifest above the markers")
            return markers, chain


def descriptors(ns, m, below=0):
    """[(step, descriptor, sum before)] of all that a manifest describes; references that end below `below`
    (swept, their objects may be gone) are left out."""
    out = []

    def walk(ref):
        if ref.last < below:
            return
        segment = ns.segment(ref)
        if segment is None:
            raise FormatError("MISSING", bw.segment_key(ref), "a referenced segment")
        before = ref.sum_before
        if segment.level:
            _agree(bw.segment_key(ref), "sum before the first child", segment.references[0].sum_before, before)
            for child in segment.references:
                walk(child)
        for k, d in enumerate(segment.descriptors):
            out.append((ref.first + k, d, before))
            before = (before + bw.term(ref.first + k, d)) % bw.SUM_MOD

    for ref in m.references:
        walk(ref)
    before = bw.sum_before_tail(m)
    for k, d in enumerate(m.tail):
        out.append((m.tail_first + k, d, before))
        before = (before + bw.term(m.tail_first + k, d)) % bw.SUM_MOD
    return out


class Check:
    def __init__(self, ns, deep):
        self.ns = ns
        self.deep = deep
        self.result = Result()
        self.referenced = {"genesis"}

    def guarded(self, work, *args):
        """Runs one proof; what it raises becomes a finding."""
        try:
            return work(*args)
        except FormatError as error:
            self.result.find(error.kind, error.where, error.why)
            return None

    def run(self):
        chain = self.guarded(self.chain)
        if chain:
            newest = chain[-1][1]
            steps = self.guarded(descriptors, self.ns, newest, newest.swept) or []
            self.guarded(self.steps, newest, steps)
            self.guarded(self.history, chain, steps)
            self.guarded(self.producers, newest, steps)
            for step, d, _ in steps:
                self.guarded(self.batch, newest, step, d)
            for _, m in chain:
                self.guarded(self.segments, m, newest.swept)
        self.leftovers()
        return self.result

    # -- chain --

    def chain(self):
        r, g = self.result, self.ns.genesis
        r.retired, chain = read_chain(self.ns)
        _agree("retired/", "markers", r.retired, list(range(len(r.retired))))
        for block in r.retired:
            marker = bw.decode_marker(self.ns.read(bw.marker_key(block)))
            _agree(bw.marker_key(block), "marker", (marker.uuid, marker.block), (g.uuid, block))
        previous, nonces = None, set()
        if not r.retired:
            previous = bw.object_hash(self.ns.genesis_bytes)
        first = chain[0][1].version
        for k, (data, m) in enumerate(chain):
            key = bw.manifest_key(first + k)
            _agree(key, "uuid and version", (m.uuid, m.version), (g.uuid, first + k))
            if previous is not None:
                _agree(key, "hash of the manifest before", m.previous, previous)
            if m.nonce in nonces:
                raise FormatError("NONCE", key, "a commit nonce stands twice")
            nonces.add(m.nonce)
            previous = bw.object_hash(data)
            self.referenced.add(key)
        r.versions = first, chain[-1][1].version
        for before, after in zip(chain, chain[1:]):
            self.guarded(self.transition, before[1], after[1])
        self.later_manifests(r.versions[1])
        return chain

    def later_manifests(self, newest):
        """A manifest beyond a gap: unless the chain has grown meanwhile, a broken chain."""
        for version in self.ns.list_numbers("manifest"):
            if version > newest + 1 and self.ns.read(bw.manifest_key(newest + 1)) is None:
                self.result.find("CHAIN", bw.manifest_key(version), f"version {newest + 1} is missing")

    def transition(self, a, b):
        key = bw.manifest_key(b.version)
        # Not `finished`: a reopened producer is not finished any more (format.md 10).
        for name in ("next", "trim", "swept", "sealed", "committed_bytes", "swept_bytes"):
            if getattr(b, name) < getattr(a, name):
                raise FormatError("ORDER", key, f"{name} goes from {getattr(a, name)} to {getattr(b, name)}")
        # One commit finishes one producer, or opens one that had finished.
        if abs(b.finished - a.finished) > 1:
            raise FormatError("ORDER", key, f"{a.finished} producers have finished, then {b.finished}")
        if a.sealed and b.next != a.next:
            raise FormatError("SEALED", key, "a step after the seal")
        _agree(key, "descriptors, as next and sum tell,", a.next != b.next, a.sum != b.sum)
        after = {e.id: e for e in b.producers}
        before = {e.id: e for e in a.producers}
        # From the page, or with a new epoch.
        reopened = sum(not y.finished and (n not in before or (before[n].finished and y.epoch > before[n].epoch))
                       for n, y in after.items())
        if a.finished - b.finished > reopened:
            raise FormatError("ORDER", key, f"finished goes from {a.finished} to {b.finished}, reopened: {reopened}")
        for x in a.producers:
            y = after.get(x.id)
            if y is None:
                if b.page is None or b.page == a.page or not (x.finished or x.forgotten):
                    raise FormatError("PRODUCER", key, f"producer {x.id} is gone")
                continue
            if y.epoch < x.epoch or y.seq < x.seq or y.offset < x.offset:
                raise FormatError("ORDER", key, f"producer {x.id} goes back")
            if y.epoch == x.epoch and y.token != x.token:
                raise FormatError("PRODUCER", key, f"producer {x.id}: one epoch, two tokens")
            if y.seq != x.seq:
                _agree(key, f"producer {x.id}: version of its last publish", y.last_publish, b.version)
        self.kept(key, a, b)

    @staticmethod
    def kept(key, a, b):
        """What groups, sweeps and pages may do from one version to the next."""
        keeps = [step for g in b.groups for step in [g.hold] + [p.step for p in g.pins]]
        _agree(key, "trim step", b.trim, max(a.trim, min(keeps)) if keeps else a.trim)
        after = {g.name: g for g in b.groups}
        for x in a.groups:
            y = after.get(x.name)
            if y is not None and ((y.launch, y.launch_number) != (x.launch, x.launch_number)
                                  and (y.launch == x.launch or y.launch_number != x.launch_number + 1)):
                raise FormatError("GROUP", key, f"group {x.name}: launch {y.launch_number} after {x.launch_number}")
        if b.swept == a.swept and b.swept_bytes != a.swept_bytes:
            raise FormatError("ORDER", key, "swept bytes without a sweep")
        if b.page != a.page:
            _agree(key, "version of its page", b.page and b.page.version, b.version)

    # -- steps and sums --

    def steps(self, m, steps):
        r = self.result
        r.next_step, r.sealed = m.next, m.sealed
        key = bw.manifest_key(m.version)
        r.first_step = steps[0][0] if steps else m.next
        _agree(key, "steps", [s for s, _, _ in steps], list(range(r.first_step, m.next)))
        if r.first_step > m.swept:
            raise FormatError("STEPS", key, f"nothing describes [{m.swept}, {r.first_step})")
        before = steps[0][2] if steps else m.sum
        if r.first_step == 0:
            _agree(key, "sum before step 0", before, 0)
        for step, d, stated in steps:
            _agree(key, f"sum before step {step}", stated, before)
            before = (before + bw.term(step, d)) % bw.SUM_MOD
        _agree(key, "sum over all steps", before, m.sum)
        held = sum(d.shape.total for step, d, _ in steps if step >= m.swept)
        _agree(key, "bytes of retained steps", held, m.committed_bytes - m.swept_bytes)

    def history(self, chain, steps):
        """Every manifest of the chain had the same steps: its sum is the newest one's at the same place."""
        sums = {step: before for step, _, before in steps}
        sums[chain[-1][1].next] = chain[-1][1].sum
        for _, m in chain:
            if m.next in sums:
                _agree(bw.manifest_key(m.version), f"sum before step {m.next}", m.sum, sums[m.next])
            if m.tail_first in sums:
                _agree(bw.manifest_key(m.version), f"sum before step {m.tail_first}", bw.sum_before_tail(m),
                       sums[m.tail_first])
            for ref in m.references:
                if ref.first in sums:
                    _agree(bw.manifest_key(m.version), f"sum before step {ref.first}", ref.sum_before,
                           sums[ref.first])

    def segments(self, m, swept):
        """Every segment that any manifest of the chain references is there and is the one it names."""
        todo = list(m.references)
        while todo:
            ref = todo.pop()
            key = bw.segment_key(ref)
            if key in self.referenced or ref.last < swept:
                continue
            self.referenced.add(key)
            segment = self.ns.segment(ref)
            if segment is None:
                raise FormatError("MISSING", key, f"referenced by manifest {m.version}")
            self.result.segments += 1
            todo += segment.references

    # -- producers --

    def entries(self, m):
        out = {e.id: e for e in m.producers}
        if m.page is not None:
            key = bw.page_key(m.page.version, m.page.nonce)
            self.referenced.add(key)
            data = self.ns.read(key)
            if data is None:
                raise FormatError("MISSING", key, "the page of the newest manifest")
            page = bw.decode_page(data)
            _agree(key, "page", (page.uuid, page.version, len(page.entries), len(data), bw.object_hash(data)),
                   (m.uuid, m.page.version, m.page.entries, m.page.bytes, m.page.hash))
            for e in page.entries:
                if (e.seq, e.offset) != (e.swept_seq, e.swept_offset):
                    raise FormatError("PRODUCER", key, f"producer {e.id} is not wholly swept")
                now = out.setdefault(e.id, e)
                # Who came back is in the map; the page has it as it left.
                if now is not e and (e.epoch >= now.epoch or e.seq > now.seq or e.offset > now.offset):
                    raise FormatError("PRODUCER", key, f"producer {e.id} is in the map too")
        return out

    def producers(self, m, steps):
        entries = self.entries(m)
        _agree(bw.manifest_key(m.version), "finished producers", sum(e.finished for e in entries.values()), m.finished)
        at = {}
        for step, d, _ in steps:
            where = f"step {step}"
            entry = entries.get(d.id)
            if entry is None:
                raise FormatError("PRODUCER", where, f"producer {d.id} has no entry")
            if step < m.swept:
                continue
            seq, offset, epoch = at.get(d.id, (entry.swept_seq, entry.swept_offset, 1))
            if (d.seq, d.start) != (seq + 1, offset):
                raise FormatError("TILING", where, f"producer {d.id}: seq {d.seq} from {d.start} after seq {seq} "
                                                   f"which ended at {offset}")
            if not epoch <= d.epoch <= entry.epoch:
                raise FormatError("TILING", where, f"producer {d.id}: epoch {d.epoch} after {epoch}")
            at[d.id] = d.seq, d.end, d.epoch
        for name, e in entries.items():
            seq, offset, _ = at.get(name, (e.swept_seq, e.swept_offset, 1))
            if (e.seq, e.offset) != (seq, offset):
                raise FormatError("TILING", f"producer {name}", f"the entry says seq {e.seq} and offset {e.offset}, "
                                                                f"its batches end at {seq} and {offset}")
            self.result.producers[name] = {"epoch": e.epoch, "seq": e.seq, "offset": e.offset,
                                           "finished": e.finished}
            self.guarded(self.state, e)

    def state(self, e):
        if e.state_name is None:
            return
        n = e.state_name
        key = bw.state_key(e.id, n.epoch, n.seq, n.nonce)
        self.referenced.add(key)
        data = self.ns.read(key)
        if data is None:
            raise FormatError("MISSING", key, f"the resume state of producer {e.id}")
        _agree(key, "bytes and hash", (len(data), bw.object_hash(data)), (n.bytes, n.hash))
        state = bw.decode_state(data)
        _agree(key, "uuid, epoch and seq", (state.uuid, state.epoch, state.seq),
               (self.ns.genesis.uuid, n.epoch, n.seq))

    # -- batches --

    def batch(self, m, step, d):
        keys = [bw.part_key(*d.name, part) for part in range(d.shape.parts)]
        self.referenced.update(keys)
        if step < m.trim and any(self.ns.size(key) is None for key in keys):
            return  # a sweep is at work below trim
        if not self.deep:
            if sum(self.ns.size(key) or 0 for key in keys) != d.shape.total:
                raise FormatError("MISSING", f"step {step}", "its parts do not add up")
            return
        try:
            for frame in self.ns.batch(d):
                self.result.items += frame.filled
                self.result.pads += len(frame.items) - frame.filled
        except FormatError as error:
            raise FormatError(error.kind, f"step {step}, {error.where}", error.why) from None
        self.result.part_bytes += d.shape.total

    # -- the rest of the directory --

    def leftovers(self):
        r = self.result
        last_retired = r.retired[-1] if r.retired else -1
        for key in self.ns.keys():
            try:
                kind, fields = bw.parse_key(key)
            except FormatError:
                if key.split("/")[0] in ("manifest", "retired", "segment", "page", "data"):
                    r.find("KEY", key, "no object has such a name")
                else:
                    r.foreign.append(key)
                continue
            if kind == "manifest" and fields[0] // self.ns.genesis.block_size <= last_retired:
                r.ghosts.append(key)
            elif kind in ("segment", "page", "part", "state") and key not in self.referenced:
                r.orphans.append(key)
        r.ghosts.sort()
        r.orphans.sort()


def check(root, deep=True):
    """Proves the namespace in the directory root; returns a Result."""
    return Check(Namespace(root), deep).run()


def ghosts(root):
    """The manifests that lie in retired blocks right now: a quick look, nothing is proved."""
    ns = Namespace(root)
    markers = ns.list_numbers("marker")
    limit = (markers[-1] + 1) * ns.genesis.block_size if markers else 0
    return [version for version in ns.list_numbers("manifest") if version < limit]


def deliveries(root):
    """Per retained step, in order: (step, descriptor, [slice -> [(bytes, pad)]]): what training must have seen."""
    ns = Namespace(root)
    m = ns.newest()
    for step, d, _ in descriptors(ns, m, m.trim):
        if step >= m.trim:
            yield step, d, [[(item.data, item.pad) for item in frame.items] for frame in ns.batch(d)]


def main(argv):
    if not 1 <= len(argv) <= 2 or argv[0].startswith("-") or argv[1:] not in ([], ["--json"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        result = check(argv[0])
    except (FileNotFoundError, FormatError) as error:
        print(error, file=sys.stderr)
        return 2
    if argv[1:]:
        print(json.dumps(result.as_dict()))
        return 0 if result.ok else 1
    for code, where, why in result.findings:
        print(f"{code}  {where}: {why}")
    print(f"versions {result.versions[0]}..{result.versions[1]}, steps {result.first_step}..{result.next_step}, "
          f"{result.items} items, {result.pads} pads, {result.segments} segments, {len(result.producers)} producers, "
          f"{len(result.retired)} blocks retired, {len(result.ghosts)} ghosts, {len(result.orphans)} orphans")
    print("clean" if result.ok else f"{len(result.findings)} findings")
    return 0 if result.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
