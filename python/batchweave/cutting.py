# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A global batch (a dict of arrays) cut into the items of all slices.

Samples lie along axis 0: slice d takes the d-th of dp equal parts, its item m the m-th of M equal
parts of that. With cp > 1 sequences are cut along axis 1 into cp equal parts (`contiguous`), or
into 2 cp parts of which position c takes the c-th from either end (`headtail`: equal work under a
causal mask).
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterator, Mapping, Sequence, Tuple

from .errors import Invalid
from .tensors import is_torch

Item = Dict[str, Any]


def _joined(parts: Sequence[Any]) -> Any:
    module = sys.modules["torch" if is_torch(parts[0]) else "numpy"]
    return module.cat(list(parts), 1) if is_torch(parts[0]) else module.concatenate(list(parts), axis=1)


def sequence_part(array: Any, cp: int, c: int, layout: str, name: str) -> Any:
    """The part of position `c` of [B, S, ...] along axis 1: [B, S / cp, ...]."""
    length = int(array.shape[1])
    chunks = 2 * cp if layout == "headtail" else cp
    if length % chunks != 0:
        raise Invalid(f"tensor {name!r}: a sequence of {length} cannot be cut into {chunks} equal parts "
                      f"(cp={cp}, layout {layout or 'contiguous'})")
    size = length // chunks
    if layout != "headtail":
        return array[:, c * size:(c + 1) * size]
    tail = chunks - 1 - c
    return _joined([array[:, c * size:(c + 1) * size], array[:, tail * size:(tail + 1) * size]])


def rows_of(batch: Mapping[str, Any]) -> int:
    """Samples of the global batch. Raises Invalid unless all arrays agree."""
    sizes = {name: int(array.shape[0]) if len(array.shape) else -1 for name, array in batch.items()}
    if not sizes:
        raise Invalid("an empty batch: give at least one array")
    if len(set(sizes.values())) != 1 or -1 in sizes.values():
        raise Invalid(f"arrays of a batch have one size along axis 0, the samples; here are {sizes}")
    return next(iter(sizes.values()))


def cut(batch: Mapping[str, Any], dp: int, cp: int, items: int, layout: str,
        sequences: Sequence[str]) -> Iterator[Tuple[int, int, int, Item]]:
    """(d, c, item, tensors) for every item of the batch; views where they can be. `sequences`: the
    arrays that are cut along axis 1 when cp > 1; the others are the same for all c.

    Raises Invalid: samples that dp × items does not divide, a sequence that cannot be cut.
    """
    rows = rows_of(batch)
    if rows % (dp * items) != 0:
        raise Invalid(f"a batch of {rows} samples cannot be cut into {dp} slices of {items} equal items")
    unknown = set(sequences) - set(batch)
    if unknown:
        raise Invalid(f"sequences that the batch lacks: {', '.join(sorted(unknown))}")
    size = rows // (dp * items)
    for d in range(dp):
        for m in range(items):
            first = (d * items + m) * size
            whole = {name: array[first:first + size] for name, array in batch.items()}
            for c in range(cp):
                yield d, c, m, {
                    name: sequence_part(array, cp, c, layout, name) if cp > 1 and name in sequences else array
                    for name, array in whole.items()}
