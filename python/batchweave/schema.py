# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What items hold, declared at init and checked by producers before anything is written.

A schema is a dict of tensor name to {"dtype": "I64", "shape": [8, null, 4096]}: sizes as numbers,
null or any word for "any". Tensors that are not named in it are refused.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional

from .errors import Invalid
from .tensors import dtype_name

Schema = Dict[str, Dict[str, Any]]


def parse(text: str) -> Optional[Schema]:
    """The schema of a namespace, or None when its text is no such thing (free text is allowed)."""
    try:
        schema = json.loads(text)
    except ValueError:
        return None
    if isinstance(schema, dict) and schema and all(isinstance(row, dict) and "dtype" in row for row in schema.values()):
        return schema
    return None


def check(schema: Schema, tensors: Mapping[str, Any], where: str) -> None:
    """Raises Invalid, which names `where` (a batch, a slice, an item) and the tensor, unless the
    tensors are as declared. Sizes of an item, not of the global batch."""
    lacking, surplus = set(schema) - set(tensors), set(tensors) - set(schema)
    if lacking or surplus:
        raise Invalid(f"{where}: " + "; ".join(
            f"{word} {', '.join(repr(n) for n in sorted(names))}"
            for word, names in (("lacks", lacking), ("has undeclared", surplus)) if names))
    for name, row in schema.items():
        got = dtype_name(tensors[name])
        if got != row["dtype"]:
            raise Invalid(f"{where}, tensor {name!r}: type {got} where the schema says {row['dtype']}")
        shape, wanted = tuple(tensors[name].shape), row.get("shape")
        if wanted is not None and (len(shape) != len(wanted) or any(
                isinstance(w, int) and w >= 0 and w != s for w, s in zip(wanted, shape))):
            raise Invalid(f"{where}, tensor {name!r}: shape {list(shape)} where the schema says {json.dumps(wanted)}")
