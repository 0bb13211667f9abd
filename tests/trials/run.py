#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Trials: the library against the test store, which goes wrong in every way with every kind of object.

    tests/trials/run.py [--build FOLDER] [--trials N] [--workers N] [--seed S]
    tests/trials/run.py --self-test [--mutants]

A trial is one fault that the server's counters say it has struck a write with: {lost reply, late apply, double
apply, 409, 412-own, 200 with error, 5xx, reset mid-body} x {manifest, part, marker, genesis, segment, state} x
{S3, GCS, Azure}; a table tells how many of each, and one that is empty fails. Faults of reads come on top. After
each life of a namespace (life.py) the server's journal and an independent decoder judge it (judge.py): no duplicate,
no loss, no wrong byte, nothing deleted too early. --self-test plants faults in the store, with --mutants also in the
product (a build of its own); each must be noticed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import threading
import time

import matrix

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORE, LIBRARY = "bench/teststore/batchweave-teststore", "src/libbatchweave.so.0.1.0"
LIFE_SECONDS_MAX = 240
LIVES_PER_TRIAL_MAX = 0.05  # a life has more than a hundred: else something does not strike any more


def worker(build, plant, patience):
    """Seeds come by stdin, what became of each life goes to stdout."""
    sys.path.insert(0, str(HERE.parent / "teststore"))
    sys.argv[1:] = [f"{build}/{STORE}"]
    import life as lives
    import stores
    from product import Product

    lives.PATIENCE_S = patience
    out = os.dup(1)
    os.dup2(2, 1)
    library = Product(f"{build}/{LIBRARY}")
    server = stores.Server("--threads", "1", "--digest")
    for line in sys.stdin:
        life = lives.Life(library, server, int(line), plant)
        try:
            life.run()
        except Exception as error:
            life.wrong(f"{type(error).__name__}: {error}")
            life.judge.look()
            life.judge.names()
        told = {"seed": life.seed, "dialect": life.dialect, "hits": life.hits, "wrong": life.faults,
                "refused": life.calls_refused}
        os.write(out, (json.dumps(told) + "\n").encode())
        if life.faults:
            break  # handles may be left open
    server.stop()


class Campaign:
    """Lives by several workers, until there are enough trials and no cell is empty."""

    def __init__(self, build, trials, seed, plant=None, environment=None, wrong_max=20, patience=60):
        self.words = [sys.executable, "-B", str(HERE / "run.py"), "--build", str(build), "--patience", str(patience),
                      "--worker"]
        if plant:
            self.words += ["--plant", plant]
        self.environment = {**os.environ, **(environment or {})}
        self.wanted, self.next_seed, self.wrong_max = trials, seed, wrong_max
        self.lives_max = max(60, trials * LIVES_PER_TRIAL_MAX)
        self.lock = threading.Lock()
        self.hits, self.refused, self.wrong, self.lives = dict.fromkeys(matrix.cells(), 0), {}, [], 0

    def trials(self):
        return sum(count for (_, verb, _, _), count in self.hits.items() if verb == "write")

    def empty(self):
        return [cell for cell, count in self.hits.items() if count == 0]

    def draw(self):
        """The seed of the next life, or None."""
        with self.lock:
            done = self.trials() >= self.wanted and not self.empty()
            if done or len(self.wrong) > self.wrong_max or self.lives >= self.lives_max:
                return None
            self.lives += 1
            self.next_seed += 1
            return self.next_seed - 1

    def take(self, seed, line):
        with self.lock:
            if not line:
                self.wrong.append((seed, "the process ended, or nothing came of it in time"))
                return
            told = json.loads(line)
            self.wrong += [(seed, text) for text in told["wrong"]]
            for name, count in told["hits"].items():
                verb, kind, fault = name.split("/")
                self.hits[told["dialect"], verb, kind, fault] += count
            for name, count in told["refused"].items():
                self.refused[name] = self.refused.get(name, 0) + count

    def serve(self):
        process = None
        while (seed := self.draw()) is not None:
            if process is None:
                process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           bufsize=1, env=self.environment)
            line = ""
            try:
                process.stdin.write(f"{seed}\n")
                if select.select([process.stdout], [], [], LIFE_SECONDS_MAX)[0]:
                    line = process.stdout.readline()
            except BrokenPipeError:
                pass
            self.take(seed, line)
            if not line or json.loads(line)["wrong"]:
                self.end(process)
                process = None
        if process is not None:
            self.end(process)

    @staticmethod
    def end(process):
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def run(self, workers):
        threads = [threading.Thread(target=self.serve) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def table(self):
        for verb, faults in (("write", matrix.WRITES), ("read", matrix.READS)):
            print(f"{verb + ', s3/gcs/azure':22}" + "".join(f"{fault:>18}" for fault in faults))
            for kind in matrix.KINDS:
                counts = ["/".join(str(self.hits[dialect, verb, kind, fault]) for dialect in matrix.DIALECTS)
                          for fault in faults]
                print(f"  {kind:20}" + "".join(f"{count:>18}" for count in counts))


def build(folder, options):
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(folder), *options], cwd=ROOT, check=True, stdout=sys.stderr,
                       env={**os.environ, "CC": os.environ.get("CC", "gcc")})
    subprocess.run(["ninja", "-C", str(folder), STORE, LIBRARY], cwd=ROOT, check=True, stdout=sys.stderr)


