# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The bench produces every row, with budgets so tiny that no figure means anything and none is judged.

    test_bench.py BW_BENCH BATCHWEAVE FOLDER_OF_THE_LIBRARY
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH, PROGRAM, LIBRARY = sys.argv[1:4]

ROWS = {
    "limit.memcpy": None,
    "limit.pread": None,
    "limit.append_fdatasync": None,
    "limit.publish.durable": None,
    "limit.publish.disk": None,
    "limit.publish.memory": None,
    "commit.durable.floor": None,
    "commit.durable": ("ratio", ">=", 0.8),
    "commit.durable.bytes": None,
    "commit.plain.floor": None,
    "commit.plain": ("ratio", ">=", 0.5),
    "commit.plain.bytes": None,
    "commit.plain.disk.floor": None,
    "commit.plain.disk": None,
    "commit.plain.disk.bytes": None,
    "history.1e3.manifest": None,
    "history.1e6.manifest": None,
    "history.1e3.floor_p50": None,
    "history.1e6.floor_p50": None,
    "history.1e3.commit_p50": None,
    "history.1e6.commit_p50": ("ratio", "<=", 1.05),
    "history.1e3_ones.manifest": None,
    "history.1e6_ones.manifest": None,
    "history.1e3_ones.floor_p50": None,
    "history.1e6_ones.floor_p50": None,
    "history.1e3_ones.commit_p50": None,
    "history.1e6_ones.commit_p50": None,
    "manifest.32_producers.mean": ("value", "<=", 12288),
    "manifest.32_producers.max": ("value", "<=", 12288),
    **{f"states.{slices}x{kilobytes}k.over_{other}": ("ratio", "<=", 1.03)
       for slices in (8, 32, 128) for kilobytes in (10, 100, 1000) for other in ("dummy", "none")},
    "rivals.one": None,
    "rivals.eight": ("ratio", ">=", 0.5),
    "decode.descriptor": ("value", "<=", 10),
    "decode.descriptor.one_fold": None,
    "next.prefetched.p50": ("value", "<=", 2),
    "next.prefetched.p99": None,
    "verified.without": None,
    "verified.with": ("ratio", ">=", 0.9),
    "memory.per_budget": ("value", "<=", 1.1),
    "restart.first_item": ("value", "<=", 50),
    "requests.per_rank_step": ("value", "<=", 1),
    "requests.bytes_per_payload": ("value", "<=", 1.005),
}
FIELDS = ["name", "value", "unit", "limit", "ratio", "judged", "bound", "kept",
          "value_min", "value_max", "ratio_min", "ratio_max"]


def run(words, temporary):
    return subprocess.run([BENCH, *words], env={**os.environ, "TMPDIR": temporary}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240, check=False)


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.temporary = folder.name

    def run_bench(self, *words, code=0):
        result = run(["--memory", self.temporary, *words], self.temporary)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(os.listdir(self.temporary), [], "directories left behind")
        return result

    def test_every_row(self):
        result = self.run_bench("--quick", "-o", "json", "--program", PROGRAM)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([row["name"] for row in rows], list(ROWS))
        for row in rows:
            self.assertEqual(list(row), FIELDS)
            limit = ROWS[row["name"]]
            found = (row["judged"], row["bound"], row["limit"])
            self.assertEqual(found, limit or (None, None, None), row["name"])
            self.assertGreater(row["value"], 0, row["name"])
            self.assertLessEqual(row["value_min"], row["value_max"])
            if row["judged"] == "ratio":
                self.assertGreater(row["ratio"], 0)

    def test_text_of_one_group(self):
        lines = self.run_bench("--quick", "limits").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["name", *(name for name in ROWS if name.startswith("limit."))])

    def test_unknown_group(self):
        self.assertIn("nonsense", self.run_bench("nonsense", code=1).stderr)

    def test_strict(self):
        """The exit code says what the rows say."""
        result = run(["--memory", self.temporary, "--quick", "--strict", "-o", "json", "decode",
                      "commit"], self.temporary)
        kept = [json.loads(line)["kept"] for line in result.stdout.splitlines()]
        self.assertEqual(len([k for k in kept if k is not None]), 3, "judged rows")
        self.assertEqual(result.returncode, 5 if False in kept else 0, result.stderr)

    def test_from_the_command_line(self):
        result = subprocess.run(
            [PROGRAM, "bench", "manifest", "--quick", "--rounds", "2", "-o", "json",
             "--disk", self.temporary, "--memory", self.temporary],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([json.loads(line)["name"] for line in result.stdout.splitlines()],
                         [name for name in ROWS if name.startswith("manifest.")])

    def test_command_line_without_bench(self):
        alone = os.path.join(self.temporary, "batchweave")
        shutil.copy(PROGRAM, alone)
        result = subprocess.run([alone, "bench"], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=60, check=False,
                                env={**os.environ, "LD_LIBRARY_PATH": LIBRARY})
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("bw-bench is not here", result.stderr)

    def test_missing_program(self):
        result = self.run_bench("--quick", "--program", "/nonexistent/batchweave", "requests", code=4)
        self.assertIn("/nonexistent/batchweave", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
