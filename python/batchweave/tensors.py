# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Named tensors as items, in the layout of safetensors files: the stock package reads them."""

from __future__ import annotations

import struct
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import _core
from .errors import Invalid, Unsupported

ITEM_BYTES_MAX = 1 << 40

# The format's names by numpy's and torch's. What numpy lacks (bf16, fp8) comes as torch tensors, or
# as numpy arrays of ml_dtypes' types, which have the same names as torch's.
_NAMES: Dict[str, str] = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16",
    "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64",
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64",
}
NAME_OF: Dict[str, str] = {name: dtype for dtype, name in _NAMES.items()}


SIZE_OF: Dict[str, int] = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "I32": 4, "U64": 8, "I64": 8,
    "F16": 2, "F32": 4, "F64": 8, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "C64": 8,
}
_OF_STRUCT: Dict[str, str] = {"F16": "<e", "F32": "<f", "F64": "<d"}
# What the buffer protocol calls them, of native sizes on 64-bit machines.
_OF_FORMAT: Dict[str, str] = {
    "?": "bool", "B": "uint8", "b": "int8", "H": "uint16", "h": "int16", "I": "uint32", "i": "int32",
    "L": "uint64", "l": "int64", "Q": "uint64", "q": "int64", "e": "float16", "f": "float32", "d": "float64",
}


class Plain:
    """A tensor as its bytes, for which neither numpy nor torch is needed. `dtype`: numpy's and
    torch's name of it; `data`: a buffer, row-major."""

    __slots__ = ("dtype", "shape", "data")

    def __init__(self, dtype: str, shape: Tuple[int, ...], data: Any) -> None:
        self.dtype = dtype
        self.shape = shape
        self.data = data

    def numpy(self) -> Any:
        """The same bytes as a numpy array. Raises TypeError for a type that numpy lacks."""
        import numpy as np

        return np.frombuffer(self.data, dtype=np.dtype(self.dtype)).reshape(self.shape)

    def torch(self) -> Any:
        """The same bytes as a torch tensor."""
        import torch as t

        dtype = getattr(t, self.dtype)
        if 0 in self.shape:
            return t.empty(self.shape, dtype=dtype)
        return t.frombuffer(self.data, dtype=t.uint8).view(dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"<Plain {self.dtype} {list(self.shape)}>"


def plain(values: Any) -> Any:
    """Arrays and tensors as they are; what else has a buffer (array.array, memoryview) as Plain.
    Raises Invalid."""
    if hasattr(values, "dtype") and hasattr(values, "shape"):
        return values
    try:
        view = memoryview(values)
        return Plain(_OF_FORMAT[view.format], tuple(view.shape or ()), view)
    except (TypeError, KeyError):
        raise Invalid(f"a {type(values).__name__} is no array or tensor") from None


def fill(dtype: str, value: float) -> bytes:
    """One element of `value`. Raises Invalid, Unsupported (fp8 and complex know only 0)."""
    size = SIZE_OF[dtype]
    try:
        if value == 0:
            return bytes(size)
        if dtype in _OF_STRUCT:
            return struct.pack(_OF_STRUCT[dtype], value)
        if dtype == "BF16":
            return struct.pack("<f", value)[2:]
        if dtype[0] in "UI" and int(value) == value:
            return int(value).to_bytes(size, "little", signed=dtype[0] == "I")
        if dtype == "BOOL" and value == 1:
            return b"\x01"
    except (OverflowError, struct.error):
        pass
    else:
        if dtype[:2] == "F8" or dtype == "C64":
            raise Unsupported(f"{value} as {dtype}: only 0 can fill tensors of this type")
    raise Invalid(f"{value} is no value of type {dtype}")


class Tensor(NamedTuple):
    """A tensor's place in an item. `dtype`: the format's name; `shape`: outermost first; bytes
    [offset, offset + size)."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    offset: int
    size: int


def is_torch(array: Any) -> bool:
    """Whether it is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def dtype_name(array: Any) -> str:
    """The format's name of an array's or tensor's type. Raises Unsupported."""
    name = str(getattr(array.dtype, "name", array.dtype)).replace("torch.", "")
    if name not in _NAMES:
        raise Unsupported(f"tensors of type {name} have no place in safetensors; there are {', '.join(_NAMES)}")
    return _NAMES[name]


def contiguous(array: Any) -> Tuple[str, Tuple[int, ...], Any]:
    """(dtype, shape, buffer) of an array or a tensor: row-major, in main memory; a copy only where
    it is neither."""
    dtype = dtype_name(array)
    shape = tuple(int(extent) for extent in array.shape)
    if isinstance(array, Plain):
        return dtype, shape, array.data
    if is_torch(array):
        torch = sys.modules["torch"]
        flat = array.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return dtype, shape, flat.numpy()
    numpy = sys.modules["numpy"]
    flat = numpy.ascontiguousarray(array).reshape(-1)
    if flat.dtype.byteorder == ">":
        flat = flat.astype(flat.dtype.newbyteorder("<"))
    return dtype, shape, flat.view(numpy.uint8)


def pack(tensors: Mapping[str, Any], notes: Optional[Mapping[str, str]] = None,
         bytes_max: int = ITEM_BYTES_MAX) -> _core.Packed:
    """An item of `tensors` (numpy arrays, torch tensors, array.array): a read-only buffer in safetensors layout,
    the first tensor at a multiple of 64. `notes`: the item's metadata.

    Raises Invalid, Unsupported (a type that the format lacks), TooLarge.
    """
    rows = []
    for name, array in tensors.items():
        try:
            dtype, shape, buffer = contiguous(plain(array))
        except Invalid as error:
            raise Invalid(f"tensor {name!r}: {error}") from None
        rows.append((name, dtype, shape, buffer))
    return _core.tensors_pack(rows, dict(notes or {}), bytes_max)


def read(item: Any) -> List[Tensor]:
    """Where the tensors of an item lie, in the order of their bytes. Raises Corrupt."""
    return [Tensor(*row) for row in _core.tensors_read(item)]


def ragged(tensors: Mapping[str, Any], name: str) -> List[Any]:
    """The rows of a ragged tensor: `name` holds them end to end along the first axis,
    `name.offsets` (n + 1 integers from 0) says where each begins. Views, no copies."""
    values, offsets = tensors[name], [int(o) for o in tensors[name + ".offsets"]]
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]
