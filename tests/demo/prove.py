# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's judge: prove.py SPACE OUT…

SPACE is the namespace's directory, each OUT what one incarnation of the trainer wrote (`consume --out`). Nothing of the
library is used: the sources are read again from the standard library, the namespace by the independent decoder.
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
    """{name: bytes} over all incarnations; what was delivered twice must be the very same bytes."""
    files, twice = {}, set()
    for out in outs:
        for name, data in evidence.found_files(out).items():
            if name in files:
                demand(files[name] == data, f"{name} was delivered twice with different bytes")
                twice.add(int(name.split("/")[0]))
            files[name] = data
    return files, twice


def prove_sources(files):
    """Every byte of every source exactly once: the delivered fragments tile each document, and its digest is right."""
    pieces = [piece for data in files.values() for piece in inputs.fragments(data)]
    try:
        documents = inputs.join_fragments(pieces)
    except ValueError as error:
        raise Disproved(str(error)) from None
    names = sources.select()
    overall, total = hashlib.sha256(), 0
    for name in names:
        source = sources.read(name)
        digest = hashlib.sha256(source).digest()
        got = documents.pop(name, b"")
        demand(hashlib.sha256(got).digest() == digest, f"{name}: its delivered bytes have another digest")
        overall.update(digest)
        total += len(got)
    demand(not documents, f"delivered, but no source: {sorted(documents)[:3]}")
    return {"source_files": len(names), "source_bytes": total, "fragments": len(pieces), "digest": overall.hexdigest()}


def prove(space, outs):
    result = check_namespace.check(space)
    demand(result.ok, f"the namespace: {result.findings[:3]}")
    demand(result.sealed, "the namespace is not sealed")
    demand(result.first_step == 0, f"steps before {result.first_step} are not retained")
    files, twice = delivered_files(outs)
    steps = sorted({int(name.split("/")[0]) for name in files})
    demand(steps == list(range(result.next_step)), f"the trainer saw {len(steps)} steps of {result.next_step}")
    # One order, all ranks agreeing: under each step's name, every rank got its slice of that step's one batch.
    expected = evidence.expected_files(check_namespace.deliveries(space), None)
    demand(set(files) == set(expected), f"{len(files)} items delivered, {len(expected)} stored, or at other places")
    for name, data in expected.items():
        demand(files[name] == data, f"{name} was delivered with other bytes than the stored ones")
    return {"steps": len(steps), "steps_delivered_twice": len(twice), "items": len(files), "pads": result.pads,
            "versions": result.versions[1], "blocks_retired": len(result.retired), "part_bytes": result.part_bytes,
            "orphans": len(result.orphans), **prove_sources(files)}


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
