# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A training job and its preprocessing, end to end: one side of E6.

    {"system": "batchweave", "workload": "video", "steps": 40, "world": 2, "workers": 1, "kill_at": null, …}

With `kill_at` one process that preprocesses is killed with -9 when rank 0 has done that step. What is started again
then is what is so anyway: producers are jobs of their own, whose supervisor starts them anew.
"""

import os
import signal
import socket
import statistics
import tempfile
import time
from typing import Any, Callable

import side
from processes import Program, descendants, end_at_term, title

SKIP = 2             # steps until all is warm
KILL_AHEAD = 4       # times what the trainer takes
TIMEOUT_S = 400.0


class Producers:
    """BatchWeave's: one process a shard, started again when it dies, as an orchestrator would."""

    program = "train_produce"

    def __init__(self, settings: side.Settings) -> None:
        self.settings, self.restarts = settings, 0
        shards = settings["world"] * settings["workers"]
        # Whole steps for each; the trainer stops before them all. One that is to be killed must not have ended before.
        wanted = settings["steps"] * (1 if settings["kill_at"] is None else KILL_AHEAD)
        self.plan = {**settings, "shards": shards, "batches": -(-wanted // shards)}
        self._prepare()
        self.all: list[Program] = []
        self.ended: list[Program] = []

    def _prepare(self) -> None:
        import batchweave as bw

        bw.init(self.settings["place"], dp=self.settings["world"], producers=self.plan["shards"], durable=False)

    def begin(self) -> None:
        """When the ranks have imported what they need: a head start would be all of so short a run."""
        self.all = [self._start(shard) for shard in range(self.plan["shards"])]

    def _start(self, shard: int) -> Program:
        return Program(self.program, {**self.plan, "shard": shard}, OMP_NUM_THREADS="1")

    def victim(self) -> int:
        return next((program.process.pid for program in self.all if program.code() is None), 0)

    def look(self) -> None:
        for shard, program in enumerate(self.all):
            if program.code() not in (None, 0, -signal.SIGKILL):
                raise RuntimeError(f"a producer ended with {program.code()}: {program.reason()}")
            if program.code() == -signal.SIGKILL:
                self.restarts += 1
                self.ended.append(program)
                self.all[shard] = self._start(shard)

    def told(self) -> dict[str, float]:
        lines = [line for program in (*self.all, *self.ended) for line in program.lines]
        return {"read": sum(line["read"] for line in lines), "made": sum(line["made"] for line in lines)}

    def finished(self) -> None:
        """The trainer may have had its last step while they still round off."""
        deadline = time.monotonic() + TIMEOUT_S
        while any(program.code() != 0 for program in self.all):
            if time.monotonic() > deadline:
                raise RuntimeError("the producers do not end")
            self.look()
            time.sleep(0.05)

    def once(self) -> bool:
        """Whether every batch of every producer is in the namespace once."""
        import batchweave as bw

        with bw.Space(self.settings["place"]) as space:
            names = [name for step in range(int(space.info()["next_step"]))
                     for row in space.samples(step)["slices"] for name in row["samples"]]
        wanted = self.plan["shards"] * self.plan["batches"] * self.settings["world"]
        return bool(len(names) == wanted == len(set(names)))

    def end(self) -> None:
        for program in self.all:
            program.end()


class KafkaProducers(Producers):
    """The same processes, into a broker of this side's own."""

    program = "train_kafka"

    def _prepare(self) -> None:
        import pathlib

        import kafkabroker
        import train_kafka

        self.broker = kafkabroker.Broker(pathlib.Path(self.settings["folder"]) / "broker", heap_mb=512)
        self.broker.start()
        self.settings["address"] = self.plan["address"] = self.broker.address
        train_kafka.make_topic(self.broker.address)

    def once(self) -> bool:
        import train_kafka

        return all(train_kafka.published_before(self.broker.address, shard) == self.plan["batches"]
                   for shard in range(self.plan["shards"]))

    def end(self) -> None:
        super().end()
        self.broker.stop()


class Colocated:
    """Preprocessing within the job: nobody starts a part of a job again."""

    def __init__(self, settings: side.Settings) -> None:
        self.settings = settings

    def begin(self) -> None:
        pass

    def look(self) -> None:
        pass

    def end(self) -> None:
        pass


# What is started beside the ranks, by system; others are of the job itself.
BESIDE: dict[str, Callable[[side.Settings], Any]] = {"batchweave": Producers, "Kafka": KafkaProducers}


def victim(system: str, beside: Any, ranks: list[Program]) -> tuple[int, str]:
    """A process that preprocesses, and what it is."""
    if isinstance(beside, Producers):
        return beside.victim(), "a producer"
    first = ranks[0].process.pid
    if system == "DataLoader":
        return next((pid for pid in descendants(first) if "train_rank" in title(pid)), 0), "a worker of rank 0"
    if system == "Ray Data":
        made = [pid for pid in descendants(first) if "RayMaker" in title(pid) or "MapWorker" in title(pid)]
        return (made[0] if made else 0), "an actor of Ray Data"
    return first, "rank 0, whose threads preprocess"


def run(settings: side.Settings, ranks: list[Program], beside: Any) -> str:
    """Until the job has ended, well or not; kills on the way. What was killed."""
    killed, begun = "", False
    deadline = time.monotonic() + TIMEOUT_S
    while any(rank.code() is None for rank in ranks):
        if time.monotonic() > deadline:
            return killed + "; the job hung until it was ended"
        if not begun and all(rank.lines for rank in ranks):
            beside.begin()
            begun = True
        if settings["kill_at"] is not None and not killed and len(ranks[0].lines) - 1 > settings["kill_at"]:
            pid, what = victim(settings["system"], beside, ranks)
            if pid:
                os.kill(pid, signal.SIGKILL)
                killed = what
        if any(rank.code() not in (None, 0) for rank in ranks):
            # A job of which a rank is gone waits in its collectives; torchrun ends it.
            break
        beside.look()
        time.sleep(0.005)
    return killed


def figures_of(steps: list[list[dict[str, Any]]], skip: int) -> dict[str, float]:
    """Of the slowest rank at each step: a job is as fast as that."""
    whole = list(zip(*steps))
    took = [max(line["took"] for line in row) for row in whole[skip:]]
    wait = [max(line["wait"] for line in row) for row in whole[skip:]]
    if not took:
        return {}
    p50, p95 = side.quantile(took, 0.5), side.quantile(took, 0.95)
    return {"steps_per_s": len(took) / sum(took), "p50_ms": 1e3 * p50, "p95_ms": 1e3 * p95, "p95_over_p50": p95 / p50,
            "stall": 100 * sum(wait) / sum(took), "step_mb": statistics.mean(
                sum(line["bytes"] for line in row) for row in whole) / 1e6}


def measure(settings: side.Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=settings["folder"]) as folder:
        settings |= {"folder": folder, "place": f"file://{folder}/ns", "queue": 8}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        beside = BESIDE.get(settings["system"], Colocated)(settings)
        ranks: list[Program] = []
        try:
            with side.Meter() as meter:
                ranks += [Program("train_rank", {**settings, "rank": rank}, RANK=str(rank),
                                  WORLD_SIZE=str(settings["world"]), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                  GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1", TMPDIR=folder)
                          for rank in range(settings["world"])]
                killed = run(settings, ranks, beside)
                codes = [rank.code() for rank in ranks]
            steps = [[line for line in rank.lines if "step" in line] for rank in ranks]
            figures = figures_of(steps, min(SKIP, settings["steps"] // 3))
            done = min(map(len, steps))
            survived = done == settings["steps"] and codes == [0] * len(ranks)
            figures |= {"steps": float(done), "survived": float(survived)}
            shown: dict[str, Any] = {"preprocessing": "processes of their own" if settings["system"] in BESIDE else
                                     "in the training job"}
            if isinstance(beside, Producers):
                beside.finished()
                if settings["kill_at"] is not None:
                    figures["once"] = float(beside.once())
                told = beside.told()
                if settings["kill_at"] is None:  # what a killed one had read is not told
                    figures |= {"bytes_read": told["read"], "bytes_made": told["made"],
                                "made_over_read": told["made"] / told["read"]}
                shown["producers started again"] = beside.restarts
            if settings["kill_at"] is not None:
                if not killed:
                    raise RuntimeError("nothing was there to be killed: the run says nothing")
                shown["killed"] = killed
                shown["what the job said"] = next((rank.reason() for rank in ranks if rank.code() not in (None, 0)),
                                                  "")[:300] if not figures["survived"] else "it went on"
            elif not figures["survived"]:
                raise RuntimeError(f"the job ended with {codes}: {[rank.reason() for rank in ranks]}")
            return side.row(figures, meter, settings=shown)
        finally:
            for rank in ranks:
                rank.end()
            beside.end()


if __name__ == "__main__":
    end_at_term()
    side.main(measure)
