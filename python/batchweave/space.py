# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A namespace: one run's data under a URL."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

from . import _core
from .cursor import Cursor
from .settings import Value, collect, url_of

Place = Union[str, "os.PathLike[str]"]
SPACE_SCOPES = ("runtime", "space", "store")


def init(url: Place, *, dp: int, cp: int = 1, schema: Union[None, str, Mapping[str, Any]] = None,
         **settings: Value) -> None:
    """Makes a namespace in an empty place.

    `dp`, `cp`: data-parallel and context-parallel positions of a batch. `schema`: what items hold,
    as a dict of name to {"dtype": ..., "shape": [...]} (batchweave.schema), checked by producers.
    Further settings by name, e.g. items, producers, max_lag, max_bytes ("2TiB"): see
    `batchweave help settings`. Raises NotEmpty, Unsupported, Invalid, StoreError.
    """
    text = json.dumps(schema, sort_keys=True) if isinstance(schema, Mapping) else schema
    given: Dict[str, Value] = {"dp": dp, "cp": cp, "schema": text, **settings}
    _core.init(url_of(url), collect(("runtime", "init", "space", "store"), given))


class Space:
    """An open namespace. Any number of threads may use it; a forked child opens its own by itself.

    `mode`: "read" (never writes anything) or "write"; "raw" for `report("inspect")` and "list" of
    a namespace that does not open. `timeout` in seconds, None: no limit. `cursor`: a consumer is
    going to begin there; then the first item takes three round trips. Settings by name: memory,
    threads, retry_limit, endpoint, region, ...

    Raises NoNamespace, NotReady, Denied, StoreFailed, Corrupt, ChainBlocked, Timeout.
    """

    def __init__(self, url: Place, *, mode: str = "read", timeout: Optional[float] = 60.0,
                 cursor: Optional[Cursor] = None, **settings: Value) -> None:
        self.url = url_of(url)
        self._settings = collect(SPACE_SCOPES, {"mode": mode, **settings})
        self._timeout = timeout
        self._open(cursor)

    def _open(self, cursor: Optional[Cursor]) -> None:
        self._core: Optional[_core.Space] = _core.Space(
            self.url, self._settings, None if cursor is None else cursor.json, self._timeout)
        self._process = os.getpid()

    @property
    def core(self) -> _core.Space:
        """The handle of this process."""
        if self._core is not None and self._process != os.getpid():
            self._open(None)
        if self._core is None:
            raise ValueError(f"the namespace {self.url} was closed")
        return self._core

    @property
    def uuid(self) -> str:
        """Identity of the namespace: 32 hexadecimal digits."""
        return self.core.about[0]

    @property
    def dp(self) -> int:
        """Data-parallel positions."""
        return self.core.about[1]

    @property
    def cp(self) -> int:
        """Context-parallel positions."""
        return self.core.about[2]

    @property
    def items(self) -> int:
        """Items of a slice, by the namespace's advice."""
        return self.core.about[3]

    def report(self, what: str, **settings: Value) -> Iterator[Dict[str, Any]]:
        """The lines of a report, as they come; safe on a live namespace. docs/reports.md tells
        what each line holds. `what`: info, steps, tail, inspect, list, verify, gc."""
        for line in _core.Report(self.core, what, collect(("report",), settings)):
            yield json.loads(line)

    def info(self) -> Dict[str, Any]:
        """Identity, mesh, limits, steps, producers, groups, totals."""
        [line] = self.report("info")
        return line

    def steps(self, first: Optional[int] = None, last: Optional[int] = None) -> List[Dict[str, Any]]:
        """A row for each retained step in [first, last)."""
        return list(self.report("steps", first=first, last=last))

    def verify(self, deep: bool = False) -> List[Dict[str, Any]]:
        """Findings and, last, a summary. Raises Unclean when there is a fault."""
        return list(self.report("verify", deep=deep))

    def sweep(self, apply: bool = False, **settings: Value) -> List[Dict[str, Any]]:
        """What may be deleted, or with `apply` is: data that no group keeps, orphans, old
        manifests; and why the rest stays."""
        return list(self.report("gc", apply=apply, **settings))

    def item(self, step: int, d: int = 0, c: int = 0, item: int = 0,
             timeout: Optional[float] = 60.0) -> _core.Item:
        """One stored item, verified. Raises Trimmed, BeyondEnd, Invalid, Corrupt."""
        return self.core.item(step, d, c, item, timeout)

    def samples(self, step: int, timeout: Optional[float] = 60.0) -> Dict[str, Any]:
        """Metadata and sample ids of a step."""
        answer: Dict[str, Any] = json.loads(self.core.step_meta(step, timeout))
        return answer

    def begin(self, cursor: Optional[Cursor] = None, timeout: Optional[float] = 60.0,
              **settings: Value) -> Cursor:
        """Where a job without a group begins (settings start, tags, skip_to_tip, dp, rescale):
        resolve it once and give all ranks that cursor."""
        return Cursor(self.core.begin(collect(("consumer",), settings),
                                      None if cursor is None else cursor.json, timeout))

    def seal(self, force: bool = False, timeout: Optional[float] = 60.0) -> None:
        """Ends the namespace: all ranks end at the same step. Raises SealRefused, with the
        producers that have not finished, unless `force`."""
        self.core.seal(force, timeout)

    def pin(self, group: str, id: str, cursor: Cursor, *, launch: Optional[str] = None,
            timeout: Optional[float] = 60.0) -> None:
        """Pins a checkpoint of a group, for operators; a job uses Consumer.pin."""
        self.core.pin(group, launch, id, cursor.json, timeout)

    def release(self, group: str, ids: Sequence[str], *, launch: Optional[str] = None,
                timeout: Optional[float] = 60.0) -> None:
        """Gives checkpoints of a group back, for operators."""
        self.core.release(group, launch, ids, timeout)

    def group_rm(self, group: str, *, launch: Optional[str] = None,
                 timeout: Optional[float] = 60.0) -> None:
        """Removes the group with all its pins."""
        self.core.group_rm(group, launch, timeout)

    def forget(self, producer: str, epoch: int = 0, timeout: Optional[float] = 60.0) -> None:
        """The producer will not come back: seal does not wait for it."""
        self.core.forget(producer, epoch, timeout)

    def close(self) -> None:
        """Consumers and producers opened from it keep it open. Closing twice is fine."""
        if self._core is not None:
            self._core.close()
            self._core = None

    def __enter__(self) -> Space:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        return {"url": self.url, "_settings": self._settings, "_timeout": self._timeout}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open(None)

    def __repr__(self) -> str:
        return f"<Space {self.url}{'' if self._core is not None else ' (closed)'}>"


def opened(space: Union[Space, Place], mode: str, settings: Mapping[str, Value],
           cursor: Optional[Cursor], timeout: Optional[float]) -> Space:
    """The Space as it is, or a new one at the URL."""
    if isinstance(space, Space):
        if settings:
            collect((), settings)
        return space
    return Space(space, mode=mode, cursor=cursor, timeout=timeout, **settings)