def trials(arguments):
    started = time.monotonic()
    campaign = Campaign(arguments.build, arguments.trials, arguments.seed)
    campaign.run(arguments.workers)
    campaign.table()
    reads = sum(campaign.hits.values()) - campaign.trials()
    print("calls that failed and were repeated: "
          + ", ".join(f"{name} {count}" for name, count in sorted(campaign.refused.items())))
    failed = len(campaign.wrong)
    for seed, text in campaign.wrong[:20]:
        print(f"FAILED: seed {seed}: {text}")
    for cell in campaign.empty():
        failed += 1
        print(f"FAILED: no trial of {' '.join(cell)}")
    if campaign.trials() < arguments.trials:
        failed += 1
        print(f"FAILED: {campaign.trials()} trials of {arguments.trials}")
    print(f"{campaign.trials()} trials and {reads} faults of reads in {campaign.lives} lives from seed "
          f"{arguments.seed} on, {time.monotonic() - started:.0f} s")
    return len(campaign.hits) - len(campaign.empty()), failed


# Of src/base/mutant_list.h: those that a few lives notice.
MUTANTS = ["unknown_is_success", "unknown_is_failure", "exists_is_ours", "nonce_ignored", "stage_not_contiguous"]
PATIENCE_S = 15  # for what never succeeds with them


def self_test(arguments):
    """(passed, failed): what is planted must be noticed, by what the plant says, or by anything with a mutant that was
    reached."""
    from life import PLANTS

    folder = ROOT / "build" / "mutants"
    chosen = arguments.only or [*PLANTS, *(MUTANTS if arguments.mutants else [])]
    if not set(chosen) <= set(PLANTS):
        build(folder, ["--buildtype=release", "-Db_ndebug=false", "-Dbench=false", "-Dmutants=true"])

    def notices(name):
        started = time.monotonic()
        plant, reached = PLANTS.get(name), pathlib.Path(scratch) / name
        mutant = {"BATCHWEAVE_MUTANT": name, "BATCHWEAVE_MUTANT_REACHED": str(reached)}
        campaign = Campaign(arguments.build if plant else folder, 2500, arguments.seed, name if plant else None,
                            {} if plant else mutant, 0, PATIENCE_S)
        campaign.lives_max = 1 if plant else 24
        campaign.run(1 if plant else 4)
        said = [text for _, text in campaign.wrong]
        noticed = any(plant in text for text in said) if plant else bool(said) and reached.exists()
        print(f"{'noticed' if noticed else 'FAILED: not noticed'}: {name}, {campaign.lives} lives, "
              f"{time.monotonic() - started:.0f} s: {'; '.join(said[:3])[:200]}", flush=True)
        return noticed

    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(3) as pool:
        noticed = list(pool.map(notices, chosen))
    return noticed.count(True), noticed.count(False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build" / "gcc"))
    parser.add_argument("--trials", type=int, default=10000)
    parser.add_argument("--workers", type=int, default=6 * (os.cpu_count() or 1))  # they mostly wait
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--mutants", action="store_true", help="with --self-test: faults of the product, too")
    parser.add_argument("--only", action="append", help="with --self-test: this plant or mutant")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--plant", help=argparse.SUPPRESS)
    parser.add_argument("--patience", type=float, default=60, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments.build, arguments.plant, arguments.patience)
    passed, failed = self_test(arguments) if arguments.self_test else trials(arguments)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
