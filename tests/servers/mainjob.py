# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The whole life of a small namespace, the same on every store: the digests of all items must be the same, too."""

import tempfile

import runningserver

RECORDS = 600
LINES_MIN = 100


def run_job(tally, url, environment, records):
    """Init, produce, consume, verify, gc on one place: the digests of all items."""
    run = lambda *words: tally.batchweave(environment, *words)
    run("init", url, "--dp", "2", "--producers", "2", "--set", "block_size=4", "--set", "tail_cap=256B")
    for shard in range(2):
        run("produce", url, "--id", f"p{shard}", "--shard", f"{shard}/2", "--batch", "4", f"jsonl:{records}",
            "--set", "policy=fixed:20")
    digests = run("consume", url, "--world", "2", "--digest", "--group", "train", "--launch", "one",
                  "--pin-every", "10")
    run("verify", url, "--deep")
    run("gc", url, "--apply")
    run("verify", url, "--deep")
    run("consume", url, "--world", "2", "--group", "train", "--launch", "two")
    return digests


class MainJob:
    """Its records, and the digests that a directory gives."""

    def __init__(self, tally):
        self.tally = tally
        self.folder = tempfile.TemporaryDirectory(prefix="batchweave-job-")
        self.records = f"{self.folder.name}/records.jsonl"
        with open(self.records, "w", encoding="utf-8") as out:
            out.writelines(f'{{"n": {n}, "text": "{"abc " * (n % 97)}"}}\n' for n in range(RECORDS))
        environment = runningserver.client_environment(self.folder.name)
        self.expected = run_job(tally, f"file://{self.folder.name}/run", environment, self.records)
        tally.expect(self.expected.count("\n") > LINES_MIN, "the job in a directory told too few digests")

    def close(self):
        self.folder.cleanup()

    def check(self, server, path, trusted=True):
        """The same on a running server."""
        found = run_job(self.tally, server.url(path, trusted), server.environment, self.records)
        self.tally.expect(found == self.expected,
                          f"{server.server.name}: the digests differ from those of a directory")
