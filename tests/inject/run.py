#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the sweeps of failing calls and of power losses; each counts its own tests.

    tests/inject/run.py [--build FOLDER] [--full]

A sample of the sweep of failures (each allocation once; every STRIDE-th system call, in each way)
and of crash states; with --full every call (of the long shape every second), and a sample under the
address sanitizer. Both sweeps are put on trial as well: the recorder leaves out the fsync of
directories, then the fdatasync of files, and the power-loss sweep must notice.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["tests/inject/inject_sweep", "tests/inject/inject_power"]
FULL_STRIDES = {"plain": "1", "parts": "1", "one": "1", "long": "2"}
JOBS = str(min(16, 2 * (os.cpu_count() or 1)))  # a case mostly waits


def build(folder, options):
    environment = {**os.environ, "CC": "gcc"}
    if not (folder / "build.ninja").is_file():
        subprocess.run(["meson", "setup", *options, str(folder), "."], cwd=ROOT, env=environment,
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(folder), *TARGETS], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)


def run(words, shown):
    """Runs one program; (passed, failed) as it counted them."""
    started = time.monotonic()
    done = subprocess.run([str(word) for word in words], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    lines = done.stdout.rstrip().splitlines()
    match = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
    passed, failed = (int(match.group(1)), int(match.group(2))) if match else (0, 1)
    if done.returncode != 0 and failed == 0:
        failed = 1
    program = pathlib.Path(words[0])
    print(f"{program.name} {' '.join(map(str, words[1:]))}: {passed} passed, {failed} failed, "
          f"{time.monotonic() - started:.0f} s")
    keep = [line for line in lines if line.startswith("FAILED")] if shown == 0 else lines[:-1]
    print("\n".join("  " + line for line in (lines[-40:] if failed and not match else keep)),
          flush=True)
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/inject")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--stride", default="120", help="of the sampled sweep")
    parser.add_argument("--states", default="4000", help="of the sampled power-loss sweep")
    arguments = parser.parse_args()
    folder = ROOT / arguments.build
    build(folder, ["-Dbench=false"])
    sweep, power = (folder / target for target in TARGETS)
    if arguments.full:
        sanitized = folder.with_name(folder.name + "-asan")
        build(sanitized, ["-Dbench=false", "-Db_sanitize=address,undefined"])
        runs = [([sweep, "--jobs", JOBS, "--shape", shape, "--stride", stride], 1)
                for shape, stride in FULL_STRIDES.items()]
        runs += [([sanitized / TARGETS[0], "--jobs", JOBS, "--stride", "16"], 0),
                 ([power, "--jobs", JOBS, "--states", "20000", "--seed", "2"], 1)]
    else:
        runs = [([sweep, "--jobs", JOBS, "--stride", arguments.stride], 1),
                ([power, "--jobs", JOBS, "--states", arguments.states], 1)]
    runs += [([power, "--jobs", JOBS, "--states", "300", "--drop", what], 0)
             for what in ("dir", "file")]
    passed = failed = 0
    for words, shown in runs:
        more, bad = run(words, shown)
        passed, failed = passed + more, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
