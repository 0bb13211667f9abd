# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Where a job goes on: a small immutable value, the same on all ranks."""

from __future__ import annotations

import re
from typing import Any, Tuple

from . import _core

# In canonical JSON, which has no text of a user's.
_VERSION = re.compile(r'"version":\d+')


class Cursor:
    """The next item to hand out, never what was read ahead. `json` is what checkpoints keep. Two are
    equal that stand at the same place, whichever manifest version (a hint for opening) they saw.

    Raises CursorInvalid for a text that is none.
    """

    __slots__ = ("json", "step", "item")

    json: str
    step: int
    item: int

    def __init__(self, json: str) -> None:
        self._set(_core.cursor_parse(json))

    def _set(self, told: Tuple[str, int, int]) -> None:
        for name, value in zip(self.__slots__, told):
            object.__setattr__(self, name, value)

    @property
    def place(self) -> str:
        """`json` without the hint: the same text for every rank that stands at the same place."""
        return _VERSION.sub('"version":0', self.json)

    def skip(self, first: int, end: int) -> Cursor:
        """This cursor, and steps [first, end) are skipped too (a loss spike). For all ranks alike."""
        other = object.__new__(Cursor)
        other._set(_core.cursor_skip(self.json, first, end))
        return other

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a cursor does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cursor) and self.place == other.place

    def __hash__(self) -> int:
        return hash(self.place)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Cursor, (self.json,)

    def __repr__(self) -> str:
        return f"<Cursor step {self.step} item {self.item}>"
