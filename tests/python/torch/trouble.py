# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer, and a worker beside it, on a file system with which something happens.

    unshare --mount trouble.py readonly|full|stuck FOLDER

What both met is its last line, as JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List

import batchweave
from batchweave import errors
from batchweave.torch import Loader
from feed import HERE, rows

STEPS, AT = 24, 6
PATIENCE_S = 240


def mount(*words: str) -> int:
    return subprocess.run(["mount", *words], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain until {what}")
        time.sleep(0.02)


class Scene:
    """`size`: of the file system; `bytes`: of a step."""

    def __init__(self, folder: str, size: str, bytes: int, **settings: Any) -> None:
        self.folder, self.bytes = os.path.join(folder, "disk"), bytes
        os.mkdir(self.folder)
        if mount("-t", "tmpfs", "-o", f"size={size}", "none", self.folder) != 0:
            raise SystemExit("nothing can be mounted here")
        self.url = os.path.join(self.folder, "space")
        batchweave.init(self.url, dp=1, items=1, durable=False, producers=1, **settings)
        self.seen: List[Any] = []
        self.log = os.path.join(folder, "worker.log")

    def worker(self, *more: str) -> "subprocess.Popen[bytes]":
        words = [sys.executable, str(HERE / "worker.py"), self.url, str(STEPS), str(self.bytes), *more]
        with open(self.log, "ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        atexit.register(process.kill)  # when this scene ends before it
        return process

    def fills(self, worker: "subprocess.Popen[bytes]") -> None:
        """Until another step does not fit."""
        until("it is full", lambda: worker.poll() is not None
              or os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_bsize < self.bytes)

    def read(self, loader: Loader, steps: int, each: Callable[[], None] = lambda: None) -> str:
        """Up to so many steps; why there are no more, or ""."""
        while len(self.seen) < steps:
            try:
                self.seen.append([next(loader)["x"].tolist(), loader.step])
            except StopIteration:
                return "the end"
            except errors.Starved as error:
                return str(error)
            each()
        return ""

    def exact(self) -> bool:
        return self.seen == [[rows(step).tolist(), step] for step in range(STEPS)]

    def ended(self, worker: "subprocess.Popen[bytes]") -> List[Any]:
        """Its code, and the last line that it said."""
        code = worker.wait(timeout=PATIENCE_S)
        with open(self.log, encoding="utf-8") as log:
            lines = log.read().splitlines()
        return [code, lines[-1] if lines else ""]


def readonly(folder: str) -> Dict[str, Any]:
    """Nothing can be written for a while: what is there is read, a pin waits, the worker ends with the
    reason."""
    scene = Scene(folder, "64m", 1 << 16)
    wait = os.path.join(folder, "wait")
    with open(wait, "wb"):
        pass
    loader = Loader(scene.url, group="job", launch="a", timeout=120.0)
    worker = scene.worker("--at", str(AT), "--wait", wait)
    scene.read(loader, AT - 1)
    until("nobody has a file open for writing", lambda: mount("-o", "remount,ro", scene.folder) == 0)
    os.unlink(wait)
    told: Dict[str, Any] = {"worker": scene.ended(worker)}
    loader.timeout = 2.0
    told["why"] = scene.read(loader, STEPS)
    told["there"] = len(scene.seen)
    pin = threading.Thread(target=lambda: loader.commit("meanwhile"), daemon=True)
    pin.start()
    pin.join(3.0)
    told["pin waits"] = pin.is_alive()
    until("it can be written again", lambda: mount("-o", "remount,rw", scene.folder) == 0)
    again = scene.worker()
    loader.timeout = 120.0
    told["last"] = scene.read(loader, STEPS + 1)
    told["exact"], told["again"] = scene.exact(), again.wait(timeout=PATIENCE_S)
    pin.join(PATIENCE_S)
    told["pins"] = [row["id"] for row in batchweave.space(scene.url).info()["groups"][0]["pins"]]
    return told


def full(folder: str) -> Dict[str, Any]:
    """The disk holds a third of the data: the trainer's checkpoints make room, again and again."""
    scene = Scene(folder, "8m", 1 << 20)
    loader = Loader(scene.url, group="job", launch="a", timeout=120.0, keep=1)
    loader.state_dict()  # the group begins, or nothing would be kept for it
    worker = scene.worker()
    scene.fills(worker)
    told: Dict[str, Any] = {"last": scene.read(loader, STEPS + 1, lambda: loader.commit(f"step-{loader.step}"))}
    told["exact"], told["worker"] = scene.exact(), scene.ended(worker)
    return told


def stuck(folder: str) -> Dict[str, Any]:
    """The disk holds a third of the data, and nothing makes room."""
    scene = Scene(folder, "8m", 1 << 20)
    worker = scene.worker("--patience", "3")
    scene.fills(worker)
    told: Dict[str, Any] = {}
    with Loader(scene.url, timeout=5.0) as loader:
        told["why"] = scene.read(loader, STEPS + 1)
        told["there"], told["prefix"] = len(scene.seen), scene.seen == [
            [rows(step).tolist(), step] for step in range(len(scene.seen))]
    told["worker"] = scene.ended(worker)
    return told


if __name__ == "__main__":
    print(json.dumps({"readonly": readonly, "full": full, "stuck": stuck}[sys.argv[1]](sys.argv[2])))
