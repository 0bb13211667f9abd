#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Hours of the real command line on one namespace, at a low rate, under kills and stops, watched from outside.

    tests/crash/soak.py [--minutes N] [--binary FILE] [--seed N] [--tmp FOLDER] [-o json]

Two producers, two ranks and now and then a sweeper are struck again and again: kill -9 at named points and at random
moments, SIGSTOP for seconds, half of the time with a successor that must fence the sleeper. One producer, one
process with all ranks and one sweeper are never struck: what they hold is measured each minute (memory, descriptors,
threads). Every --check minutes the independent decoder judges the live namespace. At the end all input is in, the
namespace is sealed, all ranks read to the end, and everything delivered is compared with what was made: each
producer's frames once and in order, each rank's digests those of the stored bytes. A violation is anything that a
check finds and any process that ends in a way that it must not. Ends with `N passed, N failed`.
"""

import argparse
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import processes  # noqa: E402  (also puts tests/independent on the path)
import check_namespace  # noqa: E402
import evidence  # noqa: E402
import inputs  # noqa: E402
import soak_source  # noqa: E402

RANKS = 4
TICK_SECONDS = 0.25
STRIKE_SECONDS = 15.0  # mean life of what is struck
END_SECONDS = 300
# After so long a process has the buffers that it will ever need.
WARM_MINUTES = 10
POINTS = {"producer": ("staging", "create-in-flight", "created", "before-ack"), "rank": ("prefetch", "cursor-save")}


def held_by(pid):
    """Resident KiB, descriptors and threads of a living process, or None."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return {"rss_kib": int(fields["VmRSS"].split()[0]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                "threads": int(fields["Threads"])}
    except (OSError, KeyError):
        return None


