# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A rank of a job that is to be killed: reads steps, tells what it got in each, saves a state on the way.

Prints a line of JSON for each batch, and when it opened, saved, and had its first batch, by the monotonic clock, which
is one for all processes of the machine.
"""

import json
import os
import pickle
import sys
import time
from typing import Any, Iterator, Protocol

STARTED = time.monotonic()

import blocks  # noqa: E402

TOKENS = 4096        # of a packed batch
WINDOW = 16          # samples that a packer chooses from
CHUNK = 64           # bytes of a sample in a packed item


class Reader(Protocol):
    def read(self) -> tuple[int, list[Any]]:
        """(step, samples) of the next batch of this rank."""

    def state(self) -> Any: ...


def tell(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Published:
    """BatchWeave: each item is of a step."""

    def __init__(self, settings: dict[str, Any], state: str | None) -> None:
        import batchweave as bw

        self._dynamic = settings["case"] == "dynamic"
        cursor = None if state is None else bw.Cursor(state)
        self._consumer = bw.Consumer(settings["place"], dp=(settings["rank"], settings["world"]), cursor=cursor)

    def read(self) -> tuple[int, list[Any]]:
        item = self._consumer.next()
        whole = bytes(item)
        if not self._dynamic:
            return item.step, [whole]
        return item.step, [whole[at:at + CHUNK] for at in range(0, len(whole), CHUNK)]

    def state(self) -> str:
        return self._consumer.cursor.json


class Counted:
    """A peer: steps are counted here. `parts` batches are a step."""

    def __init__(self, batches: Any, state: dict[str, Any] | None, parts: int) -> None:
        self._batches, self._parts = batches, parts
        self._count = 0 if state is None else int(state["count"])

    def read(self) -> tuple[int, list[Any]]:
        samples = next(self._batches)
        self._count += 1
        return (self._count - 1) // self._parts, samples

    def state(self) -> dict[str, Any]:
        return {"count": self._count, "peer": self._batches.state()}


class Packed:
    """Batches of as many samples as a budget of tokens takes, the longest that fits first, from a window of what the
    loader gave: packing behind the loader, as trainers do it. The loader's state knows nothing of the window."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._window: list[Any] = []

    def __next__(self) -> list[Any]:
        return packed(self._window, self._one)

    def _one(self) -> Any:
        return next(self._stream)[0]

    def state(self) -> Any:
        return self._stream.state()


def packed(window: list[Any], more: Any) -> list[Any]:
    taken: list[Any] = []
    room = TOKENS
    while True:
        while len(window) < WINDOW:
            window.append(more())
        fitting = [sample for sample in window if blocks.length_of(blocks.number_of(sample)) <= room]
        if not fitting:
            return taken
        best = max(fitting, key=lambda sample: blocks.length_of(blocks.number_of(sample)))
        window.remove(best)
        taken.append(best)
        room -= blocks.length_of(blocks.number_of(best))


def stateful(settings: dict[str, Any], state: Any) -> Any:
    import torch_stateful

    return torch_stateful.Stream(settings["samples"], settings["size"], settings["batch"], settings["rank"],
                                 settings["world"], state, settings["case"] == "dynamic")


def opened(settings: dict[str, Any], state: Any) -> Reader:
    peer = settings["peer"]
    if peer == "batchweave":
        return Published(settings, state)
    inner = None if state is None else state["peer"]
    dynamic = settings["case"] == "dynamic"
    parts = 2 if settings["case"] == "mid-step" else 1
    if peer == "StatefulDataLoader":
        return Counted(stateful(settings, inner), state, parts)
    batch = 1 if dynamic else settings["batch"]
    if peer == "litdata":
        import static_litdata

        stream: Any = static_litdata.Stream(settings["place"], batch, inner, settings.get("storage"))
    else:
        import static_streaming

        stream = static_streaming.Stream(settings["place"], batch, inner, settings["nodes"])
    return Counted(Packed(stream) if dynamic else stream, state, parts)


def joined(settings: dict[str, Any]) -> None:
    """Imports what the peer takes, so that the clock of the open does not see it; a job of several ranks meets."""
    if settings["peer"] == "batchweave":
        __import__("batchweave")
        return
    __import__({"litdata": "litdata", "StatefulDataLoader": "torchdata.stateful_dataloader"}.get(settings["peer"],
                                                                                                  "streaming"))
    if settings["world"] > 1:
        import torch.distributed

        torch.distributed.init_process_group("gloo")


def lines(settings: dict[str, Any]) -> Iterator[None]:
    joined(settings)
    state = None
    if settings["load"]:
        with open(settings["load"], "rb") as file:
            state = pickle.load(file)
    begin = time.monotonic()
    reader = opened(settings, state)
    reads = 0
    while True:
        step, samples = reader.read()
        if reads == 0:
            tell(started=STARTED, opening=begin, first=time.monotonic())
        if step >= settings["steps"]:
            return
        reads += 1
        tell(step=step, ids=[blocks.checked(sample) for sample in samples])
        if reads == settings["save_after"]:
            with open(settings["save"] + ".part", "wb") as file:
                pickle.dump(reader.state(), file)
            os.replace(settings["save"] + ".part", settings["save"])
            tell(saved=True)
        yield


def main() -> None:
    told = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(told, "w", encoding="utf-8")
    for _ in lines(json.loads(sys.argv[1])):
        pass
    tell(done=True)
    # What is killed next must be there to be killed; threads of loaders stop for nobody.
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
