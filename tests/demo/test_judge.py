# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The judge of the demo and the proofs of the crash tests, on a namespace made by hand and then broken.

Run by tests/independent/test_golden.py.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crash"))
sys.path.insert(0, HERE)

import bwencode  # noqa: E402
import bwformat as bw  # noqa: E402
import check_namespace  # noqa: E402
import evidence  # noqa: E402
import inputs  # noqa: E402
import prove  # noqa: E402
import sources  # noqa: E402
from tinyspace import TinySpace  # noqa: E402

NAMES = ["abc.py", "this.py", "types.py"]


def sequences():
    """The sources as items of at most 700 tokens, a fragment per document."""
    item, room = [], 700
    for name in NAMES:
        data, at = sources.read(name), 0
        while at < len(data):
            piece = data[at:at + room]
            item.append([(b"doc", name.encode()), (b"at", at.to_bytes(8, "little")), (b"tokens", piece)])
            at += len(piece)
            room -= len(piece)
            if room == 0:
                yield bwencode.samples(item)
                item, room = [], 700
    if item:
        yield bwencode.samples(item)


@contextlib.contextmanager
def stage(items=None, trim=0):
    """A sealed namespace of two slices with these items, kept from step `trim` on, and what two launches of its trainer
    wrote."""
    folder = tempfile.mkdtemp()
    select = sources.select
    sources.select = lambda *_: NAMES
    try:
        space = TinySpace(os.path.join(folder, "space"))
        space.open("p")
        items = list(sequences()) if items is None else items
        for at in range(0, len(items), 4):
            slots = (items[at:at + 4] + [None] * 4)[:4]
            space.publish("p", [[slots[0], slots[2]], [slots[1], slots[3]]], span=sum(s is not None for s in slots))
        steps = list(check_namespace.deliveries(space.root))
        m = space.next_manifest()
        job = [bw.Group("train", b"two", 2, trim, False, b"c" * 16, m.version, 1, [])] if trim else []
        space.commit(dataclasses.replace(m, trim=trim, groups=job, sealed=True))
        outs = [os.path.join(folder, "out-0"), os.path.join(folder, "out-1")]
        for name, data in evidence.expected_files(steps, None).items():
            step = int(name.split("/")[0])
            for out in ([outs[0]] if step < 3 else []) + ([outs[1]] if step >= 2 else []):
                os.makedirs(os.path.dirname(os.path.join(out, name)), exist_ok=True)
                with open(os.path.join(out, name), "wb") as file:
                    file.write(data)
        yield space, outs, steps
    finally:
        sources.select = select
        shutil.rmtree(folder)


def refused(work, *args):
    try:
        work(*args)
    except (prove.Disproved, ValueError) as error:
        return str(error)
    raise AssertionError("nothing was noticed")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_the_judge_says_ok():
    with stage() as (space, outs, _):
        verdict = prove.prove(space.root, outs, 1)
        assert verdict["source_bytes"] == sum(len(sources.read(name)) for name in NAMES)
        assert verdict["steps"] == len(space.chain) - 3 and verdict["steps_delivered_twice"] == 1
        assert verdict["steps_reclaimed"] == 0
    with stage(trim=3) as (space, outs, _):
        assert prove.prove(space.root, outs, 1) == {**verdict, "steps_reclaimed": 3}


def test_the_judge_notices_each_break():
    def missing(_, outs):
        os.unlink(os.path.join(outs[0], "1", "0.0.0"))

    def stray(_, outs):
        write(os.path.join(outs[0], "1", "0.0.7"), bwencode.samples([]))

    def changed(_, outs):
        with open(os.path.join(outs[0], "1", "0.0.0"), "r+b") as file:
            file.seek(-1, 2)
            file.write(b"~")

    def swapped(_, outs):
        names = [os.path.join(outs[0], "1", name) for name in ("0.0.0", "1.0.0")]
        os.rename(names[0], names[0] + "x")
        os.rename(names[1], names[0])
        os.rename(names[0] + "x", names[1])

    def swapped_steps(_, outs):
        names = [os.path.join(outs[0], step) for step in ("0", "1")]
        os.rename(names[0], names[0] + "x")
        os.rename(names[1], names[0])
        os.rename(names[0] + "x", names[1])

    def differs_on_replay(_, outs):
        shutil.copy(os.path.join(outs[0], "1", "0.0.0"), os.path.join(outs[0], "2", "0.0.0"))

    def whole_step(_, outs):
        shutil.rmtree(os.path.join(outs[1], "4"))

    def not_sealed(space, _):
        space.commit(space.next_manifest(sealed=False))

    def other_source(_, __):
        sources.select = lambda *_: NAMES[:2]

    for trim in (0, 3):
        for harm in (missing, stray, changed, swapped, swapped_steps, differs_on_replay, whole_step, not_sealed,
                     other_source):
            with stage(trim=trim) as (space, outs, _):
                harm(space, outs)
                refused(prove.prove, space.root, outs, 1)


def test_the_judge_notices_a_wrong_number_of_shards():
    with stage() as (space, outs, _):
        refused(prove.prove, space.root, outs, 2)


def test_the_judge_notices_a_batch_published_twice_or_never():
    items = list(sequences())
    for broken in (items[:4] + items, items[:4] + items[8:], items[:-1]):
        with stage(broken) as (space, outs, _):
            assert check_namespace.check(space.root).ok  # a flawless namespace of the wrong content
            refused(prove.prove, space.root, outs, 1)


def test_frames_and_documents_are_proved():
    frames = [b"%d" % k for k in range(10)]
    with stage(frames) as (_, __, steps):
        inputs.prove_frames(steps, "p", frames)
        for other in (frames[:-1], frames + [b"x"], frames[1:] + frames[:1], frames[:3] + [b"x"] + frames[4:]):
            refused(inputs.prove_frames, steps, "p", other)
    with stage() as (_, __, steps):
        documents = {name: sources.read(name) for name in NAMES}
        inputs.prove_documents(steps, ["p"], {**documents, "empty": b""})
        refused(inputs.prove_documents, steps, ["p"], {**documents, "more": b"x"})
        refused(inputs.prove_documents, steps, ["p"], {**documents, NAMES[0]: documents[NAMES[0]] + b"x"})


def test_each_rank_is_proved():
    with stage() as (_, outs, steps):
        early = [s for s in steps if s[0] < 3]
        evidence.prove_out(outs[0], early, None)
        refused(evidence.prove_out, outs[0], early, 0)
        refused(evidence.prove_out, outs[0], steps, None)
        lines = [json.dumps({"step": s, "d": d, "c": c, "items": items}) + "\n"
                 for (s, d, c), items in evidence.expected_digests(steps, 1).items()]
        whole, cut = "".join(lines), "".join(lines[:3]) + lines[3][:20]
        evidence.prove_digests([cut, whole], steps, 1)
        refused(evidence.prove_digests, [cut], steps, 1)
        refused(evidence.prove_digests, [whole], steps, 0)
        refused(evidence.prove_digests, [whole.replace('"bytes": 7', '"bytes": 8')], steps, 1)
        write(os.path.join(outs[0], "0", "0.0.0"), b"")
        refused(evidence.prove_out, outs[0], early, None)
