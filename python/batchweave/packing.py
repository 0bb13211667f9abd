# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of variable length packed into rows of `seq_len`, such that a restart goes on exactly.

    packer = Packer(seq_len=8192)
    for batch in packer.batches(source, rows=dp * items * 2, state=producer.resume_state):
        producer.write(batch.slices(dp, items), offset=batch.offset, state=batch.state, tokens=batch.tokens)

The state names the pieces of the rows in the making by their places in the input, not their
contents: a few bytes a piece. After a restart those samples are read again. That needs a source
that gives the same samples in the same order from any index on.

What has no rows, only a limit of tokens or pixels for each item, is in batchweave.balance.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from collections import deque
from typing import (Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from .cutting import sequence_part
from .errors import InputChanged, Invalid
from .packed_state import decode, encode
from .producer import Indexed
from .tensors import NAME_OF, SIZE_OF, Plain, contiguous, fill, plain

Sample = Union[Any, Mapping[str, Any]]
Source = Union[Indexed[Sample], Callable[[int], Iterable[Sample]]]
METHODS = ("sequential", "best_fit")
ADDED = ("position_ids", "cu_seqlens", "max_seqlen")
SEQ_LEN_MAX = 1 << 26


class Field(NamedTuple):
    """What a field of the samples is: the format's type, sizes behind the first axis, bytes a token."""

    dtype: str
    tail: Tuple[int, ...]
    size: int


class Content:
    """A sample: its fields as bytes, its number of tokens, its id."""

    __slots__ = ("fields", "length", "id")

    def __init__(self, fields: Dict[str, memoryview], length: int, id: Optional[str]) -> None:
        self.fields = fields
        self.length = length
        self.id = id


class Piece:
    """Tokens [start, start + length) of sample `index`; `content` is None until it is read again."""

    __slots__ = ("index", "start", "length", "content")

    def __init__(self, index: int, start: int, length: int, content: Optional[Content]) -> None:
        self.index = index
        self.start = start
        self.length = length
        self.content = content


class Row:
    """A row in the making or complete: pieces end to end, then padding."""

    __slots__ = ("pieces", "used")

    def __init__(self, pieces: Sequence[Piece] = ()) -> None:
        self.pieces: List[Piece] = list(pieces)
        self.used = sum(piece.length for piece in self.pieces)

    def add(self, piece: Piece) -> None:
        """Behind what it has."""
        self.pieces.append(piece)
        self.used += piece.length


class Batch(NamedTuple):
    """Rows for one Producer.write, and what is to be committed with them: `offset` (samples that were
    read) and `state`."""

    packer: Packer
    rows: List[Row]
    offset: int
    state: bytes

    @property
    def tokens(self) -> int:
        """Tokens without the padding."""
        return sum(row.used for row in self.rows)

    def samples(self, dp: int) -> List[List[str]]:
        """For each slice the ids of its samples, for Producer.write(samples=...): the id that was
        given, else the index; a sample in several pieces is named with each."""
        size = _parts(len(self.rows), dp, 1)
        return [[piece.content.id if piece.content is not None and piece.content.id is not None else str(piece.index)
                 for row in self.rows[d * size:(d + 1) * size] for piece in row.pieces] for d in range(dp)]

    def slices(self, dp: int, items: int, cp: int = 1, layout: str = "contiguous") -> List[Any]:
        """What Producer.write takes: dp slices of `items` items of equally many rows each, and with
        cp > 1 their parts (fields and position_ids are cut, cu_seqlens is the whole row's)."""
        size = _parts(len(self.rows), dp, items)
        grid = []
        for d in range(dp):
            made = [self.packer.item(self.rows[(d * items + m) * size:(d * items + m + 1) * size])
                    for m in range(items)]
            grid.append(made if cp == 1 else [[_cut(item, cp, c, layout) for item in made] for c in range(cp)])
        return grid


def _parts(rows: int, dp: int, items: int) -> int:
    if rows == 0 or rows % (dp * items) != 0:
        raise Invalid(f"{rows} rows cannot be cut into {dp} slices of {items} equal items")
    return rows // (dp * items)


def _cut(item: Dict[str, Plain], cp: int, c: int, layout: str) -> Dict[str, Plain]:
    import numpy as np

    made = dict(item)
    for name, whole in item.items():
        if name in ("cu_seqlens", "max_seqlen"):
            continue
        flat = np.frombuffer(whole.data, dtype=np.uint8).reshape(*whole.shape[:2], -1)
        part = np.ascontiguousarray(sequence_part(flat, cp, c, layout, name))
        made[name] = Plain(whole.dtype, (whole.shape[0], part.shape[1], *whole.shape[2:]), part.reshape(-1).data)
    return made


class Packer:
    """Packs samples, in the order they come, into rows of `seq_len` tokens.

    A sample is an array [n] or [n, ...] (field "tokens"), or a dict of such arrays of one length:
    numpy, torch or array.array. `method`:

    - "best_fit": a sample goes whole into the open row with the least room that holds it. At most
      `open_rows` are open: then the fullest is complete; and a row is when its first sample is
      `age` samples back, which bounds what a restart reads again (beside it, the samples of rows
      that waited for their batch). One of more than seq_len tokens is cut into pieces of seq_len
      and a rest (`long="split"`), or refused (`long="refuse"`).
    - "sequential": end to end; a sample that does not fit goes on in the next row.

    `pad`: what fills a row up, by field; 0 where it is not given. Not thread-safe.
    """

    def __init__(self, seq_len: int, *, method: str = "best_fit", open_rows: int = 32, age: int = 4096,
                 long: str = "split", pad: Optional[Mapping[str, float]] = None) -> None:
        if method not in METHODS or long not in ("split", "refuse"):
            raise Invalid(f"method is one of {', '.join(METHODS)}, long is split or refuse; got {method!r}, {long!r}")
        if not 1 <= seq_len <= SEQ_LEN_MAX or open_rows < 1 or age < 1:
            raise Invalid(f"seq_len is 1 to {SEQ_LEN_MAX}, open_rows and age are 1 or more; "
                          f"got {seq_len}, {open_rows}, {age}")
        self.seq_len = seq_len
        self._settings = (seq_len, METHODS.index(method), open_rows, age, ("split", "refuse").index(long))
        self._sequential = method == "sequential"
        self._open_max = open_rows
        self._age = age
        self._split = long == "split"
        self._pad = dict(pad or {})
        self._fields: Dict[str, Field] = {}
        self._positions = memoryview(b"")
        self._input = b""
        self._clear()

    def _clear(self) -> None:
        self._ready: Deque[Row] = deque()
        self._open: Dict[int, Row] = {}          # by number, oldest first
        self._rooms: List[Tuple[int, int]] = []  # (room, number) of the open rows, ascending
        self._number = 0
        self._next = 0                           # the first sample that was never added
        self._at = 0                             # the sample that `add` takes
        self._lacking: Dict[int, List[Piece]] = {}

    # ---- samples in, rows out

    @property
    def at(self) -> int:
        """Index of the sample that `add` wants."""
        return self._at

    def add(self, sample: Sample, id: Optional[str] = None) -> int:
        """Takes the sample with index `at`; its memory is borrowed until its rows became items. How
        many rows are complete. `id`: for provenance. Raises Invalid, InputChanged (not the sample
        that the state speaks of); then nothing was taken."""
        if self._at < self._next and self._at not in self._lacking:
            self._at += 1
            return self.ready
        content = self._content(sample, id)
        index = self._at
        if index < self._next:
            self._fill_in(index, content)
        else:
            if content.length > self.seq_len and not self._sequential and not self._split:
                raise Invalid(f"sample {index} has {content.length} tokens; a row takes {self.seq_len}")
            self._place(index, content)
            self._next = index + 1
        self._at = index + 1
        return self.ready

    @property
    def ready(self) -> int:
        """How many rows are complete; none until all that a restart needs was read again."""
        return 0 if self._lacking else len(self._ready)

    def _content(self, sample: Sample, id: Optional[str]) -> Content:
        given = sample if isinstance(sample, Mapping) else {"tokens": sample}
        if not given:
            raise Invalid(f"sample {self._at} has no field")
        fields, kinds, lengths = {}, {}, set()
        for name, values in given.items():
            dtype, shape, buffer = contiguous(plain(values))
            if not shape or name in ADDED:
                raise Invalid(f"sample {self._at}, field {name!r}: a number, or a name of what packing adds")
            size = SIZE_OF[dtype]
            for extent in shape[1:]:
                size *= extent
            kinds[name] = Field(dtype, shape[1:], size)
            fields[name] = memoryview(buffer).cast("B")
            lengths.add(shape[0])
        if len(lengths) != 1:
            raise Invalid(f"sample {self._at}: fields of different lengths {sorted(lengths)}")
        if not self._fields:
            self._fields = kinds
        elif kinds != self._fields:
            raise Invalid(f"sample {self._at} has fields {kinds}; the samples before it have {self._fields}")
        return Content(fields, lengths.pop(), id)

    def _place(self, index: int, content: Content) -> None:
        start, left = 0, content.length
        while left > 0:
            length = min(left, self._room() if self._sequential else self.seq_len)
            self._put(Piece(index, start, length, content))
            start, left = start + length, left - length
        while self._open and not self._sequential:
            oldest = next(iter(self._open))
            if self._open[oldest].pieces[0].index > index - self._age:
                break
            self._complete(oldest)

    def _room(self) -> int:
        return self._rooms[0][0] if self._rooms else self.seq_len

    def _put(self, piece: Piece) -> None:
        place = bisect_left(self._rooms, (piece.length, 0))
        if place < len(self._rooms):
            room, number = self._rooms.pop(place)
        else:
            room, number = self.seq_len, self._number
            self._number += 1
            self._open[number] = Row()
        self._open[number].add(piece)
        insort(self._rooms, (room - piece.length, number))
        if room == piece.length:
            self._complete(number)
        elif len(self._open) > self._open_max:
            self._complete(self._rooms[0][1])

    def _complete(self, number: int) -> None:
        row = self._open.pop(number)
        del self._rooms[bisect_left(self._rooms, (self.seq_len - row.used, number))]
        self._ready.append(row)

    def _fill_in(self, index: int, content: Content) -> None:
        pieces = self._lacking[index]
        if any(piece.start + piece.length > content.length for piece in pieces):
            raise InputChanged(f"sample {index} has {content.length} tokens; it had more when rows were made of it")
        for piece in pieces:
            piece.content = content
        del self._lacking[index]

    def finish(self) -> int:
        """No sample follows: the open rows are complete as they are, oldest first. How many rows are
        complete. Raises InputChanged when samples of the state were not given again."""
        if self._at < self._next:
            raise InputChanged(f"the input ends at sample {self._at}; before the restart it had {self._next}")
        for number in list(self._open):
            self._complete(number)
        return self.ready

    def take(self, count: int) -> List[Row]:
        """The first `count` complete rows, fewer when there are not as many."""
        return [self._ready.popleft() for _ in range(min(count, self.ready))]

    # ---- rows as tensors

    def item(self, rows: Sequence[Row]) -> Dict[str, Plain]:
        """The tensors of an item: each field [rows, seq_len, ...]; `position_ids` i32 [rows, seq_len],
        from 0 in each piece; `cu_seqlens` i32 [n + 1], the ends of the pieces in all rows end to end,
        where a row's padding is the last of its pieces (so attention over the flattened item needs
        no mask); `max_seqlen` i32 [1]."""
        if not self._fields:
            raise Invalid("no sample was added yet, so nothing says which fields a row has")
        seq_len = self.seq_len
        made = {}
        for name, field in self._fields.items():
            data = bytearray(fill(field.dtype, self._pad.get(name, 0)) * (len(rows) * seq_len * field.size
                                                                           // SIZE_OF[field.dtype]))
            self._copy(rows, name, field.size, memoryview(data))
            made[name] = Plain(NAME_OF[field.dtype], (len(rows), seq_len, *field.tail), data)
        ends = self._ends(rows)
        longest = max((b - a for a, b in zip(ends, ends[1:])), default=0)
        made["position_ids"] = Plain("int32", (len(rows), seq_len), self._count(ends))
        made["cu_seqlens"] = Plain("int32", (len(ends),), _int32(ends))
        made["max_seqlen"] = Plain("int32", (1,), _int32([longest]))
        return made

    def _copy(self, rows: Sequence[Row], name: str, size: int, out: memoryview) -> None:
        for r, row in enumerate(rows):
            to = r * self.seq_len * size
            for piece in row.pieces:
                assert piece.content is not None
                end = to + piece.length * size
                out[to:end] = piece.content.fields[name][piece.start * size:(piece.start + piece.length) * size]
                to = end

    def _ends(self, rows: Sequence[Row]) -> List[int]:
        ends = [0]
        for row in rows:
            for piece in row.pieces:
                ends.append(ends[-1] + piece.length)
            if row.used < self.seq_len:
                ends.append(ends[-1] + self.seq_len - row.used)
        return ends

    def _count(self, ends: List[int]) -> bytearray:
        """0, 1, 2, … in each span: copies of one long count."""
        if not self._positions:
            self._positions = memoryview(_int32(range(self.seq_len)))
        out = bytearray(4 * ends[-1])
        view = memoryview(out)
        for a, b in zip(ends, ends[1:]):
            view[4 * a:4 * b] = self._positions[:4 * (b - a)]
        return out

    # ---- restarting

    def state(self) -> bytes:
        """What `load` needs to go on from here: a few bytes for each piece of the rows not taken."""
        return encode(self._settings, self._input, self._next, [_places(row) for row in self._ready],
                      [_places(row) for row in self._open.values()])

    def load(self, state: bytes) -> int:
        """Goes on where `state` was taken. The index of the first sample to `add`: the oldest that a
        row needs. Raises Invalid: it is damaged, or of a packer with other settings."""
        settings, digest, following, ready, opened = decode(state)
        if settings != self._settings:
            raise Invalid(f"the state is of a packer with other settings: {settings}, not {self._settings} "
                          "(seq_len, method, open_rows, age, long)")
        if self._input and digest and digest != self._input:
            raise InputChanged("the input is not the one that the rows of the state were made of")
        self._clear()
        self._ready.extend(Row([Piece(*place, None) for place in places]) for places in ready)
        for number, places in enumerate(opened):
            self._open[number] = Row([Piece(*place, None) for place in places])
            insort(self._rooms, (self.seq_len - self._open[number].used, number))
        self._number = len(opened)
        self._next = following
        for row in itertools.chain(self._ready, self._open.values()):
            for piece in row.pieces:
                self._lacking.setdefault(piece.index, []).append(piece)
        self._at = min(self._lacking, default=following)
        return self._at

    def batches(self, source: Source, rows: int, *, state: bytes = b"", last: str = "pad") -> Iterator[Batch]:
        """Batches of `rows` rows of all samples of `source`: a sequence, or a function that gives the
        samples from an index on. Where it has a `digest` (sources.parquet), the state carries that, and
        another input is refused with InputChanged. `state`: of the batch published last (Producer.resume_state), b""
        to begin. At the end rows of padding make the last batch full (`last="pad"`), or what does
        not fill one is left out ("drop")."""
        if last not in ("pad", "drop"):
            raise Invalid(f"last is pad or drop, not {last!r}")
        self._input = str(getattr(source, "digest", "")).encode()
        first = self.load(state) if state else 0
        if not state:
            self._clear()
        for sample in _from(source, first):
            self.add(sample)
            while self.ready >= rows:
                yield self._batch(rows)
        self.finish()
        while self.ready >= rows or (self.ready and last == "pad"):
            yield self._batch(rows)

    def _batch(self, rows: int) -> Batch:
        taken = self.take(rows)
        taken.extend(Row() for _ in range(rows - len(taken)))
        return Batch(self, taken, self._next, self.state())


def _places(row: Row) -> List[Tuple[int, int, int]]:
    return [(piece.index, piece.start, piece.length) for piece in row.pieces]


def _from(source: Source, first: int) -> Iterator[Sample]:
    if callable(source):
        yield from source(first)
    else:
        for index in range(first, len(source)):
            yield source[index]


def _int32(values: Iterable[int]) -> bytearray:
    import array

    numbers = array.array("i", values)
    return bytearray(numbers.tobytes())
