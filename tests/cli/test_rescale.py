#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""consume by jobs of another size than the namespace was made for: the same items, each once, in the same steps."""

import unittest

import harness


class Rescale(harness.CliTest):
    DP, ITEMS, STEPS = 4, 2, 12

    def setUp(self):
        super().setUp()
        self.init(self.DP, self.ITEMS, "--block-size", 4, "--tail-cap", 256, "--part-size", 4096, "--producers", 1)
        count = self.DP * self.ITEMS * self.STEPS
        self.produce_frames([f"item {k}".encode() for k in range(count)], "a")
        self.whole = self.read("whole", self.DP)

    def read(self, name, dp, *more, mode="same_batch", expect=0):
        """{step/slice.item: bytes} of a run to the end, or of --steps."""
        self.run_cli("consume", self.url, "--world", dp, "--set", f"dp={dp}", "--set", f"rescale={mode}",
                     "--out", self.folder / name, *more, expect=expect)
        root = self.folder / name
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def test_all_sizes_read_the_same(self):
        self.assertEqual(len(self.whole), self.DP * self.ITEMS * self.STEPS)
        for dp in (1, 2, 8):
            with self.subTest(dp=dp):
                self.assertEqual(self.read(f"same{dp}", dp), self.whole)
        for dp in (1, 2, 4, 8, 16):
            with self.subTest(dp=dp, mode="scale_batch"):
                self.assertEqual(self.read(f"scale{dp}", dp, mode="scale_batch"), self.whole)

    def test_a_job_changes_its_size_between_checkpoints(self):
        cursor = self.folder / "cursor"
        for dp, mode, steps in ((4, "same_batch", 3), (2, "same_batch", 2), (8, "same_batch", 1),
                                (8, "scale_batch", 2), (1, "scale_batch", 1)):
            self.read("all", dp, "--cursor", cursor, "--steps", steps, mode=mode)
        self.assertEqual(self.read("all", 4, "--cursor", cursor), self.whole)

    def test_steps_left_over_are_not_delivered_and_told(self):
        got = self.read("scale", 20, "--from", 1, mode="scale_batch")
        self.assertEqual({name.split("/")[0] for name in got}, {str(step) for step in range(1, 11)})

    def test_what_is_not_legal(self):
        for dp, mode, text in ((3, "same_batch", "legal here: what divides 4"), (6, "scale_batch", "legal here"),
                               (16, "same_batch", "which 4 ranks cannot share")):
            result = self.refused("MESH_MISMATCH", "consume", self.url, "--world", dp, "--set", f"dp={dp}", "--set",
                                  f"rescale={mode}")
            self.assertIn(text, result.err)
        self.refused("INVALID", "consume", self.url, "--world", 4, "--set", "rescale=both")


if __name__ == "__main__":
    unittest.main()
