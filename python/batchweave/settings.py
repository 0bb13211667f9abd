# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Settings: Python values as the text that the library's one table of settings takes."""

from __future__ import annotations

import functools
import os
from typing import Dict, Mapping, NamedTuple, Optional, Tuple, Union

from . import _core
from .errors import Invalid

Value = Union[str, int, float, bool, None]


class Setting(NamedTuple):
    """A row of the table. `scopes`: where it applies, e.g. ("space", "init")."""

    name: str
    scopes: Tuple[str, ...]
    type: str
    default: Optional[str]
    help: str


@functools.lru_cache(maxsize=None)
def table() -> Mapping[str, Setting]:
    """The settings by name; read when one is first asked for, not at import."""
    return {name: Setting(name, tuple(scopes.split(",")), kind, default, text)
            for name, scopes, kind, default, text in _core.settings_table()}


def text_of(name: str, value: Value) -> str:
    """The value as text: True and False for switches, seconds for times, bytes for sizes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and name in table() and table()[name].type == "time":
        return f"{round(value * 1000)}ms"
    return str(value)


def collect(scopes: Tuple[str, ...], given: Mapping[str, Value]) -> Dict[str, str]:
    """What was given, as text; None stands for the default. A name that is in none of `scopes`
    raises Invalid."""
    settings = {}
    for name, value in given.items():
        if value is None:
            continue
        known = table().get(name)
        if known is not None and not set(scopes) & set(known.scopes):
            raise Invalid(f"setting {name!r} is one of {', '.join(known.scopes)}, not of {', '.join(scopes)}")
        if known is None:
            legal = sorted(n for n, s in table().items() if set(scopes) & set(s.scopes))
            raise Invalid(f"there is no setting {name!r}; here are legal: {', '.join(legal)}")
        settings[name] = text_of(name, value)
    return settings


def url_of(place: Union[str, "os.PathLike[str]"]) -> str:
    """A URL as it is, a path as file:// URL."""
    text = os.fspath(place)
    return text if "://" in text else "file://" + os.path.abspath(text)
