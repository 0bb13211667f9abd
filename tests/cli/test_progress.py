# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Progress: how fast, and how long still, on stderr; what is data stays as it is."""

import json
import os
import re
import subprocess
import unittest

import harness

RATE = r"[\d.]+ [kMG]?B/s"
LEFT = r", (\d+) %, (\d+) s left"
# A few hundred batches a second at most.
SLOWLY = ["--set", "policy=fixed:20", "--set", "staged_batches=8"]


class Progress(harness.CliTest):
    STEPS = 800

    def slow(self, call, *words):
        """Each such system call takes a millisecond more."""
        env = harness.environment(ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                               f"inject={call}:delay_enter=1000", harness.BINARY, *map(str, words)],
                              cwd=self.folder, env=env, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return harness.Result(done.returncode, done.stdout, done.stderr.decode())

    def told(self, result, pattern):
        lines = re.findall(f"(?m)^batchweave: {pattern}$", result.err)
        self.assertTrue(lines, result.err)
        return lines

    def assert_share(self, part, whole, percent):
        self.assertAlmostEqual(part / whole, int(percent) / 100, delta=0.02)

    def test_of_a_life(self):
        self.init(1, 1, "--part-size", 4096, "--block-size", 64)
        frames = self.write_frames("frames", [b"x" * 2000] * self.STEPS)
        result = self.run_cli("produce", self.url, "--id", "p", f"frames:{frames}", "--progress", *SLOWLY)
        for offset, percent, _ in self.told(
                result, rf"p: offset (\d+), \d+ batches committed, \d+ behind, {RATE}{LEFT}"):
            self.assert_share(int(offset), self.STEPS, percent)
        self.run_cli("seal", self.url)

        result = self.slow("openat2", "verify", self.url, "--deep", "--progress", "-o", "json")
        for step, percent, _ in self.told(result, rf"step (\d+) of {self.STEPS}, [\d.]+ steps/s, {RATE}{LEFT}"):
            self.assert_share(int(step), self.STEPS, percent)
        self.assertNotIn(b"progress", result.out)
        self.assertTrue(json.loads(result.out.splitlines()[-1])["clean"])

        half = self.STEPS // 2
        words = ["consume", self.url, "--world", 1, "--group", "t", "--set", "reclaim=false", "--progress",
                 "--pin-every", half, "--step-ms", 3]
        shown = rf"step (\d+), [\d.]+ steps/s, (\d+) more are committed{LEFT}"
        for step, ahead, percent, _ in self.told(self.run_cli(*words, "--steps", half), shown):
            self.assertEqual(int(step) + int(ahead), self.STEPS)
            self.assert_share(int(step), half, percent)
        for step, _, percent, _ in self.told(self.run_cli(*words), shown):  # to the end of a sealed namespace
            self.assert_share(int(step) - half, half, percent)

        result = self.slow("unlinkat", "gc", self.url, "--apply", "--progress")
        self.told(result, rf"step \d+ of {self.STEPS}, [\d.]+ steps/s, {RATE}{LEFT}")
        self.assertIn(f"deleted the data of {self.STEPS} steps", result.out.decode())

    def test_where_the_whole_is_not_known(self):
        self.init(1, 1)
        child = "python3 -c 'import sys,time\nfor _ in range(25): sys.stdout.buffer.write(bytes([1,0,0,0,65]));" \
                "sys.stdout.buffer.flush(); time.sleep(.06)'"
        result = self.run_cli("produce", self.url, "--id", "p", "--exec", child, "--progress")
        self.told(result, rf"p: offset \d+, \d+ batches committed, \d+ behind, {RATE}")
        result = self.run_cli("consume", self.url, "--world", 1, "--step-ms", 100, "--timeout", 1, "--progress",
                              expect=2)
        self.told(result, r"step \d+, [\d.]+ steps/s, \d+ more are committed")
        self.assertNotIn("left", result.err)

    def test_of_every_input(self):
        """How far the input was read, whatever it is made of."""
        (self.folder / "lines").write_bytes(b'{"a": "%s"}\n' % (b"x" * 300) * 600)
        (self.folder / "tokens.bin").write_bytes(bytes(2 * 64 * 800))
        (self.folder / "text").write_bytes(b"y" * 64 * 800)
        self.init(1, 1)
        for k, words in enumerate((["jsonl:lines", "--epochs", 2], ["tokens:tokens.bin", "--seq-len", 64],
                                   ["text:text", "--seq-len", 64])):
            result = self.run_cli("produce", self.url, "--id", f"p{k}", "--progress", *SLOWLY, *words)
            whole = self.json_line("info", self.url)["producers"][k]["offset"]
            for offset, percent, _ in self.told(result, rf"p{k}: offset (\d+), .*/s{LEFT}"):
                self.assert_share(int(offset), whole, percent)

    def test_only_where_it_is_wanted(self):
        self.init(1, 1)
        frames = self.write_frames("frames", [b"x" * 100] * 800)
        result = self.run_cli("produce", self.url, "--id", "p", f"frames:{frames}", *SLOWLY)
        self.assertEqual(result.err, "")


if __name__ == "__main__":
    unittest.main()
