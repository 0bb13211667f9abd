# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Items as arrays and tensors: views of the item's own memory, which they keep alive. numpy and
torch are imported when asked for."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from . import _core
from .errors import Unsupported
from .tensors import NAME_OF, Tensor, read


def numpy(item: _core.Item, dtype: Any = None) -> Any:
    """The item's bytes as a numpy array of `dtype` (default uint8), one dimension, writable."""
    import numpy as np

    return np.frombuffer(memoryview(item), dtype=np.uint8 if dtype is None else dtype)


def torch(item: _core.Item, dtype: Any = None) -> Any:
    """The item's bytes as a torch tensor of `dtype` (default torch.uint8), one dimension."""
    import torch as t

    wanted = t.uint8 if dtype is None else dtype
    return t.frombuffer(item, dtype=wanted) if len(item) > 0 else t.empty(0, dtype=wanted)


def tensors(item: _core.Item, framework: Optional[str] = None) -> Dict[str, Any]:
    """The tensors of an item of kind safetensors by name: torch tensors when torch is imported,
    else numpy arrays; or as `framework` ("torch", "numpy") says. An empty dict for a pad.

    Raises Corrupt, Unsupported (kind, or a type that numpy lacks).
    """
    if item.pad:
        return {}
    if item.kind != "safetensors":
        raise Unsupported(f"the item is of kind {item.kind!r}, not safetensors: use numpy(), torch() or samples()")
    if framework is None:
        framework = "torch" if "torch" in sys.modules else "numpy"
    view = _torch_view if framework == "torch" else _numpy_view
    return {t.name: view(item, t) for t in read(item)}


def _torch_view(item: _core.Item, place: Tensor) -> Any:
    import torch as t

    dtype = getattr(t, NAME_OF[place.dtype])
    if place.size == 0:
        return t.empty(place.shape, dtype=dtype)
    return t.frombuffer(item, dtype=t.uint8, count=place.size, offset=place.offset).view(dtype).reshape(place.shape)


def _numpy_view(item: _core.Item, place: Tensor) -> Any:
    import numpy as np

    name = NAME_OF[place.dtype]
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise Unsupported(f"numpy has no type for {place.dtype} (tensor {place.name!r}): "
                          "use framework='torch'") from None
    flat = np.frombuffer(memoryview(item), dtype=np.uint8, count=place.size, offset=place.offset)
    return flat.view(dtype).reshape(place.shape)


def samples(item: _core.Item) -> List[Dict[str, memoryview]]:
    """The samples of an item of kind samples: a dict of key to bytes each. Raises Corrupt."""
    if item.pad:
        return []
    view = memoryview(item)
    rows: List[Dict[str, memoryview]] = []
    for sample, key, offset, size in _core.samples_read(item):
        while len(rows) <= sample:
            rows.append({})
        rows[sample][key] = view[offset:offset + size]
    return rows
