#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Several jobs on one namespace: one after the other with another dp, and two at once."""

import os
import sys
import time
import unittest

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "independent"))
import check_namespace  # noqa: E402


class Jobs(harness.CliTest):
    DP, ITEMS, STEPS = 4, 2, 24

    def setUp(self):
        super().setUp()
        count = self.DP * self.ITEMS * self.STEPS
        self.frames = [f"item {k} ".encode() * (1 + k % 9) for k in range(count)]

    def begin(self, *more):
        self.init(self.DP, self.ITEMS, "--block-size", 4, "--tail-cap", 256, "--part-size", 4096, "--producers", 1,
                  *more)

    def global_batches(self, first=0):
        """{step/slice.item: bytes} from a step on, as the producer filled them: item-major."""
        width, wanted = self.DP * self.ITEMS, {}
        for k in range(first * width, len(self.frames)):
            step, slot = divmod(k, width)
            wanted[f"{step}/{slot % self.DP}.0.{slot // self.DP}"] = self.frames[k]
        return wanted

    def words(self, group, dp, *more):
        return ["consume", self.url, "--group", group, "--world", dp, "--set", f"dp={dp}", "--out",
                self.folder / group, *more]

    def train(self, group, dp, *more):
        return self.json_line(*self.words(group, dp, *more))

    def got(self, group):
        root = self.folder / group
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def groups(self):
        return {line["name"]: line for line in self.json_lines("group", "ls", self.url)}

    def pins(self, group):
        return [pin["step"] for pin in self.groups()[group]["pins"]]

    def look(self):
        """Clean by both verifiers; nothing that a group keeps is gone."""
        self.run_cli("verify", self.url, "--deep")
        result = check_namespace.check(str(self.space))
        self.assertEqual(result.findings, [])
        return result


class OneAfterTheOther(Jobs):
    def first_job(self):
        """In dp 4, to the end, the newest checkpoint kept and one of before its first step, which its user pinned."""
        cursor = self.folder / "origin"
        self.refused("STARVED", *self.words("first", 4, "--cursor", cursor, "--timeout", 1))
        self.run_cli("pin", self.url, "first", "origin", "--cursor", cursor)
        self.produce_frames(self.frames)
        line = self.train("first", 4, "--pin-every", 5)
        self.assertEqual((line["ended"], line["next_step"]), ("end", self.STEPS))
        self.assertEqual(self.got("first"), self.global_batches())
        self.assertEqual(self.pins("first"), [0, 20])

    def second_job(self, dp):
        """From step 0, later. It registers where the pin is, and holds it from then on: the pin may go."""
        self.begin()
        self.first_job()
        self.run_cli("gc", self.url, "--apply")
        self.train("second", dp, "--from", 0, "--steps", 3)
        self.run_cli("release", self.url, "first", "origin")
        gc = self.json_line("gc", self.url, "--apply")
        self.assertEqual((gc["swept_to"], gc["kept_by"]["group"], gc["kept_by"]["step"]), (0, "second", 0))
        # Three steps without a checkpoint are read again.
        line = self.train("second", dp, "--pin-every", 7, "--keep", 2)
        self.assertEqual((line["ended"], line["steps"]), ("end", self.STEPS))
        self.assertEqual(self.got("second"), self.global_batches())
        self.assertEqual((self.pins("first"), self.pins("second")), ([20], [14, 21]))
        self.assertEqual(self.json_line("gc", self.url, "--apply")["swept_to"], 14)
        self.look()

    def test_half_the_dp_from_step_0_later(self):
        self.second_job(2)

    def test_twice_the_dp_from_step_0_later(self):
        self.second_job(8)

    def test_step_0_that_nobody_kept(self):
        self.begin()
        self.first_job()
        self.run_cli("release", self.url, "first", "origin")
        self.assertEqual(self.json_line("gc", self.url, "--apply")["swept_to"], 20)
        result = self.refused("TRIMMED", *self.words("second", 2, "--from", 0))
        self.assertIn("20", result.err)
        self.assertEqual(set(self.groups()), {"first"})
        # What is left is there for everybody.
        line = self.train("second", 2, "--from", "earliest")
        self.assertEqual((line["steps"], line["next_step"]), (4, self.STEPS))
        self.assertEqual(self.got("second"), self.global_batches(20))
        self.look()

    def test_checkpoints_are_no_other_job_s(self):
        """A cursor is of the namespace and goes anywhere a step may be divided; a pin belongs to its group."""
        self.begin()
        self.first_job()
        cursor = self.folder / "half"
        self.train("other", 4, "--cursor", cursor, "--steps", 11)
        line = self.train("second", 2, "--cursor", cursor)
        self.assertEqual((line["steps"], self.got("second")), (self.STEPS - 11, self.global_batches(11)))
        self.run_cli("release", self.url, "second", "origin")
        self.run_cli("group", "rm", self.url, "second")
        self.assertEqual(self.pins("first"), [0, 20])


class TwoAtOnce(Jobs):
    STEPS = 60
    MAX_LAG = 8
    EVERY = {"quick": (3, 1), "slow": (2, 3)}  # steps between pins, and how many are kept

    def start_jobs(self):
        """A slow job in dp 2 beside a quick one in dp 4; then a producer, which is soon at its limit."""
        self.begin("--max-lag", self.MAX_LAG)
        words = {name: ["--pin-every", every, "--keep", keep] for name, (every, keep) in self.EVERY.items()}
        jobs = [self.start(*self.words("quick", 4, *words["quick"])),
                self.start(*self.words("slow", 2, *words["slow"], "--step-ms", 40))]
        self.wait_for("both groups", lambda: len(self.groups()) == 2)
        return jobs + [self.start("produce", self.url, "--id", "p", f"frames:{self.write_frames('p', self.frames)}")]

    def check_stand(self):
        """What one manifest says: each job keeps by its own pins, and the slowest decides."""
        info = self.json_line("info", self.url)
        kept = {}
        for group in info["groups"]:
            every, keep = self.EVERY[group["name"]]
            steps = [pin["step"] for pin in group["pins"]]
            self.assertEqual([step % every for step in steps], [0] * len(steps), group)
            self.assertLessEqual(len(steps), keep)
            kept[group["name"]] = steps or [group["hold"]]
        self.assertEqual(info["trim_step"], min(map(min, kept.values())))
        self.assertLessEqual(info["swept_step"], info["trim_step"])
        self.assertLessEqual(info["next_step"], min(map(max, kept.values())) + self.MAX_LAG)
        return kept

    def test_each_has_its_own_pins(self):
        processes, swept = self.start_jobs(), set()
        deadline = time.monotonic() + 120
        while any(process.poll() is None for process in processes):
            self.assertLess(time.monotonic(), deadline, "somebody waits for ever")
            self.check_stand()
            swept.add(self.json_line("gc", self.url, "--apply")["swept_to"])
            self.run_cli("verify", self.url, "--deep")
        for process in processes:
            self.finish(process)
        self.assertGreater(len(swept), 1, "gc met no job at work")
        for name in self.EVERY:
            self.assertEqual(self.got(name), self.global_batches(), name)
        self.assertEqual(self.check_stand(), {"quick": [60], "slow": [56, 58, 60]})
        self.assertEqual(self.json_line("gc", self.url, "--apply")["swept_to"], 56)
        self.look()


if __name__ == "__main__":
    unittest.main()
