# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's judge: prove.py SPACE OUT…

SPACE is the namespace's directory, each OUT what one launch of the trainer wrote (`consume --out`). Nothing of the
library is used: the sources are read again from the standard library, the namespace by the independent decoder.
Most of the data is gone by now, reclaimed behind the checkpoints. So the proof rests on what the ranks were handed, and
on the text: in the order of the steps each shard's fragments must be its documents, end to end. What is still stored
must be the same bytes.
Prints one line of JSON with "verdict": "ok", or with what does not hold, and exits 0 or 1.
"""

import hashlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "independent"))
sys.path.insert(0, os.path.join(HERE, "..", "crash"))

import check_namespace  # noqa: E402
import evidence  # noqa: E402
import inputs  # noqa: E402
import sources  # noqa: E402


class Disproved(Exception):
    pass


def demand(ok, why):
    if not ok:
        raise Disproved(why)


def delivered_files(outs):
    """{(step, item, d, c): bytes} over all launches; what was delivered twice must be the very same bytes."""
    files, twice = {}, set()
    for out in outs:
        for name, data in evidence.found_files(out).items():
            place = place_of(name)
            if place in files:
                demand(files[place] == data, f"{name} was delivered twice with different bytes")
                twice.add(place[0])
            files[place] = data
    return files, twice


def place_of(name):
    """Sorted, these are the order in which a producer fills a batch, in the global order of batches."""
    step, slot = name.split("/")
    d, c, item = slot.split(".")
    return int(step), int(item), int(d), int(c)


def streams(files, numbers, shards):
    """For each shard its documents, in the order of the first fragment of each: [(name, bytes)]."""
    out, owner, count = [[] for _ in range(shards)], {}, 0
    for place in sorted(files):
        for name, at, data in inputs.fragments(files[place]):
            demand(name in numbers, f"delivered, but no source: {name}")
            shard = numbers[name] % shards
            demand(owner.setdefault(place[0], shard) == shard, f"step {place[0]} has documents of two shards")
            stream = out[shard]
            if at == 0:
                stream.append((name, bytearray()))
            demand(stream and stream[-1][0] == name and len(stream[-1][1]) == at,
                   f"step {place[0]}: {name} goes on at byte {at}, which is not where its shard stands")
            stream[-1][1].extend(data)
            count += 1
    return out, count


def prove_sources(files, shards, limit=sources.BYTES_AT_MOST):
    """Every byte of every source exactly once, and in order: the fragments of a shard are its documents, end to end."""
    names = sources.select(limit)
    delivered, fragments = streams(files, {name: k for k, name in enumerate(names)}, shards)
    texts = {name: sources.read(name) for name in names}
    overall = hashlib.sha256()
    for shard, stream in enumerate(delivered):
        wanted = [name for name in names[shard::shards] if texts[name]]
        demand([name for name, _ in stream] == wanted, f"shard {shard}: {len(stream)} documents of {len(wanted)}, "
                                                       "or in another order")
        for name, got in stream:
            demand(got == texts[name], f"{name}: its delivered bytes are others")
    for name in names:
        overall.update(hashlib.sha256(texts[name]).digest())
    return {"source_files": len(names), "source_bytes": sum(map(len, texts.values())), "fragments": fragments,
            "digest": overall.hexdigest()}


def prove(space, outs, shards=sources.SHARDS, limit=sources.BYTES_AT_MOST):
    result = check_namespace.check(space)
    demand(result.ok, f"the namespace: {result.findings[:3]}")
    demand(result.sealed, "the namespace is not sealed")
    files, twice = delivered_files(outs)
    steps = sorted({place[0] for place in files})
    demand(steps == list(range(result.next_step)), f"the trainer saw {len(steps)} steps of {result.next_step}")
    counted = sum(producer["offset"] for producer in result.producers.values())
    demand(len(files) == counted, f"{len(files)} items delivered, the chain counts {counted}")
    retained = list(check_namespace.deliveries(space))
    first = retained[0][0] if retained else result.next_step
    # All ranks agree: under each step's name, every rank got its slice of that step's one batch.
    expected = {place_of(name): data for name, data in evidence.expected_files(retained, None).items()}
    demand({place for place in files if place[0] >= first} == set(expected), "items were delivered at other places")
    for place, data in expected.items():
        demand(files[place] == data, f"step {place[0]}: delivered bytes are not the stored ones")
    return {"steps": len(steps), "steps_delivered_twice": len(twice), "steps_reclaimed": first, "items": len(files),
            "pads": result.pads, "versions": result.versions[1], "blocks_retired": len(result.retired),
            "part_bytes": result.part_bytes, "orphans": len(result.orphans), **prove_sources(files, shards, limit)}


def main(argv):
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(json.dumps({"verdict": "ok", **prove(argv[0], argv[1:])}))
        return 0
    except Exception as error:  # whatever goes wrong here means: not proved
        print(json.dumps({"verdict": "failed", "why": f"{type(error).__name__}: {error}"}))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
