#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""model/run on copies of the model in which something is wrong: it must say so, and fail."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MODEL = pathlib.Path(__file__).resolve().parent.parent.parent / "model"
# The smallest configuration: some thousand states, one pair of rules, two that are clean alone.
SMALL = "calm"


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.model = pathlib.Path(self.folder.name) / "model"
        shutil.copytree(MODEL, self.model, ignore=shutil.ignore_patterns("__pycache__"))

    def tearDown(self):
        self.folder.cleanup()

    def edit(self, file, old, new):
        path = self.model / file
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def run_model(self, *words):
        done = subprocess.run([sys.executable, "run", *words], cwd=self.model, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def rows(self, *words):
        code, output, _ = self.run_model("-o", "json", *words)
        return code, {row["removed"]: row for row in json.loads(output)}

    def test_what_is_right_passes(self):
        code, rows = self.rows(SMALL)
        self.assertEqual(code, 0)
        self.assertEqual(set(rows), {"", "R4", "R5_NONCE", "R4+R5_NONCE"})
        self.assertEqual([rows[removed]["result"] for removed in ("", "R4", "R4+R5_NONCE")],
                         ["clean", "clean", "violated"])
        self.assertGreater(rows[""]["states"], 1000)
        self.assertIn("definite", rows["R4+R5_NONCE"]["why"])
        self.assertEqual(set(rows[""]),
                         {"config", "removed", "expected", "result", "states", "seconds", "why"})

    def test_a_removed_rule_that_nothing_catches(self):
        self.edit("table.py", 'broken=["R4+R5_NONCE"]', 'broken=["R8_POLL"]')
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows["R8_POLL"]["result"]), (1, "clean"))

    def test_claims_that_claim_nothing(self):
        self.edit("claims.pml", "assert(name && (x))", "assert(name || (x))")
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows["R4+R5_NONCE"]["result"]), (1, "clean"))

    def test_a_violation_with_all_rules(self):
        self.edit("committers.pml", "CLAIM(DURABLE, HAS(NEWEST, TGB(me, next)))", "CLAIM(DURABLE, false)")
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows[""]["result"]), (1, "violated"))
        self.assertIn("durable", rows[""]["why"])

    def test_a_fault_in_each_model(self):
        for config, file, old, new, claim in (
                ("launches", "retention.pml", "-> C[m].trim = w", "-> C[m].trim = w + 1", "retained"),
                ("segments", "sweeping.pml", "(C[m].swept > SEGMENT_LAST ||", "(C[m].trim > SEGMENT_LAST ||",
                 "no_hole"),
                ("moves", "pages.pml", "P[k].there = !NO_P_DURABLE", "P[k].there = 0", "no_hole")):
            with self.subTest(config):
                self.edit(file, old, new)
                code, rows = self.rows(config, "--sample")
                self.assertEqual((code, rows[""]["result"]), (1, "violated"))
                self.assertIn(claim, rows[""]["why"])

    def test_what_is_no_promela(self):
        self.edit("world.pml", "proctype World()", "proctype World(")
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows[""]["result"]), (1, "error"))
        self.assertIn("spin", rows[""]["why"])

    def test_a_search_that_is_cut_short_is_not_clean(self):
        self.edit("run", "DEPTH_MAX = 1000000", "DEPTH_MAX = 20")
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows[""]["result"]), (1, "error"))

    def test_memory_that_runs_out_is_not_clean(self):
        self.edit("run", "MEMORY_MB = 4000", "MEMORY_MB = 1")
        code, rows = self.rows(SMALL)
        self.assertEqual((code, rows[""]["result"]), (1, "memory"))

    def test_time_that_runs_out_is_not_clean(self):
        self.edit("run", "CPU_SECONDS_MAX = 120", "CPU_SECONDS_MAX = 1")
        code, rows = self.rows("incarnations", "--sample")
        self.assertEqual((code, rows[""]["result"]), (1, "timeout"))

    def test_a_rule_without_a_configuration(self):
        self.edit("table.py", '"R2_ORDER", ', "")
        code, _, errors = self.run_model(SMALL, "--sample")
        self.assertEqual(code, 1)
        self.assertIn("no configuration catches the removal of R2_ORDER", errors)

    def test_a_rule_of_another_model(self):
        self.edit("table.py", 'broken=["S_AGAIN"]', 'broken=["G_W"]')
        code, _, errors = self.run_model(SMALL, "--sample")
        self.assertEqual(code, 1)
        self.assertIn("left behind: no rule G_W", errors)
        self.assertIn("no configuration catches the removal of S_AGAIN", errors)

    def test_rules_that_share_a_number(self):
        self.edit("pages.pml", "OFF(10)", "OFF(9)")
        code, _, errors = self.run_model(SMALL, "--sample")
        self.assertEqual(code, 1)
        self.assertIn("pages.pml does not number its rules", errors)

    def test_a_pair_whose_parts_are_not_shown_clean(self):
        self.edit("table.py", '"R4": "R5: the', '"R4+R4": "R5: the')
        code, _, errors = self.run_model("stage", "--sample")
        self.assertEqual(code, 1)
        self.assertIn("R4 alone is not shown clean", errors)

    def test_the_union_is_searched_with_figures(self):
        code, output, _ = self.run_model(SMALL, "--sample", "--union", "4")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"union: 4 bitstate searches .*hash factors [1-9]")
        self.assertRegex(output, r"\n3 passed, 0 failed\n")

    def test_a_violation_is_told(self):
        code, output, _ = self.run_model("--trace", SMALL, "R4+R5_NONCE")
        self.assertEqual(code, 0)
        self.assertRegex(output, r"P1: version 1 CREATED\n(.*\n)*P1: version 1 is lost\n")


if __name__ == "__main__":
    unittest.main()
