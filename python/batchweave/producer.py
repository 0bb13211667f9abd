# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A producer publishes whole global batches, exactly once and in its own order."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from types import TracebackType
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Protocol, Sequence,
                    Tuple, Type, TypeVar, Union, cast)

from . import _core
from .cutting import cut
from .errors import Failed, Fenced, Forked, Invalid
from .schema import check, parse
from .settings import Value, collect, table
from .space import Place, Space, opened
from .tensors import pack

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Batch = Union[Mapping[str, Any], Sequence[Any]]


class Indexed(Protocol[T_co]):
    """An input that is entered at any place: list, numpy array, batchweave.sources."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> T_co: ...


class Commit(NamedTuple):
    """A batch that is on the chain for good: its step, its end offset, the manifest's version."""

    step: int
    offset: int
    version: int


class Producer:
    """Opening fences every earlier process of the same `id` and tells where to go on
    (`resume_offset`, `resume_state`).

    `space`: a URL or a Space open for writing. `kind` of the items: "safetensors" (dicts of
    arrays), "samples" (lists of dicts of bytes) or "raw" (bytes). `timeout`: of the open, seconds.
    Settings by name: policy, compress, reopen, staged_bytes, memory, ...

    One thread writes. A forked child may not use it: it would fence its parent.

    Raises Finished, Sealed, Denied, Timeout, and what Space raises.
    """

    def __init__(self, space: Union[Space, Place], id: str, *, kind: str = "safetensors",
                 timeout: Optional[float] = 300.0, **settings: Value) -> None:
        own = {name: value for name, value in settings.items()
               if name in table() and "producer" not in table()[name].scopes}
        given: Dict[str, Value] = {name: value for name, value in settings.items() if name not in own}
        given["kind"] = kind
        self.id = id
        self.kind = kind
        self._given_space = isinstance(space, Space)
        self.space = opened(space, "write", own, None, timeout)
        self._core: Optional[_core.Producer] = _core.Producer(
            self.space.core, id, collect(("producer",), given), timeout)
        self._process = os.getpid()
        self.resume_offset, self.resume_state = self._core.resume()
        self._dp, self._cp, self._items = self.space.core.about[1:]
        self._layout, self._schema = self._declared()
        self._offset = self.resume_offset
        self._waiting: Dict[int, int] = {}
        self._listeners: List[Callable[[Commit], None]] = []
        self.blocked: Optional[str] = None

    def _declared(self) -> Tuple[str, Any]:
        info = self.space.info()
        return str(info.get("layout") or ""), parse(str(info.get("schema") or ""))

    @property
    def core(self) -> _core.Producer:
        """The handle of this process."""
        if self._process != os.getpid():
            raise Forked(f"producer {self.id!r} belongs to the process that opened it; open one with an id of its "
                         "own in the child")
        if self._core is None:
            raise ValueError(f"producer {self.id!r} was closed")
        return self._core

    # ---- writing

    def write(self, batch: Batch, *, offset: Optional[int] = None, state: Optional[bytes] = None, tag: int = 0,
              items: Optional[int] = None, sequences: Sequence[str] = (), samples: Optional[Sequence[Any]] = None,
              tokens: int = 0, meta: Any = None, timeout: Optional[float] = None) -> None:
        """Hands over one global batch; it is uploaded in the background and published in order.

        `batch`: a dict of arrays [B, ...], which are cut into dp × cp slices of `items` items (default:
        as the namespace advises; see batchweave.cutting; `sequences`: arrays cut along axis 1 where
        cp > 1). Or explicit slices: a sequence over d of, where cp > 1, sequences over c of sequences
        of items; an item is a dict of arrays, a list of samples (dicts of bytes), or bytes, by `kind`;
        None is a pad. Memory of bytes and arrays is borrowed until it is uploaded: do not change it.

        `offset`: how far the input is consumed with this batch, which a restart gets as
        `resume_offset`; default: what `resume` handed out. `state` (at most 1 MiB) comes back as
        `resume_state`. `tag`, `samples` (ids, cut like the rows, or one list a slice), `tokens` of
        the whole batch and `meta` (JSON) are kept with the step.

        Waits while too much is staged. Raises Timeout (nothing is lost, write it again), Invalid
        (names the item), TooLarge, Blocked, Fenced, Sealed, StoreError.
        """
        made = self._assembled(batch, tag, items, sequences, samples, tokens, meta)
        self._put(made, self._offset if offset is None else offset, state or b"", timeout)
        self._hear()

    def _assembled(self, batch: Batch, tag: int, items: Optional[int], sequences: Sequence[str],
                   samples: Optional[Sequence[Any]], tokens: int, meta: Any) -> _core.Batch:
        if isinstance(batch, Mapping):
            count = self._items if items is None else items
            parts = cut(batch, self._dp, self._cp, count, self._layout, sequences)
        else:
            parts, count = self._explicit(batch)
        made = self.core.batch(count)
        for d, c, m, content in parts:
            self._set(made, d, c, m, content, sequences)
        self._describe(made, samples, tokens, tag, meta)
        return made

    def _put(self, made: _core.Batch, end: int, state: bytes, timeout: Optional[float]) -> None:
        token = self.core.put(made, end, state, timeout)
        self._waiting[token] = end
        self._offset = end

    def _explicit(self, batch: Sequence[Any]) -> Tuple[Iterator[Tuple[int, int, int, Any]], int]:
        slices = [list(row) if self._cp > 1 else [row] for row in batch]
        if len(slices) != self._dp or any(len(row) != self._cp for row in slices):
            raise Invalid(f"the batch has {len(slices)} slices of {sorted({len(r) for r in slices})}; "
                          f"the namespace has dp={self._dp}, cp={self._cp}")
        counts = {len(items) for row in slices for items in row}
        if len(counts) != 1:
            raise Invalid(f"all slices of a batch have the same number of items; here are {sorted(counts)}")
        return (((d, c, m, item) for d, row in enumerate(slices) for c, items in enumerate(row)
                 for m, item in enumerate(items)), counts.pop())

    def _set(self, made: _core.Batch, d: int, c: int, m: int, content: Any, sequences: Sequence[str]) -> None:
        where = f"slice d={d} c={c}, item {m}"
        if content is None:
            made.pad(d, c, m)
        elif self.kind == "safetensors":
            if not isinstance(content, Mapping):
                raise Invalid(f"{where}: a {type(content).__name__} where a dict of arrays is wanted; open the "
                              "producer with kind='raw' for bytes, kind='samples' for lists of samples")
            if self._schema is not None:
                check(self._schema, content, where)
            notes = {f"batchweave.axis.{name}": "1" for name in sequences} if self._cp > 1 else None
            made.item(d, c, m, pack(content, notes))
        elif self.kind == "samples":
            made.item(d, c, m, _core.samples_pack(list(content), 1 << 40))
        else:
            made.item(d, c, m, content)

    def _describe(self, made: _core.Batch, samples: Optional[Sequence[Any]], tokens: int, tag: int, meta: Any) -> None:
        rows: List[Sequence[str]] = [()] * self._dp
        if samples is not None and len(samples) > 0 and isinstance(samples[0], str):
            if len(samples) % self._dp != 0:
                raise Invalid(f"{len(samples)} sample ids cannot be cut into {self._dp} slices; give a list a slice")
            size = len(samples) // self._dp
            rows = [samples[d * size:(d + 1) * size] for d in range(self._dp)]
        elif samples is not None:
            rows = list(samples)
            if len(rows) != self._dp:
                raise Invalid(f"sample ids for {len(rows)} slices; the namespace has dp={self._dp}")
        for d, ids in enumerate(rows):
            share = tokens // self._dp + (1 if d < tokens % self._dp else 0)
            if ids or share:
                made.samples(d, 0, list(ids), share)
        if tag or meta is not None:
            made.meta(tag, b"" if meta is None else json.dumps(meta, sort_keys=True).encode())

    def resume(self, source: Union[Iterable[T], Indexed[T]]) -> Iterator[T]:
        """What of `source` was not published yet, counted in elements; `write` without an offset
        then takes that count. A source with __getitem__ and __len__ is entered at the place, any
        other is run through. Resuming needs the same elements in the same order as before."""
        start = self.resume_offset
        if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
            rows = cast(Indexed[T], source)
            rest: Iterable[T] = (rows[i] for i in range(start, len(rows)))
        else:
            rest = itertools.islice(source, start, None)
        for place, element in enumerate(rest, start + 1):
            self._offset = place
            yield element

    # ---- what becomes of it

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Calls back for each batch that is on the chain for good, in the thread that calls write,
        flush, finish or poll, in order."""
        self._listeners.append(listener)

    def poll(self, timeout: float = 0.0) -> List[Commit]:
        """Commits that were not told yet. Raises Fenced when a newer process took over, Failed when the
        handle is finished for another reason (write and flush raise that one)."""
        return self._hear(timeout)

    def _hear(self, timeout: float = 0.0) -> List[Commit]:
        commits = []
        for kind, token, step, version, message in self.core.events(timeout):
            if kind == _core.EVENT_COMMITTED:
                self.blocked = None
                commit = Commit(step, self._waiting.pop(token), version)
                commits.append(commit)
                for listener in self._listeners:
                    listener(commit)
            elif kind == _core.EVENT_BLOCKED:
                self.blocked = message
            elif kind == _core.EVENT_FENCED:
                raise Fenced(message or f"a newer process opened producer {self.id!r}")
            elif kind == _core.EVENT_FAILED:
                raise Failed(message or f"producer {self.id!r} failed")
        return commits

    def flush(self, urgent: bool = False, timeout: Optional[float] = None) -> None:
        """Returns when everything written before is on the chain for good. `urgent`: without waiting
        for the cadence. Raises Timeout, Unknown, NoSpace, Blocked (all may still be published),
        Fenced, Sealed."""
        self.core.flush(urgent, timeout)
        self._hear()

    def finish(self, timeout: Optional[float] = None) -> None:
        """Publishes what is left and says that this producer is done; with the expected number
        finished, the namespace is sealed. Fails as flush does; again is fine."""
        self.core.finish(timeout)
        self._hear()

    def stats(self) -> Dict[str, Any]:
        """Counters and distributions (docs/reports.md)."""
        answer: Dict[str, Any] = json.loads(self.core.stats())
        return answer

    def fileno(self) -> int:
        """Readable (select, asyncio) while there is something for `poll`."""
        return self.core.fileno()

    def interrupt(self, on: bool = True) -> None:
        """While on, waits end with Interrupted. Any thread."""
        self.core.interrupt(on)

    def close(self) -> None:
        """Ends the handle: what is not on the chain yet is left out, and a restart goes on before it.
        Closing twice is fine."""
        if self._core is not None:
            if self._process == os.getpid():
                self._core.close()
            self._core = None
            if not self._given_space:
                self.space.close()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        """Without an exception everything written is published first; `finish` is yours to call."""
        try:
            if kind is None and self._core is not None:
                self.flush()
        finally:
            self.close()

    def __del__(self) -> None:
        """Nobody can publish what is left any more; whoever forgot `with` or flush hears of it."""
        core = self.__dict__.get("_core")  # absent where the constructor raised
        if core is None or self._process != os.getpid():
            return
        told = json.loads(core.stats())
        left = told["batches_put"] - told["batches_committed"]
        if left > 0:
            warnings.warn(f"producer {self.id!r} was dropped with {left} unpublished batch{'es' if left > 1 else ''}: a "
                          f"restart makes what lies beyond offset {told['offset_committed']} again; use `with`, or "
                          "flush() and close()", ResourceWarning, stacklevel=2, source=self)
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("a producer cannot be pickled: open one with an id of its own in the other process")
