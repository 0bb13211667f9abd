#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The sweeps say their usage and refuse what they do not know, before they begin: test_usage.py PROGRAM…"""

import subprocess
import sys
import unittest

PROGRAMS = []
WRONG = (["--no-such-option", "1"], ["1"], ["--jobs"], ["-o", "yaml"], ["--jobs", "2", "--seed-of", "3"])
ITS_OWN = {"inject_sweep": ["--shape", "none"], "inject_power": ["--drop", "all"]}


def run(program, *words):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=20, check=False)


class Usage(unittest.TestCase):
    def test_help_says_the_usage(self):
        for program in PROGRAMS:
            done = run(program, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^usage: inject_\w+ \[--")

    def test_what_is_not_known_is_refused(self):
        for program in PROGRAMS:
            name = program.rsplit("/", 1)[-1]
            for words in (*WRONG, ITS_OWN[name]):
                done = run(program, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), words)
                self.assertIn("is not understood", done.stderr)


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
