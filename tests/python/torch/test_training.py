# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A real model on real text in real processes, killed, set back and resized: the example as its users run it."""

import os
import pathlib
import subprocess
import sys
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "gpt" / "run.py"


class Training(unittest.TestCase):
    def test_the_small_story(self) -> None:
        done = subprocess.run([sys.executable, EXAMPLE, "--small"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=900, env={**os.environ, "PYTHONPATH": ""},
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        for words in ("every token of", "equal bit for bit", "set back behind", "swept up to step"):
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main()
