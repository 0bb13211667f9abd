# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: real text through a real namespace while its processes are killed and frozen, then the proof.

demo.py [--json FILE] [--seed N]. A pool of producers packs the standard library's sources into global batches, a
training job reads them and pins its checkpoints, and what no checkpoint needs is deleted behind it. Producers and the
trainer are killed with -9 at random moments, the trainer goes on with half its ranks and with all of them again, the
pool grows and shrinks, one producer is frozen inside a commit until the manifests around it are gone. prove.py
judges. Exit 0 only with verdict ok.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crash"))

import processes  # noqa: E402
import check_namespace  # noqa: E402
import sources  # noqa: E402

RANKS = 8
BLOCK_SIZE = 4
MAX_LAG = 60  # steps that producers may be ahead of the newest checkpoint
POOL = ((0, 2), (60, 6), (300, 2))  # from this step of training on, so many producers at once
IDLE_LIMIT = 100  # seconds without a commit and without a step: a busy machine may take long over the whole
KILLS = {"producer": 3, "trainer": 4}
PAUSE = {"producer": (0.1, 0.5), "trainer": (0.2, 1.2)}  # seconds from one kill to the next


class Sad(Exception):
    """The demo cannot go on; says why."""


class Pool:
    """Producer processes. Each works on one shard of the text, under that shard's id; so many at once as the pool is
    large. A shard whose process was killed or left goes on with the next one that is started for it."""

    def __init__(self, start):
        self.start = start  # called with a shard and a fault
        self.size = 0
        self.waiting = list(range(sources.SHARDS))
        self.at_work = {}
        self.leaving = {}
        self.left = 0

    def begin(self, fault=None):
        shard = self.waiting.pop(0)
        self.at_work[shard] = self.start(shard, fault)
        return shard

    def shrink(self, shard):
        """A clean end, as a cluster's scheduler gives it: SIGTERM. What is committed stays; the rest is done again."""
        self.leaving[shard] = self.at_work.pop(shard)
        self.leaving[shard].popen.send_signal(signal.SIGTERM)

    def kill(self, shard):
        """True when it had not ended by itself."""
        process = self.at_work[shard]
        process.kill()
        if process.state() != "killed":
            return False
        del self.at_work[shard]
        self.waiting.insert(0, shard)
        return True

    def tend(self):
        """Starts what is missing; True when all shards are in."""
        for shard, process in list(self.leaving.items()):
            state = process.state()
            if state == "running":
                continue
            del self.leaving[shard]
            if state != "done":
                # Interrupted, closed cleanly; or so soon that it had not begun.
                self.must(process, process.popen.returncode in (128 + signal.SIGTERM, -signal.SIGTERM))
                self.left += 1
                self.waiting.append(shard)
        for shard, process in list(self.at_work.items()):
            state = process.state()
            if state in ("failed", "killed", "done"):
                self.must(process, state == "done")
                del self.at_work[shard]
        while self.waiting and len(self.at_work) + len(self.leaving) < self.size:
            self.begin()
        return not self.waiting and not self.at_work and not self.leaving

    @staticmethod
    def must(process, ok):
        if not ok:
            raise Sad(f"a producer ended: {process.story()}")


