# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Batches by cost: each item takes as many samples as a limit of tokens or pixels allows.

Every slice of a batch has the same number of items, by construction: trainers call collectives once
an item, and ranks with different counts wait for each other for ever. The samples of all slices are
known here, so the count is fixed here, once, and published with the batch.
"""

from __future__ import annotations

import heapq
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .errors import Invalid
from .tensors import NAME_OF, Plain, contiguous, plain

Cost = Callable[[Any], int]
Groups = List[List[int]]


class Group(NamedTuple):
    """A batch: `grid[d][m]` lists the samples of item m of slice d, `offset` how many samples were
    consumed with it."""

    offset: int
    grid: List[List[List[Any]]]

    def slices(self, collate: Optional[Callable[[List[Any]], Any]] = None) -> List[List[Any]]:
        """What Producer.write takes: each item as `collate` makes it of its samples (default:
        `ragged`), None (a pad) where there were too few samples for all items."""
        make = ragged if collate is None else collate
        return [[make(samples) if samples else None for samples in row] for row in self.grid]


class _Load:
    """The cost of a group that grows: the sum, or with `padded` count × longest."""

    def __init__(self, padded: bool) -> None:
        self._padded = padded
        self.members: List[int] = []
        self.cost = 0
        self._longest = 0

    def add(self, member: int, cost: int) -> None:
        self.members.append(member)
        self._longest = max(self._longest, cost)
        self.cost = self._longest * len(self.members) if self._padded else self.cost + cost


def _spread(costs: Sequence[int], groups: int, limit: int, padded: bool) -> Optional[Groups]:
    """All samples in `groups` groups of at most `limit`, or None when this does not find how. Big
    ones first, each to the cheapest group; the padded cost of a group of similar samples is
    little, so there they go in order instead, each group as full as it may be."""
    order = sorted(range(len(costs)), key=lambda i: (-costs[i], i))
    if padded:
        return _shelves(costs, order, groups, limit)
    loads = [_Load(padded) for _ in range(groups)]
    heap = [(0, 0, g) for g in range(groups)]
    for i in order:
        _, count, g = heap[0]
        loads[g].add(i, costs[i])
        if loads[g].cost > limit:
            return None
        heapq.heapreplace(heap, (loads[g].cost, count + 1, g))
    return [sorted(load.members) for load in loads]


def _shelves(costs: Sequence[int], order: Sequence[int], groups: int, limit: int) -> Optional[Groups]:
    made: Groups = []
    for rank, i in enumerate(order):
        left = len(order) - rank
        full = bool(made) and costs[made[-1][0]] * (len(made[-1]) + 1) > limit
        # Each group that is to come gets a sample at least, as long as there are enough.
        starved = bool(made) and left <= groups - len(made)
        if not made or full or starved:
            if len(made) == groups:
                return None
            made.append([])
        made[-1].append(i)
    made.extend([] for _ in range(groups - len(made)))
    return [sorted(members) for members in made]


def balanced(costs: Sequence[int], *, dp: int, limit: int, padded: bool = False) -> List[Groups]:
    """All of these samples (the rollouts of one step, say) as one batch of `dp` slices: `[d][m]` lists
    indices. The number of items is the least that keeps each at `limit` (as far as this finds out),
    the same for all slices; groups are empty only where there are fewer samples than items.

    `padded`: the cost of an item is count × longest, else the sum. Raises Invalid: a sample is above
    the limit, or there is none.
    """
    _check(costs, limit, 0)
    if not costs:
        raise Invalid("no samples to make a batch of")
    items = max(1, -(-sum(costs) // (dp * limit)))
    while True:
        groups = _spread(costs, dp * items, limit, padded)
        if groups is not None:
            return _dealt(costs, groups, dp, items)
        items += 1


def _dealt(costs: Sequence[int], groups: Groups, dp: int, items: int) -> List[Groups]:
    """Item m of all slices is worked on at the same time: similar costs side by side, the empty
    ones last."""
    ranked = sorted(groups, key=lambda g: (-sum(costs[i] for i in g), g))
    return [[ranked[m * dp + d] for m in range(items)] for d in range(dp)]


def _check(costs: Iterable[int], limit: int, first: int) -> None:
    for index, cost in enumerate(costs, first):
        if not 0 <= cost <= limit:
            raise Invalid(f"sample {index} costs {cost}; an item takes 0 to {limit}")


def by_cost(samples: Iterable[Any], cost: Cost, *, limit: int, dp: int, items: int, padded: bool = False,
            offset: int = 0) -> Iterator[Group]:
    """Batches of dp slices of `items` items: each takes samples in their order, as many as fit when
    every item stays at `limit`. `offset`: how many samples lie before the first of `samples`
    (Producer.resume_offset); nothing else is needed to go on after a restart.

    `padded`: the cost of an item is count × longest sample, else the sum. The last batch may have
    pads. Raises Invalid: a sample is above the limit.
    """
    room = dp * items * limit
    held: List[Any] = []
    costs: List[int] = []
    total = 0
    for index, sample in enumerate(samples, offset):
        price = cost(sample)
        _check((price,), limit, index)
        held.append(sample)
        costs.append(price)
        total += price
        while total > room:
            yield (made := _fullest(offset, held, costs, dp, items, limit, padded))
            taken = made.offset - offset
            total -= sum(costs[:taken])
            offset += taken
            del held[:taken], costs[:taken]
    while held:
        yield (made := _fullest(offset, held, costs, dp, items, limit, padded))
        taken = made.offset - offset
        offset += taken
        del held[:taken], costs[:taken]


def _fullest(offset: int, held: List[Any], costs: List[int], dp: int, items: int, limit: int, padded: bool) -> Group:
    """As many of the first samples as are found to fit, by halving: one each always fits."""
    low = min(len(held), dp * items)
    groups = _spread(costs[:low], dp * items, limit, padded)
    high = len(held) + 1
    while high - low > 1:
        middle = (low + high) // 2
        more = _spread(costs[:middle], dp * items, limit, padded)
        if more is None:
            high = middle
        else:
            low, groups = middle, more
    if groups is None:
        raise Invalid(f"samples {offset} to {offset + low} do not fit one by one")
    return Group(offset + low, [[[held[i] for i in members] for members in row]
                                for row in _dealt(costs, groups, dp, items)])


def _length(sample: Any) -> int:
    """Tokens: the length of the (first) array."""
    first = next(iter(sample.values())) if isinstance(sample, Mapping) else sample
    return len(first)


def by_tokens(samples: Iterable[Any], *, limit: int, dp: int, items: int, padded: bool = False,
              offset: int = 0) -> Iterator[Group]:
    """by_cost where a sample (an array, or a dict of arrays) costs its length."""
    return by_cost(samples, _length, limit=limit, dp=dp, items=items, padded=padded, offset=offset)


def pixels(name: str, axes: Tuple[int, int] = (0, 1)) -> Cost:
    """The cost of a sample: height × width of its field `name`, which lie along `axes`."""
    def cost(sample: Any) -> int:
        shape = sample[name].shape
        return int(shape[axes[0]]) * int(shape[axes[1]])
    return cost


def by_pixels(samples: Iterable[Mapping[str, Any]], *, limit: int, dp: int, items: int, name: str = "pixels",
              axes: Tuple[int, int] = (0, 1), offset: int = 0) -> Iterator[Group]:
    """by_cost where a sample costs height × width of its image `name`."""
    return by_cost(samples, pixels(name, axes), limit=limit, dp=dp, items=items, offset=offset)


def ragged(samples: Sequence[Any]) -> Dict[str, Plain]:
    """The tensors of an item of samples (arrays, or dicts of arrays) of different length: `name` holds
    them end to end along the first axis, `name.offsets` i64 [n + 1] says where each begins. Where
    the other axes differ too (images), `name` is flat, and `name.shapes` i64 [n, rank] has the
    shapes. batchweave.tensors.ragged takes it apart."""
    rows = [sample if isinstance(sample, Mapping) else {"tokens": sample} for sample in samples]
    made: Dict[str, Plain] = {}
    for name in rows[0]:
        try:
            parts = [contiguous(plain(row[name])) for row in rows]
        except KeyError:
            raise Invalid(f"field {name!r} is not in all samples of an item") from None
        if len({(dtype, len(shape)) for dtype, shape, _ in parts}) != 1 or not parts[0][1]:
            raise Invalid(f"field {name!r}: samples of different types or ranks, or numbers without an axis")
        made.update(_end_to_end(name, parts))
    return made


def _end_to_end(name: str, parts: Sequence[Tuple[str, Tuple[int, ...], Any]]) -> Dict[str, Plain]:
    tails = {shape[1:] for _, shape, _ in parts}
    flat = len(tails) != 1
    offsets = [0]
    for _, shape, _ in parts:
        extent = shape[0]
        for size in shape[1:] if flat else ():
            extent *= size
        offsets.append(offsets[-1] + extent)
    dtype = NAME_OF[parts[0][0]]
    made = {name: Plain(dtype, (offsets[-1], *(() if flat else tails.pop())), b"".join(p[2] for p in parts)),
            name + ".offsets": Plain("int64", (len(offsets),), _int64(offsets))}
    if flat:
        made[name + ".shapes"] = Plain("int64", (len(parts), len(parts[0][1])),
                                       _int64([size for _, shape, _ in parts for size in shape]))
    return made


def _int64(values: Sequence[int]) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)
