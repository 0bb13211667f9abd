# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of Parquet files as the input of a producer; needs pyarrow and numpy.

    source = Parquet("data/", columns=["tokens", "label"], shard=(me.index, me.count))
    with batchweave.Producer(url, id=me.id) as producer:
        for offset, batch in source.batches(64, source.resume(producer.resume_state)):
            producer.write(batch, offset=offset, state=source.state(offset))

Row group k of all files, in the order of their names, belongs to shard k mod n. Every row has an index
within its shard, and a place: file, row group, row.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from bisect import bisect_right
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ..errors import InputBad, InputChanged, Invalid, Unsupported

Path = Union[str, "os.PathLike[str]"]
Row = Dict[str, Any]
FORMS = ("tensors", "samples")


class RowPlace(NamedTuple):
    """Where a row lies: `file` as it was given, or beneath the folder that was; counted from 0."""

    file: str
    row_group: int
    row: int


class _Group(NamedTuple):
    file: int
    number: int
    rows: int


class Parquet:
    """The rows of a shard as a sequence: `source[i]` is a dict of column to value, of the row with
    index i. So Producer.resume and batchweave.packing take it as it is.

    `files`: files, or folders with all *.parquet beneath them. `columns`: default all. `shard`:
    (index, count). `form="tensors"`: numbers and lists of them come as numpy arrays, text and
    binary as bytes; "samples": everything as bytes, for kind="samples". `filesystem`: pyarrow's, for
    files elsewhere.

    Raises InputBad (not Parquet), Invalid (no file, no such column), Unsupported (structs, maps).
    """

    def __init__(self, files: Union[Path, Sequence[Path]], *, columns: Optional[Sequence[str]] = None,
                 shard: Tuple[int, int] = (0, 1), form: str = "tensors", filesystem: Any = None) -> None:
        index, count = shard
        if not 0 <= index < count or form not in FORMS:
            raise Invalid(f"shard {index} of {count}, form {form!r}: the index is below the count, form one of {FORMS}")
        given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        self._filesystem = filesystem
        self._form = form
        self._paths, self.files = _listed([os.fspath(path) for path in given], filesystem)
        every = self._footers(columns)
        self._groups = every[index::count]
        self._starts = [0, *itertools.accumulate(group.rows for group in self._groups)]
        # Of all shards: a shard of another count has other rows behind the same index.
        told = json.dumps([self.files, every, index, count]).encode()
        self.digest = hashlib.sha256(told).hexdigest()[:16]
        self._open: Tuple[int, Any] = (-1, None)
        self._cached: Tuple[int, List[Tuple[str, Callable[[int], Any]]]] = (-1, [])

    def _footers(self, columns: Optional[Sequence[str]]) -> List[_Group]:
        groups: List[_Group] = []
        self._columns: List[str] = list(columns) if columns is not None else []
        for number, path in enumerate(self._paths):
            try:
                footer = pq.ParquetFile(path, filesystem=self._filesystem)
            except (pa.ArrowInvalid, OSError) as error:
                raise InputBad(f"{self.files[number]}: {error}") from None
            with footer:
                names = footer.schema_arrow.names
                if number == 0 and columns is None:
                    self._columns = list(names)
                lacking = set(self._columns) - set(names)
                if lacking:
                    raise Invalid(f"{self.files[number]} has no column {', '.join(sorted(lacking))}; it has {names}")
                groups += [_Group(number, g, footer.metadata.row_group(g).num_rows)
                           for g in range(footer.metadata.num_row_groups)]
        return groups

    def __len__(self) -> int:
        """Rows of the shard."""
        return self._starts[-1]

    def __getitem__(self, index: int) -> Row:
        """The row; quick when rows are taken one after the other. Raises InputBad."""
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        group = bisect_right(self._starts, index) - 1
        if self._cached[0] != group:
            self._cached = (group, self._read(group))
        row = index - self._starts[group]
        return {name: value(row) for name, value in self._cached[1]}

    def place(self, index: int) -> RowPlace:
        """Of the row with that index; of the end where it is the number of rows."""
        if index == len(self):
            return RowPlace("", 0, 0)
        at = bisect_right(self._starts, index) - 1
        group = self._groups[at]
        return RowPlace(self.files[group.file], group.number, index - self._starts[at])

    def index(self, place: RowPlace) -> int:
        """The index of the row at a place. Raises InputChanged when there is none in this shard."""
        if place.file == "":
            return len(self)
        for at, group in enumerate(self._groups):
            if (self.files[group.file], group.number) == place[:2] and 0 <= place.row < group.rows:
                return self._starts[at] + place.row
        raise InputChanged(f"there is no row {place.row} of row group {place.row_group} of {place.file} in this shard")

    def state(self, index: int) -> bytes:
        """For Producer.write(state=...): the place of the next row, and which input it is of."""
        return json.dumps([self.digest, *self.place(index)]).encode()

    def resume(self, state: bytes) -> int:
        """The index to go on at: 0 for b"". Raises InputChanged: files were added, taken away or
        written anew, or the shard is another; Invalid for what is no such state."""
        if not state:
            return 0
        try:
            digest, file, row_group, row = json.loads(state)
            place = RowPlace(str(file), int(row_group), int(row))
        except (ValueError, TypeError):
            raise Invalid(f"no state of a Parquet source: {state[:60]!r}") from None
        if digest != self.digest:
            raise InputChanged(f"the input is not the one that the producer started with (it stood at {place}): "
                               "files, row groups, rows or the shard differ")
        return self.index(place)

    def batches(self, rows: int, start: int = 0, last: str = "keep") -> Iterator[Tuple[int, Dict[str, Any]]]:
        """(end index, dict of arrays [rows, ...]) from row `start` on; columns of one shape only. A last
        one of fewer rows comes too (`last="keep"`) or not ("drop")."""
        for first in range(start, len(self), rows):
            end = min(first + rows, len(self))
            if end - first < rows and last == "drop":
                return
            taken = [self[index] for index in range(first, end)]
            yield end, {name: _stacked(name, [row[name] for row in taken], self.place(first)) for name in self._columns}

    # ---- reading

    def _read(self, at: int) -> List[Tuple[str, Callable[[int], Any]]]:
        group = self._groups[at]
        if self._open[0] != group.file:
            self._open = (group.file, pq.ParquetFile(self._paths[group.file], filesystem=self._filesystem))
        where = f"{self.files[group.file]}, row group {group.number}"
        try:
            table = self._open[1].read_row_group(group.number, columns=self._columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputBad(f"{where}: {error}") from None
        if table.num_rows != group.rows:
            raise InputChanged(f"{where}: {table.num_rows} rows where the footer said {group.rows}")
        made = []
        for name in self._columns:
            column = table.column(name).combine_chunks()
            value = _values(column, f"{where}, column {name!r}")
            made.append((name, _as_bytes(value) if self._form == "samples" else value))
        return made


def _listed(given: Sequence[str], filesystem: Any) -> Tuple[List[str], List[str]]:
    """Paths, and names that do not depend on where the folder lies."""
    rows: List[Tuple[str, str]] = []
    for path in given:
        if filesystem is None and os.path.isdir(path):
            for folder, _, names in os.walk(path):
                rows += [(os.path.relpath(os.path.join(folder, name), path), os.path.join(folder, name))
                         for name in names if name.endswith(".parquet")]
        else:
            rows.append((os.path.basename(path), path))
    rows.sort()
    names = [name for name, _ in rows]
    if not rows:
        raise Invalid(f"no Parquet file in {', '.join(given) or 'an empty list'}")
    if len(set(names)) != len(names):
        raise Invalid("two files have one name: give the folder above them")
    return [path for _, path in rows], names


def _values(column: Any, where: str) -> Callable[[int], Any]:
    """The value of each row."""
    if column.null_count > 0:
        raise InputBad(f"{where}: {column.null_count} values are null")
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) \
            or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return lambda row: column[row].as_py()
    if isinstance(kind, pa.FixedShapeTensorType):
        tensors = column.to_numpy_ndarray()
        return lambda row: tensors[row]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = column.offsets.to_numpy()
        inside = _array(column.values, where)
        return lambda row: inside[offsets[row]:offsets[row + 1]]
    array = _array(column, where)
    return lambda row: array[row]