def processor_seconds(pids):
    """Of this process, its ended children, and these living ones."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                words = file.read().rpartition(")")[2].split()
            total += sum(int(word) for word in words[11:15]) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return total


def slope(points):
    """Least squares; None without two points."""
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else None


class Worker:
    """One command, started again until it ends well. `struck`: by kills and stops."""

    def __init__(self, soak, name, kind, words, struck):
        self.soak, self.name, self.kind, self.words, self.struck = soak, name, kind, words, struck
        self.process = None
        self.finished = False
        self.logs = []
        self.frozen = []  # (process, when to thaw, must be fenced)
        self.strike_at = None
        self.start()

    def start(self):
        rng = self.soak.rng
        fault = None
        self.strike_at = None
        if self.struck and not self.soak.ending:
            if rng.random() < 0.5:
                fault = f"kill:{rng.choice(POINTS[self.kind])}:{rng.randint(2, 40)}"
            self.strike_at = time.monotonic() + rng.expovariate(1 / STRIKE_SECONDS)
        self.process = self.soak.shop.start(self.name, self.words, fault)
        self.logs.append(self.process.log)

    def step(self):
        self.thaw_due()
        if self.finished:
            return
        state = self.process.state()
        if state == "killed" and self.process.fault:
            self.soak.strikes[f"kill at {self.process.fault.split(':')[1]}"] += 1
            self.replace()
        elif state == "done":
            self.finished = True
        elif state in ("failed", "killed"):
            self.soak.violation(f"{self.name}: {self.process.story()}")
            self.replace()
        elif self.soak.ending:
            return
        elif self.strike_at is not None and time.monotonic() >= self.strike_at and state == "running":
            self.strike()

    def replace(self):
        self.soak.forget(self.process)
        self.start()

    def strike(self):
        """kill -9, or asleep for seconds: until then nobody else, or a successor that fences it."""
        rng = self.soak.rng
        if rng.random() < 0.5:
            self.process.kill()
            self.soak.strikes["kill at random"] += 1
            self.replace()
            return
        self.process.freeze()
        successor = self.kind == "producer" and rng.random() < 0.5
        self.frozen.append((self.process, time.monotonic() + rng.uniform(1, 20), successor))
        self.soak.strikes["stop, replaced" if successor else "stop"] += 1
        self.strike_at = time.monotonic() + rng.expovariate(1 / STRIKE_SECONDS) + 20
        if successor:
            self.start()

    def thaw_due(self):
        for entry in list(self.frozen):
            process, when, replaced = entry
            if time.monotonic() < when:
                continue
            process.thaw()
            if not replaced:
                self.frozen.remove(entry)
                continue
            state = process.state()
            if state == "running" and time.monotonic() < when + 60:
                continue
            self.frozen.remove(entry)
            fenced = state == "failed" and "FENCED" in process.complaint()
            self.soak.strikes["fenced"] += fenced
            if not fenced and not (state == "killed" and process.fault):
                self.soak.violation(f"{self.name}: replaced, thawed and {state}: {process.story()}")
            process.kill()
            self.soak.forget(process)


class Soak:
    def __init__(self, options, folder):
        self.options = options
        self.rng = random.Random(options.seed)
        self.folder = folder
        # The binary and its library as they are now: the tree may be built again meanwhile.
        built = os.path.dirname(os.path.dirname(processes.find_binary(options.binary)))
        for name, wanted in (("cli", "batchweave"), ("src", "libbatchweave.so")):
            os.makedirs(os.path.join(folder, "bin", name))
            for file in os.listdir(os.path.join(built, name)):
                if file.startswith(wanted) and os.path.isfile(os.path.join(built, name, file)):
                    shutil.copy(os.path.join(built, name, file), os.path.join(folder, "bin", name))
        self.shop = processes.Workshop(os.path.join(folder, "bin", "cli", "batchweave"), folder)
        os.makedirs(os.path.join(folder, "totals"))
        self.violations = []
        self.strikes = dict.fromkeys(
            [f"kill at {point}" for points in POINTS.values() for point in points] +
            ["kill at random", "kill sweeper", "stop", "stop, replaced", "fenced"], 0)
        self.samples = []
        self.checks = 0
        self.ending = False
        self.one_gc = self.one_gc_kill = None
        self.began = time.monotonic()
        self.prepare()

    def prepare(self):
        shop = self.shop
        shop.run("init", shop.words("init", "--dp", RANKS, "--items", 2, "--block-size", 16, "--tail-cap", "2KiB",
                                    "--part-size", 4096))
        self.workers = []
        source = os.path.join(processes.HERE, "soak_source.py")
        for name, rate, struck in (("steady", 4, False), ("struck-a", 8, True), ("struck-b", 8, True)):
            command = shlex.join([sys.executable, "-S", "-E", source, name, str(rate), self.folder])
            words = shop.words("produce", "--id", name, "--exec", command, "-o", "json")
            self.workers.append(Worker(self, name, "producer", words, struck))
        for rank in (None, 1, 2):
            name = "all-ranks" if rank is None else f"rank-{rank}"
            place = ["--world", RANKS] if rank is None else ["--rank", rank, "--world", RANKS]
            words = shop.words("consume", *place, "--cursor", os.path.join(self.folder, name + ".cursor"),
                               "--save-every", 5, "--digest")
            self.workers.append(Worker(self, name, "rank", words, rank is not None))
        self.sweeper = shop.start("sweeper", shop.words("gc", "--manifests-only", "--apply", "--watch", 10))

    def violation(self, what):
        self.violations.append(what)
        print(f"VIOLATION: {what}", file=sys.stderr, flush=True)

    def forget(self, process):
        """One that has ended: hours of them would be thousands of handles."""
        self.shop.processes.remove(process)

    def steady(self):
        return {"producer": self.workers[0].process, "all ranks": self.workers[3].process, "sweeper": self.sweeper}

    def sweep_once(self):
        """A sweeper now and then, killed half of the time, beside the one that stays."""
        if self.one_gc is not None:
            if self.one_gc_kill and time.monotonic() >= self.one_gc_kill:
                self.one_gc.kill()
            if self.one_gc.state() in ("running", "stopped"):
                return
            if self.one_gc.state() == "killed":
                self.strikes["kill sweeper"] += 1
            elif self.one_gc.state() != "done":
                self.violation(self.one_gc.story())
            self.forget(self.one_gc)
            self.one_gc = None
        elif not self.ending and self.rng.random() < TICK_SECONDS / 30:
            self.one_gc = self.shop.start("gc", self.shop.words("gc", "--manifests-only", "--apply"))
            self.one_gc_kill = time.monotonic() + self.rng.uniform(0, 0.03) if self.rng.random() < 0.7 else None

    def check(self, deep):
        self.checks += 1
        result = check_namespace.check(self.shop.space, deep=deep)
        for finding in result.findings[:5]:
            self.violation(f"the checker finds {finding}")
        return result

    def report(self):
        minutes = (time.monotonic() - self.began) / 60
        held = {name: held_by(process.popen.pid) for name, process in self.steady().items()}
        for name, values in held.items():
            if values is None:
                self.violation(f"{name} is gone: {self.steady()[name].story()}")
        versions = max((int(name[:20]) for name in os.listdir(os.path.join(self.shop.space, "manifest"))), default=0)
        busy = processor_seconds([process.popen.pid for process in self.shop.processes])
        sample = {"minutes": round(minutes, 2), "version": versions, "strikes": sum(self.strikes.values()),
                  "violations": len(self.violations), "checks": self.checks, "held": held,
                  "processor_percent": round(100 * busy / max(minutes * 60, 1), 1)}
        self.samples.append(sample)
        if self.options.output == "json":
            print(json.dumps(sample), flush=True)
        else:
            told = ", ".join(f"{name} {v['rss_kib']} KiB {v['descriptors']} fd {v['threads']} threads"
                             for name, v in held.items() if v)
            print(f"{minutes:6.1f} min: version {versions}, {sample['strikes']} strikes, "
                  f"{sample['violations']} violations, {sample['processor_percent']} % of a core; {told}", flush=True)

    def play(self):
        until = self.began + self.options.minutes * 60
        next_report, next_check = self.began + 60, self.began + self.options.check * 60
        while time.monotonic() < until:
            for worker in self.workers:
                worker.step()
            self.sweep_once()
            if time.monotonic() >= next_report:
                next_report += 60
                self.report()
            if time.monotonic() >= next_check:
                next_check += self.options.check * 60
                self.check(deep=False)
            time.sleep(TICK_SECONDS)

    def end(self):
        """No more strikes; all input in, sealed, read to the end. Faults planted before may still strike."""
        self.ending = True
        with open(os.path.join(self.folder, "stop"), "wb"):
            pass
        limit = time.monotonic() + END_SECONDS
        sealed = False
        while not (sealed and all(worker.finished and not worker.frozen for worker in self.workers)):
            for worker in self.workers:
                worker.step()
            self.sweep_once()
            if not sealed and all(w.finished and not w.frozen for w in self.workers if w.kind == "producer"):
                self.shop.run("seal", self.shop.words("seal"))
                sealed = True
            if time.monotonic() > limit:
                self.violation("not at its end: " + str([w.process.story() for w in self.workers if not w.finished]))
                return
            time.sleep(TICK_SECONDS)

    def end_sweeper(self):
        self.sweeper.popen.send_signal(signal.SIGINT)
        code = self.sweeper.popen.wait(60)
        if code not in (0, 130):
            self.violation(f"the sweeper ended with {code}: {self.sweeper.story()}")

    def prove(self):
        result = self.check(deep=True)
        self.shop.run("verify", self.shop.words("verify", "--deep"), timeout=600)
        steps = list(check_namespace.deliveries(self.shop.space))
        for worker in self.workers:
            if worker.kind == "producer":
                offset = result.producers[worker.name]["offset"]
                inputs.prove_frames(steps, worker.name, [soak_source.frame(worker.name, k) for k in range(offset)])
                self.prove_total(worker.name, offset)
            else:
                rank = None if worker.name == "all-ranks" else int(worker.name.split("-")[1])
                evidence.prove_digests((self.text(log) for log in worker.logs), steps, rank)
        return result

    def prove_total(self, name, offset):
        folder = os.path.join(self.folder, "totals")
        totals = [int(self.text(os.path.join(folder, file), "")) for file in os.listdir(folder)
                  if file.rpartition(".")[0] == name]
        if offset not in totals:
            raise ValueError(f"{name}: {offset} frames are in, {totals} were given")

    @staticmethod
    def text(log, suffix=".out"):
        with open(log + suffix, encoding="utf-8", errors="replace") as file:
            return file.read()

    def summary(self, result):
        out = {"done": True, "seed": self.options.seed, "minutes": round((time.monotonic() - self.began) / 60, 1),
               "violations": self.violations, "checks": self.checks, "strikes": self.strikes,
               "steps": result.next_step, "versions": result.versions[1], "blocks_retired": len(result.retired),
               "items": result.items, "held": {}}
        for name in self.steady():
            series = [(s["minutes"], s["held"][name]) for s in self.samples if s["held"][name]]
            warm = [(m, v) for m, v in series if m >= min(WARM_MINUTES, self.options.minutes / 2)]
            if warm:
                grows = slope([(m / 60, v["rss_kib"]) for m, v in warm])
                out["held"][name] = {
                    "rss_kib_per_hour": None if grows is None else round(grows, 1),
                    **{what: [warm[0][1][what], max(v[what] for _, v in warm), warm[-1][1][what]]
                       for what in ("rss_kib", "descriptors", "threads")}}
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=240)
    parser.add_argument("--check", type=float, default=10, help="minutes between two judgements")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--binary", help="default: $BATCHWEAVE_BINARY, else build/cli/batchweave")
    parser.add_argument("--tmp", help="where its folder is made; default: memory, where there is room")
    parser.add_argument("--keep", action="store_true", help="keep the folder when there is a violation")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    options = parser.parse_args()
    folder = (tempfile.mkdtemp(prefix="bw-soak-", dir=options.tmp) if options.tmp
              else processes.scratch_folder("bw-soak-"))
    soak = Soak(options, folder)
    result = None
    try:
        soak.play()
        soak.report()
        soak.end()
        soak.end_sweeper()
        result = soak.prove()
    except (RuntimeError, ValueError) as error:
        soak.violation(str(error))
    finally:
        soak.shop.close(keep=options.keep and bool(soak.violations))
    failed = len(soak.violations)
    passed = soak.checks + sum(soak.strikes.values())
    if result is not None:
        said = soak.summary(result)
        passed += 1
        # An hour must have met everything; minutes need not.
        missed = [what for what, count in soak.strikes.items() if not count and options.minutes >= 60]
        failed += len(missed) + (said["blocks_retired"] == 0)
        print(json.dumps(said, indent=None if options.output == "json" else 1))
        for what in missed:
            print(f"FAILED: never happened: {what}", file=sys.stderr)
    print(f"{passed} passed, {failed} failed", file=sys.stderr if options.output == "json" else sys.stdout)
    return 1 if failed or result is None else 0


if __name__ == "__main__":
    sys.exit(main())
