# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's pipeline on a real server, while producers, the trainer and the server itself are killed with -9.

Kills come at steps, not at times, so that each of them hits on a slow server and on a fast one. The demo's judge then
proves from what the ranks were handed that every byte of the text came once and in order; and where the server keeps
objects as plain files, the independent decoder proves the namespace as well.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import realservers

sys.path[:0] = [str(realservers.ROOT / "tests" / name) for name in ("demo", "crash", "independent")]

import demo  # noqa: E402
import processes  # noqa: E402
import prove  # noqa: E402
import sources  # noqa: E402

RANKS = 4
TEXT_BYTES = 400_000
IDLE_SECONDS = 120
DOWN_SECONDS = 1
PIN_EVERY = 8
# Who is killed when the job has come to which step.
KILLS = ((6, "producer"), (14, "trainer"), (22, "producer"), (30, "server"), (38, "trainer"), (46, "producer"),
         (54, "server"), (62, "trainer"))


class DisturbedJob:
    def __init__(self, tally, server, path):
        self.tally, self.server, self.path = tally, server, path
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="batchweave-disturbed-"))
        self.shop = processes.Workshop(str(tally.binary()), str(self.folder), server.url(path), server.environment)
        self.pool = demo.Pool(self.producer)
        self.pool.size = server.server.producers
        self.outs = []
        self.trainer = None
        self.killed = {"producer": 0, "trainer": 0, "server": 0}
        self.text = self.folder / "text"

    def prepare(self):
        for name in sources.select(TEXT_BYTES):
            path = self.text / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sources.read(name))
        self.shop.run("init", self.shop.words("init", "--dp", RANKS, "--items", 2, "--producers", sources.SHARDS,
                                              "--max-lag", 30, "--block-size", 4, "--tail-cap", 256))

    def producer(self, shard, fault=None):
        return self.shop.start(f"p{shard}", self.shop.words(
            "produce", "--id", f"p{shard}", "--shard", f"{shard}/{sources.SHARDS}", "--seq-len", 512,
            "--set", "staged_batches=4", f"text:{self.text}"), fault)

    def launch(self):
        """The training job, from its newest checkpoint on."""
        out = self.folder / f"out-{len(self.outs)}"
        out.mkdir()
        self.outs.append(str(out))
        self.trainer = self.shop.start("trainer", self.shop.words(
            "consume", "--group", "train", "--launch", f"launch-{len(self.outs)}", "--world", RANKS, "--pin-every",
            PIN_EVERY, "--keep", 2, "--out", out, "--step-ms", 10))

    def step(self):
        return max((int(name) for out in self.outs for name in os.listdir(out)), default=0)

    def strike(self, who):
        """True when there was somebody to kill."""
        if who == "producer":
            hit = any(self.pool.kill(shard) for shard in list(self.pool.at_work)[:1])
        elif who == "trainer":
            self.trainer.kill()
            hit = self.trainer.state() == "killed"
            if hit:
                self.launch()
        else:
            hit = self.server.server.keeps is not None
            if hit:
                self.server.end(self.server.server.keeps)
                time.sleep(DOWN_SECONDS)
                self.server.start()
        self.killed[who] += hit
        return hit

    def play(self):
        self.launch()
        plan = list(KILLS)
        stand, moved = None, time.monotonic()
        while self.trainer.state() != "done":
            if self.trainer.state() in ("failed", "killed"):
                raise RuntimeError(f"the trainer ended: {self.trainer.story()}")
            self.pool.tend()
            step = self.step()
            if (step, len(self.outs)) != stand:
                stand, moved = (step, len(self.outs)), time.monotonic()
            if time.monotonic() - moved > IDLE_SECONDS:
                raise RuntimeError(f"nothing moved for {IDLE_SECONDS} s at step {step}")
            while plan and plan[0][0] <= step:
                self.strike(plan.pop(0)[1])
            time.sleep(0.01)
        self.pool.tend()

    def judge(self):
        run = lambda *words: self.shop.run(words[0], self.shop.words(*words), timeout=120).output()
        swept = json.loads(run("gc", "--apply", "-o", "json"))
        run("verify", "--deep")
        stood = json.loads(run("info", "-o", "json"))
        files = self.server.files(self.path)
        if files:
            proved = prove.prove(files, self.outs, limit=TEXT_BYTES)
        else:
            proved = self.judge_deliveries(stood)
        expected = {who: sum(of == who for _, of in KILLS) for who in self.killed}
        if self.server.server.keeps is None:
            expected["server"] = 0
        self.tally.expect(self.killed == expected, f"{self.server.server.name}: killed {self.killed} of {expected}")
        self.tally.expect(proved["steps_delivered_twice"] > 0 and proved["steps"] > KILLS[-1][0],
                          f"{self.server.server.name}: no kill cost the job a step: {proved}")
        print(f"    {proved['steps']} steps, {proved['steps_delivered_twice']} of them delivered again, text "
              f"{proved['digest'][:16]}, {swept['orphans_deleted']} orphans; killed: {self.killed}", flush=True)

    def judge_deliveries(self, stood):
        """Without the bytes of the namespace: what the ranks were handed is all of it, once and in order."""
        files, twice = prove.delivered_files(self.outs)
        steps = sorted({place[0] for place in files})
        prove.demand(steps == list(range(stood["next_step"])), f"{len(steps)} steps of {stood['next_step']}")
        return {"steps": len(steps), "steps_delivered_twice": len(twice),
                **prove.prove_sources(files, sources.SHARDS, TEXT_BYTES)}

    def close(self):
        self.shop.close(keep=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def check_disturbed(tally, server, path):
    job = DisturbedJob(tally, server, path)
    try:
        job.prepare()
        job.play()
        job.judge()
    except (demo.Sad, prove.Disproved) as error:
        tally.fail(f"{server.server.name}: {error}")
    finally:
        job.close()
