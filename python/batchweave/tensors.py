# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Named tensors as items, in the layout of safetensors files: the stock package reads them."""

from __future__ import annotations

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
    name = str(array.dtype).replace("torch.", "") if is_torch(array) else array.dtype.name
    if name not in _NAMES:
        raise Unsupported(f"tensors of type {name} have no place in safetensors; there are {', '.join(_NAMES)}")
    return _NAMES[name]


def contiguous(array: Any) -> Tuple[str, Tuple[int, ...], Any]:
    """(dtype, shape, buffer) of an array or a tensor: row-major, in main memory; a copy only where
    it is neither."""
    dtype = dtype_name(array)
    shape = tuple(int(extent) for extent in array.shape)
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
    """An item of `tensors` (numpy arrays, torch tensors): a read-only buffer in safetensors layout,
    the first tensor at a multiple of 64. `notes`: the item's metadata.

    Raises Invalid, Unsupported (a type that the format lacks), TooLarge.
    """
    rows = []
    for name, array in tensors.items():
        if not hasattr(array, "dtype") or not hasattr(array, "shape"):
            raise Invalid(f"{name!r} is a {type(array).__name__}, no array or tensor")
        dtype, shape, buffer = contiguous(array)
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
