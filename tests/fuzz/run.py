#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the libFuzzer targets of a build folder (meson: CC=clang, -Dfuzz=true, sanitizers).

    run.py BUILD [--seconds N] [--least N] [--jobs N] [--only TARGET] [--keep FOLDER] [-o json]

Each target starts from a copy of its corpus in tests/fuzz/corpus. `--least`: executions over all;
on a slow machine further, shorter rounds are run until they are reached. `--keep`: the corpora as
they grew go to FOLDER/TARGET (and are taken up from there); tests/fuzz/merge.py makes them small.
An input that breaks a promise is left in BUILD/fuzz-findings. Ends with a line `N passed, N failed`,
a test being a target.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
# One input must not take longer, nor may one allocation be larger: both end a run as findings.
INPUT_SECONDS_MAX = 5
ALLOCATION_MIB_MAX = 64
# Larger inputs say nothing new and slow everything down.
INPUT_BYTES_MAX = 4096
ROUND_SECONDS_MIN = 5


def targets(build):
    found = sorted(path for path in (build / "tests" / "fuzz").glob("fuzz_*") if path.is_file())
    return {path.name[len("fuzz_"):]: path for path in found}


def run_target(name, program, seconds, findings, corpus):
    if (CORPUS / name).is_dir():
        shutil.copytree(CORPUS / name, corpus, dirs_exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    words = [str(program), f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}",
             f"-malloc_limit_mb={ALLOCATION_MIB_MAX}", f"-max_len={INPUT_BYTES_MAX}",
             f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1"]
    dictionary = HERE / f"{name}.dict"
    if dictionary.is_file():
        words.append(f"-dict={dictionary}")
    process = subprocess.run([*words, str(corpus)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             stderr=subprocess.STDOUT, text=True, errors="replace", check=False)

    def statistic(pattern):
        found = re.findall(pattern, process.stdout)
        return int(found[-1]) if found else 0

    row = {"target": name, "executions": statistic(r"stat::number_of_executed_units:\s*(\d+)"),
           "per_second": statistic(r"stat::average_exec_per_sec:\s*(\d+)"),
           "features": statistic(r" ft: (\d+)"), "peak_mib": statistic(r"stat::peak_rss_mb:\s*(\d+)"),
           "ok": process.returncode == 0}
    if not row["ok"] or row["executions"] == 0:
        row["ok"] = False
        row["output"] = process.stdout[-6000:]
    return row


def and_again(row, more):
    """Of a target, with what a further round said."""
    return {**row, **more, "executions": row["executions"] + more["executions"],
            "peak_mib": max(row["peak_mib"], more["peak_mib"])}


def run_all(chosen, arguments, findings, base):
    def a_round(seconds):
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            return list(pool.map(lambda item: run_target(*item, seconds, findings, base / item[0]), chosen.items()))

    rows = a_round(arguments.seconds)
    while all(row["ok"] for row in rows) and (total := sum(row["executions"] for row in rows)) < arguments.least:
        seconds = max(ROUND_SECONDS_MIN, arguments.seconds * (arguments.least - total) // max(1, total))
        rows = list(map(and_again, rows, a_round(seconds)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("-o", dest="output", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    chosen = {name: path for name, path in targets(arguments.build).items()
              if arguments.only in (None, name)}
    findings = arguments.build / "fuzz-findings"
    findings.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="batchweave-fuzz-") as scratch:
        base = arguments.keep or pathlib.Path(scratch)
        rows = run_all(chosen, arguments, findings, base)
    failed = sum(not row["ok"] for row in rows)
    total = sum(row["executions"] for row in rows)
    missing = [path.name for path in sorted(CORPUS.iterdir()) if path.name not in chosen]
    if missing and not arguments.only:
        failed += len(missing)
        print(f"no target built for {', '.join(missing)}", file=sys.stderr)
    if arguments.output == "json":
        print(json.dumps({"targets": rows, "executions": total, "least": arguments.least}))
    else:
        for row in rows:
            print(f"{row['target']:10} {row['executions']:12,} executions {row['per_second']:8,}/s "
                  f"{row['features']:6} features {row['peak_mib']:5} MiB"
                  f"{'' if row['ok'] else '  FAILED'}")
            if not row["ok"]:
                print(row["output"])
        print(f"{total:,} executions over {len(rows)} targets")
    print(f"{len(rows) - min(failed, len(rows))} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
