# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what the tests on real servers found, and runs our programs for them."""

import contextlib
import re
import subprocess
import time


def counted(output):
    """Tests that cmocka, or a line `N passed, N failed`, says were run."""
    passed = re.findall(r"^\[  PASSED  \] (\d+) test", output, re.M)
    failed = re.findall(r"^\[  FAILED  \] (\d+) test", output, re.M)
    lines = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
    return (sum(map(int, passed)) + sum(int(row[0]) for row in lines),
            sum(map(int, failed)) + sum(int(row[1]) for row in lines))


class Tally:
    def __init__(self, build):
        self.build = build
        self.passed = self.failed = 0

    def binary(self):
        return self.build / "cli" / "batchweave"

    @contextlib.contextmanager
    def part(self, what):
        """One failure when it ends early, whatever the reason; says how long it took."""
        began = time.monotonic()
        try:
            yield
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            self.fail(f"{what}: {type(error).__name__}: {error}")
        print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)

    def fail(self, message):
        self.failed += 1
        print(f"FAILED: {message}", flush=True)

    def expect(self, good, message):
        if good:
            self.passed += 1
        else:
            self.fail(message)

    def program(self, what, words, environment):
        """A program that counts its own tests, in any of the ways that tools/check knows."""
        done = subprocess.run([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
        passed, failed = counted(done.stdout)
        self.passed += passed
        self.failed += failed
        if failed or done.returncode != 0 or passed == 0:
            self.failed += failed == 0
            print(f"FAILED: {what}: exit {done.returncode}\n{done.stdout[-4000:]}", flush=True)

    def ask(self, environment, *words):
        """(exit code, standard output, standard error) of batchweave."""
        done = subprocess.run([self.binary(), *map(str, words)], env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace", check=False)
        return done.returncode, done.stdout, done.stderr

    def batchweave(self, environment, *words):
        """Its output; it must end well."""
        code, out, err = self.ask(environment, *words)
        if code != 0:
            raise RuntimeError(f"batchweave {' '.join(map(str, words))}: exit {code}\n{err[-2000:]}")
        return out

    def refused(self, environment, needles, *words):
        """It must end in an error that says each of `needles`."""
        code, out, err = self.ask(environment, *words)
        missing = [needle for needle in needles if needle not in err]
        self.expect(code != 0 and not missing,
                    f"batchweave {' '.join(map(str, words))}: exit {code}, without {missing}:\n{(out + err)[-2000:]}")
        return err