def _array(column: Any, where: str) -> Any:
    """Numbers, and lists of fixed size of them, as one array [rows, ...]."""
    kind = column.type
    if column.null_count > 0:
        raise InputBad(f"{where}: values in lists are null")
    if pa.types.is_fixed_size_list(kind):
        return _array(column.flatten(), where).reshape(len(column), kind.list_size, *_tail(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False)
    raise Unsupported(f"{where}: values of type {kind} are neither numbers nor text")


def _tail(kind: Any) -> Tuple[int, ...]:
    return (kind.list_size, *_tail(kind.value_type)) if pa.types.is_fixed_size_list(kind) else ()


def _as_bytes(value: Callable[[int], Any]) -> Callable[[int], bytes]:
    def made(row: int) -> bytes:
        found = value(row)
        return found if isinstance(found, bytes) else np.ascontiguousarray(found).tobytes()
    return made


def _stacked(name: str, values: Sequence[Any], place: RowPlace) -> Any:
    if isinstance(values[0], bytes):
        raise Unsupported(f"column {name!r} holds text or binary, which no tensor does: take it apart yourself, row "
                          "by row, or leave it out of `columns`")
    if len({value.shape for value in values}) != 1:
        raise Invalid(f"column {name!r}: rows from {place} on have different lengths; use batchweave.packing")
    return np.stack(values)
