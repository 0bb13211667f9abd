# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The sections of tools/check: one table at the end of this file, the ways to run one before it.

A section fails when anything in it fails, when it runs no test, when it lacks what it should run,
or when it takes longer than its budget.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import Callable, List, Sequence

from testrun import ROOT, Count, OverBudget, Run, counted, excerpt, self_test, tail, tell_skipped

BUILD = ROOT / "build"
JOBS = str(os.cpu_count() or 2)
C_FOLDERS = ["include", "src", "cli", "tests", "bench", "examples", "sim"]

# Suites that the complete build must have; one that runs no test fails.
UNIT_SUITES = "base codec payload input store protocol client api http store_net store_s3 store_azure store_gcs".split()
SUITES = UNIT_SUITES + "contract golden fuzz hostile sim cli teststore".split()
THREADED_SUITES = "store contract client api http store_net store_s3 store_azure store_gcs teststore".split()
COVERED_LAYERS = ["codec", "protocol"]
COVERAGE_PERCENT_MIN = 98
# What is lacking to 100 is printed, with its reason where one is known.
BRANCH_PERCENT_MIN = {"codec": 98, "protocol": 98}
FIRST_TIER_MINUTES = 40


# ---- kinds of sections -------------------------------------------------------------------------

def programs_of(folder, suites):
    """The test programs of these suites, as targets of the build folder."""
    words = ["meson", "introspect", "--tests", str(folder)]
    tests = json.loads(subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True).stdout)
    wanted = {f"batchweave:{suite}" for suite in suites}
    return sorted({os.path.relpath(test["cmd"][0], folder) for test in tests if wanted & set(test["suite"])})


def configure(run, name, compiler, options, targets=(), suites=()):
    """A build folder under build/, kept from run to run, made anew when its options changed. All of it is built, or
    these targets and the programs of these suites."""
    folder = BUILD / name
    wanted = json.dumps([compiler, options])
    note = folder / "check-options.json"
    environment = {"CC": compiler}
    if not (note.is_file() and note.read_text(encoding="utf-8") == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        if not run.step(["meson", "setup", *options, str(folder), "."], environment):
            return None
        note.write_text(wanted, encoding="utf-8")
    words = ["ninja", "-C", str(folder), "-j", JOBS, *targets, *programs_of(folder, suites)]
    return str(folder) if run.step(words) else None


def run_suites(run, folder, suites):
    """Runs suites of a build folder together, for their tests mostly wait: for threads, for keys that end, for servers
    that are slow. Counts the tests inside their programs, by suite."""
    log = pathlib.Path(folder) / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    names = [word for suite in suites for word in ("--suite", suite)]
    code, output = run.command(
        ["meson", "test", "-C", folder, "--no-rebuild", "--num-processes", str(3 * int(JOBS)), *names],
        {"ASAN_OPTIONS": "handle_segv=2"})  # else cmocka's handler hides the report
    counts = {suite: Count() for suite in suites}
    programs = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    for program in map(json.loads, programs):
        suite = re.match(r"[^:]*:(\w+) / ", program["name"]).group(1)
        printed = program.get("stdout", "") + "\n" + program.get("stderr", "")
        count, complaint = counted(printed, program["returncode"])
        tell_skipped(program["name"], count)
        if complaint is None and program["result"] != "OK":
            complaint = program["result"]
            count.failed += 1
        if complaint:
            print(f"    FAILED: {program['name']}: {complaint}\n{excerpt(printed)}", flush=True)
        counts[suite].add(count)
    for suite, count in counts.items():
        run.count.add(count)
        if count.passed + count.failed == 0:
            run.fail(f"suite {suite} ran no test\n{tail(output, 5)}")
    if code != 0 and not any(count.failed for count in counts.values()):
        run.fail(f"meson test exit {code}\n{tail(output)}")
    print("    " + ", ".join(f"{suite} {count.passed}" for suite, count in counts.items()), flush=True)


def suites_of_build(compiler, options, suites):
    """A section that builds a folder and runs suites in it."""
    def section(run):
        folder = configure(run, run.name, compiler, options)
        if folder:
            run_suites(run, folder, suites)
    return section


def programs(*commands, show=0, build=False):
    """A section of programs that count their own tests; `build`: they use the release build."""
    def section(run):
        if build and not run.step(["sh", "tools/build"]):
            return
        for words in commands:
            run.tests(list(words), show)
    return section


def one_each(run, files, command, show=40):
    """Runs `command file` for each file; one test each."""
    for file in files:
        code, output = run.command([*command, str(file.relative_to(ROOT))])
        if code == 0:
            run.count.passed += 1
        else:
            run.fail(f"{file.relative_to(ROOT)}\n{tail(output, show)}")


def c_files(*suffixes):
    return sorted(path for folder in C_FOLDERS for path in (ROOT / folder).rglob("*")
                  if path.suffix in suffixes)


def format_section(run):
    one_each(run, c_files(".c", ".h"), ["clang-format", "--dry-run", "-Werror"], show=3)


def product_files(folder):
    """The files of src and cli that a build folder compiles (mutant.c is for builds of its own)."""
    database = json.loads((pathlib.Path(folder) / "compile_commands.json").read_text(encoding="utf-8"))
    compiled = {(pathlib.Path(entry["directory"]) / entry["file"]).resolve() for entry in database}
    return [path for path in c_files(".c")
            if path.relative_to(ROOT).parts[0] in ("src", "cli") and path.resolve() in compiled]


def clang_tidy_section(run):
    folder = configure(run, "clang", "clang", CLANG)
    if folder:
        one_each(run, product_files(folder), ["clang-tidy", "--quiet", "-p", folder])


def changed_files():
    """What differs from the last commit that others have, or from the one before, with what is not
    committed; None without a history to compare with (a shallow clone, an archive)."""
    for base in ("origin/main", "HEAD~1"):
        words = ["git", "merge-base", "HEAD", base]
        common = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=False)
        if common.returncode != 0:
            continue
        listed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", common.stdout.strip()],
                                cwd=ROOT, text=True, capture_output=True, check=False)
        if listed.returncode == 0:
            return {(ROOT / name).resolve() for name in listed.stdout.splitlines()}
    return None


