# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""How tools/check.py runs a command under a clock, and counts the tests that it says it ran.

Every test program must print how many tests it ran: cmocka's summary, unittest's, or a line
`N passed, N failed`. A program that ends without one counts as one failure, whatever its exit code: a
crash must never look like silence.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
END_SECONDS = 10


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


class OverBudget(Exception):
    pass


def ended(process):
    """What it printed. Asked to end first: what has servers running (tools/stores) ends them then."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=END_SECONDS)[0]
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


class Run:
    """One section being run: its clock, its count, and the ways to run things under both."""

    def __init__(self, name, minutes):
        self.name = name
        self.deadline = time.monotonic() + 60 * minutes
        self.count = Count()

    def fail(self, message):
        self.count.failed += 1
        print(f"    FAILED: {message}", flush=True)

    def command(self, words, environment=None):
        """Runs a command in the root of the tree; returns (exit code, what it printed)."""
        process = subprocess.Popen(
            words, cwd=ROOT, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        try:
            output, _ = process.communicate(timeout=max(1.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(tail(ended(process)))
            raise OverBudget(" ".join(words)) from None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, output

    def step(self, words, environment=None):
        """A command that only has to succeed (a build, a linter): no count of its own."""
        code, output = self.command(words, environment)
        if code != 0:
            self.fail(f"{' '.join(words)}: exit {code}\n{tail(output)}")
        return code == 0

    def tests(self, words, show=0):
        """A command that counts its own tests; the last `show` lines of its output are printed."""
        if not self.present(words):
            return
        code, output = self.command(words)
        count, complaint = counted(output, code)
        self.count.add(count)
        tell_skipped(" ".join(words), count)
        if complaint:
            print(f"    FAILED: {' '.join(words)}: {complaint}\n{tail(output)}", flush=True)
        elif show:
            print(tail(output, show), flush=True)

    def present(self, words):
        """A program of ours that is missing is a failure, not a section with nothing to do."""
        for word in words:
            if re.match(r"(tests|tools)/", word) and not (ROOT / word).exists():
                self.fail(f"{word} does not exist")
                return False
        return True


def tail(output, lines=40):
    return "\n".join("        " + line for line in output.rstrip().splitlines()[-lines:])


def excerpt(output):
    """What to show of a failed test: a sanitizer's report from its start, else the end."""
    lines = output.rstrip().splitlines()
    for at, line in enumerate(lines):
        if re.search(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:", line):
            return tail("\n".join(lines[at:at + 30]))
    return tail(output)


def tell_skipped(name, count):
    if count.skipped:
        print(f"    {count.skipped} skipped by {name}: it says what this machine cannot do", flush=True)


def counted(output, code):
    """Returns the tests that a program says it ran, and what is wrong (None if nothing)."""
    passed = failed = skipped = refused = 0
    summaries = 0
    for line in output.splitlines():
        line = line.strip()
        match = (re.match(r"\[\s*(PASSED|FAILED|SKIPPED)\s*\] (\d+) test\(s\)", line))
        if match:
            summaries += 1
            number = int(match.group(2))
            passed += number if match.group(1) == "PASSED" else 0
            failed += number if match.group(1) == "FAILED" else 0
            skipped += number if match.group(1) == "SKIPPED" else 0
            continue
        # What the machine cannot do (mounts in a container): said by the program, counted apart.
        match = re.fullmatch(r"(\d+) skipped: this machine .+", line)
        if match:
            summaries += 1
            refused += int(match.group(1))
            continue
        match = re.fullmatch(r"(\d+) passed, (\d+) failed", line)
        if match:
            summaries += 1
            passed += int(match.group(1))
            failed += int(match.group(2))
            continue
        match = re.fullmatch(r"Ran (\d+) tests? in .*", line)
        if match:
            summaries += 1
            passed += int(match.group(1))
            continue
        match = re.fullmatch(r"(?:FAILED|OK) \((.*)\)", line)
        if match:
            numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", match.group(1))}
            bad = numbers.get("failures", 0) + numbers.get("errors", 0)
            failed += bad
            skipped += numbers.get("skipped", 0)
            passed -= min(passed, bad + numbers.get("skipped", 0))
    complaint = None
    if failed:
        complaint = f"{failed} failed"
    elif code != 0:
        complaint = f"exit {code}" + ("" if summaries else " without a summary")
    elif not summaries:
        complaint = "no summary of its tests"
    elif skipped:
        complaint = f"{skipped} skipped"
    elif passed + refused == 0:
        complaint = "ran no test"
    return Count(passed, failed or (1 if complaint else 0), refused), complaint


def self_test():
    """What each output of a test program must count as: (output, exit code) -> passed, failed."""
    cases = [
        ("[  PASSED  ] 3 test(s).", 0, 3, 0),
        ("[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] name", 1, 2, 1),
        ("[  PASSED  ] 3 test(s).\nSUMMARY: AddressSanitizer: leak", 1, 3, 1),
        ("[ RUN      ] name", 139, 0, 1),
        ("", 0, 0, 1),
        ("[  PASSED  ] 0 test(s).", 0, 0, 1),
        ("[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:", 0, 2, 1),
        ("4 skipped: this machine refuses mount namespaces: EPERM", 0, 0, 0),
        ("4 passed, 0 failed", 0, 4, 0),
        ("4 passed, 2 failed", 1, 4, 2),
        ("4 passed, 2 failed", 0, 4, 2),
        ("Ran 5 tests in 0.1s\n\nOK", 0, 5, 0),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 1, 3, 2),
        ("Ran 5 tests in 0.1s\n\nOK (skipped=1)", 0, 4, 1),
    ]
    wrong = 0
    for output, code, passed, failed in cases:
        count, _ = counted(output, code)
        if (count.passed, count.failed) != (passed, failed):
            wrong += 1
            print(f"self-test: {output!r}, exit {code}: counted {count}")
    print(f"{len(cases) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0
