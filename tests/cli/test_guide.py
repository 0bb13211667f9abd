# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""docs/guide.md, its sections 2 to 6 word for word: somebody's first hour must not end in an error.

BATCHWEAVE_GUIDE_URL, as s3://bucket/{}?endpoint=…, is where its namespaces are instead of in file:///data/."""

import os
import pathlib
import random
import re
import shlex
import subprocess
import unittest

import harness

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide.md"
# What the guide takes for granted: a program that writes frames.
PREPROCESSING = """
import os, sys
for k in range(int(os.environ["BATCHWEAVE_OFFSET"]), 50):
    sys.stdout.buffer.write((4).to_bytes(4, "little") + k.to_bytes(4, "little"))
"""


class Guide(harness.CliTest):
    def setUp(self):
        super().setUp()
        data = self.folder / "data"
        data.mkdir()
        self.place = os.environ.get("BATCHWEAVE_GUIDE_URL", f"file://{data}/{{}}")
        corpus = self.folder / "corpus"
        corpus.mkdir()
        for k in range(60):
            (corpus / f"{k}.txt").write_bytes(random.Random(k).randbytes(9000))
        (self.folder / "my_preprocessing.py").write_text(PREPROCESSING, encoding="utf-8")
        self.write_frames("prepared.bin", [b"x" * k for k in range(50)])

    def commands(self, sections):
        """The blocks of these sections. Section 1 builds, 7 installs; the inputs of 3 are test_inputs.py's."""
        blocks = []
        for section in re.split(r"(?m)^## ", GUIDE.read_text(encoding="utf-8"))[1:]:
            if section[0] in sections:
                blocks += re.findall(r"(?ms)^```\n(.*?)^```", section.split("\n### Lines, ")[0])
        self.assertGreaterEqual(len(blocks), len(sections))
        return blocks

    def type(self, blocks):
        """One shell, as one reader has; what each block printed."""
        script = "".join(f"{block}\necho '-- over'\n" for block in blocks)
        script = re.sub(r"file:///data/(\w+)", lambda found: shlex.quote(self.place.format(found[1])), script)
        path = f"{os.path.dirname(os.path.abspath(harness.BINARY))}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-e", "-c", script], cwd=self.folder, env=harness.environment(PATH=path),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=150)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, r"\[[A-Z_]+\]\n")
        return done.stdout.split("-- over\n")

    def test_first_hour(self):
        self.assertIn("every byte read", "".join(self.type(self.commands("2346"))))
        for name, producers in ("run7", 2), ("own", 1), ("prepared", 1):
            info = self.json_line("info", self.place.format(name))
            self.assertEqual((info["sealed"], info["finished_producers"]), (True, producers), name)
        self.assertTrue(list((self.folder / "rank3").iterdir()))

    def test_checkpoints(self):
        """What the text says of each block is what it prints."""
        first, dry, again, back, fewer, more = self.type(self.commands("5") + [""])[:6]
        self.assertRegex(first, r"\ntrain +\S+ .*2 +20 +30 ")
        self.assertIn("group train has pin step-00000000000000000020 at step 20", dry)
        self.assertIn("steps: 8 steps, next is 38;", again)
        self.assertIn("steps: 12 steps, next is 32;", back)
        self.assertIn("steps: 10 steps, next is 40;", fewer)
        self.assertIn("group train: pin best is at step 35", more)
        self.assertRegex(more, r"\neval +\S+ +35 +0 .*\ntrain +\S+ .*3 +30 +40 ")
        info = self.json_line("info", self.place.format("ckpt"))
        self.assertEqual([g["name"] for g in info["groups"]], ["train"])
        self.assertEqual({pin["step"] for pin in info["groups"][0]["pins"]}, {30, 40})


if __name__ == "__main__":
    unittest.main()