def analyser_works(run, folder, words):
    """A planted null dereference must be found: an analyser that is not there finds nothing either."""
    planted = pathlib.Path(folder) / "planted.c"
    planted.write_text("int planted(int n);\nint planted(int n)\n{\n    int *p = 0;\n"
                       "    return n > 1 ? *p : n;\n}\n", encoding="utf-8")
    code, output = run.command([*words, str(planted)])
    if code != 0 and "ull" in output:
        run.count.passed += 1
    else:
        run.fail(f"{words[0]} does not find a planted null dereference\n{tail(output)}")


STATIC_FILES_MAX = 25


def static_section(run):
    """clang-tidy and cppcheck of the changed files: as many as the budget has room for."""
    folder = configure(run, "clang", "clang", CLANG, ["src/base/libbw_base.a"])
    if not folder:
        return
    tidy = ["clang-tidy", "--quiet", "-p", folder]
    analyser_works(run, folder, ["clang-tidy", "--quiet", "--warnings-as-errors=*"])
    analyser_works(run, folder, ["cppcheck", "-q", "--error-exitcode=2"])
    changed = changed_files()
    files = [path for path in product_files(folder) if changed is not None and path.resolve() in changed]
    why = "no history to compare with: " if changed is None else ""
    print(f"    {why}{len(files)} files changed", flush=True)
    if len(files) > STATIC_FILES_MAX:
        print(f"    only the first {STATIC_FILES_MAX}; --full clang-tidy takes all", flush=True)
    one_each(run, files[:STATIC_FILES_MAX], tidy)
    if files:
        words = ["cppcheck", "--enable=warning,portability,performance", "--error-exitcode=2", "--inline-suppr",
                 "--suppress=internalAstError", "-q", "-D__linux__=1", "-Iinclude", "-Isrc"]
        one_each(run, files[:STATIC_FILES_MAX], words)


ANALYZER_ANSWERS = "tools/analyzer.txt"


