# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""One rank: exactly its own slice of each step, item by item, in the one global order."""

from __future__ import annotations

import json
import os
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple, Type, Union

from . import _core
from .cursor import Cursor
from .errors import EndOfData
from .settings import Value, collect, table
from .space import Place, Space, opened

Part = Union[int, Tuple[int, int]]

_living: "weakref.WeakSet[Consumer]" = weakref.WeakSet()


class Consumer:
    """A rank of a training job.

    `space`: a URL, or a Space that several ranks of a process share. `group`: the job's name; then
    all its ranks begin at one place, and what its checkpoints need is kept; `launch` (or Slurm's or
    torchrun's environment) names this start of the job. Position: `dp` and `cp` as (position,
    size), or `rank` and `world` (with tp, pp), or the environment of the launcher; then `dp` and
    `cp` may tell the sizes alone, where they are not the namespace's. `cursor`: where
    to go on; else the group's newest checkpoint, else `start`. `timeout`: of the open, seconds.
    Further settings by name: rescale, tags, skip_to_tip, prefetch, memory, verify, lend, ...

    One thread calls `next` and `cursor`; the rest from any thread. A copy (in a forked child, or
    unpickled) goes on at the same place with a handle of its own, which reads only: the launch is
    the job's, and begins once.

    Raises MeshMismatch, RanksDisagree, LaunchReused, Fenced, Trimmed, CursorForeign, BeyondEnd,
    Timeout, and what Space raises.
    """

    def __init__(self, space: Union[Space, Place], *, group: Optional[str] = None,
                 dp: Optional[Part] = None, cp: Optional[Part] = None,
                 cursor: Optional[Cursor] = None, timeout: Optional[float] = 300.0,
                 **settings: Value) -> None:
        own = {name: value for name, value in settings.items()
               if name in table() and "consumer" not in table()[name].scopes}
        given = {name: value for name, value in settings.items() if name not in own}
        for name, pair in (("d", dp), ("c", cp)):
            if isinstance(pair, int):
                given["dp" if name == "d" else "cp"] = pair
            elif pair is not None:
                given[name], given["dp" if name == "d" else "cp"] = pair
        self._settings = collect(("consumer",), given)
        self._group = group
        self._timeout = timeout
        self._given_space = isinstance(space, Space)
        self.space = opened(space, "write" if group is not None else "read", own, cursor, timeout)
        self._open(cursor, group)
        _living.add(self)

    def _open(self, cursor: Optional[Cursor], group: Optional[str] = None) -> None:
        self._at = cursor
        self._core: Optional[_core.Consumer] = _core.Consumer(
            self.space.core, group, self._settings if group is not None else _alone(self._settings),
            None if cursor is None else cursor.json, self._timeout)
        self._process = os.getpid()
        # Bound here, for it is hot; a fork binds it anew.
        self._next: Callable[[Optional[float]], _core.Item] = self._core.next

    def _next_in_child(self, timeout: Optional[float]) -> _core.Item:
        return self.core.next(timeout)

    @property
    def core(self) -> _core.Consumer:
        """The handle of this process."""
        if self._core is not None and self._process != os.getpid():
            self._open(self._at)
        if self._core is None:
            raise ValueError("the consumer was closed")
        return self._core

    def next(self, timeout: Optional[float] = 300.0) -> _core.Item:
        """The next item (microbatch) of this rank, verified. `timeout` in seconds.

        Raises EndOfData (sealed, and all was handed out), Starved (nothing new in time; the message
        says why), Trimmed, Corrupt, StoreError, Interrupted. A failed call changes nothing.
        """
        return self._next(timeout)

    def __iter__(self) -> Iterator[_core.Item]:
        """Items until the end of a sealed namespace."""
        return self

    def __next__(self) -> _core.Item:
        # No generator: its frame would hold each item until the next one is asked for, and unmap it then.
        try:
            return self.next()
        except EndOfData:
            raise StopIteration from None

    @property
    def cursor(self) -> Cursor:
        """Where the next item stands."""
        return Cursor(self.core.cursor())

    @property
    def d(self) -> int:
        """Data-parallel position."""
        return self.core.about[2]

    @property
    def c(self) -> int:
        """Context-parallel position."""
        return self.core.about[3]

    @property
    def group(self) -> Optional[str]:
        """The job's name, or None."""
        return self._group

    @property
    def launch(self) -> str:
        """The launch that it began with; "" without a group."""
        return self.core.about[1]

    def pin(self, id: str, cursor: Cursor, release: Sequence[str] = (),
            timeout: Optional[float] = 60.0) -> None:
        """Pins a checkpoint: when it is durable, with the cursor taken when its save began, on one
        rank. `release`: checkpoints that this one makes superfluous, in the same commit.

        Raises PinExists, PinsFull, Trimmed, Fenced (a newer launch runs), GroupGone, Timeout; the
        same call again is fine.
        """
        self.core.pin(id, cursor.json, release, timeout)

    def release(self, ids: Sequence[str], timeout: Optional[float] = 60.0) -> None:
        """Gives checkpoints back that were deleted."""
        self.core.release(ids, timeout)

    def reconcile(self, keep: Sequence[str], timeout: Optional[float] = 60.0) -> int:
        """Releases every pin but those in `keep`, the checkpoints that are there; how many."""
        return self.core.reconcile(keep, timeout)

    def lend(self, buffer: Any) -> int:
        """Lends a writable buffer (of a pinned ring, say) for slices to be read into; opened with
        lend=True. Its token, which `Item.lent` tells. The buffer is kept until nobody needs it."""
        return self.core.lend(buffer)

    def wait_reason(self) -> Dict[str, Any]:
        """Why next would wait (docs/reports.md)."""
        answer: Dict[str, Any] = json.loads(self.core.wait_reason())
        return answer

    def stats(self) -> Dict[str, Any]:
        """Counters and distributions (docs/reports.md)."""
        answer: Dict[str, Any] = json.loads(self.core.stats())
        return answer

    def interrupt(self, on: bool = True) -> None:
        """While on, waits end with Interrupted. Any thread."""
        self.core.interrupt(on)

    def close(self) -> None:
        """A call that waits in another thread ends with Interrupted. Items stay valid. Closing
        twice is fine."""
        if self._core is not None:
            self._core.close()
            self._core = None
            if not self._given_space:
                self.space.close()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        return {"space": self.space, "_settings": self._settings, "_group": self._group,
                "_timeout": self._timeout, "_given_space": self._given_space,
                "_at": None if self._core is None else self.cursor}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open(self._at)
        _living.add(self)


def _alone(settings: Dict[str, str]) -> Dict[str, str]:
    """Without what only means something to a group, or to the start that the cursor replaces."""
    return {name: value for name, value in settings.items() if name != "launch"}


def _remember() -> None:
    """Before a fork: what a child needs to go on at the same place."""
    for consumer in list(_living):
        if consumer._core is not None and consumer._process == os.getpid():
            consumer._at = consumer.cursor


def _forget() -> None:
    """In the child: what the parent opened is the parent's."""
    for consumer in list(_living):
        consumer._next = consumer._next_in_child


os.register_at_fork(before=_remember, after_in_child=_forget)
