# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The bench produces every row, with budgets so tiny that no figure means anything and none is judged.

    test_bench.py BW_BENCH BATCHWEAVE FOLDER_OF_THE_LIBRARY
"""

import json
import os
import pathlib
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
    **{f"states.put20.{slices}x{kilobytes}k.over_{other}": ("ratio", "<=", 1.01)
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
    "restart.trips.starved": ("ratio", ">=", 0.99),
    "restart.trips.behind_10": ("ratio", ">=", 0.99),
    "restart.trips.behind_1000": ("ratio", ">=", 0.99),
    "restart.trips.behind_10000": ("ratio", ">=", 0.98),
    "restart.trips.stored": ("ratio", ">=", 0.98),
    "restart.trips.gone": None,
    "objects.put.bare": None,
    "objects.put": ("ratio", "<=", 1.5),
    "objects.put_hashed.bare": None,
    "objects.put_hashed": None,
    "objects.get.bare": None,
    "objects.get": ("ratio", "<=", 1.5),
    "objects.put_large.bare": None,
    "objects.put_large": None,
    "objects.put_large_known.bare": None,
    "objects.put_large_known": None,
    "reads.per_rank_step": ("value", "<=", 1),
    "reads.per_rank_step.all": None,
    "reads.bytes_per_payload": ("value", "<=", 1.005),
    "polling.rank": ("value", "<=", 1.1),
    "polling.producer": ("value", "<=", 1.1),
    "polling.job_of_1024": ("value", "<=", 5500),
    "scaling.8_producers": None,
    "scaling.128_producers": ("ratio", ">=", 15.5),
    "scaling.of_the_cap": ("value", ">=", 0.97),
    "tail.quiet.p50": None,
    "tail.quiet.p99": None,
    "tail.unhedged.p99": None,
    "tail.hedged.p99": ("ratio", "<=", 1.2),
    "tail.hedged.requests": ("value", "<=", 1.03),
    "tail.all_slow.change": None,
    "tail.all_slow.requests": ("value", "<=", 1.005),
    "tail.bare.quiet.p99": None,
    "tail.bare.hedged.p99": None,
    "tail.bare.hedged.requests": ("value", "<=", 1.03),
    **{f"latency.{what}.{load}.{share}": None
       for what in ("create", "commit") for load in ("alone", "loaded") for share in ("p50", "p99")},
    "requests.per_rank_step": ("value", "<=", 1),
    "requests.bytes_per_payload": ("value", "<=", 1.005),
    "lifecycle.none.peak": None,
    "lifecycle.keep_1.peak": ("ratio", "<=", 1.1),
    "lifecycle.keep_1.saved": ("value", ">=", 56),
    "lifecycle.keep_3.peak": ("ratio", "<=", 1.1),
    "lifecycle.keep_3.saved": ("value", ">=", 41.3333),
    "lifecycle.two_groups.peak": ("ratio", "<=", 1.1),
    "lifecycle.two_groups.saved": ("value", ">=", 34),
    "lifecycle.metadata": None,
}
FIELDS = ["name", "value", "unit", "limit", "ratio", "judged", "bound", "kept",
          "value_min", "value_max", "ratio_min", "ratio_max", "series"]


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
        self.check_lifecycle({row["name"]: row for row in rows if row["name"].startswith("lifecycle.")})

    def test_the_table_of_the_documentation_knows_each_row(self):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
        import table
        self.assertEqual(sorted(table.WHAT), sorted(ROWS))

    def test_text_of_one_group(self):
        lines = self.run_bench("--quick", "limits").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["name", *(name for name in ROWS if name.startswith("limit."))])

    def check_lifecycle(self, rows):
        """With small numbers its limits are no less exact: 60 steps of 128 KiB, max_lag 16, checkpoints each 4."""
        tgb = 0.125
        most = {"none": 60, "keep_1": 16 + 4 + 4, "keep_3": 16 + 4 + 4 + 8, "two_groups": 16 + 8 + 4 + 8}
        for case, steps in most.items():
            peak, series = rows[f"lifecycle.{case}.peak"]["value"], rows[f"lifecycle.{case}.peak"]["series"]
            self.assertEqual((len(series), max(series)), (60, peak), case)
            self.assertLessEqual(peak, 1.1 * steps * tgb, case)
            # Producers came to their limit, so that there was something to bound.
            self.assertGreaterEqual(peak, 16 * tgb, case)
        self.assertGreaterEqual(rows["lifecycle.none.peak"]["value"], 60 * tgb)
        self.assertEqual({row["kept"] for row in rows.values() if row["judged"]}, {True})

    def test_lifecycle(self):
        """Exit code 0: its bounds hold; without --strict too."""
        lines = self.run_bench("--quick", "lifecycle").stdout.splitlines()
        drawn = [line for line in lines if line.startswith("lifecycle.none.peak")][-1]
        self.assertRegex(drawn, "^lifecycle.none.peak +[▁▂▃▄▅▆▇█]{60}$")
        self.assertTrue(drawn.endswith("█"))

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

    def test_cadence(self):
        """Two virtual minutes of each; from the command line, and as lines for programs."""
        words = [PROGRAM, "bench", "cadence", "--virtual", "--minutes", "2", "--producers", "2,8", "--policy",
                 "naive,dac", "--case", "base,pins", "-o", "json"]
        result = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(row["case"], row["producers"], row["policy"]) for row in rows],
                         [(case, n, policy) for case in ["base", "pins"] for n in [2, 8]
                          for policy in ["naive", "dac"]])
        for row in rows:
            self.assertEqual(row["minutes"], 2)
            self.assertEqual(row["pin_p99_s"] > 0, row["case"] == "pins")
            self.assertLess(row["lag_p50_s"], row["lag_p99_s"])
            for name in ["commits_per_s", "batches_per_s", "success_percent", "run_p50", "manifest_bytes"]:
                self.assertGreater(row[name], 0, name)
        text = subprocess.run([BENCH, "cadence", "--virtual", "--minutes", "1", "--producers", "2"], text=True,
                              stdout=subprocess.PIPE, timeout=60, check=True).stdout.splitlines()
        self.assertEqual(text[0].split()[:3], ["policy", "producers", "case"])
        self.assertIn("dac", [line.split()[0] for line in text])

    def test_cadence_real(self):
        """Processes on a file store, slow and plain; what is acknowledged is there, or it ends with an error."""
        words = ["cadence", "--real", "--seconds", "1", "--rounds", "1", "--producers", "1,2",
                 "--policy", "fixed:100,turn", "-o", "json"]
        for latency, least in [("4,8", 0.012), ("0,0", 0.0)]:
            rows = [json.loads(line) for line in self.run_bench(*words, "--latency", latency).stdout.splitlines()]
            self.assertEqual([(row["producers"], row["policy"]) for row in rows],
                             [(n, policy) for n in [1, 2] for policy in ["fixed:100", "turn"]])
            for row in rows:
                self.assertGreater(row["lag_p50_s"], least, row)
                self.assertGreaterEqual(row["lag_max_s"], row["lag_p50_s"])
                self.assertGreater(row["batches"], row["open"])
                for name in ["commits_per_s", "success_percent", "reads_per_commit", "requests_per_s"]:
                    self.assertGreater(row[name], 0, name)

    def test_cadence_refuses(self):
        for words, why in [(["cadence"], "--virtual"), (["cadence", "next", "--virtual"], "alone"),
                           (["next", "--virtual"], "alone"),
                           (["cadence", "--virtual", "--policy", "often"], "no such cadence"),
                           (["cadence", "--virtual", "--producers", "0"], "producers, not 0"),
                           (["cadence", "--virtual", "--case", "rain"], "no case rain"),
                           (["cadence", "--virtual", "--minutes", "0"], "minutes"),
                           (["cadence", "--virtual", "--real"], "alone"),
                           (["cadence", "--real", "--seconds", "0"], "seconds"),
                           (["cadence", "--real", "--latency", "30"], "milliseconds"),
                           (["cadence", "--real", "--producers", "200"], "producers, not 200"),
                           (["cadence", "--real", "--policy", "often"], "choose turn")]:
            result = run(words, self.temporary)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(why, result.stderr)

    def test_options_that_an_experiment_does_not_take(self):
        for words, option in [(["decode", "--minutes", "3"], "--minutes"), (["--policy", "dac", "next"], "--policy"),
                              (["--case", "base"], "--case"), (["cadence", "--virtual", "--rounds", "2"], "--rounds"),
                              (["cadence", "--virtual", "--quick"], "--quick")]:
            done = subprocess.run([BENCH, *words], text=True, capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(option + " is an option of ", done.stderr)

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