def analyzer_section(run):
    """gcc's analyser over src and cli: each finding has its answer in tools/analyzer.txt, and each answer
    its finding."""
    answers = {}
    for line in (ROOT / ANALYZER_ANSWERS).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            file, warning, code, reason = (part.strip() for part in line.split("|", 3))
            answers[(file, warning, code)] = reason
    folder = configure(run, "analyzer", "gcc", ANALYZER, ["-t", "clean"])
    if not folder:
        return
    analyser_works(run, folder, ["gcc", "-fanalyzer", "-O1", "-Werror", "-c", "-o", "/dev/null"])
    code, output = run.command(["ninja", "-C", folder, "-j", JOBS, "-k", "0", "cli/batchweave"])
    if code != 0:
        run.fail(f"the build with -fanalyzer: exit {code}\n{tail(output)}")
    used = set()
    for match in re.finditer(r"^(?:\.\./)*((?:src|cli|include)/\S+):(\d+):\d+: warning: .*\[-W(analyzer-[\w-]+)\]$",
                             output, re.MULTILINE):
        file, number, warning = match.groups()
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
        key = (file, warning, text.replace("|", "/"))
        used.add(key)
        if not answers.get(key):
            run.fail(f"{match.group(0)}\n        no answer in {ANALYZER_ANSWERS}: {' | '.join(key)}")
    run.count.passed += len(used & set(answers))
    for key in sorted(set(answers) - used):
        run.fail(f"{ANALYZER_ANSWERS} answers what is not found: {' | '.join(key)}")
    print(f"    {len(used)} findings, {len(answers)} answers", flush=True)


def cppcheck_section(run):
    folder = configure(run, "gcc", "gcc", GCC)
    if folder and run.step(["cppcheck", f"--project={folder}/compile_commands.json",
                            "--enable=warning,portability,performance", "--error-exitcode=2",
                            "--inline-suppr", "--suppress=*:*/tests/*",
                            "--suppress=internalAstError", "-q", "-j", JOBS]):
        run.count.passed += 1


def demo_section(run):
    """The demo counts nothing; it has one verdict."""
    verdict = BUILD / "demo.json"
    verdict.unlink(missing_ok=True)
    code, output = run.command(["sh", "tools/demo", "--json", str(verdict)])
    print(tail(output, 3), flush=True)
    said = json.loads(verdict.read_text(encoding="utf-8")).get("verdict") if verdict.is_file() else None
    if code == 0 and said == "ok":
        run.count.passed += 1
    else:
        run.fail(f"exit {code}, verdict {said}\n{tail(output)}")


UNCOVERED_REASONS = "tools/uncovered.txt"


def uncovered_reasons():
    """Why a branch is not taken by any test, by (file, source line)."""
    reasons = {}
    for line in (ROOT / UNCOVERED_REASONS).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            file, code, reason = (part.strip() for part in line.split(" :: ", 2))
            reasons[(file, code)] = reason
    return reasons


def count_coverage(report):
    """Lines and branches of a gcovr report: [lines, hit, branches, hit], and what is not taken as
    (file, number, source line, branches missing). A line that states an invariant (MUST) has no branch:
    its other way is one that must not be."""
    sums, missing = [0, 0, 0, 0], []
    for file in report["files"]:
        source = (ROOT / file["file"]).read_text(encoding="utf-8").splitlines()
        for line in file["lines"]:
            if line.get("gcovr/noncode"):
                continue
            text = source[line["line_number"] - 1].strip()
            branches = [] if re.search(r"\bMUST(_OR)?\(", text) else line["branches"]
            taken = sum(branch["count"] > 0 for branch in branches)
            for at, number in enumerate((1, line["count"] > 0, len(branches), taken)):
                sums[at] += number
            if taken < len(branches):
                missing.append((file["file"], line["line_number"], text, len(branches) - taken))
    return sums, missing


