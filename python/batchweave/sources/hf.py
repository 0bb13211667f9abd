# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets of the package `datasets` as the input of a producer.

    rows = Rows(load_dataset(...), shard=(me.index, me.count))           # datasets.Dataset
    for row in producer.resume(rows): ...                                # or batchweave.packing

    stream = Stream(load_dataset(..., streaming=True), shard=...)        # IterableDataset
    stream.load(producer.resume_state)
    for row in stream:
        producer.write(..., offset=stream.offset, state=stream.state())
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Tuple

import datasets  # type: ignore[import-untyped]

from ..errors import Invalid, Unsupported

Row = Dict[str, Any]
READ_ROWS = 256


def _part(shard: Tuple[int, int]) -> Tuple[int, int]:
    index, count = shard
    if not 0 <= index < count:
        raise Invalid(f"shard {index} of {count}: the index is below the count")
    return index, count


class Rows:
    """The rows of a contiguous part of a Dataset as a sequence of dicts; numbers as numpy arrays. Rows
    are read `READ_ROWS` at a time, since each access costs the package some 100 µs."""

    def __init__(self, dataset: datasets.Dataset, *, shard: Tuple[int, int] = (0, 1)) -> None:
        if not isinstance(dataset, datasets.Dataset):
            raise Invalid(f"a {type(dataset).__name__} is no datasets.Dataset; take one split, or Stream")
        index, count = _part(shard)
        first, rest = divmod(len(dataset), count)
        self._first = index * first + min(index, rest)
        self._count = first + (1 if index < rest else 0)
        self._dataset = dataset.with_format("numpy")
        self._block = -1
        self._columns: Dict[str, Any] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Row:
        if not 0 <= index < self._count:
            raise IndexError(f"row {index} of {self._count}")
        block, row = divmod(index, READ_ROWS)
        if block != self._block:
            first = self._first + block * READ_ROWS
            self._columns = self._dataset[first:min(first + READ_ROWS, self._first + self._count)]
            self._block = block
        return {name: values[row] for name, values in self._columns.items()}


class Stream:
    """The rows of a part of an IterableDataset, from where its own state_dict says.

    `offset`: rows that were given, restarts included. Raises Unsupported for a dataset with a shuffle
    buffer: what lies in it is not in the state, so rows would be lost; shuffle shards instead, or
    before.
    """

    def __init__(self, dataset: datasets.IterableDataset, *, shard: Tuple[int, int] = (0, 1)) -> None:
        if not isinstance(dataset, datasets.IterableDataset):
            raise Invalid(f"a {type(dataset).__name__} is no datasets.IterableDataset; take one split, or Rows")
        index, count = _part(shard)
        _refuse_buffers(dataset)
        if count > 1:
            from datasets.distributed import split_dataset_by_node  # type: ignore[import-untyped]

            dataset = split_dataset_by_node(dataset, rank=index, world_size=count)
        self._shard = [index, count]
        self._dataset = dataset
        self.offset = 0

    def load(self, state: bytes) -> int:
        """Goes on where `state` was taken (b"": at the beginning); the offset. Before iterating. Raises
        Invalid: of another shard, or no such state."""
        if not state:
            return 0
        try:
            shard, offset, inside = json.loads(state)
        except (ValueError, TypeError):
            raise Invalid(f"no state of a stream: {state[:60]!r}") from None
        if shard != self._shard:
            raise Invalid(f"the state is of shard {shard}, this stream reads {self._shard}")
        self._dataset.load_state_dict(inside)
        self.offset = int(offset)
        return self.offset

    def __iter__(self) -> Iterator[Row]:
        for row in self._dataset:
            self.offset += 1
            yield row

    def state(self) -> bytes:
        """Behind the row that was given last. Raises Unsupported where it cannot be written as JSON."""
        try:
            return json.dumps([self._shard, self.offset, self._dataset.state_dict()]).encode()
        except TypeError as error:
            raise Unsupported(f"the dataset's state is not JSON: {error}") from None


def _refuse_buffers(dataset: datasets.IterableDataset) -> None:
    found: List[Any] = [dataset._ex_iterable]
    while found:
        step = found.pop()
        if type(step).__name__ == "BufferShuffledExamplesIterable":
            raise Unsupported("the dataset has a shuffle buffer, whose rows a restart would lose: shuffle with "
                              "buffer_size=1 (shards only), or shuffle what is written")
        found += [value for value in vars(step).values() if hasattr(value, "load_state_dict")]
        found += [one for value in vars(step).values() if isinstance(value, list)
                  for one in value if hasattr(one, "load_state_dict")]
