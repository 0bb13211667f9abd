# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Pinned memory, and copies to the device on a stream of their own.

With CUDA the store reads into a ring of pinned buffers that is lent to the library; from there a
copy runs beside the trainer's kernels, which wait for it only when they are enqueued behind it.
"""

from __future__ import annotations

import collections
import warnings
from typing import Any, Callable, Deque, List, Optional, Protocol, Tuple

import torch

from .. import _core
from ..consumer import Consumer

BUFFERS = 6
RING_BYTES_MAX = 1 << 30
ALIGN = 64

_warned: List[str] = []


class Mover(Protocol):
    """Gives an item's bytes as a flat uint8 tensor elsewhere."""

    def move(self, item: _core.Item) -> torch.Tensor: ...


def pinned(size: int) -> torch.Tensor:
    """Page-locked memory."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def rounded(size: int) -> int:
    """Up to the alignment of items."""
    return -(-size // ALIGN) * ALIGN


class Ring:
    """Buffers lent to a consumer. How large slices are is seen from the first one; a larger one later
    gets larger buffers, up to a bound: beyond it items lie in memory of the library, and are copied."""

    def __init__(self, make: Callable[[int], torch.Tensor], count: int = BUFFERS) -> None:
        self._make, self._count = make, count
        self._size = 0
        self._bytes = 0

    def grow(self, consumer: Consumer, item: _core.Item) -> None:
        """Lends more, unless what is lent takes the item's slice."""
        if item.lent is not None or item.pad:
            return
        size = ALIGN + rounded(16 * item.count) + item.count * rounded(len(item)) * 5 // 4
        size = rounded(size)
        if size <= self._size or self._bytes + size * self._count > RING_BYTES_MAX:
            return
        for _ in range(self._count):
            consumer.lend(self._make(size).numpy())
        self._size, self._bytes = size, self._bytes + size * self._count


class CudaMover:
    """Copies on a stream of its own; an item is held until its copy is through."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._held: Deque[Tuple[Any, Any]] = collections.deque()

    def move(self, item: _core.Item) -> torch.Tensor:
        """The bytes on the device; the caller's current stream waits for them."""
        while self._held and self._held[0][0].query():
            self._held.popleft()
        source = item.torch()
        if item.lent is None and len(item) > 0:
            # Not in the ring: from pageable memory the copy would wait for itself.
            source = pinned(len(item)).copy_(source)
        with torch.cuda.stream(self._stream):
            moved: torch.Tensor = source.to(self._device, non_blocking=True)
            done: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._stream)
        self._held.append((done, (item, source)))
        current = torch.cuda.current_stream(self._device)
        current.wait_event(done)
        moved.record_stream(current)
        return moved


class PlainMover:
    """To a device that is no CUDA device (meta, mps, xpu ...): torch's own copy."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def move(self, item: _core.Item) -> torch.Tensor:
        moved: torch.Tensor = item.torch().to(self._device)
        return moved


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.append(text)
        warnings.warn(text, stacklevel=4)


def mover_for(device: Any, pin_memory: Optional[bool]) -> Tuple[Optional[Mover], Optional[Ring]]:
    """What moves items to `device` (None: nobody), and the ring that they are read into."""
    wanted = None if device is None else torch.device(device)
    cuda = torch.cuda.is_available()
    if wanted is not None and wanted.type == "cuda" and not cuda:
        _warn_once(f"device={str(wanted)!r}: CUDA is not available here; microbatches stay in main memory")
        wanted = None
    if pin_memory and not cuda:
        _warn_once("pin_memory=True: CUDA is not available here; memory is not pinned")
    pin = cuda and (pin_memory if pin_memory is not None else wanted is not None and wanted.type == "cuda")
    ring = Ring(pinned) if pin else None
    if wanted is None or wanted.type == "cpu":
        return None, ring
    return CudaMover(wanted) if wanted.type == "cuda" else PlainMover(wanted), ring