def coverage_section(run):
    folder = configure(run, "coverage", "gcc", COVERAGE, ["sim/bw-sim"], COVERED_LAYERS + ["golden"])
    if not folder:
        return
    for old in pathlib.Path(folder).rglob("*.gcda"):
        old.unlink()
    run_suites(run, folder, COVERED_LAYERS + ["golden"])
    # The simulator runs the same objects, and judges what they do.
    run.tests([f"{folder}/sim/bw-sim", "--from", "1000", "--seeds", "60", "--jobs", JOBS])
    reasons = uncovered_reasons()
    unused = set(reasons)
    for layer in COVERED_LAYERS:
        code, output = run.command(["gcovr", "--root", ".", "--filter", f"src/{layer}/", "--json", "-",
                                    f"{folder}/src/{layer}"])
        if code != 0:
            run.fail(f"gcovr: exit {code}\n{tail(output)}")
            continue
        (lines, hit, branches, taken), missing = count_coverage(json.loads(output[output.index("{"):]))
        percent, of_branches = 100 * hit / max(lines, 1), 100 * taken / max(branches, 1)
        print(f"    {layer}: {percent:.1f} % of {lines} lines, {of_branches:.2f} % of {branches} branches; "
              f"{branches - taken} not taken:", flush=True)
        for file, number, text, count in missing:
            unused.discard((file, text))
            why = reasons.get((file, text), "no reason is known")
            print(f"        {file}:{number}: {count} of `{text}`: {why}", flush=True)
        if lines == 0 or percent < COVERAGE_PERCENT_MIN:
            run.fail(f"{layer}: line coverage below {COVERAGE_PERCENT_MIN} %")
        elif branches == 0 or of_branches < BRANCH_PERCENT_MIN[layer]:
            run.fail(f"{layer}: branch coverage below {BRANCH_PERCENT_MIN[layer]} %")
        else:
            run.count.passed += 1
    for file, text in sorted(unused):
        run.fail(f"{UNCOVERED_REASONS}: {file}: `{text}` is taken, or is not there")


def fuzz_section(seconds, least):
    """Each target for `seconds`, then the coverage of each decoder by its corpus."""
    def section(run):
        folder = configure(run, "fuzz", "clang", FUZZ, ["fuzzers"])
        if folder:
            run.tests(["python3", "tests/fuzz/run.py", folder, "--seconds", str(seconds), "--least",
                       str(least), "--jobs", JOBS], show=30)
        folder = configure(run, "coverage", "gcc", COVERAGE, suites=["fuzz"])
        if folder:
            run.tests(["python3", "tests/fuzz/coverage.py", folder], show=30)
    return section


