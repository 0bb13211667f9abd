# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A Ray Data datasink: preprocess on many machines, publish whole global batches, each row once.

    dataset.map_batches(tokenize).write_datasink(Datasink(url, rows=512))

Write tasks may run in any order, be retried, be killed: see docs/design/ray.md for why no row is lost
or doubled. Needs ray[data] and numpy; the namespace is made before (batchweave.init, without
`producers`: each write task is a producer of its own).
"""

from __future__ import annotations

import hashlib
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Tuple

import numpy as np
from ray.data import Datasink as RayDatasink
from ray.data.block import Block, BlockAccessor

from .errors import Finished, InputChanged, Invalid
from .producer import Batch, Producer
from .settings import Value, url_of
from .space import Place, Space

Columns = Dict[str, Any]
Encode = Callable[[Columns], Batch]
LAST = ("pad", "drop")
TASK_BATCHES = 16


class Rest(NamedTuple):
    """What a write task leaves to the driver: its rows that make no whole batch."""

    task: int
    columns: Columns


class Datasink(RayDatasink[Rest]):
    """Publishes a dataset's rows as batches of `rows` rows.

    `encode`: makes of a dict of column to array [rows, ...] what Producer.write takes; default: the
    columns themselves, cut into dp × items equal parts. It runs in the write task. `ids`: a column of
    sample ids, kept as provenance and no tensor. `task_rows`: rows a write task takes at least (each
    costs two commits); default 16 batches. `last`: rows that are left when all tasks are done make a
    last batch of fewer rows in its items, with pads where there are fewer rows than items ("pad"),
    or are left out ("drop"). `seal`: seals the namespace at the end.

    `run`: name of this write, by which its producers are called RUN.TASK. A driver that died and is
    started again with the same run and the same data publishes what is lacking. Default: random.

    Further settings: of batchweave.Producer (kind, policy, compress, ...).
    """

    def __init__(self, url: Place, *, rows: int, encode: Optional[Encode] = None, ids: Optional[str] = None,
                 items: Optional[int] = None, run: Optional[str] = None, task_rows: Optional[int] = None,
                 last: str = "pad", seal: bool = False, **settings: Value) -> None:
        if rows < 1 or last not in LAST:
            raise Invalid(f"rows is 1 or more, last one of {LAST}; got {rows}, {last!r}")
        self._url = url_of(url)
        self._rows = rows
        self._encode = encode
        self._ids = ids
        self._items = items
        self._run = run if run is not None else f"ray-{uuid.uuid4().hex[:12]}"
        self._task_rows = TASK_BATCHES * rows if task_rows is None else task_rows
        self._last = last
        self._seal = seal
        self._settings = settings

    @property
    def run(self) -> str:
        """The name of this write."""
        return self._run

    @property
    def min_rows_per_write(self) -> Optional[int]:
        """Rows that Ray gives to a write task at least."""
        return self._task_rows

    def on_write_start(self, schema: Any = None) -> None:
        """In the driver, before the first task. Raises Invalid, and what opening a Space raises."""
        with Space(self._url) as space:
            expected = space.info()["expected_producers"]
            if expected:
                raise Invalid(f"the namespace expects {expected} producers to finish; each write task is one: "
                              "init it without `producers`, and give seal=True here")
            if self._encode is None and self._rows % (space.dp * (self._items or space.items)) != 0:
                raise Invalid(f"batches of {self._rows} rows cannot be cut into {space.dp} slices of "
                              f"{self._items or space.items} items")

    def write(self, blocks: Iterable[Block], ctx: Any) -> Rest:
        """A write task, or the next try of one. Raises InputChanged when a try sees other rows than
        the one before it, Fenced when a later try runs."""
        return Rest(ctx.task_idx, self._publish(f"{self._run}.{ctx.task_idx}", map(_columns, blocks)))

    def on_write_complete(self, write_result: Any) -> None:
        """In the driver, when all tasks are done: what they left."""
        rests = sorted(write_result.write_returns, key=lambda rest: rest.task)
        rest = self._publish(f"{self._run}.rest", (r.columns for r in rests), final=self._last == "pad")
        assert self._last == "drop" or _count(rest) == 0
        if self._seal:
            with Space(self._url, mode="write") as space:
                space.seal()

    # ---- a stream of rows as one producer

    def _publish(self, id: str, stream: Iterable[Columns], final: bool = False) -> Columns:
        """Whole batches by producer `id`, going on where its last try stopped; the rows that are left.
        `final`: they make a batch too."""
        seen, digest = 0, hashlib.sha256()
        producer = self._opened(id)
        try:
            for columns, whole in _cut(stream, self._rows):
                if not whole and not (final and columns):
                    break
                _update(digest, columns)
                before, seen = seen, seen + _count(columns)
                if seen == producer.resume_offset:
                    self._same(producer, digest.digest())
                elif seen > producer.resume_offset:
                    if before < producer.resume_offset:
                        self._changed(producer)
                    self._write(producer, columns, seen, digest.digest(), whole)
                columns = {}
            if seen < producer.resume_offset:
                self._changed(producer)
            producer.finish()
        finally:
            producer.close()
        return columns

    def _opened(self, id: str) -> Producer:
        given: Dict[str, Any] = dict(self._settings)
        try:
            return Producer(self._url, id, **given)
        except Finished:
            # An earlier try came to its end, and its answer was lost: see that it had the same rows.
            return Producer(self._url, id, reopen=True, **given)

    def _same(self, producer: Producer, digest: bytes) -> None:
        if producer.resume_state != digest:
            self._changed(producer)

    def _changed(self, producer: Producer) -> NoReturn:
        raise InputChanged(f"producer {producer.id}: an earlier try published {producer.resume_offset} rows, and the "
                           "first ones are not the same now; what makes them must do so in the same way each time")

    def _write(self, producer: Producer, columns: Columns, end: int, digest: bytes, whole: bool) -> None:
        ids = [_text(value) for value in columns[self._ids]] if self._ids is not None else None
        tensors = {name: values for name, values in columns.items() if name != self._ids}
        batch: Batch = tensors if self._encode is None else self._encode(tensors)
        items = self._items if self._items is not None else producer.space.items
        dp = producer.space.dp
        told: Optional[List[Any]] = ids
        if not whole and isinstance(batch, Mapping):
            batch, told = _uneven(batch, dp, producer.space.cp, items, ids)
        elif not whole and ids is not None:
            told = [ids, *([] for _ in range(dp - 1))]
        producer.write(batch, offset=end, state=digest, items=items, samples=told)


def _columns(block: Block) -> Columns:
    made = BlockAccessor.for_block(block).to_numpy()
    return dict(made) if isinstance(made, Mapping) else {"data": made}


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values()))) if columns else 0


def _cut(stream: Iterable[Columns], rows: int) -> Iterator[Tuple[Columns, bool]]:
    """(rows, True) as often as there are enough, then (what is left, False)."""
    held: List[Columns] = []
    count = 0
    for columns in stream:
        if _count(columns) == 0:
            continue
        held.append(columns)
        count += _count(columns)
        if count < rows:
            continue
        joined = _joined(held)
        whole = count // rows * rows
        for first in range(0, whole, rows):
            yield {name: values[first:first + rows] for name, values in joined.items()}, True
        held = [{name: values[whole:] for name, values in joined.items()}]
        count -= whole
    yield _joined(held), False


def _joined(parts: List[Columns]) -> Columns:
    if not parts:
        return {}
    if any(set(part) != set(parts[0]) for part in parts):
        raise Invalid(f"blocks have different columns: {sorted({name for part in parts for name in part})}")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _uneven(batch: Mapping[str, Any], dp: int, cp: int, items: int,
            ids: Optional[List[str]]) -> Tuple[List[Any], Optional[List[Any]]]:
    """The last batch: rows as evenly as they go, pads for items that get none."""
    if cp > 1:
        raise Invalid("the rows that are left make no whole batch, which cp > 1 needs: give last='drop', or a number "
                      "of rows that `rows` divides")
    parts = np.array_split(np.arange(len(next(iter(batch.values())))), dp * items)
    made = [{name: values[part] for name, values in batch.items()} if len(part) else None for part in parts]
    told = None if ids is None else [[ids[i] for part in parts[d * items:(d + 1) * items] for i in part]
                                     for d in range(dp)]
    return [made[d * items:(d + 1) * items] for d in range(dp)], told


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _update(digest: Any, columns: Columns) -> None:
    """Of names, types, shapes and bytes."""
    for name in sorted(columns):
        values = columns[name]
        digest.update(f"{name}\0{values.dtype}\0{values.shape}\0".encode())
        if values.dtype == object:
            for value in values:
                _update_object(digest, value)
        else:
            digest.update(np.ascontiguousarray(values).view(np.uint8).reshape(-1).data)


def _update_object(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        _update(digest, {"": value})
        return
    data = value if isinstance(value, bytes) else repr(value).encode()
    digest.update(f"{type(value).__name__}\0{len(data)}\0".encode())
    digest.update(data)
