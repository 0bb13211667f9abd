# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A job is killed with -9 and goes on from its state, with as many ranks or others: one side of E7.

    {"peer": "litdata", "case": "static", "from": 2, "to": 4, "folder": …, "place": …, "global": 8, "samples": 512,
     "size": 4096, "save_step": 4, "steps": 10, "store_pid": …}

An undisturbed job reads the same steps first (once a folder). Then one is killed two steps behind its save.
"""

import contextlib
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import resume_exact
import side
from processes import end_at_term

PACKAGES = {"mosaicml-streaming": "mosaicml-streaming", "litdata": "litdata", "StatefulDataLoader": "torchdata",
            "batchweave": "batchweave"}
# A rank that takes longer to tell its next line hangs: what it takes with imports is some 20 s here.
TIMEOUT_S = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Rank:
    """A process, and what it has told."""

    def __init__(self, settings: side.Settings, rank: int, world: int, port: int, **more: Any) -> None:
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank),
                       "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "GLOO_SOCKET_IFNAME": "lo", **settings.get("environment", {})}
        told = {**settings, "rank": rank, "world": world, "batch": settings["global"] // world // parts(settings),
                "load": None, "save": None, "save_after": 0, **more}
        self.lines: list[dict[str, Any]] = []
        self.failure: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(sys.path[0], "resume_rank.py"), json.dumps(told)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._complaints)]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _complaints(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.failure = [*self.failure[-20:], line.rstrip()]

    def until(self, wanted: Any) -> dict[str, Any]:
        """The first line that is wanted."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            for line in list(self.lines):
                if wanted(line):
                    return line
            if self.process.poll() is not None and not self._threads[0].is_alive():
                last = next((line for line in reversed(self.failure) if line.strip()), "")
                raise RuntimeError(f"a rank ended with {self.process.returncode}: {last}")
            time.sleep(0.002)
        raise RuntimeError(f"a rank has told nothing wanted in {TIMEOUT_S:.0f} s")

    def kill(self) -> None:
        """With all that it started, as a machine's end does: a worker of a DataLoader whose parent is gone may wait
        for ever to hand over what it has made, and hold our end of the pipe open."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in self._threads:
            thread.join()


def parts(settings: side.Settings) -> int:
    """Batches of a peer's step: microbatches, where a job is to stop between them."""
    return 2 if settings["case"] == "mid-step" else 1


def job(settings: side.Settings, world: int, **more: Any) -> list[Rank]:
    port = free_port()
    return [Rank(settings, rank, world, port, **{name: value(rank) for name, value in more.items()})
            for rank in range(world)]


def ended(ranks: list[Rank], wanted: Any) -> list[dict[str, Any]]:
    try:
        return [rank.until(wanted) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def undisturbed(settings: side.Settings) -> list[dict[str, Any]]:
    """What a job of the first size gets that nobody kills."""
    path = os.path.join(settings["folder"], f"undisturbed-{settings['case']}-{settings['from']}.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known: list[dict[str, Any]] = json.load(file)
        return known
    ranks = job(settings, settings["from"])
    ended(ranks, lambda line: line.get("done"))
    lines = [line for rank in ranks for line in rank.lines if "step" in line]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(lines, file)
    return lines


def reads_until_save(settings: side.Settings) -> int:
    """Batches of a rank: BatchWeave's items of a step follow from the namespace, which has 4 slices of 2 items."""
    if settings["peer"] == "batchweave" and settings["case"] != "dynamic":
        return int(settings["save_step"]) * 8 // int(settings["from"]) + 2 * int(settings["case"] == "mid-step")
    return int(settings["save_step"]) * parts(settings) + int(settings["case"] == "mid-step")


def measure(settings: side.Settings) -> dict[str, Any]:
    before, after = settings["from"], settings["to"]
    wanted = undisturbed(settings) if settings["compare"] else []
    saves = [os.path.join(settings["folder"], f"state-{rank}") for rank in range(before)]
    ranks = job(settings, before, save=lambda rank: saves[rank],
                save_after=lambda rank: reads_until_save(settings))
    try:
        for rank in ranks:
            rank.until(lambda line: line.get("saved"))
            rank.until(lambda line: line.get("step", -1) >= settings["save_step"] + 1 or line.get("done"))
    finally:
        killed = time.monotonic()
        for rank in ranks:
            rank.kill()
    kept = [line for rank in ranks for line in resume_exact.until_saved(rank.lines)] if settings["compare"] else []
    counted = side.counters(settings["store"]) if settings.get("store") else {}
    resumed = job(settings, after, load=lambda rank: saves[rank % before])
    refused = ""
    firsts: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    try:
        firsts = [rank.until(lambda line: "first" in line) for rank in resumed]
        if settings.get("store"):
            counted = side.difference(side.counters(settings["store"]), counted)
        ended(resumed, lambda line: line.get("done"))
        lines = [line for rank in resumed for line in rank.lines if "step" in line]
    except RuntimeError as error:
        refused = str(error)
    finally:
        for rank in resumed:
            rank.kill()
    figures: dict[str, float] = {"state_bytes": float(os.path.getsize(saves[0]))}
    if firsts:
        first = max(line["first"] for line in firsts)
        figures |= {"open_ms": 1e3 * max(line["first"] - line["opening"] for line in firsts),
                    "imports_ms": 1e3 * max(line["opening"] - line["started"] for line in firsts),
                    "kill_ms": 1e3 * (first - killed)}
        if "latency_ms" in settings:
            figures["over_trips_ms"] = figures["open_ms"] - 3 * settings["latency_ms"]
    if settings["compare"] and not refused:
        told = resume_exact.verdict(wanted, kept, lines, settings["steps"])
        figures |= {"exact": float(told.exact), "moved": float(told.moved), "lost": float(told.lost),
                    "doubled": float(told.doubled)}
    elif settings["compare"]:
        figures["exact"] = 0.0
    shown = {"version": importlib.metadata.version(PACKAGES[settings["peer"]])}
    if refused:
        shown["refused"] = refused[:300]
    requests = side.by_verb(counted) if counted else {}
    return side.row(figures, settings=shown, requests=requests)


if __name__ == "__main__":
    end_at_term()
    side.main(measure)
