# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: real text through a real namespace while its processes are killed and frozen, then the proof.

demo.py [--json FILE] [--seed N]. Four producers pack the standard library's sources into global batches, an 8-rank
training loop reads them; a producer and the trainer are killed with -9 at random moments, one producer is frozen
inside a commit until the manifests around it are gone. prove.py judges. Exit 0 only with verdict ok.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crash"))

import processes  # noqa: E402
import check_namespace  # noqa: E402
import sources  # noqa: E402

PRODUCERS = 4
RANKS = 8
BLOCK_SIZE = 4
IDLE_LIMIT = 100  # seconds without a commit and without a step: a busy machine may take long over the whole
KILLS = 3  # of producers, and as many of the trainer
PAUSE = {"producer": (0.1, 0.5), "trainer": (0.2, 1.2)}  # seconds from one kill to the next


class Sad(Exception):
    """The demo cannot go on; says why."""


class Worker:
    """A producer or the trainer: started again after each kill, until it ends well."""

    def __init__(self, name, start):
        self.name = name
        self.start = start  # called with the number of the incarnation
        self.life = 0
        self.process = start(0)

    def again(self):
        self.life += 1
        self.process = self.start(self.life)

    def finished(self):
        state = self.process.state()
        if state in ("failed", "killed"):
            raise Sad(f"{self.name} ended: {self.process.story()}")
        return state == "done"


