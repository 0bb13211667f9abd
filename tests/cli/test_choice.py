# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""consume --tags, --skip-to-tip and --skip: what a job leaves out, the same on all ranks."""

import json
import unittest

import harness


class Choice(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.init(2, 1, "--block-size", 4, "--tail-cap", 256)
        for tag in range(4):  # steps 5·tag … of each tag
            self.produce(tag)

    def produce(self, tag, name="p", steps=5):
        self.produce_frames([f"{tag}.{k}".encode() for k in range(2 * steps)], f"{name}{tag}", "--tag", tag)

    def steps(self, *words, world=2, **more):
        out = self.run_cli("consume", self.url, "--digest", "--world", world, *words, **more).out
        return [line["step"] for line in map(json.loads, out.splitlines()) if line["d"] == 0]

    def saved(self):
        return json.loads((self.folder / "cursor").read_text())

    def test_tags(self):
        self.run_cli("seal", self.url)
        wanted = [*range(5, 10), *range(15, 20)]
        self.assertEqual(self.steps("--tags", "1,3-"), wanted)
        self.assertEqual(self.steps("--tags", "1,3-", "--group", "g"), wanted)
        self.assertEqual(self.steps("--tags", "9"), [])
        for wrong in "x", "3,1", "1-,2":
            self.refused("INVALID", "consume", self.url, "--world", 2, "--tags", wrong)
        self.assertIn("nothing would show", self.refused("INVALID", "consume", self.url, "--world", 2, "--rank", 1,
                                                         "--tags", "1").err)

    def test_tags_stay_with_the_cursor(self):
        cursor = self.folder / "cursor"
        self.assertEqual(self.steps("--tags", "2", "--cursor", cursor, "--steps", 2), [10, 11])
        self.assertEqual(self.saved()["tags"], [[2, 2]])
        self.assertEqual(self.steps("--cursor", cursor, "--steps", 3), [12, 13, 14])
        self.assertEqual(self.saved()["step"], 15)
        one = self.start("consume", self.url, "--digest", "--world", 2, "--rank", 1, "--tags", 2, "--cursor", cursor,
                         "--steps", 1)
        self.produce(2, "q")
        self.assertEqual([json.loads(x)["step"] for x in self.finish(one).out.splitlines()], [20])
        self.assertEqual(self.steps("--tags", "all", "--cursor", cursor, "--steps", 1), [21])
        self.assertNotIn("tags", self.saved())

    def test_a_rank_with_other_tags(self):
        words = ["consume", self.url, "--world", 2, "--group", "g", "--launch", "one", "--steps", 1]
        self.run_cli(*words, "--rank", 0, "--tags", "1")
        self.refused("RANKS_DISAGREE", *words, "--rank", 1, "--tags", "2", "--timeout", "10s")
        self.refused("RANKS_DISAGREE", *words, "--rank", 1, "--timeout", "10s")
        self.run_cli(*words, "--rank", 1, "--tags", "1", "--timeout", "10s")

    def skip_to_tip(self, *group):
        cursor = self.folder / "cursor"
        self.assertEqual(self.steps("--cursor", cursor, "--steps", 3, *group), [0, 1, 2])
        job = self.start("consume", self.url, "--digest", "--world", 2, "--cursor", cursor, "--steps", 2,
                         "--skip-to-tip", *group)
        self.wait_for("the start to be saved", lambda: self.saved()["step"] == 20)
        self.assertEqual(self.saved()["skips"], [[3, 20]])
        self.produce(7)
        self.assertEqual([json.loads(x)["step"] for x in self.finish(job).out.splitlines()], [20, 20, 21, 21])
        self.assertEqual((self.saved()["step"], self.saved()["skips"]), (22, [[3, 20]]))
        self.assertEqual(self.steps("--cursor", cursor, "--steps", 2, *group), [22, 23])

    def test_skip_to_tip(self):
        self.skip_to_tip()

    def test_skip_to_tip_of_a_group(self):
        self.skip_to_tip("--group", "g")

    def test_skip_to_tip_of_one_rank(self):
        words = ["consume", self.url, "--world", 2, "--steps", 1, "--skip-to-tip"]
        self.assertIn("each rank for itself", self.refused("INVALID", *words, "--rank", 1).err)
        self.refused("INVALID", *words, "--from", 3)
        cursor = self.folder / "cursor"
        job = self.start(*words, "--digest", "--cursor", cursor)  # a first start: as --from latest
        self.wait_for("the start to be saved", cursor.exists)
        self.produce(8)
        self.assertEqual(json.loads(self.finish(job).out.splitlines()[0])["step"], 20)
        self.assertEqual(self.saved()["skips"], [])

    def test_skip(self):
        cursor = self.folder / "cursor"
        self.refused("INVALID", "consume", self.url, "--world", 2, "--cursor", cursor, "--skip", "3-5")
        self.steps("--cursor", cursor, "--steps", 1)
        for wrong in "3", "5-3", "a-b", "3-5x", "3-5-7", "+3-5", "3- 5", f"3-{2**64 + 5}":
            result = self.run_cli("consume", self.url, "--world", 2, "--cursor", cursor, "--skip", wrong, expect=None)
            self.assertNotEqual(result.code, 0)
        self.assertEqual(self.steps("--cursor", cursor, "--skip", "2-18", "--steps", 2), [1, 18])
        self.assertEqual(self.steps("--cursor", cursor, "--steps", 1), [19])
        self.assertEqual(self.saved()["skips"], [[2, 18]])


if __name__ == "__main__":
    unittest.main()