class Demo:
    def __init__(self, options):
        self.began = self.moved = time.monotonic()
        self.rng = random.Random(options.seed)
        self.shop = processes.Workshop(processes.find_binary(options.binary), processes.scratch_folder("bw-demo-"))
        self.pool = Pool(self.producer)
        self.trainer = None
        self.ranks = RANKS
        self.outs = []  # a folder of deliveries for each launch of the trainer
        self.step = 0
        self.kills = {"producer": 0, "trainer": 0}
        self.kill_at = {}
        self.ghosts = self.orphans = 0
        self.bytes_most = self.producers_most = 0
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
        self.shop.run("init", self.shop.words("init", "--dp", RANKS, "--items", 2, "--producers", sources.SHARDS,
                                              "--max-lag", MAX_LAG, "--block-size", BLOCK_SIZE, "--tail-cap", 256,
                                              "--part-size", 4096))
        self.tell(f"a namespace for {RANKS} ranks; {len(names)} source files of Python's library, {total:,} bytes, "
                  f"in {sources.SHARDS} shards")

    def producer(self, shard, fault=None):
        return self.shop.start(f"p{shard}", self.shop.words(
            "produce", "--id", f"p{shard}", "--shard", f"{shard}/{sources.SHARDS}", "--seq-len", 512,
            "--set", "staged_batches=8", f"text:{self.text}"), fault)

    def launch(self, ranks):
        """The training job, from its newest checkpoint on: two are kept, one each 20 steps."""
        self.ranks = ranks
        self.outs.append(os.path.join(self.shop.folder, f"out-{len(self.outs)}"))
        os.mkdir(self.outs[-1])
        self.trainer = self.shop.start("trainer", self.shop.words(
            "consume", "--group", "train", "--launch", f"launch-{len(self.outs)}", "--world", ranks,
            "--set", f"dp={ranks}", "--set", "rescale=same_batch", "--pin-every", 20, "--keep", 2,
            "--out", self.outs[-1], "--step-ms", 10))

    # -- the play --

    def look(self):
        """Where the job stands, and what lies on the store; complains when nothing moves."""
        now = time.monotonic()
        if now < self.look_at:
            return
        self.look_at = now + 0.25
        version = max(int(name[:20]) for name in os.listdir(os.path.join(self.shop.space, "manifest")))
        steps = [int(step) for out in self.outs for step in os.listdir(out)]
        self.step = max(steps, default=0)
        self.bytes_most = max(self.bytes_most, self.stored())
        if (version, len(steps)) != self.stand:
            self.stand, self.moved = (version, len(steps)), now
        if now - self.moved > IDLE_LIMIT:
            raise Sad(f"nothing moved for {IDLE_LIMIT} s")

    def stored(self):
        total = 0
        for folder, _, names in os.walk(self.shop.space):
            for name in names:
                try:
                    total += os.path.getsize(os.path.join(folder, name))
                except FileNotFoundError:
                    pass  # swept meanwhile
        return total

    def freeze(self):
        """p0 stops itself in its first publish, the temporary file written, its name not yet taken."""
        self.pool.begin("stop:create-in-flight:2")
        sleeper = self.pool.at_work[0]
        while sleeper.state() == "running":
            self.look()
            time.sleep(0.005)
        if sleeper.state() != "stopped":
            raise Sad(f"p0 did not freeze: {sleeper.story()}")
        newest = max(int(name[:20]) for name in os.listdir(os.path.join(self.shop.space, "manifest")))
        block = (newest + 1) // BLOCK_SIZE
        self.tell(f"p0 freezes while it creates manifest {newest + 1}, of block {block}; p1 feeds the job alone")
        return sleeper, block

    def retired(self):
        folder = os.path.join(self.shop.space, "retired")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def thaw(self, sleeper, block):
        """p0's late create meets a dead name. The trainer, which sweeps, rests until the ghost is counted."""
        self.tell(f"block {block} is retired, its manifests are gone; p0 thaws and finishes its create")
        self.trainer.freeze()
        sleeper.thaw()
        limit = time.monotonic() + 20
        while not self.ghosts and time.monotonic() < limit:
            self.ghosts = len(check_namespace.ghosts(self.shop.space))
            time.sleep(0.01)
        self.trainer.thaw()
        if self.ghosts:
            self.tell("the store said CREATED: a ghost, a manifest on a dead name. Nobody follows it; "
                      "p0 looks and publishes again")

    def resize(self):
        size = [size for step, size in POOL if step <= self.step][-1]
        if size == self.pool.size:
            return
        if self.pool.size:
            self.tell(f"step {self.step}: the pool of producers {'grows' if size > self.pool.size else 'shrinks'} from "
                      f"{self.pool.size} to {size}")
        self.pool.size = size
        for shard in sorted(self.pool.at_work)[size:]:
            self.pool.shrink(shard)

    def due(self, kind):
        """True when it is time for the next kill."""
        now = time.monotonic()
        at = self.kill_at.setdefault(kind, now + self.rng.uniform(*PAUSE[kind]))
        if self.kills[kind] >= KILLS[kind] or now < at:
            return False
        self.kill_at[kind] = now + self.rng.uniform(*PAUSE[kind])
        return True

    def strike(self):
        if self.due("producer") and self.pool.at_work:
            shard = self.rng.choice(sorted(self.pool.at_work))
            if self.pool.kill(shard):
                self.kills["producer"] += 1
                self.tell(f"kill -9 p{shard}; it is started again and goes on where the chain says")
        if self.due("trainer"):
            self.trainer.kill()
            if self.trainer.state() == "killed":
                self.kills["trainer"] += 1
                self.launch(RANKS // 2 if self.ranks == RANKS else RANKS)
                self.tell(f"kill -9 the trainer; launch {len(self.outs)} goes on at its newest checkpoint, "
                          f"with {self.ranks} ranks")

    def trained(self):
        state = self.trainer.state()
        if state in ("failed", "killed"):
            raise Sad(f"the trainer ended: {self.trainer.story()}")
        return state == "done"

    def play(self):
        self.launch(RANKS)
        sleeper, block = self.freeze()
        thawed = over = False
        while not self.trained():
            self.look()
            self.resize()
            self.producers_most = max(self.producers_most, len(self.pool.at_work))
            if self.pool.tend() and not over:
                over = True
                self.tell("the last of all producers has finished, and with that sealed the namespace")
            if thawed:
                self.strike()
            elif self.retired() > block:
                self.thaw(sleeper, block)
                thawed = True
            time.sleep(0.005)
        self.tell("the trainer has read to the end; gc deletes what the dead left behind")
        swept = json.loads(self.shop.run("gc", self.shop.words("gc", "--apply", "-o", "json")).output())
        self.orphans = swept["orphans_deleted"]

    def verdict(self):
        judge = subprocess.run([sys.executable, "-B", os.path.join(HERE, "prove.py"), self.shop.space, *self.outs],
                               stdout=subprocess.PIPE, text=True, check=False)
        verdict = json.loads(judge.stdout or '{"verdict": "failed", "why": "the judge said nothing"}')
        verdict.update(ghosts=self.ghosts, kills_producer=self.kills["producer"], kills_trainer=self.kills["trainer"],
                       launches=len(self.outs), producers_most=self.producers_most, producers_left=self.pool.left,
                       orphans_deleted=self.orphans, bytes_most=self.bytes_most, ranks=RANKS,
                       seconds=round(time.monotonic() - self.began, 1))
        shown = ("ghosts", "blocks_retired", "steps_reclaimed", "kills_producer", "producers_left")
        why = [f"{name} is zero" for name in shown if not verdict.get(name)]
        if verdict["launches"] < 3:
            why.append("the job did not come back to its size")
        if self.producers_most < max(size for _, size in POOL):
            why.append("the pool did not grow")
        if verdict["verdict"] == "ok" and why:
            verdict.update(verdict="failed", why=f"the demo did not show what it should: {'; '.join(why)}")
        return verdict


INTRODUCTION = f"""
The demo (some 20 seconds): a pool of producer processes packs real text into global batches, and a
training job of {RANKS} ranks reads them, with nothing between them but a directory. Meanwhile they are killed
and frozen, the pool grows and shrinks, the job goes on with half its ranks and with all again; what its
checkpoints no longer need is deleted: data, and old manifests (the numbered objects that state what the
namespace holds). Then a program of its own proves that no byte was lost or doubled.
"""

NEXT_STEPS = """next: build/cli/batchweave is built. docs/guide.md feeds it your own text or program;
      docs/guarantees.md says what was just shown."""


def report(v):
    if v["verdict"] != "ok":
        return f"verdict: FAILED: {v['why']}"
    small, large, last = (size for _, size in POOL)
    print(f"""
  sources     {v['source_files']} files, {v['source_bytes']:,} bytes, sha256 over all {v['digest'][:16]}…
  delivered   {v['steps']} steps, {v['items']:,} items in {v['fragments']:,} fragments of documents,
              {v['steps_delivered_twice']} steps delivered again after a kill, byte for byte the same
  reclaimed   the data of {v['steps_reclaimed']} steps behind the checkpoints,
              at most {v['bytes_most']:,} bytes lay there at once;
              {v['orphans_deleted']} orphans (objects that the dead had uploaded and never published)
  the chain   {v['versions']} manifests, {v['blocks_retired']} blocks of them retired,
              {v['ghosts']} ghost(s) met (a late create on a retired name)
  survived    kill -9 of a producer {v['kills_producer']} times and of the trainer {v['kills_trainer']} times,
              {v['launches']} launches of the job, with {RANKS} and with {RANKS // 2} ranks in turn,
              a pool of {small}, then {large}, then {last} producers
              ({v['producers_left']} left in the middle of their work), one frozen committer
""")
    return (f"verdict: ok: each of the {v['source_bytes']:,} source bytes was delivered to the job's ranks "
            f"exactly once, in one order, in {v['seconds']} s")


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
