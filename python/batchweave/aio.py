# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers for asyncio.

    async with await aio.Producer.open(url, id="p0") as producer:
        await producer.write(batch, offset=n)
    async with await aio.Consumer.open(url, dp=(rank, 8)) as consumer:
        async for item in consumer: ...

A cancelled call ends at once and loses nothing. An item that arrived in that moment is what the next
call gives, and the cursor stands before it until then; a batch whose write was cancelled was not
taken. Nothing blocks the loop but what is quick: what was read ahead is handed out without a thread,
and waits are a thread of their own (which does not hold up the end of the process).
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from types import TracebackType
from typing import (Any, AsyncIterator, Callable, Deque, Dict, Hashable, List, Optional, Sequence, Tuple, Type, TypeVar,
                    Union)

from . import _core, consumer, producer
from .cursor import Cursor
from .errors import EndOfData, Error, Interrupted, Starved, Timeout
from .producer import Batch, Commit
from .settings import Value, url_of
from .space import Place, Space

T = TypeVar("T")
# Room may have been made without an event that was left for us.
ROOM_SECONDS = 0.02
COMMITS_MAX = 65536


def _apart(call: Callable[[], T]) -> "asyncio.Future[T]":
    """Runs `call` in a thread that nobody waits for at exit."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[T]" = loop.create_future()

    def settle(result: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
            future.exception()  # told: nobody may be waiting any more

    def run() -> None:
        result, failed = None, None
        try:
            result = call()
        except BaseException as error:
            failed = error
        try:
            loop.call_soon_threadsafe(settle, result, failed)
        except RuntimeError:
            pass  # the loop was closed meanwhile

    threading.Thread(target=run, name="batchweave-wait", daemon=True).start()
    return future


# Openings that a cancelled task left behind, until what they gave is closed.
_Name = Tuple[asyncio.AbstractEventLoop, Hashable]
_abandoned: Dict[_Name, "asyncio.Task[None]"] = {}


async def _owned(make: Callable[[], T], close: Callable[[T], None], what: Hashable) -> T:
    """What `make` gives; when the task is cancelled, it is closed as soon as it is there. The next that
    opens the same waits for that: the late opening of a producer would fence it."""
    name = asyncio.get_running_loop(), what
    while name in _abandoned:
        await asyncio.wait([_abandoned[name]])
    future = _apart(make)
    try:
        await asyncio.wait([future])
    except asyncio.CancelledError:
        _abandoned[name] = asyncio.ensure_future(_closed(future, close, name))
        raise
    return future.result()


async def _closed(future: "asyncio.Future[T]", close: Callable[[T], None], name: _Name) -> None:
    try:
        await asyncio.wait([future])
        if future.exception() is None:
            await asyncio.wait([_apart(lambda: close(future.result()))])
    finally:
        del _abandoned[name]


class _Flight:
    """One call at a time that waits in a thread. A task that is cancelled interrupts it and goes; the
    call stays in flight until somebody asks for it."""

    def __init__(self, interrupt: Callable[[bool], None]) -> None:
        self._interrupt = interrupt
        self._call: Optional["asyncio.Future[Any]"] = None

    @property
    def flying(self) -> bool:
        return self._call is not None

    async def fly(self, call: Callable[[], T]) -> T:
        """The result of `call`. Only after `landed`."""
        self._call = future = _apart(call)
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            self._interrupt(True)
            future.add_done_callback(self._came_down)
            raise
        self._call = None
        return future.result()

    def _came_down(self, call: "asyncio.Future[Any]") -> None:
        if self._call is call:
            self._interrupt(False)

    async def landed(self) -> Any:
        """The result of a call that a cancelled task left behind, or None: it failed, or there was none."""
        if self._call is None:
            return None
        future = self._call
        await asyncio.wait([future])
        if self._call is not future:
            return None
        self._interrupt(False)
        self._call = None
        return None if future.exception() is not None else future.result()


class Consumer:
    """batchweave.Consumer for asyncio: `await Consumer.open(...)` with the same arguments."""

    def __init__(self, sync: consumer.Consumer) -> None:
        self.sync = sync
        self._turn = asyncio.Lock()
        self._flight = _Flight(sync.interrupt)
        self._kept: Optional[_core.Item] = None
        self._before: Optional[Cursor] = None

    @classmethod
    async def open(cls, space: Union[Space, Place], **settings: Any) -> Consumer:
        """Raises what batchweave.Consumer does."""
        return cls(await _owned(lambda: consumer.Consumer(space, **settings), consumer.Consumer.close, object()))

    async def next(self, timeout: Optional[float] = 300.0) -> _core.Item:
        """The next item of this rank; raises what batchweave.Consumer.next does. Tasks that call it at
        once are served in turn."""
        async with self._turn:
            left = await self._flight.landed()
            self._kept = left if left is not None else self._kept
            if self._kept is not None:
                item, self._kept = self._kept, None
                return item
            try:
                return self.sync.next(0)
            except Starved:
                if timeout == 0:
                    raise
            self._before = self.sync.cursor
            return await self._flight.fly(lambda: self.sync.next(timeout))

    async def __aiter__(self) -> AsyncIterator[_core.Item]:
        """Items until the end of a sealed namespace."""
        while True:
            try:
                item = await self.next()
            except EndOfData:
                return
            yield item

    @property
    def cursor(self) -> Cursor:
        """Where the next item stands that a call of `next` will give."""
        if (self._flight.flying or self._kept is not None) and self._before is not None:
            return self._before
        return self.sync.cursor

    async def pin(self, id: str, cursor: Cursor, release: Sequence[str] = (),
                  timeout: Optional[float] = 60.0) -> None:
        """As batchweave.Consumer.pin. It may happen although the task was cancelled: the same again is
        fine."""
        await _apart(lambda: self.sync.pin(id, cursor, release, timeout))

    async def release(self, ids: Sequence[str], timeout: Optional[float] = 60.0) -> None:
        """As batchweave.Consumer.release; may happen although the task was cancelled."""
        await _apart(lambda: self.sync.release(ids, timeout))

    async def reconcile(self, keep: Sequence[str], timeout: Optional[float] = 60.0) -> int:
        """As batchweave.Consumer.reconcile; may happen although the task was cancelled."""
        return await _apart(lambda: self.sync.reconcile(keep, timeout))

    async def close(self) -> None:
        """Calls of other tasks that wait end with Interrupted."""
        await _apart(self.sync.close)

    async def __aenter__(self) -> Consumer:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()


class Producer:
    """batchweave.Producer for asyncio: `await Producer.open(...)` with the same arguments."""

    def __init__(self, sync: producer.Producer) -> None:
        self.sync = sync
        self.resume_offset = sync.resume_offset
        self.resume_state = sync.resume_state
        self._turn = asyncio.Lock()
        self._ending = asyncio.Lock()
        self._flight = _Flight(sync.interrupt)
        self._commits: Deque[Commit] = deque(maxlen=COMMITS_MAX)
        self._waiters: List["asyncio.Future[None]"] = []
        self._failure: Optional[Error] = None
        sync.on_commit(self._commits.append)

    @classmethod
    async def open(cls, space: Union[Space, Place], id: str, *, kind: str = "safetensors",
                   timeout: Optional[float] = 300.0, **settings: Value) -> Producer:
        """Raises what batchweave.Producer does."""
        url = space.url if isinstance(space, Space) else url_of(space)
        return cls(await _owned(lambda: producer.Producer(space, id, kind=kind, timeout=timeout, **settings),
                                producer.Producer.close, (url, id)))

    async def write(self, batch: Batch, *, offset: Optional[int] = None, state: Optional[bytes] = None, tag: int = 0,
                    items: Optional[int] = None, sequences: Sequence[str] = (),
                    samples: Optional[Sequence[Any]] = None, tokens: int = 0, meta: Any = None,
                    timeout: Optional[float] = None) -> None:
        """As batchweave.Producer.write. Batches are taken in the order of the calls. The items are
        made in a thread; with `compress` the loop is busy while they are packed."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        async with self._turn:
            end = self.sync._offset if offset is None else offset
            made = await _apart(lambda: self.sync._assembled(batch, tag, items, sequences, samples, tokens, meta))
            while True:
                try:
                    self.sync._put(made, end, state or b"", 0)
                    break
                except Timeout:
                    if deadline is not None and loop.time() >= deadline:
                        raise
                except Interrupted:
                    pass  # meant for a flush that was cancelled
                await self._changed(ROOM_SECONDS)
        self.sync._hear()

    async def flush(self, urgent: bool = False, timeout: Optional[float] = None) -> None:
        """As batchweave.Producer.flush; cancelled, it only stops waiting."""
        await self._ended(lambda: self.sync.core.flush(urgent, timeout))

    async def finish(self, timeout: Optional[float] = None) -> None:
        """As batchweave.Producer.finish; cancelled, it only stops waiting."""
        await self._ended(lambda: self.sync.core.finish(timeout))

    async def _ended(self, call: Callable[[], None]) -> None:
        async with self._ending:
            await self._flight.landed()
            await self._flight.fly(call)
        self.sync._hear()

    async def poll(self, timeout: Optional[float] = None) -> List[Commit]:
        """Commits that were not told yet; waits for one, `timeout` seconds at most. Raises
        Fenced, Failed."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        self.sync._hear()
        while not self._commits and self._failure is None and (deadline is None or loop.time() < deadline):
            await self._changed(None if deadline is None else deadline - loop.time())
        if self._failure is not None and not self._commits:
            raise self._failure
        told = list(self._commits)
        self._commits.clear()
        return told

    def on_commit(self, listener: Callable[[Commit], None]) -> None:
        """Calls back in the loop for each batch that is on the chain for good, in order."""
        self.sync.on_commit(listener)

    async def _changed(self, timeout: Optional[float]) -> None:
        """Until the library has an event, or the time is over."""
        loop = asyncio.get_running_loop()
        fd = self.sync.fileno()
        waiter: "asyncio.Future[None]" = loop.create_future()
        self._waiters.append(waiter)
        loop.add_reader(fd, self._readable)
        try:
            await asyncio.wait([waiter], timeout=timeout)
        finally:
            self._waiters.remove(waiter)
            if not self._waiters and self.sync._core is not None:
                loop.remove_reader(fd)

    def _readable(self) -> None:
        try:
            self.sync._hear()
        except Error as error:
            self._failure = error  # for whoever polls
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def stats(self) -> Dict[str, Any]:
        """Counters and distributions (docs/reports.md)."""
        return self.sync.stats()

    async def close(self) -> None:
        """Ends the handle: what is not on the chain yet is left out. Calls of other tasks that wait end
        with an exception."""
        if self._waiters:
            asyncio.get_running_loop().remove_reader(self.sync.fileno())
            self._wake()
        await _apart(self.sync.close)

    async def __aenter__(self) -> Producer:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        """Without an exception everything written is published first."""
        try:
            if kind is None:
                await self.flush()
        finally:
            await self.close()