def head_commit():
    """The commit that is checked; "" without a history."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, capture_output=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def fresh_seed(by_commit):
    """The first of seeds that nobody has run: by the commit, so that who runs it again runs the same ones, or by the
    clock."""
    commit = head_commit() if by_commit else ""
    return int(commit[:10], 16) * 1000 if commit else int(time.time()) * 1000


def simulator_section(seeds, minutes):
    """Seeds never run before, and those that once failed; then one trace under every build."""
    def section(run):
        folder = configure(run, "simulator", "gcc", SIMULATOR, ["sim/bw-sim", "cli/batchweave"])
        if not folder:
            return
        program = f"{folder}/sim/bw-sim"
        run.tests([program, "--file", "tests/sim/regression.txt"])
        fresh = fresh_seed(by_commit=seeds <= 5000)
        run.tests(["env", f"BATCHWEAVE={folder}/cli/batchweave", program, "--month", "--seed", str(fresh),
                   "--days", "30" if seeds > 5000 else "2", "--verify", "sim/verify"], show=40)
        print(f"    sim/run --from {fresh} --seeds {seeds} --marks", flush=True)
        words = [program, "--from", str(fresh), "--seeds", str(seeds), "--seconds", str(int(minutes * 60)), "--marks"]
        if seeds > 5000:
            words += ["--log", "docs/seeds.tsv", "--commit", head_commit()[:7]]
        run.tests([*words, "--jobs", JOBS], show=3)
        traces = {}
        for name, compiler, options in [("simulator", "gcc", SIMULATOR), ("clang", "clang", CLANG),
                                        ("coverage", "gcc", COVERAGE), ("asan", "gcc", ASAN)]:
            folder = configure(run, name, compiler, options, ["sim/bw-sim"])
            if folder:
                code, output = run.command([f"{folder}/sim/bw-sim", "--trace", "--seeds", "40",
                                            "--versions", "50", "--jobs", JOBS])
                # The last line: gcov complains before it where counters of an older build lie there.
                traces[name] = output.split()[-1] if code == 0 and output else f"exit {code}"
        print(f"    traces: {traces}", flush=True)
        if len(set(traces.values())) == 1 and len(traces) == 4:
            run.count.passed += 1
        else:
            run.fail("the builds do not agree on one trace")
    return section


def trials_section(trials, *plants):
    """So many faults of a store, each on a kind of object; then planted faults, which must be noticed."""
    def section(run):
        folder = configure(run, "gcc", "gcc", GCC, TRIAL_TARGETS)
        if folder:
            words = ["python3", "-B", "tests/trials/run.py"]
            # As with the simulator: the same seeds again and again in the first tier, fresh ones in the second.
            seed = int(time.time()) * 1000 if plants else 1000000
            run.tests([*words, "--build", folder, "--trials", str(trials), "--seed", str(seed)], show=24)
            run.tests([*words, "--build", folder, "--self-test", *plants], show=10)
    return section


def aarch64_section(run):
    """Cross-compiled, under user-mode emulation: CRC by that hardware, alignment, the golden files."""
    files = [path for layer in ("base", "codec") for path in (ROOT / "tests/unit" / layer).glob("test_*.c")]
    names = [str(path.relative_to(ROOT).with_suffix("")) for path in files] + ["tests/golden/test_golden"]
    folder = run.step(["sh", "tools/setup", "--full"]) and configure(run, run.name, "gcc", AARCH64, names)
    if folder:
        run_suites(run, folder, ["base", "codec", "golden"])


# ---- the table ---------------------------------------------------------------------------------

GCC = ["-Dwerror=true"]
CLANG = ["-Dwerror=true", "-Db_lundef=false"]
ASAN = ["-Db_sanitize=address,undefined", "-Doptimization=1", "-Dbench=false"]
TSAN = [*CLANG, "-Db_sanitize=thread", "-Doptimization=1"]
FUZZ = [*CLANG, "-Dfuzz=true", "-Db_sanitize=address,undefined", "-Dbench=false"]
SIMULATOR = ["--buildtype=release", "-Db_ndebug=false", "-Dbench=false"]
ANALYZER = ["--buildtype=plain", "-Dtests=false", "-Dbench=false",
            "-Dc_args=-fanalyzer -O1 -g -DBW_ANALYZE"]
AARCH64 = ["--cross-file", "tools/aarch64.ini", "-Dwerror=true", "-Dbench=false"]
COVERAGE = ["-Db_coverage=true", "-Doptimization=0", "-Dbench=false"]

CRASH = ["python3", "tests/crash/run.py"]
TRIAL_TARGETS = ["src/libbatchweave.so.0.1.0", "bench/teststore/batchweave-teststore"]


@dataclasses.dataclass
class Section:
    name: str
    what: str
    minutes: float       # first tier; 0: second tier only
    minutes_full: float
    run: Callable
    run_full: Callable = None
    ahead: Sequence[str] = ()  # fetches what it takes, while other sections run


SECTIONS: List[Section] = [
    Section("tidy", "layers, licence lines, banned words and functions, sizes", 2, 2,
            programs(["python3", "tools/check.py", "--self-test"],
                     ["tools/layers", "--self-test"], ["tools/layers"],
                     ["tools/tidy", "--self-test"], ["tools/tidy"])),
    Section("format", "clang-format of every C file", 4, 4, format_section),
    Section("static", "clang-tidy and cppcheck of what was changed", 6, 6, static_section),
    Section("gcc", "gcc, warnings are errors, every suite", 10, 15,
            suites_of_build("gcc", GCC, SUITES + ["abi", "bench"])),
    # The first tier has clang's warnings as errors from the thread sanitizer's build.
    Section("clang", "clang, without sanitizers, unit suites", 0, 10,
            suites_of_build("clang", CLANG, UNIT_SUITES)),
    # Those of the simulator and of the command take as long as all others together: the second tier's.
    Section("asan", "address and undefined-behaviour sanitizers: every suite but sim and cli", 14, 20,
            suites_of_build("gcc", ASAN, [suite for suite in SUITES if suite not in ("sim", "cli")]),
            suites_of_build("gcc", ASAN, SUITES)),
    Section("tsan", "clang, warnings are errors, thread sanitizer: what has threads", 9, 20,
            suites_of_build("clang", TSAN, THREADED_SUITES)),
    Section("coverage", "codec and protocol: lines and branches that tests take", 6, 8,
            coverage_section),
    Section("fuzz", "libFuzzer on every decoder, 3 s each; coverage of each by its corpus", 8, 60,
            fuzz_section(3, 10**6), fuzz_section(100, 10**8)),
    Section("independent", "in plain Python: decoder, golden files, judge; harness of the experiments", 4, 4,
            programs(["python3", "tests/independent/test_golden.py"],
                     ["python3", "-B", "-m", "unittest", "discover", "-s", "tests/compare"])),
    Section("experiments", "what of tools/bench is exact: counters, virtual time", 4, 4,
            programs(["sh", "tools/bench", "--gate"], show=8, build=True)),
    Section("crash", "kill -9 and SIGSTOP of real processes at named points", 8, 25,
            programs([*CRASH, "--kills", "60", "--stops", "20"], show=30, build=True),
            programs([*CRASH, "--kills", "500", "--stops", "200"], show=30, build=True)),
    Section("inject", "failing allocations and system calls; power loss of the file store", 10, 60,
            programs(["python3", "tests/inject/run.py"], show=80),
            programs(["python3", "tests/inject/run.py", "--full"], show=80)),
    Section("simulator", "fresh seeds of the simulator, old ones, a month, one trace on every build", 8, 75,
            simulator_section(3000, 4), simulator_section(20000, 50)),
    Section("mutants", "planted mutants: each must be noticed", 6, 30,
            programs(["sim/mutants", "--sample", "24"], show=26),
            programs(["sim/mutants"], show=80)),
    Section("trials", "each fault of a store on each kind of object, by the server's own journal", 4, 40,
            trials_section(10**4), trials_section(10**5, "--mutants")),
    Section("model", "the Spin model: clean with all rules, violated without any", 8, 30,
            programs(["python3", "-B", "tests/model/test_run.py"], ["python3", "-B", "model/run", "--sample"]),
            programs(["python3", "-B", "tests/model/test_run.py"], ["python3", "-B", "model/run"])),
    Section("scope", "every reachable state of small namespaces, through the real machines", 8, 60,
            programs(["python3", "-B", "tests/scope/test_scope.py"], ["python3", "-B", "sim/scope/check"], show=60),
            programs(["python3", "-B", "tests/scope/test_scope.py"], ["python3", "-B", "sim/scope/check", "--full"],
                     show=80)),
    Section("demo", "sh tools/demo, to its verdict", 4, 4, demo_section),
    Section("servers", "an S3 server, Azurite and one more: contract, a small race, the main job", 6, 10,
            programs(["python3", "tools/stores", "check", "--quick"], show=20)),
    Section("stores", "real object stores: also certificates, kills, roles, stores that break their promise", 0, 30,
            programs(["python3", "tools/stores", "check"], show=60)),
    Section("python", "the Python package: mypy --strict, tests beside torch, a wheel for other machines", 12, 60,
            programs(["python3", "tools/python", "types"], ["python3", "tools/python", "test"],
                     ["python3", "tools/wheel", "test"], show=8),
            programs(["python3", "tools/python", "types"], ["python3", "tools/python", "test", "--full"],
                     ["python3", "tools/python", "sanitized"], ["python3", "tools/wheel", "test"], show=8),
            ahead=["python3", "tools/python"]),
    Section("training", "real models in real jobs: killed, set back, resized; video; reinforcement learning", 0, 15,
            programs(*(["python3", "tools/python", "run", f"examples/{name}/run.py"]
                       for name in ("gpt", "video", "rl")), show=20)),
    Section("clang-tidy", "clang-tidy of src and cli", 0, 20, clang_tidy_section),
    Section("cppcheck", "cppcheck of everything", 0, 10, cppcheck_section),
    Section("aarch64", "base, codec and golden files on aarch64, under emulation", 0, 15, aarch64_section),
    Section("analyzer", "gcc's analyser over src and cli, each finding answered", 0, 25, analyzer_section),
]


def processor_seconds():
    """What all that this has run and seen end has used."""
    times = os.times()
    return times.children_user + times.children_system


def run_section(section, full):
    minutes = section.minutes_full if full else section.minutes
    print(f"== {section.name}: {section.what}", flush=True)
    run = Run(section.name, minutes)
    started, used = time.monotonic(), processor_seconds()
    try:
        (full and section.run_full or section.run)(run)
    except OverBudget as error:
        run.fail(f"killed at its budget of {minutes:g} min: {error}")
    except Exception as error:  # a defect of this program must not end the gate without a verdict
        run.fail(f"{type(error).__name__}: {error}")
    spent = (time.monotonic() - started) / 60
    if run.count.passed + run.count.failed == 0:
        run.fail("ran no test")
    if spent > minutes:
        run.fail(f"took {spent:.1f} min of a budget of {minutes:g}")
    busy = (processor_seconds() - used) / (60 * spent * int(JOBS))
    print(f"   {section.name}: {spent:.1f} min of {minutes:g}, {100 * busy:.0f} % busy, {run.count.passed} passed, "
          f"{run.count.failed} failed", flush=True)
    return run.count, spent


@contextlib.contextmanager
def ahead_of(sections):
    """Fetching for these sections meanwhile. What fails is done again by its section, which tells why."""
    fetching = [subprocess.Popen(section.ahead, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
                for section in sections if section.ahead and len(sections) > 1]
    try:
        yield
    finally:
        for process in fetching:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


PROOF_BEGIN = "<!-- the last complete tools/check --full -->"
PROOF_END = "<!-- its end -->"


def write_proof(rows):
    """The summary of a complete second tier, between two marks of docs/proof.md."""
    lines = [f"Commit {head_commit()[:12] or 'unknown'}, {datetime.date.today().isoformat()}. "
             "Written by the command itself.", "",
             "| section | what | minutes | passed | failed |", "|---|---|---|---|---|"]
    for section, count, spent in rows:
        lines.append(f"| {section.name} | {section.what} | {spent:.1f} | {count.passed} "
                     f"| {count.failed} |")
    page = ROOT / "docs" / "proof.md"
    text = page.read_text(encoding="utf-8")
    begin, end = text.index(PROOF_BEGIN) + len(PROOF_BEGIN), text.index(PROOF_END)
    page.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[end:], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="tools/check", description="The gate of the project.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--full", nargs="?", const="", metavar="SECTION", help="the second tier")
    group.add_argument("--only", metavar="SECTION", help="one section of the first tier")
    group.add_argument("--list", action="store_true", help="the sections and their minutes")
    group.add_argument("--self-test", action="store_true", help="prove the counting of tests")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.list:
        for section in SECTIONS:
            print(f"{section.name:12} {section.minutes:4g} {section.minutes_full:4g}  {section.what}")
        return 0
    full = arguments.full is not None
    chosen = arguments.full or arguments.only
    if chosen:
        sections = [section for section in SECTIONS if section.name == chosen]
        if not sections:
            parser.error(f"no section {chosen}; --list shows them")
    else:
        sections = [section for section in SECTIONS if full or section.minutes > 0]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends what it started, too
    total = Count()
    rows = []
    began = time.monotonic()
    with ahead_of(sections):
        for section in sections:
            count, spent = run_section(section, full or section.minutes == 0)
            total.add(count)
            rows.append((section, count, spent))
    print("\nsection        min  passed failed")
    for section, count, spent in rows:
        print(f"{section.name:12} {spent:5.1f} {count.passed:7} {count.failed:6}")
    spent = (time.monotonic() - began) / 60
    if not full and spent > FIRST_TIER_MINUTES:
        total.failed += 1
        print(f"FAILED: {spent:.1f} min in all, of a budget of {FIRST_TIER_MINUTES}")
    if full and not chosen:
        write_proof(rows)
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
