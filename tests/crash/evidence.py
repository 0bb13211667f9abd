# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What ranks wrote down, compared with the stored bytes: `consume --out` and `consume --digest`."""

import hashlib
import json
import os


def slice_place(index, cp):
    return f"{index // cp}.{index % cp}"


def expected_files(steps, rank, cp=1):
    """{name under --out: bytes} of what one rank (None: all) must have been handed."""
    return {f"{step}/{slice_place(index, cp)}.{item}": data
            for step, _, rows in steps for index, row in enumerate(rows) if rank in (None, index)
            for item, (data, pad) in enumerate(row) if not pad}


def found_files(folder):
    """{name: bytes}; a kill may leave the temporary file of an atomic write behind, which is nobody's delivery."""
    out = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".tmp"):
                continue
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                out[os.path.relpath(path, folder)] = file.read()
    return out


def prove_out(folder, steps, rank):
    """A name is a step and a place, so equal sets of files mean: all of it, once, and the very bytes."""
    expected, found = expected_files(steps, rank), found_files(folder)
    stray = sorted(set(found) - set(expected))
    missing = sorted(set(expected) - set(found))
    other = sorted(name for name in expected if name in found and found[name] != expected[name])
    if stray or missing or other:
        raise ValueError(f"{folder}: stray {stray[:3]}, missing {missing[:3]}, other bytes {other[:3]}")


def expected_digests(steps, rank, cp=1):
    """{(step, d, c): the items of its line of digests}"""
    return {(step, index // cp, index % cp): [
        {"item": number, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "pad": pad}
        for number, (data, pad) in enumerate(row)]
        for step, _, rows in steps for index, row in enumerate(rows) if rank in (None, index)}


def digest_lines(texts):
    """[(step, d, c, items)] of what incarnations printed; only the last line of a killed one may be cut."""
    for text in texts:
        for line in text.splitlines(keepends=True):
            if line.endswith("\n") and line.startswith("{") and '"items"' in line:
                o = json.loads(line)
                yield o["step"], o["d"], o["c"], o["items"]


def prove_digests(texts, steps, rank):
    """Every line that any incarnation printed tells the stored bytes, and there is one for every step and slice."""
    expected, seen = expected_digests(steps, rank), set()
    for step, d, c, items in digest_lines(texts):
        if expected.get((step, d, c)) != items:
            raise ValueError(f"the digests of step {step}, slice {d}.{c} are not those of the stored bytes")
        seen.add((step, d, c))
    if seen != set(expected):
        raise ValueError(f"digests of {len(seen)} slices, {len(expected)} expected")
