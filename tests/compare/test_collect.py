# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Turns, rounds, budgets, sides that fail; raw files and what is not run again."""

import json
import pathlib
import tempfile
import time
import unittest
from unittest import mock

import fixed
from compare import collect, raw, registry
from compare.context import Context
from compare.experiment import Budget, Cell, Row, Side


class Collect(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.told = []

    def context(self, mode="full", seconds=300.0):
        return Context(mode, self.folder, self.folder, time.monotonic() + seconds)

    def run_cells(self, cells, mode="full", seconds=300.0):
        """The last record."""
        experiment = fixed.experiment(cells=lambda context: iter(cells))
        *_, record = collect.run(experiment, self.context(mode, seconds), self.told.append)
        return record

    def test_turns(self):
        """A B, B A, …: five rounds, each side in each."""
        called = []

        def side(name):
            return Side(name, call=lambda: (called.append(name), Row({"v": float(len(called))}))[1])
        record = self.run_cells([Cell({}, [side("a"), side("b")])])
        self.assertEqual("".join(called), "ab" "ba" "ab" "ba" "ab")
        self.assertTrue(record["complete"])
        rows = record["cells"][0]["rows"]
        self.assertEqual([row["figures"]["v"] for row in rows["a"]], [1, 4, 5, 8, 9])
        self.assertEqual(len(rows["b"]), 5)

    def test_rounds(self):
        def cell(**more):
            return Cell({}, [Side("a", call=lambda: Row({}))], **more)
        self.assertEqual(collect.rounds_of(cell(), "full"), 5)
        self.assertEqual(collect.rounds_of(cell(rounds=9), "full"), 9)
        self.assertEqual(collect.rounds_of(cell(rounds=2), "full"), 5)
        self.assertEqual(collect.rounds_of(cell(rounds=9), "quick"), 1)

    def test_what_is_exact_runs_once(self):
        called = []
        counted = Side("a", call=lambda: (called.append(1), Row({}))[1], counted=True)
        self.run_cells([Cell({}, [counted, Side("b", call=lambda: Row({}))])])
        self.assertEqual(len(called), 1)

    def test_a_process(self):
        settings = {"size": 3}
        text = "import json, sys; s = json.load(sys.stdin); print('x'); print(json.dumps({'figures': s, 'cpu_s': 1.5}))"
        record = self.run_cells([Cell({"n": 1}, [Side("a", fixed.program(text), settings=settings)])], "quick")
        row, = record["cells"][0]["rows"]["a"]
        self.assertEqual((row["figures"], row["cpu_s"]), ({"size": 3}, 1.5))
        self.assertGreater(row["wall_s"], 0)
        self.assertGreater(row["process_cpu_s"], 0)
        self.assertEqual(record["cells"][0]["sides"]["a"]["settings"], settings)
        json.dumps(record)

    def test_a_side_that_fails_stops_the_experiment(self):
        bad = [fixed.program("import sys; sys.exit('no broker')"), fixed.program("print('no row')"),
               fixed.program("print('{\"figure\": 1}')"), fixed.program("pass")]
        for command in bad:
            good = Cell({"n": 1}, [Side("good", fixed.printing(1.0))])
            after = Cell({"n": 3}, [Side("good", fixed.printing(1.0))])
            record = self.run_cells([good, Cell({"n": 2}, [Side("bad", command)]), after], "quick")
            self.assertFalse(record["complete"])
            self.assertIn("bad: ", record["stopped"])
            self.assertEqual([cell["at"]["n"] for cell in record["cells"]], [1], "what was measured is kept")
        self.assertIn("no broker", self.run_cells([Cell({}, [Side("bad", bad[0])])])["stopped"])

    def test_time_of_a_side(self):
        slow = Side("slow", fixed.program("import time; time.sleep(60)"), timeout_s=1)
        record = self.run_cells([Cell({}, [slow])])
        self.assertIn("no end after 1 s", record["stopped"])

    def test_budget(self):
        """What is over it is stopped, and said to be."""
        began = time.monotonic()
        slow = Side("slow", fixed.program("import time; time.sleep(60)"))
        record = self.run_cells([Cell({}, [slow])], seconds=1.0)
        self.assertLess(time.monotonic() - began, 40)
        self.assertEqual((record["complete"], record["stopped"]), (False, "its budget is used up"))
        record = self.run_cells([Cell({}, [Side("a", call=lambda: Row({}))])], seconds=0.0)
        self.assertEqual((record["complete"], record["cells"]), (False, []))

    def test_what_a_generator_holds_is_let_go(self):
        closed = []

        def cells(context):
            try:
                yield Cell({}, [Side("bad", fixed.program("raise SystemExit(1)"))])
                self.fail("went on")
            finally:
                closed.append(True)
        list(collect.run(fixed.experiment(cells=cells), self.context(), self.told.append))
        self.assertEqual(closed, [True])

    def test_rows_are_there_after_the_yield(self):
        seen = []

        def cells(context):
            cell = Cell({}, [Side("a", call=lambda: Row({"v": 2.0}))])
            yield cell
            seen.extend(row.figures["v"] for row in cell.rows["a"])
        list(collect.run(fixed.experiment(cells=cells), self.context("quick"), self.told.append))
        self.assertEqual(seen, [2.0])


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = raw.Store(pathlib.Path(folder.name) / "raw")

    def test_done_is_complete_of_the_same_code_and_settings(self):
        record = fixed.record(code="c", key="k")
        self.assertFalse(self.store.done("E1", "full", "c", "k"))
        self.store.write(record)
        self.assertTrue(self.store.done("E1", "full", "c", "k"))
        self.assertEqual(self.store.read("E1", "full"), record)
        for code, key, mode in [("d", "k", "full"), ("c", "l", "full"), ("c", "k", "quick")]:
            self.assertFalse(self.store.done("E1", mode, code, key), (code, key, mode))
        self.store.write({**record, "commit": "another"})
        self.assertTrue(self.store.done("E1", "full", "c", "k"), "what is not measured may change")
        self.store.write({**record, "complete": False})
        self.assertFalse(self.store.done("E1", "full", "c", "k"))

    def test_a_torn_file_is_none(self):
        self.store.write(fixed.record())
        path = self.store.path("E1", "full")
        path.write_text(path.read_text()[:40])
        self.assertIsNone(self.store.read("E1", "full"))
        self.assertEqual([entry.suffix for entry in self.store.folder.iterdir()], [".json"])

    def test_key(self):
        file = self.store.folder.parent / "a.py"
        file.write_text("one")
        key = raw.key("E1", "full", [file])
        self.assertEqual(raw.key("E1", "full", [file]), key)
        self.assertNotEqual(raw.key("E1", "quick", [file]), key)
        self.assertNotEqual(raw.key("E2", "full", [file]), key)
        file.write_text("two")
        self.assertNotEqual(raw.key("E1", "full", [file]), key)

    def test_sources_are_those_that_are_named(self):
        """Also by way of another; not those of other peers."""
        here = self.store.folder.parent / "compare"
        texts = {"compare/experiments/e01_x.py": "from compare.experiments import shared",
                 "compare/experiments/e02_y.py": "kafka", "compare/experiments/shared.py": "peer('ours')",
                 "compare/experiments/lonely.py": "", "peers/ours.py": "import side", "peers/side.py": "",
                 "peers/kafka.py": ""}
        for name, text in texts.items():
            (here.parent / name).parent.mkdir(parents=True, exist_ok=True)
            (here.parent / name).write_text(text)
        found = registry.sources(fixed.experiment(), here)
        self.assertEqual([path.name for path in found], ["e01_x.py", "shared.py", "ours.py", "side.py"])

    def test_code_is_that_of_the_tree(self):
        """A hash that holds while nothing changes; without git never the same."""
        if not raw.git("ls-files", "src"):
            self.skipTest("no history here")
        self.assertEqual(raw.code(), raw.code())
        with mock.patch("compare.raw.git", lambda *words: ""):
            self.assertNotEqual(raw.code(), raw.code())

    def test_budget_of_a_mode(self):
        experiment = fixed.experiment(budget=Budget(quick_s=1, full_s=2, gate_s=3))
        self.assertEqual([registry.budget_s(experiment, mode) for mode in ("quick", "full", "gate")], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
