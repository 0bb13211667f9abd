# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""An item's bytes, wherever they lie, as what the loader hands out."""

from __future__ import annotations

from typing import Any, Dict

import torch

from ..errors import Unsupported
from ..tensors import NAME_OF, read
from ..views import samples, tensors


def tensors_of(data: Any, kind: str, pad: bool, layout: Any = None) -> Any:
    """`data`: an Item, or its bytes as a flat uint8 tensor, on any device; then `layout` is the item or
    a copy of the bytes in main memory (default: data itself).

    Kind safetensors: a dict of name to tensor; raw: a flat uint8 tensor; samples: a list of dicts.
    """
    if pad:
        return {} if kind == "safetensors" else [] if kind == "samples" else torch.empty(0, dtype=torch.uint8)
    if not isinstance(data, torch.Tensor):
        return tensors(data, "torch") if kind == "safetensors" else samples(data) if kind == "samples" else data.torch()
    if kind == "samples":
        raise Unsupported("items of kind samples are no tensors: read them without device, pin_memory and tp_leader")
    if kind != "safetensors":
        return data
    named: Dict[str, Any] = {}
    for place in read(data.numpy() if layout is None else layout):
        flat = data[place.offset:place.offset + place.size]
        dtype = getattr(torch, NAME_OF[place.dtype])
        named[place.name] = (flat.view(dtype) if place.size > 0 else torch.empty(0, dtype=dtype, device=data.device)
                             ).reshape(place.shape)
    return named
