# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints keep the data behind them: the cursor is taken when a save begins, and pinned when the
save is durable, by one rank of the job."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Type

from ..cursor import Cursor
from ..errors import Error, GroupGone, Interrupted, Invalid, PinExists, StoreError, WaitError

if TYPE_CHECKING:
    from .loader import Loader

log = logging.getLogger("batchweave.torch")

# How long a pin is tried again while the store has trouble, and how long the end of a job waits.
TRY_S = 300.0
PAUSE_S = 1.0


class Pins:
    """The pins of one job. On ranks that do not commit all of it does nothing."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._active = loader.commits
        self._lock = threading.Lock()
        # Under the lock:
        self._waiting: List[threading.Thread] = []
        self._failed: Optional[Error] = None
        self._gone = False
        self._order: Optional[List[str]] = None

    def _known(self) -> List[str]:
        """Ids of the pins there are, the oldest first."""
        if self._order is None:
            told = self._loader.consumer.space.info()["groups"]
            rows = [pin for group in told if group["name"] == self._loader.group for pin in group["pins"]]
            self._order = [str(pin["id"]) for pin in sorted(rows, key=lambda pin: (pin["step"], pin["item"]))]
        return self._order

    def put(self, id: str, cursor: Cursor, timeout: Optional[float] = TRY_S) -> None:
        """Pins, and releases what is beyond `keep` in the same commit. The store's troubles are waited out.
        A checkpoint that was saved again under its id, at another place, moves its pin."""
        if not self._active or self._gone:
            return
        with self._lock:
            keep = self._loader.keep
            others = [known for known in self._known() if known != id] if keep is not None else []
            surplus = others[:len(others) + 1 - keep] if keep is not None else []
            try:
                try:
                    self._persist(lambda: self._loader.consumer.pin(id, cursor, surplus), timeout)
                except PinExists:
                    self._persist(lambda: self._loader.consumer.release([id]), timeout)
                    self._persist(lambda: self._loader.consumer.pin(id, cursor, surplus), timeout)
            except GroupGone as error:
                # The group was removed by hand: training goes on, nothing is kept for it any more.
                self._gone = True
                log.warning("checkpoint %r is not pinned, nor will later ones be: %s", id, error)
                return
            if keep is not None:
                self._order = [known for known in others if known not in surplus] + [id]

    @staticmethod
    def _persist(call: Callable[[], object], timeout: Optional[float]) -> None:
        """The call, again while it fails in a way that passes."""
        began = time.monotonic()
        while True:
            try:
                call()
                return
            except Interrupted:
                raise
            except (StoreError, WaitError):
                if timeout is not None and time.monotonic() - began >= timeout:
                    raise
                time.sleep(PAUSE_S)

    def release(self, ids: Sequence[str]) -> None:
        """Gives back what deleted checkpoints kept; ids that are no pins are fine."""
        if self._active and not self._gone:
            with self._lock:
                self._persist(lambda: self._loader.consumer.release(list(ids)), TRY_S)
                self._order = None

    def reconcile(self, ids: Sequence[str]) -> int:
        """Releases every pin but those of `ids`; how many."""
        if not self._active or self._gone:
            return 0
        with self._lock:
            self._order = None
            return self._loader.consumer.reconcile(list(ids))

    # ---- saves that end later

    def later(self, id: str, cursor: Cursor, futures: Sequence[Any]) -> None:
        """Pins when all `futures` are through, beside the training loop."""
        if not self._active:
            return
        thread = threading.Thread(target=self._when_done, args=(id, cursor, list(futures)),
                                  name=f"batchweave-pin-{id}", daemon=True)
        with self._lock:
            self._waiting = [other for other in self._waiting if other.is_alive()] + [thread]
        thread.start()

    def _when_done(self, id: str, cursor: Cursor, futures: Sequence[Any]) -> None:
        for future in futures:
            try:
                result_of(future)
            except BaseException as error:  # noqa: B902: whatever a save ends with, it is not durable
                log.warning("checkpoint %r is not pinned: its save failed: %s", id, error)
                return
        try:
            self.put(id, cursor)
        except Error as error:
            with self._lock:
                self._failed = error
        except ValueError as error:
            log.warning("checkpoint %r is not pinned: %s", id, error)

    def check(self) -> None:
        """Raises what an earlier pin failed with, once."""
        with self._lock:
            failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def settle(self, timeout: float = 10.0) -> None:
        """Waits for pins whose saves are through; those whose saves are not are left to the next start."""
        until = time.monotonic() + timeout
        with self._lock:
            waiting = list(self._waiting)
        for thread in waiting:
            thread.join(max(0.0, until - time.monotonic()))


def result_of(future: Any) -> Any:
    """Waits for a Future of concurrent.futures or torch, or what dcp.async_save answers."""
    upload = getattr(future, "upload_completion", None)
    if upload is not None:
        return result_of(upload)
    if hasattr(future, "result"):
        return future.result()
    return future.wait()


class Checkpoint:
    """One save. `cursor` was taken when it began; the state to save with it is `state_dict()`."""

    def __init__(self, pins: Pins, id: str, cursor: Cursor) -> None:
        pins.check()
        self._pins = pins
        self.id = id
        self.cursor = cursor
        self._futures: List[Any] = []

    def attach(self, future: Any) -> None:
        """The save is durable only when this is through: a Future, or what dcp.async_save answers."""
        if not any(hasattr(future, name) for name in ("result", "wait", "upload_completion")):
            raise Invalid(f"a {type(future).__name__} is no future: it has neither result nor wait")
        self._futures.append(future)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        """A block that failed pins nothing."""
        if kind is not None:
            return
        if self._futures:
            self._pins.later(self.id, self.cursor, self._futures)
        else:
            self._pins.put(self.id, self.cursor)
