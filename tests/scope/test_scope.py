#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the exhaustive search itself: that it fails when it must.

    python3 -B tests/scope/test_scope.py
"""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADER = importlib.machinery.SourceFileLoader("scope_check", str(ROOT / "sim" / "scope" / "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("scope_check", LOADER))
LOADER.exec_module(check)


def run(program, *words):
    done = subprocess.run([str(program), "--quiet", *words], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def sound_code_passes(sound, _):
    code, text = run(sound, "--producers", "1")
    return code == 0 and text.endswith("1 passed, 0 failed\n")


def same_search_twice(sound, _):
    counts = [check.search(sound, ["--sweepers", "0"], quiet=True) for _ in range(2)]
    keys = ["states", "transitions", "depth", "ends"]
    return all(counts[0][key] == counts[1][key] > 0 for key in keys)


def unfinished_search_fails(sound, _):
    code, text = run(sound, "--states", "100")
    return code == 1 and "not all states were seen" in text and text.endswith("0 passed, 1 failed\n")


def no_state_is_lost_in_a_full_table(sound, _):
    words = ["--sweepers", "0"]
    roomy = check.search(sound, words, quiet=True)
    tight = check.search(sound, [*words, "--states", str(roomy["states"])], quiet=True)
    short = check.search(sound, [*words, "--states", str(roomy["states"] - 1)], quiet=True)
    keys = ["states", "transitions", "depth", "ends", "complete"]
    return roomy["complete"] and all(roomy[key] == tight[key] for key in keys) and not short["complete"]


def too_little_memory_fails(sound, _):
    name = "2x2x1x1"
    kept, check.GIGABYTES = check.GIGABYTES, {name: 10**9}
    found = check.run_scope(name, sound)
    check.GIGABYTES = kept
    return not found["passed"] and "not begun" in found["violation"]


def mutant_is_told_by_its_path(_, mutated):
    code, text = run(mutated, "--mutant", "unknown_is_failure")
    lines = text.splitlines()
    return (code == 1 and lines[0].startswith("  1  a: create version 2") and "I7" in lines[1]
            and lines[-1] == "0 passed, 1 failed")


def mutant_off_passes(_, mutated):
    return run(mutated, "--producers", "1")[0] == 0


def unknown_words_are_refused(sound, _):
    wrong = [["--mutant", "no_such_mutant"], ["--classes", "no-such-class"], ["--commits", "9"], ["--what"]]
    return all(subprocess.run([str(sound), *words], stderr=subprocess.DEVNULL, check=False).returncode == 2
               for words in wrong)


def every_class_of_faults_matters(sound, _):
    """Each reaches states that the search without faults does not."""
    none = check.search(sound, ["--faults", "0"], quiet=True)["states"]
    names = ["reply-lost", "delayed", "twice", "throttled", "damaged", "list-empty", "killed", "deadline"]
    return all(check.search(sound, ["--classes", name], quiet=True)["states"] > none for name in names)


TESTS = [sound_code_passes, same_search_twice, unfinished_search_fails,
         no_state_is_lost_in_a_full_table, too_little_memory_fails, mutant_is_told_by_its_path, mutant_off_passes,
         unknown_words_are_refused, every_class_of_faults_matters]


def main():
    sound = check.build(check.BUILD)
    mutated = check.build(check.MUTANTS_BUILD, "-Dmutants=true")
    failed = 0
    for test in TESTS:
        if not test(sound, mutated):
            failed += 1
            print(f"FAILED: {test.__name__}")
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
