# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Real text and a real tokenizer: the sources of Python's own library, byte-pair encoded.

The merges are those of Qwen, as the package `dashscope` ships them; only the first `VOCABULARY` are
used, so that a model of a few million weights can be trained on a CPU.
"""

from __future__ import annotations

import base64
import importlib.util
import os
from pathlib import Path
from typing import Any, List, Sequence

import numpy as np

VOCABULARY = 8192
END = VOCABULARY  # of a document
PATTERN = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""


class Documents(Sequence[np.ndarray]):
    """The tokens of document `index`, made when asked for: a sequence of int64 arrays [n]."""

    def __init__(self, shard: int, shards: int, limit: int = 0) -> None:
        library = Path(os.__file__).parent
        paths = sorted(p for p in library.rglob("*.py") if "site-packages" not in p.parts and p.stat().st_size > 200)
        self.paths: List[Path] = (paths[:limit] if limit else paths)[shard::shards]
        self.encoding = tokenizer()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        text = self.paths[index].read_text(encoding="utf-8", errors="replace")
        return np.array(self.encoding.encode(text, disallowed_special=()) + [END], dtype=np.int64)


def tokenizer() -> Any:
    """tiktoken's encoder with the first merges of the file in `dashscope`."""
    import tiktoken

    found = importlib.util.find_spec("dashscope")
    if found is None or found.origin is None:
        raise SystemExit("the tokenizer's merges are in a package: "
                         "pip install tiktoken && pip install --no-deps dashscope")
    lines = (Path(found.origin).parent / "resources" / "qwen.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    return tiktoken.Encoding("python", pat_str=PATTERN, special_tokens={},
                             mergeable_ranks={token: rank for token, rank in ranks.items() if rank < VOCABULARY})
