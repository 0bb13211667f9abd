# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What ranks of a large job ask of an object store while they wait for each next step: GETs of manifests and of
markers, counted by the store. The ranks here are a few of `ranks`, each with a handle of its own; the producer's own
requests are counted before, without ranks, and taken off."""

import json
import threading
import time
import urllib.request
from typing import Any

import batchweave

import side

MANIFESTS, MARKERS = "manifests", "markers"
RULES = [{"name": MANIFESTS, "verb": "get,head", "key": "*/manifest/*"},
         {"name": MARKERS, "verb": "get,head", "key": "*/retired/*"}]


def count_by(port: int) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/_control", json.dumps({"rules": RULES}).encode())
    urllib.request.urlopen(request, timeout=60).close()


def matched(port: int) -> dict[str, float]:
    return {rule["name"]: float(rule["matched"]) for rule in side.counters(port)["rules"]}


class Publisher:
    """A commit of one batch, so often."""

    def __init__(self, url: str, interval_s: float) -> None:
        self.producer = batchweave.Producer(url, "p", kind="raw", policy="naive", events=0)
        self.interval_s, self.commits = interval_s, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self.stop.is_set():
            self.commits += 1
            self.producer.write([[bytes(64)]], offset=self.commits)
            self.producer.flush()
            due += self.interval_s
            self.stop.wait(max(0.0, due - time.monotonic()))

    def close(self) -> None:
        self.stop.set()
        self.thread.join()
        self.producer.close()


class Rank:
    """Takes each step as it comes."""

    def __init__(self, url: str, rank: int, ranks: int, start: int) -> None:
        self.consumer = batchweave.Consumer(url, rank=rank, world=ranks, tp=ranks, start=start)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        try:
            while True:
                self.consumer.next(None).release()
        except batchweave.Interrupted:
            pass

    def close(self) -> None:
        self.consumer.interrupt()
        self.thread.join()
        self.consumer.close()


def over(port: int, publisher: Publisher, seconds: float) -> tuple[dict[str, float], int, float]:
    """What was asked for, commits and seconds, over so long."""
    before, commits, began = matched(port), publisher.commits, time.monotonic()
    time.sleep(seconds)
    now = matched(port)
    return ({name: now[name] - before[name] for name in now}, publisher.commits - commits, time.monotonic() - began)


def measure(settings: dict[str, Any]) -> dict[str, Any]:
    port, ranks, here = settings["port"], settings["ranks"], settings["here"]
    url = settings["url"].replace("?", f"/{time.monotonic_ns()}?", 1)  # each round has a namespace of its own
    batchweave.init(url, dp=1, producers=1)
    count_by(port)
    publisher = Publisher(url, 1 / settings["commits_per_s"])
    waiting: list[Rank] = []
    try:
        time.sleep(settings["settle_s"])
        alone, alone_commits, alone_s = over(port, publisher, settings["seconds"])
        waiting = [Rank(url, rank, ranks, publisher.commits) for rank in range(here)]
        time.sleep(settings["settle_s"])
        both, commits, both_s = over(port, publisher, settings["seconds"])
    finally:
        for rank in waiting:
            rank.close()
        publisher.close()
    # The producer asks by commits, not by seconds.
    of_ranks = {name: (both[name] - alone[name] * commits / max(1, alone_commits)) / both_s / here for name in both}
    return side.row({"commits_per_s": commits / both_s, "reads_per_rank_s": sum(of_ranks.values()),
                     "manifests_per_rank_s": of_ranks[MANIFESTS], "markers_per_rank_s": of_ranks[MARKERS]},
                    settings={"version": batchweave.__version__})


if __name__ == "__main__":
    side.main(measure)
