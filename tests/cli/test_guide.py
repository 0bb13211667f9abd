# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""docs/guide.md, its sections 2 to 5 word for word: somebody's first hour must not end in an error."""

import os
import pathlib
import random
import re
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
    def commands(self):
        """All lines in the blocks of the sections that use a namespace; section 1 builds, 6 installs."""
        text = GUIDE.read_text(encoding="utf-8")
        sections = re.split(r"(?m)^## ", text)[1:]
        blocks = [block for section in sections if section[0] in "2345"
                  for block in re.findall(r"(?ms)^```\n(.*?)^```", section)]
        self.assertGreaterEqual(len(blocks), 4)
        return "".join(blocks)

    def test_word_for_word(self):
        data = self.folder / "data"
        data.mkdir()
        corpus = self.folder / "corpus"
        corpus.mkdir()
        for k in range(20):
            (corpus / f"{k}.txt").write_bytes(random.Random(k).randbytes(9000))
        (self.folder / "my_preprocessing.py").write_text(PREPROCESSING, encoding="utf-8")
        self.write_frames("prepared.bin", [b"x" * k for k in range(50)])
        script = self.commands().replace("file:///data/", f"file://{data}/")
        path = f"{os.path.dirname(harness.BINARY)}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-e", "-c", script], cwd=self.folder, env=harness.environment(PATH=path),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=150)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, r"\[[A-Z_]+\]\n")
        self.assertIn("every byte read", done.stdout)
        for name, producers in ("run7", 2), ("own", 1), ("prepared", 1):
            info = self.json_line("info", f"file://{data}/{name}")
            self.assertEqual((info["sealed"], info["finished_producers"]), (True, producers), name)
        self.assertTrue(list((self.folder / "rank3").iterdir()))


if __name__ == "__main__":
    unittest.main()
