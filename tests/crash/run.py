# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Crash tests with real processes: kill -9 at named points and random moments, SIGSTOP across retired blocks.

Rounds are played until every kill and stop that was asked for has happened. In a round, producers (frames and text)
and ranks work on one small namespace while manifests are swept; whoever dies is started again with the same
command; whoever froze inside a commit is thawed after the block of its manifest has been retired, half of the time
with a successor at work that must have fenced it. When all input is in and all ranks have read to the end, the
independent decoder proves the namespace, that the input was delivered exactly once and in order, and that every
rank got the stored bytes. Counts per point are printed; none may be zero. Ends with `N passed, N failed`.
"""

import argparse
import collections
import os
import random
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import processes  # noqa: E402  (also puts tests/independent on the path)
import check_namespace  # noqa: E402
import evidence  # noqa: E402
import inputs  # noqa: E402

PRODUCER_POINTS = ("staging", "create-in-flight", "created", "before-ack")
RANK_POINTS = ("prefetch", "cursor-save")
STOP_POINTS = ("create-in-flight", "created")
RANKS = 4
BLOCK_SIZE = 4
STUCK_SECONDS = 60
# Few batches a commit and quick commits: many of them are in flight when something strikes.
PACE = ("--set", "staged_batches=4", "--set", "policy=fixed:20")


class Failure(Exception):
    pass


class Plan:
    """Which kills and stops are still to come, and those that happened."""

    def __init__(self, rng, kills, stops):
        self.rng = rng
        self.hits = collections.Counter()
        self.left = collections.Counter()
        kinds = [f"kill {p}" for p in PRODUCER_POINTS + RANK_POINTS]
        kinds += [f"kill {w} at random" for w in ("producer", "rank", "sweeper")]
        for k in range(kills):
            self.left[kinds[k % len(kinds)]] += 1
        for k in range(stops):
            self.left[f"stop {STOP_POINTS[k % len(STOP_POINTS)]}"] += 1
        self.wanted = dict(self.left)
        self.gc_seconds = 0.02  # how long a sweeper lives

    def hit(self, kind):
        self.hits[kind] += 1
        self.left[kind] -= 1

    def choose(self, kinds):
        """One of these kinds that is still to come, or None."""
        open_kinds = [kind for kind in kinds if self.left[kind] > 0]
        return self.rng.choice(open_kinds) if open_kinds else None

    def done(self):
        return all(count <= 0 for count in self.left.values())


class Agent:
    """One producer or rank: the command that is started again until it ends well."""

    def __init__(self, round_, name, words, kind):
        self.round = round_
        self.name = name
        self.words = words
        self.kind = kind  # producer, filler or rank
        self.process = None
        self.planned = None  # the kill or stop that this incarnation is to meet
        self.kill_at = None
        self.finished = False
        self.incarnations = []

    def start(self):
        plan, rng = self.round.plan, self.round.rng
        self.planned = self.kill_at = fault = None
        if self.kind == "producer":
            # One stop at a time, and each takes seconds: they go first, or the last rounds are for them alone.
            if self.round.may_freeze():
                self.planned = plan.choose([f"stop {p}" for p in STOP_POINTS])
            if self.planned is None:
                self.planned = plan.choose([f"kill {p}" for p in PRODUCER_POINTS] + ["kill producer at random"])
        elif self.kind == "rank":
            self.planned = plan.choose([f"kill {p}" for p in RANK_POINTS] + ["kill rank at random"])
        if self.planned and self.planned.endswith("at random"):
            self.kill_at = time.monotonic() + rng.uniform(0.01, 0.4)
        elif self.planned:
            action, point = self.planned.split(" ", 1)
            fault = f"{action}:{point}:{rng.randint(*self.round.passages(point))}"
        self.process = self.round.shop.start(self.name, self.words, fault)
        self.incarnations.append(self.process)

    def step(self):
        if self.finished:
            return
        if self.process is None:
            self.start()
            return
        state = self.process.state()
        if state == "running":
            if self.kill_at is not None and time.monotonic() >= self.kill_at:
                self.kill_at = None
                self.process.kill()
                if self.process.state() == "killed":
                    self.round.plan.hit(self.planned)
                self.process = None
        elif state == "killed":
            if not self.process.fault or not self.process.fault.startswith("kill:"):
                raise Failure(f"killed by nobody: {self.process.story()}")
            self.round.plan.hit(self.planned)
            self.process = None
        elif state == "done":
            self.finished = True
        elif state == "failed":
            raise Failure(self.process.story())
        elif self.round.frozen is None:
            self.round.freeze(self)


class Frozen:
    """A process stopped inside a commit, until the block of the manifest it was about to create is retired."""

    def __init__(self, round_, agent):
        self.round = round_
        self.agent = agent
        self.process = agent.process
        self.point = agent.planned.split(" ", 1)[1]
        round_.plan.hit(agent.planned)
        # The version in flight is at most the one after the newest.
        self.block = (round_.newest_version() + 1) // BLOCK_SIZE
        self.replaced = round_.rng.random() < 0.5
        self.thawed = None
        self.ghost = False

    def replace(self):
        """Half of the time, by a successor that is not frozen as well: else both open for the same epoch, and the one
        that is thawed later is fenced with nobody to say that it may be."""
        if self.replaced:
            self.agent.process = None
            self.agent.step()

    def step(self):
        """True when it is over."""
        if self.thawed is None:
            if self.round.retired_blocks() > self.block:
                self.process.thaw()
                self.thawed = time.monotonic()
            elif self.round.quiet_seconds() > 0.5:
                self.round.add_filler()
            return False
        self.look_for_ghost()
        state = self.process.state()
        if self.replaced:
            if state == "running":
                return self.wait(state)
            fenced = state == "failed" and "FENCED" in self.process.complaint()
            if not fenced and state != "done":
                raise Failure(f"a thawed process whose successor had opened: {self.process.story()}")
            self.round.fenced += fenced
        elif state == "stopped":
            return self.wait(state)
        return self.ghost or self.point != "create-in-flight" or time.monotonic() - self.thawed > 5

    def wait(self, state):
        if time.monotonic() - self.thawed > 30:
            raise Failure(f"thawed 30 s ago and still {state}: {self.process.story()}")
        return False

    def look_for_ghost(self):
        """The sweeper rests meanwhile, so a ghost stays to be counted by the checker."""
        if not self.ghost and check_namespace.ghosts(self.round.shop.space):
            result = check_namespace.check(self.round.shop.space, deep=False)
            if not result.ok:
                raise Failure(f"with a ghost there, the checker finds {result.findings}")
            self.ghost = bool(result.ghosts)
            self.round.ghosts += len(result.ghosts)


class Round:
    def __init__(self, binary, plan, rng, folder):
        self.plan = plan
        self.rng = rng
        self.shop = processes.Workshop(binary, folder)
        self.frozen = None
        self.ghosts = self.fenced = 0
        self.fillers = []
        self.gc = None
        self.gc_at = 0.0
        self.gc_struck = False
        self.moved = (0, time.monotonic())
        self.frames = {}
        self.agents = []
        self.prepare()

    def passages(self, point):
        """At which passage of a point a fault may strike. A publish comes after the open, hence from 2 for most."""
        return {"staging": (1, 30), "prefetch": (1, 30), "cursor-save": (1, 6)}.get(point, (1, 6))

    def prepare(self):
        shop, rng = self.shop, self.rng
        shop.run("init", shop.words("init", "--dp", RANKS, "--items", 2, "--block-size", BLOCK_SIZE, "--tail-cap", 256,
                                    "--part-size", 4096))
        for name in ("frames-a", "frames-b"):
            self.add_frames(name, 400, "producer")
        text = os.path.join(shop.folder, "text")
        self.documents = inputs.write_documents(text, rng, 60)
        self.text_producers = ["text-0", "text-1"]
        for k, name in enumerate(self.text_producers):
            words = shop.words("produce", "--id", name, "--shard", f"{k}/2", "--seq-len", 100, *PACE,
                               f"text:{text}")
            self.agents.append(Agent(self, name, words, "producer"))
        self.add_records()
        for rank in [*range(RANKS), None]:
            name = "all-ranks" if rank is None else f"rank-{rank}"
            position = ["--world", RANKS] if rank is None else ["--rank", rank, "--world", RANKS]
            words = shop.words("consume", *position, "--cursor", os.path.join(shop.folder, name + ".cursor"),
                               "--save-every", 3, "--digest", "--out", os.path.join(shop.folder, "out-" + name),
                               "--step-ms", 2)
            self.agents.append(Agent(self, name, words, "rank"))

    def add_records(self):
        """Shuffled, in two epochs: what a kill leaves half-way is a window in an order of its own."""
        lines, archives = (os.path.join(self.shop.folder, name) for name in ("lines.jsonl", "archives"))
        self.lines = [((b"json", line),) for line in inputs.write_lines(lines, self.rng, 120)]
        self.samples = inputs.write_archives(archives, self.rng, 3, 40)
        for name, *words in (("lines", "--shuffle-window", 16, "jsonl:" + lines),
                             ("archives", "--shuffle-window", 25, f"tar:{archives}/s{{0..2}}.tar")):
            words = self.shop.words("produce", "--id", name, "--batch", 3, "--seed", 7, "--epochs", 2, *PACE, *words)
            self.agents.append(Agent(self, name, words, "producer"))

    def add_frames(self, name, count, kind):
        path = os.path.join(self.shop.folder, name + ".frames")
        self.frames[name] = inputs.write_frames(path, self.rng, name, count)
        words = self.shop.words("produce", "--id", name, "--shard", "0/1", *PACE, "frames:" + path)
        self.agents.append(Agent(self, name, words, kind))

    def add_filler(self):
        """A producer that only moves the chain on: open, publish and finish are three commits."""
        self.fillers.append(f"filler-{len(self.fillers):03}")
        self.add_frames(self.fillers[-1], 5, "filler")
        self.moved = (self.moved[0], time.monotonic())

    # -- what the namespace looks like from outside --

    def newest_version(self):
        names = os.listdir(os.path.join(self.shop.space, "manifest"))
        return max((int(name[:20]) for name in names), default=0)

    def retired_blocks(self):
        folder = os.path.join(self.shop.space, "retired")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def quiet_seconds(self):
        version = self.newest_version()
        if version != self.moved[0]:
            self.moved = (version, time.monotonic())
        return time.monotonic() - self.moved[1]

    # -- the play --

    def may_freeze(self):
        """One at a time: two frozen ones would wait for each other's blocks."""
        return self.frozen is None and not any(
            agent.planned and agent.planned.startswith("stop") and not agent.finished for agent in self.agents)

    def freeze(self, agent):
        if not agent.planned or not agent.planned.startswith("stop"):
            raise Failure(f"stopped by nobody: {agent.process.story()}")
        self.frozen = Frozen(self, agent)
        self.frozen.replace()

    def sweep(self):
        """One gc after the other, some killed half-way; none while a ghost is awaited,
        so that it stays to be counted."""
        if self.gc is not None:
            state = self.gc.state()
            if state == "running":
                return
            if self.gc_struck and state == "done":
                self.plan.gc_seconds *= 0.8
            if state == "killed" and self.gc_struck:
                self.plan.hit("kill sweeper at random")
            elif state != "done":
                raise Failure(self.gc.story())
            self.gc = None
        awaited = self.frozen is not None and (self.frozen.thawed or self.retired_blocks() > self.frozen.block)
        if not awaited and time.monotonic() >= self.gc_at:
            self.gc = self.shop.start("gc", self.shop.words("gc", "--manifests-only", "--apply"))
            self.gc_at = time.monotonic() + 0.2
            self.gc_struck = False
            # With a process frozen, what a killed sweeper leaves behind could be taken for its ghost.
            if self.frozen is None and self.plan.choose(["kill sweeper at random"]) and self.rng.random() < 0.5:
                self.strike_sweeper()

    def strike_sweeper(self):
        """At once, for it lives for milliseconds; each that ended before its strike says that they are fewer."""
        time.sleep(self.rng.uniform(0, self.plan.gc_seconds))
        self.gc_struck = True
        self.gc.kill()

    def idle_sweep(self):
        return self.gc is None or self.gc.state() != "running"

    def play(self):
        sealed = False
        activity = time.monotonic()
        before = None
        while not all(agent.finished for agent in self.agents) or self.frozen is not None:
            for agent in list(self.agents):
                agent.step()
            self.sweep()
            if self.frozen is not None and (self.frozen.thawed or self.idle_sweep()) and self.frozen.step():
                self.frozen = None
            writers = [agent for agent in self.agents if agent.kind != "rank"]
            if not sealed and self.frozen is None and all(agent.finished for agent in writers):
                self.shop.run("seal", self.shop.words("seal"))
                sealed = True
            now = (self.newest_version(), sum(self.plan.hits.values()), sum(a.finished for a in self.agents))
            if now != before:
                before, activity = now, time.monotonic()
            if time.monotonic() - activity > STUCK_SECONDS:
                stuck = [a.process.story() for a in self.agents if not a.finished and a.process]
                raise Failure(f"nothing moved for {STUCK_SECONDS} s: {stuck}")
            time.sleep(0.01)

    def verify(self):
        """Returns the namespace's Result; every proof that does not hold raises."""
        space = self.shop.space
        result = check_namespace.check(space)
        if not result.ok:
            raise Failure(f"the checker finds {result.findings[:5]}")
        if not result.sealed or not result.next_step:
            raise Failure("not sealed, or no step")
        self.shop.run("verify", self.shop.words("verify", "--deep"))
        steps = list(check_namespace.deliveries(space))
        for name, frames in self.frames.items():
            inputs.prove_frames(steps, name, frames)
        inputs.prove_documents(steps, self.text_producers, self.documents)
        inputs.prove_records(steps, ["lines"], self.lines, 2, [b"json"])
        inputs.prove_records(steps, ["archives"], self.samples, 2)
        for agent in self.agents:
            if agent.kind == "rank":
                rank = None if agent.name == "all-ranks" else int(agent.name.split("-")[1])
                evidence.prove_out(os.path.join(self.shop.folder, "out-" + agent.name), steps, rank)
                evidence.prove_digests([p.output() for p in agent.incarnations], steps, rank)
        return result


