# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the namespace checker: a correct namespace is clean, each planted violation is found.

Run by test_golden.py."""

import dataclasses
import os
import shutil
import tempfile

import bwencode
import bwformat as bw
import check_namespace
from tinyspace import UUID, TinySpace


class Scratch:
    def __enter__(self):
        self.root = tempfile.mkdtemp()
        return self.root

    def __exit__(self, *_):
        shutil.rmtree(self.root)


def build(root, steps=40, retire=2, slices=2, seed=1):
    space = TinySpace(root, slices=slices, seed=seed)
    for name in ("p1", "p2"):
        space.open(name)
    for k in range(steps):
        space.publish(("p1", "p2")[k % 3 == 0], space.random_items(equal=k % 4 == 0))
    for block in range(retire):
        space.retire(block)
    return space


def found(root):
    return {code for code, _, _ in check_namespace.check(root).findings}


def expect(root, *codes):
    got = found(root)
    assert got & set(codes), f"{got or 'nothing'} found, one of {codes} expected"


def test_a_correct_namespace_is_clean():
    with Scratch() as root:
        space = build(root)
        space.finish("p1")
        result = check_namespace.check(root)
        assert result.ok, result.findings
        m = space.chain[-1]
        assert any(ref.level == 1 for ref in m.references), "no index segment was exercised"
        assert (result.next_step, result.retired, result.ghosts, result.orphans) == (40, [0, 1], [], [])
        assert result.versions == (8, m.version) and result.segments > 16
        assert result.producers["p1"]["finished"] and not result.producers["p2"]["finished"]
        assert len(list(check_namespace.deliveries(root))) == 40


def test_a_finished_producer_is_reopened():
    with Scratch() as root:
        space = build(root, retire=0)
        space.finish("p1")
        space.reopen("p1")
        space.publish("p1", space.random_items())
        result = check_namespace.check(root)
        assert result.ok, result.findings
        assert not result.producers["p1"]["finished"]
        space.finish("p1")
        assert check_namespace.check(root).ok
        # Taken back without a new epoch, no reopening would be that.
        m = space.next_manifest()
        mine = dataclasses.replace(space.entry("p1"), flags=0)
        space.commit(dataclasses.replace(m, finished=m.finished - 1,
                                         producers=[mine if x.id == "p1" else x for x in m.producers]))
        assert "ORDER" in found(root)


def test_deliveries_are_what_was_published():
    with Scratch() as root:
        space = TinySpace(root)
        space.open("p")
        published = [[[b"a", None], [b"", b"bb"]], [[b"c"], [b"d"]]]
        for items in published:
            space.publish("p", items)
        got = [[[None if pad else data for data, pad in row] for row in rows]
               for _, _, rows in check_namespace.deliveries(root)]
        assert got == published


def test_footer_form():
    with Scratch() as root:
        space = TinySpace(root, slices=600)
        space.open("p")
        space.publish("p", [[b"x" * (k % 7)] for k in range(600)])
        d = space.publish("p", [[b"x" * (100 * (k % 3))] for k in range(600)])
        assert d.shape.form == bw.FORM_FOOTER and d.shape.parts > 1
        result = check_namespace.check(root)
        assert result.ok, result.findings


def test_ghosts_orphans_and_foreign_files_are_listed_apart():
    with Scratch() as root:
        space = build(root)
        space.put(bw.manifest_key(5), b"a late create")
        space.put(bw.part_key("p1", 1, 99, 5, 0), b"never published")
        space.put("notes.txt", b"")
        space.put("tmp/x", b"")
        result = check_namespace.check(root)
        assert result.ok, result.findings
        assert result.ghosts == [bw.manifest_key(5)] and check_namespace.ghosts(root) == [5]
        assert len(result.orphans) == 1 and result.foreign == ["notes.txt"]
        space.put("manifest/notes", b"")
        assert not check_namespace.check(root).ok


def test_every_flip_of_a_counting_byte_is_found():
    with Scratch() as root:
        space = build(root, steps=12, retire=1)
        keys = [k for k in space.bytes if os.path.exists(os.path.join(root, k))]
        kinds = set()
        for key in keys:
            kinds.add(bw.parse_key(key)[0])
            data = space.bytes[key]
            path = os.path.join(root, key)
            for at in {0, 9, len(data) // 3, len(data) // 2, len(data) - 1}:
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(bytes([data[at] ^ 4]))
                try:
                    assert not check_namespace.check(root).ok, f"{key}, byte {at}"
                except bw.FormatError:
                    assert key == "genesis"
                with open(path, "wb") as file:
                    file.write(data)
        assert kinds == {"genesis", "manifest", "marker", "segment", "part"}


def test_every_missing_object_is_found():
    with Scratch() as root:
        space = build(root, steps=12, retire=2)
        newest = bw.manifest_key(space.chain[-1].version)
        for key in space.bytes:
            path = os.path.join(root, key)
            if not os.path.exists(path) or key in ("genesis", newest):
                continue
            os.rename(path, root + ".away")
            try:
                result = check_namespace.check(root)
                # Without the newest marker, the chain begins at a version that is gone.
                assert not result.ok, key
            finally:
                os.rename(root + ".away", path)


def rewritten(changes, at=-1, steps=6, lasting=False):
    """A namespace whose manifest `at` says something else, the chain relinked so that only that is wrong."""
    root = tempfile.mkdtemp()
    try:
        space = build(root, steps=steps, retire=0)
        k = len(space.chain) + at if at < 0 else at
        chain, space.chain = space.chain, space.chain[:k]
        for m in chain[k:]:
            previous = bw.object_hash(space.bytes[bw.manifest_key(m.version - 1)])
            change = changes(m) if lasting or m is chain[k] else {}
            space.commit(dataclasses.replace(m, **{"previous": previous, **change}))
        return found(root)
    finally:
        shutil.rmtree(root)


def test_planted_lies_of_a_manifest_are_found():
    def entries(m, name, **changes):
        return [dataclasses.replace(e, **changes) if e.id == name else e for e in m.producers]

    def tail(m, **changes):
        return m.tail[:-1] + [dataclasses.replace(m.tail[-1], **changes)]

    lies = {
        "nothing": (lambda m: {}, set()),
        "previous": (lambda m: {"previous": b"x" * 16}, {"MISMATCH"}),
        "uuid": (lambda m: {"uuid": b"x" * 16}, {"MISMATCH"}),
        "sum": (lambda m: {"sum": m.sum ^ 1}, {"MISMATCH"}),
        "committed bytes": (lambda m: {"committed_bytes": m.committed_bytes + 1}, {"MISMATCH"}),
        "finished": (lambda m: {"finished": 1}, {"MISMATCH"}),
        "offset": (lambda m: {"producers": entries(m, "p1", offset=99)}, {"TILING"}),
        "seq": (lambda m: {"producers": entries(m, "p1", seq=99)}, {"TILING"}),
        "entry gone": (lambda m: {"producers": m.producers[:1]}, {"PRODUCER"}),
        "token": (lambda m: {"producers": entries(m, "p1", token=b"x" * 16)}, {"PRODUCER"}),
        "tail": (lambda m: {"tail": tail(m, end=m.tail[-1].end + 1)}, {"MISMATCH", "TILING"}),
        "nonce": (lambda m: {"tail": tail(m, nonce=5)}, {"MISMATCH", "MISSING"}),
    }
    for name, (change, codes) in lies.items():
        got = rewritten(change)
        assert got == set() if not codes else got & codes, f"{name}: {got or 'nothing'} found, {codes} expected"
    # A sum that was wrong once and right again later: only the history shows it.
    assert "MISMATCH" in rewritten(lambda m: {"sum": m.sum ^ 1}, at=4)
    assert "ORDER" in rewritten(lambda m: {"sealed": True}, at=4)
    assert "SEALED" in rewritten(lambda m: {"sealed": True}, at=4, lasting=True)


def lying_publish(change, shape_change=None):
    """The last batch is published with a descriptor that lies, sums and totals in order."""
    with Scratch() as root:
        space = build(root, steps=5, retire=0)
        e = space.entry("p1")
        shape = space.stage("p1", e.seq + 1, 1, [[b"a"], [b"b" * 70]], 77)
        d = bw.Descriptor(77, e.offset, e.offset + 2, e.seq + 1, 1, "p1",
                          dataclasses.replace(shape, **(shape_change or {})))
        d = dataclasses.replace(d, **change)
        m = space.next_manifest()
        mine = dataclasses.replace(e, seq=d.seq, offset=d.end, epoch=d.epoch, last_publish=m.version)
        space.commit(dataclasses.replace(
            m, tail=m.tail + [d], next=m.next + 1, committed_bytes=m.committed_bytes + d.shape.total,
            sum=(m.sum + bw.term(m.next, d)) % bw.SUM_MOD,
            producers=[mine if x.id == "p1" else x for x in m.producers]))
        return found(root)


def test_planted_lies_of_a_descriptor_are_found():
    assert lying_publish({}) == set()
    for change in ({"start": 3}, {"start": 1000, "end": 1001}, {"seq": 9}, {"seq": 1}):
        assert "TILING" in lying_publish(change), change
    assert "MISSING" in lying_publish({"nonce": 78})
    assert "MISSING" in lying_publish({"epoch": 2})
    assert "MISMATCH" in lying_publish({}, {"kind": 1})
    assert "MISMATCH" in lying_publish({}, {"items": 2})
    assert "VALUE" in lying_publish({}, {"footer_bytes": 100})


def test_a_batch_of_another_is_found():
    """Parts swapped between two batches of one shape: every check in them is good, the nonce is not."""
    with Scratch() as root:
        space = TinySpace(root)
        space.open("p")
        a, b = space.publish("p", [[b"a"], [b"b"]]), space.publish("p", [[b"c"], [b"d"]])
        keys = [bw.part_key(*d.name, 0) for d in (a, b)]
        data = [space.bytes[key] for key in keys]
        space.put(keys[0], data[1])
        space.put(keys[1], data[0])
        expect(root, "MISMATCH")


def test_a_segment_of_another_is_found():
    with Scratch() as root:
        space = build(root, retire=0)
        refs = [ref for ref in space.chain[-1].references if ref.level == 0]
        key = bw.segment_key(refs[0])
        s = bw.decode_segment(space.bytes[key], 2)
        first = dataclasses.replace(s.descriptors[0], nonce=1)
        space.put(key, bwencode.segment(dataclasses.replace(s, descriptors=[first] + s.descriptors[1:])))
        expect(root, "HASH")


def test_a_gap_in_the_chain_is_found():
    with Scratch() as root:
        space = build(root, steps=6, retire=0)
        os.unlink(os.path.join(root, bw.manifest_key(space.chain[-1].version - 1)))
        expect(root, "CHAIN")


def test_states_and_pages():
    with Scratch() as root:
        space = build(root, steps=4, retire=0)
        e = space.entry("p2")
        state = bwencode.state(bw.State(UUID, e.epoch, e.seq, b"s" * 300))
        key = bw.state_key("p2", e.epoch, e.seq, 7)
        space.put(key, state)
        name = bw.StateName(e.epoch, e.seq, 7, len(state), bw.object_hash(state))
        gone = bw.Entry("old", 3, bw.FINISHED, 0, b"t" * 16, 4, 40, 4, 40, 1, 1, b"", None)
        m = space.next_manifest()
        at = m.version
        page = bwencode.page(bw.Page(UUID, at, [gone]))
        space.put(bw.page_key(at, 9), page)
        named = dataclasses.replace(e, flags=bw.STATE_OBJECT, state=None, state_name=name)
        space.commit(dataclasses.replace(
            m, finished=1, page=bw.PageName(at, 9, bw.object_hash(page), len(page), 1),
            producers=[named if x.id == "p2" else x for x in m.producers]))
        result = check_namespace.check(root)
        assert result.ok and not result.orphans, result
        assert result.producers["old"]["offset"] == 40
        space.put(key, bwencode.state(bw.State(UUID, e.epoch, e.seq, b"t" * 300)))
        expect(root, "MISMATCH")
        space.put(key, state)
        space.put(bw.page_key(at, 9), bwencode.page(bw.Page(UUID, at, [dataclasses.replace(gone, offset=41)])))
        expect(root, "MISMATCH")


def with_page(entries, **changes):
    """A page of these entries, and a manifest that says so; what is found."""
    with Scratch() as root:
        space = build(root, steps=4, retire=0)
        m = space.next_manifest()
        page = bwencode.page(bw.Page(UUID, m.version, entries))
        space.put(bw.page_key(m.version, 9), page)
        name = bw.PageName(m.version, 9, bw.object_hash(page), len(page), len(entries))
        space.commit(dataclasses.replace(m, page=name, **{"finished": 1, **changes}))
        return found(root)


def test_departed_producers():
    gone = bw.Entry("old", 3, bw.FINISHED, 0, b"t" * 16, 4, 40, 4, 40, 1, 1, b"", None)
    assert with_page([gone]) == set()
    assert "PRODUCER" in with_page([dataclasses.replace(gone, swept_seq=3, swept_offset=30)])
    assert "MISMATCH" in with_page([gone], finished=2)
    # p2 is in the map, at epoch 1; on the page it could only be of an older one.
    assert "PRODUCER" in with_page([dataclasses.replace(gone, id="p2", epoch=1)])
    assert "PRODUCER" in with_page([gone], producers=[])
    with Scratch() as root:
        space = build(root, steps=4, retire=0)
        m = space.next_manifest()
        old = dataclasses.replace(gone, id="p2", epoch=1, seq=0, offset=0, swept_seq=0, swept_offset=0,
                                  last_publish=0)
        page = bwencode.page(bw.Page(UUID, m.version, [old]))
        space.put(bw.page_key(m.version, 9), page)
        name = bw.PageName(m.version, 9, bw.object_hash(page), len(page), 1)
        back = dataclasses.replace(space.entry("p2"), epoch=2, token=b"n" * 16)
        space.commit(dataclasses.replace(m, page=name,
                                         producers=[back if e.id == "p2" else e for e in m.producers]))
        result = check_namespace.check(root)
        assert result.ok, result.findings


def with_groups(*rounds, **changes):
    """One more version for each list of groups; what is found."""
    with Scratch() as root:
        space = build(root, steps=9, retire=0)
        for groups in rounds:
            trim = min(step for g in groups for step in [g.hold] + [p.step for p in g.pins])
            space.commit(dataclasses.replace(space.next_manifest(), **{"trim": trim, "groups": groups, **changes}))
        return found(root)


def test_groups_trim_and_launches():
    def group(name, launch, number, hold, *pins):
        return bw.Group(name, launch, number, max(pins) if hold is None else hold, hold is None, b"c" * 16, 1, 1,
                        [bw.Pin(b"c%d" % step, step, step, 0, b"h" * 16) for step in pins])
    one, two = group("a", b"l1", 1, None, 3, 7), group("b", b"x", 4, 5)
    assert with_groups([one]) == set()
    assert with_groups([one, two], [group("a", b"l2", 2, 4, 7), two]) == set()
    assert "MISMATCH" in with_groups([one], trim=2)
    assert with_groups([one], trim=4)
    assert "GROUP" in with_groups([one], [group("a", b"l2", 1, None, 3, 7)])
    assert "GROUP" in with_groups([one], [group("a", b"l1", 2, None, 3, 7)])
    assert "GROUP" in with_groups([one], [group("a", b"l3", 3, None, 3, 7)])
    assert "ORDER" in with_groups([one], swept_bytes=1)


def test_a_swept_namespace():
    """Steps below swept are gone with their descriptors; what is left tiles from the swept offsets."""
    with Scratch() as root:
        space = build(root, steps=9, retire=0)
        base = space.chain[-1]
        steps = check_namespace.descriptors(check_namespace.Namespace(root), base)
        swept = 4
        dead = [d for step, d, _ in steps if step < swept]
        m = space.next_manifest()
        producers = []
        for e in m.producers:
            mine = [d for d in dead if d.id == e.id]
            producers.append(dataclasses.replace(e, swept_seq=mine[-1].seq, swept_offset=mine[-1].end) if mine else e)
        m = dataclasses.replace(
            m, trim=6, groups=[bw.Group("g", b"l", 1, 6, False, b"c" * 16, m.version, 1, [])],
            swept=swept, swept_bytes=sum(d.shape.total for d in dead), producers=producers,
            references=[ref for ref in m.references if ref.last >= swept])
        space.commit(m)
        for d in dead:
            for part in range(d.shape.parts):
                os.unlink(os.path.join(root, bw.part_key(*d.name, part)))
        # The manifests of the steps before are still there: only what the newest one retains is asked for.
        result = check_namespace.check(root)
        codes = {(code, why) for code, _, why in result.findings}
        assert not codes, codes
        assert [step for step, _, _ in check_namespace.deliveries(root)] == [6, 7, 8]