class Demo:
    def __init__(self, options):
        self.began = self.moved = time.monotonic()
        self.rng = random.Random(options.seed)
        self.shop = processes.Workshop(processes.find_binary(options.binary), processes.scratch_folder("bw-demo-"))
        self.kills = {"producer": 0, "trainer": 0}
        self.ghosts = 0
        self.outs = []
        self.sweeper = None
        self.sweep_at = 0.0
        self.kill_at = {}
        self.stand, self.look_at = None, 0.0

    def tell(self, text):
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    # -- the cast --

    def prepare(self):
        """The text, copied so that the producers see these files and nothing else; the proof reads the originals."""
        self.text = os.path.join(self.shop.folder, "text")
        names = sources.select()
        total = 0
        for name in names:
            path = os.path.join(self.text, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                total += file.write(sources.read(name))
        self.shop.run("init", self.shop.words("init", "--dp", RANKS, "--items", 2, "--block-size", BLOCK_SIZE,
                                              "--tail-cap", 256, "--part-size", 4096))
        self.tell(f"a namespace for {RANKS} ranks; {len(names)} source files of Python's library, {total:,} bytes, "
                  f"for {PRODUCERS} producers")

    def producer(self, number, fault=None):
        words = self.shop.words("produce", "--id", f"p{number}", "--shard", f"{number}/{PRODUCERS}", "--seq-len", 512,
                                "--set", "staged_batches=8", f"text:{self.text}")
        return Worker(f"p{number}", lambda life: self.shop.start(f"p{number}", words, None if life else fault))

    def trainer(self):
        def start(life):
            self.outs.append(os.path.join(self.shop.folder, f"out-{life}"))
            os.mkdir(self.outs[-1])
            return self.shop.start("trainer", self.shop.words(
                "consume", "--world", RANKS, "--cursor", os.path.join(self.shop.folder, "cursor"), "--save-every", 5,
                "--out", self.outs[-1], "--step-ms", 10))
        return Worker("the trainer", start)

    # -- the play --

    def versions(self):
        return [int(name[:20]) for name in os.listdir(os.path.join(self.shop.space, "manifest"))]

    def retired(self):
        folder = os.path.join(self.shop.space, "retired")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def sweep(self):
        """Starts gc again and again; False while one is at work."""
        if self.sweeper is not None:
            state = self.sweeper.state()
            if state == "running":
                return False
            if state != "done":
                raise Sad(self.sweeper.story())
        if time.monotonic() >= self.sweep_at:
            self.sweeper = self.shop.start("gc", self.shop.words("gc", "--manifests-only", "--apply"))
            self.sweep_at = time.monotonic() + 0.2
            return False
        return True

    def strike(self, kind, workers):
        """Kills one of the workers when it is time to, and starts it again."""
        if self.kills[kind] >= KILLS or time.monotonic() < self.kill_at[kind]:
            return
        running = [w for w in workers if w.process.state() == "running"]
        if running:
            worker = self.rng.choice(running)
            worker.process.kill()
            if worker.process.state() == "killed":
                self.kills[kind] += 1
                self.tell(f"kill -9 {worker.name}; it is started again and goes on where the chain says")
                worker.again()
        self.kill_at[kind] = time.monotonic() + self.rng.uniform(*PAUSE[kind])

    def freeze(self):
        """p0 begins alone and stops itself in its first publish, the temporary file written, its name not yet taken."""
        sleeper = self.producer(0, fault="stop:create-in-flight:2")
        while sleeper.process.state() == "running":
            self.in_time()
            time.sleep(0.005)
        if sleeper.process.state() != "stopped":
            raise Sad(f"p0 did not freeze: {sleeper.process.story()}")
        version = max(self.versions()) + 1
        self.tell(f"p0 freezes while it creates manifest {version}, of block {version // BLOCK_SIZE}; "
                  "three others start")
        return sleeper, version // BLOCK_SIZE

    def thaw(self, sleeper, block):
        """Once the block is retired, p0's late create meets a dead name. The sweep rests until the ghost is counted."""
        self.tell(f"block {block} is retired, its manifests are gone; p0 thaws and finishes its create")
        sleeper.process.thaw()
        limit = time.monotonic() + 5
        while not self.ghosts and time.monotonic() < limit:
            self.ghosts = len(check_namespace.check(self.shop.space, deep=False).ghosts)
            time.sleep(0.01)
        if self.ghosts:
            self.tell("the store said CREATED: a ghost, a manifest on a dead name. Nobody follows it; "
                      "p0 looks and publishes again")

    def in_time(self):
        now = time.monotonic()
        if now >= self.look_at:
            self.look_at = now + 1
            stand = max(self.versions()), [len(os.listdir(out)) for out in self.outs if os.path.isdir(out)]
            if stand != self.stand:
                self.stand, self.moved = stand, now
        if now - self.moved > IDLE_LIMIT:
            raise Sad(f"nothing moved for {IDLE_LIMIT} s")

    def play(self):
        trainer = self.trainer()
        sleeper, block = self.freeze()
        producers = [sleeper] + [self.producer(k) for k in range(1, PRODUCERS)]
        self.kill_at = {kind: time.monotonic() + self.rng.uniform(*PAUSE[kind]) for kind in self.kills}
        thawed = sealed = False
        while not trainer.finished():
            self.in_time()
            self.strike("producer", producers if thawed else producers[1:])
            self.strike("trainer", [trainer])
            if self.sweep() and not thawed and self.retired() > block:
                self.thaw(sleeper, block)
                thawed = True
            if thawed and not sealed and all([p.finished() for p in producers]):
                self.shop.run("seal", self.shop.words("seal"))
                sealed = True
                self.tell("all producers have finished; the namespace is sealed")
            time.sleep(0.005)
        self.tell("the trainer has read to the end")

    def verdict(self):
        judge = subprocess.run([sys.executable, "-B", os.path.join(HERE, "prove.py"), self.shop.space, *self.outs],
                               stdout=subprocess.PIPE, text=True, check=False)
        verdict = json.loads(judge.stdout or '{"verdict": "failed", "why": "the judge said nothing"}')
        verdict.update(ghosts=self.ghosts, kills_producer=self.kills["producer"], kills_trainer=self.kills["trainer"],
                       producers=PRODUCERS, ranks=RANKS, seconds=round(time.monotonic() - self.began, 1))
        for name in ("ghosts", "blocks_retired", "kills_producer", "kills_trainer"):
            if verdict["verdict"] == "ok" and not verdict.get(name):
                verdict.update(verdict="failed", why=f"{name} is zero: the demo did not show what it should")
        return verdict


INTRODUCTION = f"""
The demo (some 15 seconds): {PRODUCERS} producer processes pack real text into global batches, and a
training loop of {RANKS} ranks reads them, with nothing between them but a directory. Meanwhile they are
killed and frozen, and old manifests (the numbered objects that state what the namespace holds) are
retired in blocks and deleted. Then a program of its own proves that no byte was lost or doubled.
"""

NEXT_STEPS = """next: build/cli/batchweave is built. docs/guide.md feeds it your own text or program;
      docs/guarantees.md says what was just shown."""


def report(v):
    if v["verdict"] != "ok":
        return f"verdict: FAILED: {v['why']}"
    print(f"""
  sources     {v['source_files']} files, {v['source_bytes']:,} bytes, sha256 over all {v['digest'][:16]}…
  delivered   {v['steps']} steps, {v['items']:,} items in {v['fragments']:,} fragments, {v['pads']} pads,
              {v['steps_delivered_twice']} steps delivered again after a kill, byte for byte the same
  the chain   {v['versions']} manifests, {v['blocks_retired']} blocks of them retired,
              {v['ghosts']} ghost(s) met (a late create on a retired name),
              {v['orphans']} orphans (objects that the killed uploaded and never published)
  survived    kill -9 of a producer {v['kills_producer']} times and of the trainer {v['kills_trainer']} times,
              one frozen committer
""")
    return (f"verdict: ok: each of the {v['source_bytes']:,} source bytes was delivered to the {v['ranks']} ranks "
            f"exactly once, "
            f"in one order, in {v['seconds']} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--binary", help="default: build/cli/batchweave")
    options = parser.parse_args()
    demo = Demo(options)
    print(INTRODUCTION, flush=True)
    try:
        demo.prepare()
        demo.play()
        demo.tell("the judge rebuilds the text from what was delivered")
        verdict = demo.verdict()
        demo.tell("the judge has spoken")
    except (Sad, RuntimeError) as error:
        verdict = {"verdict": "failed", "why": str(error)}
    finally:
        demo.shop.close()
    print(report(verdict))
    print(NEXT_STEPS)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(verdict, file)
            file.write("\n")
    return 0 if verdict["verdict"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
