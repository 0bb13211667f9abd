# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The training loop's side: an iterable of this rank's microbatches with an exact, tiny state."""

from __future__ import annotations

import logging
import os
import time
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union

import torch

from .. import _core
from ..consumer import Consumer
from ..cursor import Cursor
from ..errors import EndOfData, Error, Invalid, Starved
from ..settings import Value, table
from ..space import Place, Space, opened
from . import fresh, leader, mesh as meshes, starved
from .checkpoint import Checkpoint, Pins
from .payload import tensors_of
from .transfer import Mover, Ring, mover_for

Microbatch = Any
VERSION = 1
log = logging.getLogger("batchweave.torch")


class About(NamedTuple):
    """Of the microbatch that was handed out last."""

    step: int
    microbatch: int
    microbatches: int
    tokens: int
    tag: int
    pad: bool


class Got(NamedTuple):
    """A microbatch on its way out. `after`: the cursor behind it, where reading goes on ahead."""

    about: About
    data: Microbatch
    after: Optional[str]


class Loader:
    """The microbatches of this rank: of kind safetensors a dict of name to tensor, of kind raw a uint8
    tensor, of kind samples a list of dicts of memoryviews; a pad is an empty one. Tensors are views
    of memory that is nobody else's, writable, and live as long as they are held.

    `space`: a URL or a Space. `group`: the job's name: all ranks begin at one place, and what its
    checkpoints need is kept; `launch`: this start of the job; else Slurm's or torchrun's, else, where
    torch.distributed is up, a random one of rank 0 (then the first use is a collective).
    Position: `mesh` (a DeviceMesh); or `dp` and `cp` as (position, size); else torch.distributed's
    rank, or the environment's, where `sizes` tells cp, tp and pp of the job.
    `readers`: "tp_leader": one rank of each tensor-parallel group (the mesh's axis tp, or `tp_group`)
    reads and broadcasts to the others. `rescale`: "same_batch" keeps the global batch when the job
    has another dp than the namespace, "scale_batch" that of a rank.
    `filter`: only steps whose tag it wants; or use `tags`, which reads nothing of the others. The same
    on all ranks.
    `device`: where microbatches go; `pin_memory`: read into pinned memory (default: for a CUDA
    device). `timeout`: seconds without a batch until Starved is raised on this rank (None: never);
    `warn_after`: until the reason is logged. `keep`: checkpoints whose data is kept; None: until
    `release`. `cursor`: where to begin. `start`: where a job without a state does: "earliest" (the first
    step that is kept), "latest", a step, or "group": at the group's newest checkpoint. Not given, a group
    that has checkpoints wants a state: the first microbatch raises StateMissing. Further settings by
    name, as Consumer takes them.

    Nothing is opened before the first microbatch, state or checkpoint. Iterating again goes on
    where it stood; only load_state_dict moves it. One thread uses a Loader.
    """

    def __init__(self, space: Union[Space, Place], *, group: Optional[str] = None, launch: Optional[str] = None,
                 mesh: Any = None, dp: Optional[meshes.Part] = None, cp: Optional[meshes.Part] = None,
                 sizes: Optional[Mapping[str, int]] = None, readers: str = "all", tp_group: Any = None,
                 rescale: str = "same_batch", filter: Optional[Callable[[int], bool]] = None,
                 device: Any = None, pin_memory: Optional[bool] = None, timeout: Optional[float] = starved.TIMEOUT_S,
                 warn_after: float = starved.WARN_S, open_timeout: Optional[float] = 300.0,
                 keep: Optional[int] = None, cursor: Optional[Cursor] = None, start: Union[str, int, None] = None,
                 **settings: Value) -> None:
        if readers not in ("all", "tp_leader"):
            raise Invalid(f"readers={readers!r}: 'all' or 'tp_leader'")
        if keep is not None and keep < 1:
            raise Invalid("keep is the number of checkpoints kept, 1 or more")
        self._given, self._url = space if isinstance(space, Space) else None, space
        self.group, self._launch = group, launch
        self._mesh, self._dp, self._cp, self._sizes = mesh, dp, cp, dict(sizes or {})
        self._readers, self._tp_group = readers, tp_group
        # Of the space, where the Loader opens it.
        self._own: Dict[str, Value] = {} if self._given is not None else {
            name: value for name, value in settings.items()
            if name in table() and "consumer" not in table()[name].scopes}
        self._settings: Dict[str, Value] = {name: value for name, value in settings.items() if name not in self._own}
        self._settings["rescale"] = rescale
        if start is not None and start != "group":
            self._settings["start"] = start
        # Of a start without a state that says nothing else: what the group had then.
        self._wants_state = group is not None and start is None and not settings.get("skip_to_tip")
        self._pinned: Optional[fresh.Pinned] = None
        self._filter = filter
        self._device, self._pin_memory = device, pin_memory
        self.timeout, self.warn_after, self._open_timeout = timeout, warn_after, open_timeout
        self.keep = keep
        self._start = cursor
        self._position: Optional[meshes.Position] = None
        self._loads = 0
        self._copy = False
        self._closed = False
        self._reset()

    def _reset(self) -> None:
        self._space: Optional[Space] = None
        self._consumer: Optional[Consumer] = None
        self._process = os.getpid()
        self._team: Optional[leader.Team] = None
        self._mover: Optional[Mover] = None
        self._ring: Optional[Ring] = None
        self._ahead: Optional[Got] = None
        self._at: Optional[str] = None
        self._about: Optional[About] = None
        self._handed_out = False
        self._waited_s = 0.0
        self._pins: Optional[Pins] = None

    # ---- opening

    def _place(self) -> meshes.Position:
        """Where this rank stands; found out once."""
        if self._position is None:
            self._position = meshes.position(self._opened_space().cp, mesh=self._mesh, dp=self._dp, cp=self._cp,
                                             sizes=self._sizes)
        return self._position

    def _begins_group(self) -> bool:
        """A copy (a DataLoader's worker, a forked child) goes on beside the job's own handle, whose launch
        it must not begin again; but before anything began it is the first."""
        return self.group is not None and (not self._copy or self._start is None)

    def _opened_space(self) -> Space:
        if self._space is None:
            mode = "write" if self._begins_group() else "read"
            if self._given is not None:
                self._space = self._given
            else:
                assert not isinstance(self._url, Space)
                self._space = opened(self._url, mode, self._own, None, self._open_timeout)
        return self._space

    def _named_launch(self, place: meshes.Position) -> Optional[str]:
        if self._launch is None and place.world > 1 and meshes.is_up() and meshes.named_launch() is None:
            self._launch = meshes.agreed_launch()
        return self._launch

    def _open(self, reading: bool = False) -> None:
        """Begins at the start that holds now, if that has not been done. `reading`: a microbatch is wanted
        at once, so that a state that is missing is missed before a launch is begun for nothing."""
        if self._closed:
            raise ValueError("the loader was closed")
        if self._process != os.getpid():
            self._become_copy()
        if self._consumer is not None or (self._team is not None and not self._team.leads):
            return
        place = self._place()
        if self._mover is None:
            self._mover, self._ring = mover_for(self._device, self._pin_memory)
        group = self.group if self._begins_group() else None
        launch = self._named_launch(place) if group is not None else None
        if self._readers == "tp_leader" and self._team is None:
            self._team = leader.team(self._mesh, self._tp_group)
        if self._team is None or self._team.leads:
            again = None if launch is None or self._loads == 0 else f"{launch}.{self._loads}"
            lend: Dict[str, Value] = {"lend": True} if self._ring is not None else {}
            try:
                if group is not None and self._start is None and self._wants_state:
                    self._pinned = self._before(group, launch, reading)
                self._consumer = Consumer(
                    self._opened_space(), group=group, dp=place.dp, cp=place.cp, cursor=self._start,
                    timeout=self._open_timeout, launch=again or launch, **place.settings, **lend, **self._settings)
            except BaseException as error:
                if self._team is not None:
                    self._team.send_failure(error)
                    self._team = None
                raise
            if group is not None and self._launch is None:
                self._launch = self._consumer.launch
            self._at = self._consumer.cursor.json
            begun = self._consumer.cursor
            if self._pinned and fresh.made_since(self._pinned, self._consumer.launch, begun.step, begun.item):
                self._pinned = None
        if self._team is not None:
            try:
                self._at = self._team.agree(self._at)
            except Error:
                self._team = None
                raise

    def _before(self, group: str, launch: Optional[str], reading: bool) -> Optional[fresh.Pinned]:
        """The checkpoints that the group has before this rank begins. Raises StateMissing for them when
        `reading`, unless rank 0 has begun this launch already."""
        found = fresh.pinned(self._opened_space(), group)
        if found is not None and reading and found.launch != (launch or meshes.named_launch()):
            raise fresh.missing(found)
        return found

    def _become_copy(self) -> None:
        """In a forked child: what the parent opened is the parent's."""
        start = Cursor(self._at) if self._at is not None else self._start
        if self._at is None and self._consumer is not None:
            start = self._consumer._at
        self._reset()
        self._start, self._copy = start, True

    @property
    def consumer(self) -> Consumer:
        """The Consumer of this rank, opened now if it was not. Raises Invalid where another rank reads."""
        self._open()
        if self._consumer is None:
            raise Invalid("this rank does not read: its tensor-parallel leader does")
        return self._consumer

    # ---- iterating

    def __iter__(self) -> Loader:
        """Goes on where it stands."""
        return self

    def __next__(self) -> Microbatch:
        """The next microbatch. Raises StopIteration at the end of a sealed namespace (the same step on
        all ranks), Starved with the reason, StateMissing, Trimmed, Corrupt, StoreError, Interrupted. A
        failed call changes nothing: the next one goes on at the same place."""
        if self._consumer is None or self._process != os.getpid():
            self._open(reading=True)
        got, self._ahead = self._ahead, None
        try:
            if got is None:
                got = self._fetch()
        except EndOfData:
            self._about = None
            raise StopIteration from None
        if self._mover is not None and self._team is None:
            self._look_ahead()
        self._about, self._at, self._handed_out = got.about, got.after, True
        return got.data

    def _fetch(self) -> Got:
        if self._team is None:
            item = self._wanted(self.timeout)
            return self._take(item, self._mover is not None or self._filter is not None)
        if not self._team.leads:
            about, kind, data, after = self._team.receive()
        else:
            try:
                item = self._wanted(self.timeout)
                told = (item.step, item.order, item.total, item.tokens, item.tag, item.pad)
                about, kind, data, after = self._team.send(told, item, self.consumer.cursor.json)
            except BaseException as error:
                # The others wait: they hear of it, whatever it was.
                self._team.send_failure(error)
                raise
        if self._device is not None:
            data = data.to(self._device)
        return Got(About(*about), tensors_of(data, kind, about[5]), after)

    def _take(self, item: _core.Item, ahead: bool) -> Got:
        about = About(item.step, item.order, item.total, item.tokens, item.tag, item.pad)
        after = self.consumer.cursor.json if ahead else None
        if self._ring is not None:
            self._ring.grow(self.consumer, item)
        if self._mover is not None and not item.pad:
            return Got(about, tensors_of(self._mover.move(item), item.kind, False, item), after)
        return Got(about, tensors_of(item, item.kind, item.pad), after)

    def _wanted(self, timeout: Optional[float]) -> _core.Item:
        """The next item of a step that the filter wants."""
        if self._pinned is not None:
            raise fresh.missing(self._pinned)
        while True:
            item = self._read(timeout)
            if self._filter is None or self._filter(item.tag):
                return item
            item.release()

    def _read(self, timeout: Optional[float]) -> _core.Item:
        assert self._consumer is not None
        try:
            return self._consumer.next(0)
        except Starved:
            if timeout == 0:
                raise
        began, warned = time.monotonic(), False
        while True:
            slice_s = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
            if not warned and (slice_s is None or self.warn_after < slice_s):
                slice_s = self.warn_after
            try:
                item = self._consumer.next(slice_s)
                self._waited_s += time.monotonic() - began
                return item
            except Starved as cause:
                waited = time.monotonic() - began
                if timeout is not None and waited >= timeout:
                    self._waited_s += waited
                    raise starved.starved(self._consumer, waited, cause) from None
                if not warned:
                    log.warning("%s", starved.describe(self._consumer, waited, cause))
                    warned = True

    def _look_ahead(self) -> None:
        """Begins to move the next microbatch, if it is there, while this one is trained on."""
        try:
            self._ahead = self._take(self._wanted(0), True)
        except (Error, EndOfData):
            # Not there, or wrong: the call that needs it meets it again.
            self._ahead = None

    # ---- what was handed out last

    def _last(self) -> About:
        if self._about is None:
            raise Invalid("no microbatch was handed out, or the data is at its end")
        return self._about

    @property
    def step(self) -> int:
        """Step of the microbatch that was handed out last."""
        return self._last().step

    @property
    def microbatch(self) -> int:
        """Its place among the microbatches of this rank in the step, from 0."""
        return self._last().microbatch

    @property
    def microbatches(self) -> int:
        """Microbatches of this rank in the step, the same on all ranks."""
        return self._last().microbatches

    @property
    def is_last_microbatch(self) -> bool:
        """Whether the step ends with it: time for optimizer.step()."""
        about = self._last()
        return about.microbatch + 1 == about.microbatches

    @property
    def tokens(self) -> int:
        """Tokens of the whole step over all ranks, as its producer counted them."""
        return self._last().tokens

    @property
    def tag(self) -> int:
        """Tag of the step."""
        return self._last().tag

    @property
    def pad(self) -> bool:
        """Whether it holds no data."""
        return self._last().pad

    @property
    def samples(self) -> List[str]:
        """Ids of all samples of the step, over all ranks; a read of the store."""
        slices = self._opened_space().samples(self.step)["slices"]
        return [name for row in slices for name in row["samples"]]

    # ---- state

    def state_dict(self) -> Dict[str, Any]:
        """Where the next microbatch stands: {"version", "cursor"}, the same on all ranks, some 200 bytes."""
        return {"version": VERSION, "cursor": self.cursor.place}

    def _cursor_json(self) -> str:
        if self._closed and self._at is not None:
            return self._at
        if self._consumer is None and not self._handed_out and self._start is not None:
            return self._start.json
        self._open()
        return self._at if self._at is not None else self.consumer.cursor.json

    @property
    def cursor(self) -> Cursor:
        """The state as a Cursor."""
        return Cursor(self._cursor_json())

    def load_state_dict(self, state: Mapping[str, Any], skip: Sequence[Tuple[int, int]] = ()) -> None:
        """Goes on there, from the next microbatch on; on all ranks, which have all read since an earlier
        load (with a group each load begins a launch that they join). `skip`: steps [first, end) to leave out,
        after a loss spike, say. Raises Invalid for what is no state: nothing ever begins at 0 instead;
        CursorForeign and Trimmed come with the first microbatch."""
        given: Any = state
        if not isinstance(given, Mapping) or "cursor" not in given:
            raise Invalid("this is no state of a loader: it has no cursor")
        if state.get("version") != VERSION:
            raise Invalid(f"a state of version {state.get('version')!r}; this is version {VERSION}")
        cursor = Cursor(str(state["cursor"]))
        self._pinned = None
        for first, end in skip:
            cursor = cursor.skip(first, end)
        if self._closed:
            raise ValueError("the loader was closed")
        opened_before = self._consumer is not None or self._team is not None
        if opened_before and not self._handed_out and self._at is not None and Cursor(self._at) == cursor:
            return
        if opened_before:
            self._loads += 1
            if self._consumer is not None:
                if self._pins is not None:
                    self._pins.settle()
                self._consumer.close()
            self._consumer, self._team = None, None
        self._start, self._at, self._about, self._ahead = cursor, None, None, None
        self._handed_out = False
        if self._ring is not None:
            self._mover = self._ring = None

    # ---- checkpoints

    @property
    def commits(self) -> bool:
        """Whether this rank is the one that pins."""
        return self._place().first and not self._copy

    @property
    def pins(self) -> Pins:
        """Pins of this job's checkpoints. Raises Invalid without a group."""
        if self.group is None:
            raise Invalid("checkpoints keep data only with a group: Loader(..., group='the job')")
        if self._pins is None:
            self._open()
            self._pins = Pins(self)
        return self._pins

    def checkpoint(self, id: str) -> Checkpoint:
        """`with loader.checkpoint(id) as ck:` around the save: the cursor is taken now, and pinned when
        the block ended well and every future given to `ck.attach` is through."""
        return Checkpoint(self.pins, id, self.cursor)

    def commit(self, id: str) -> None:
        """Pins a checkpoint that is durable already, at the cursor of now."""
        self.pins.put(id, self.cursor)

    def release(self, ids: Sequence[str]) -> None:
        """Gives back what deleted checkpoints kept."""
        self.pins.release(ids)

    def reconcile(self, ids: Sequence[str]) -> int:
        """Releases every pin but those of `ids`, the checkpoints that are there; how many (0 on other ranks)."""
        return self.pins.reconcile(ids)

    # ---- the rest

    def metrics(self) -> Dict[str, float]:
        """Numbers for the trainer's log, flat: data/wait_s is this rank's waiting so far, seconds;
        data/lag_steps the steps that are there and not handed out. Empty where another rank reads."""
        if self._consumer is None:
            return {}
        told = self._consumer.stats()
        return {
            "data/step": told["step"], "data/items": told["items"], "data/bytes": told["bytes"],
            "data/lag_steps": told["next_step"] - told["step"], "data/ready_steps": told["ready"],
            "data/wait_s": self._waited_s, "data/wait_p99_s": told["wait"]["p99_us"] / 1e6,
            "data/fetch_p99_s": told["fetch"]["p99_us"] / 1e6, "data/refetches": told["refetches"],
            "data/memory_bytes": told["memory_used"], "data/passed_steps": told["passed"],
        }

    def interrupt(self, on: bool = True) -> None:
        """While on, waits end with Interrupted. Any thread."""
        if self._consumer is not None:
            self._consumer.interrupt(on)

    def close(self) -> None:
        """Checkpoints that are durable are pinned first. Tensors stay valid. Closing twice is fine."""
        if self._closed:
            return
        if self._pins is not None and self._process == os.getpid():
            self._pins.settle()
        if self._consumer is not None and self._process == os.getpid():
            if self._at is None:
                self._at = self._consumer.cursor.json
            self._consumer.close()
        self._consumer, self._ahead, self._closed = None, None, True
        if self._space is not None and self._given is None:
            self._space.close()
        self._space = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        if self._mesh is not None or self._dp is None:
            self._place()
        kept = dict(self.__dict__)
        if self._consumer is not None or self._at is not None:
            kept["_start"] = self.cursor
        for name in ("_mesh", "_tp_group", "_space", "_consumer", "_team", "_mover", "_ring", "_ahead", "_about",
                     "_pins"):
            kept[name] = None
        kept.update(_copy=True, _at=None, _handed_out=False)
        return kept

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._process = os.getpid()