def run(options):
    rng = random.Random(options.seed)
    plan = Plan(rng, options.kills, options.stops)
    binary = processes.find_binary(options.binary)
    passed = failed = rounds = 0
    totals = collections.Counter()
    began = time.monotonic()
    while not failed and (not plan.done() or not rounds) and rounds < options.kills + options.stops:
        rounds += 1
        folder = processes.scratch_folder("bw-crash-")
        round_ = Round(binary, plan, rng, folder)
        keep = False
        try:
            round_.play()
            result = round_.verify()
            passed += 1
            totals.update(steps=result.next_step, items=result.items, blocks=len(result.retired), ghosts=round_.ghosts,
                          fenced=round_.fenced, orphans=len(result.orphans), fillers=len(round_.fillers))
            print(f"round {rounds}: {result.next_step} steps in {result.versions[1]} versions, "
                  f"{len(result.retired)} blocks retired, {round_.ghosts} ghosts, {len(result.orphans)} orphans, "
                  f"{len(round_.shop.processes)} processes; {sum(plan.hits.values())} of "
                  f"{sum(plan.wanted.values())} strikes, {time.monotonic() - began:.0f} s", flush=True)
        except Exception as error:
            failed += 1
            keep = options.keep
            print(f"FAILED round {rounds} (seed {options.seed}): {error}", flush=True)
            if not isinstance(error, (Failure, RuntimeError, ValueError)):
                traceback.print_exc(file=sys.stdout)
            if keep:
                print(f"kept in {folder}")
        finally:
            round_.shop.close(keep)
    report = [(kind, plan.hits[kind], plan.wanted[kind]) for kind in plan.wanted]
    report.append(("blocks retired", totals["blocks"], 1))
    if options.stops:
        # Each create that was frozen until its block was gone lands on a dead name: one ghost each.
        report.append(("ghosts met", totals["ghosts"], max(1, plan.hits["stop create-in-flight"])))
    for what, count, wanted in report:
        good = count >= wanted
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok    ' if good else 'FAILED'} {what}: {count} (at least {wanted})")
    print(f"totals: {dict(totals)}, {time.monotonic() - began:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--full", action="store_true", help="500 kills, 200 stops")
    parser.add_argument("--binary", help="default: $BATCHWEAVE_BINARY, else build/cli/batchweave")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a failed round")
    options = parser.parse_args()
    if options.full:
        options.kills, options.stops = 500, 200
    print(f"seed {options.seed}")
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
