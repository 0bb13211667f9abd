# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Stores that break the one promise must be refused: the condition ignored, or checked first and put later.

The first is refused by whatever opens for writing; the second looks right to any single process, and only a race of
several tells it. Both are the test store of bench/teststore, told to misbehave, in each of its dialects.
"""

import contextlib
import json
import subprocess
import tempfile

import certificates
import runningserver
import signedrequest

RACES = 3
RIVALS, NAMES, BYTES = 16, 10, 1000
WINDOW_MS = 60


@contextlib.contextmanager
def test_store(build):
    """The endpoint of one with a bucket."""
    words = [build / "bench" / "teststore" / "batchweave-teststore", "--with-parent", "--container", "bkt"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.kill()


def tell(endpoint, **settings):
    status, said = signedrequest.send("POST", f"{endpoint}/_control", json.dumps(settings).encode())
    if status != 200:
        raise RuntimeError(f"the test store answered {status}: {said}")


def race(tally, url, environment):
    """(names that went well, output) of a race of processes."""
    words = [tally.build / "tests" / "contract" / "store_race", url, RIVALS, NAMES, BYTES]
    done = subprocess.run([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    passed = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(" failed")]
    return int(passed[0]) if passed else -1, done.stdout


def check_unsafe(tally):
    with tempfile.TemporaryDirectory(prefix="batchweave-unsafe-") as home, test_store(tally.build) as endpoint:
        environment = runningserver.client_environment(home)
        for dialect, place in certificates.PLACES.items():
            url = f"{place}?endpoint={endpoint}"
            honest = lambda: tell(endpoint, reset="all", rules=[])
            honest()
            good, said = race(tally, f"{place}-honest?endpoint={endpoint}", environment)
            tally.expect(good == NAMES, f"{dialect}: {good} of {NAMES} names of an honest store:\n{said[-1000:]}")
            tally.batchweave(environment, "init", url, "--dp", "1")
            tell(endpoint, rules=[{"verb": "create", "condition": "ignored"}])
            unsafe = ["overwrites an object", "[STORE_UNSAFE]"]
            tally.refused(environment, unsafe, "init", f"{place}-new?endpoint={endpoint}", "--dp", "1")
            tally.refused(environment, unsafe, "produce", url, "--id", "p", "--exec", "true")
            tally.refused(environment, unsafe, "gc", url, "--apply")
            for number in range(RACES):
                honest()
                tell(endpoint, rules=[{"verb": "create", "condition": "racy", "window_ms": WINDOW_MS}])
                good, said = race(tally, url, environment)
                tally.expect(good == 0 and "heard CREATED, the object is" in said,
                             f"{dialect}: check-then-put, race {number}: {good} of {NAMES} names went well")
