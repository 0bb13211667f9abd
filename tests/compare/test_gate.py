# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The command: what it runs, what it does not run again, its exit codes; the budgets of what there is."""

import contextlib
import dataclasses
import io
import pathlib
import tempfile
import unittest
from unittest import mock

import fixed
from compare import context, main, output, registry
from compare.experiment import Bar, Budget, Cell, Row, Side


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.calls = []
        for what, instead in [("raw.commit", lambda: "c"), ("raw.code", lambda: "c"),
                              ("registry.sources", lambda experiment: []), ("context.prepare", lambda parts: None)]:
            patch = mock.patch(f"compare.{what}", instead)
            patch.start()
            self.addCleanup(patch.stop)

    def side(self, value):
        return Side("ours", call=lambda: (self.calls.append(1), Row({"v": value}))[1], counted=True)

    def experiments(self, value=1.0, gate_s=5.0, stop=False):
        def cells(context):
            yield Cell({}, [self.side(value)])
            if stop:
                yield Cell({"n": 2}, [Side("bad", fixed.program("raise SystemExit('broken')"))])
        bars = [Bar("exact", lambda r: r.value("v", "ours"), "<=", 1, counted=True),
                Bar("timed", lambda r: 9.0, "<=", 1)]
        return [fixed.experiment(id="E1", cells=cells, bars=bars, plots=[], needs=frozenset(), paper_values=[],
                                 budget=Budget(quick_s=60, full_s=60, gate_s=gate_s)),
                fixed.experiment(id="E2", bars=bars[1:], plots=[], budget=Budget(quick_s=60, full_s=60))]

    def command(self, *words, **more):
        printed = io.StringIO()
        with mock.patch("compare.registry.load", lambda: self.experiments(**more)), \
                mock.patch("compare.limits.measure", lambda *_: None), \
                contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            code = main.main([*words, "--out", str(self.out)])
        return code, printed.getvalue()

    def test_gate_keeps(self):
        """Of the exact bars only; what has nothing exact does not run."""
        code, printed = self.command("--gate")
        self.assertEqual(code, 0, printed)
        self.assertIn("1 passed, 0 failed", printed)
        self.assertNotIn("timed", printed)
        self.assertNotIn("E2", printed)

    def test_gate_misses(self):
        code, printed = self.command("--gate", value=1.01)
        self.assertEqual(code, 5)
        self.assertIn("0 passed, 1 failed", printed)

    def test_gate_fails_when_an_experiment_is_stopped(self):
        code, printed = self.command("--gate", stop=True)
        self.assertEqual(code, 5, printed)

    def test_gate_fails_when_nothing_was_measured(self):
        experiments = self.experiments()
        with mock.patch.object(self, "experiments", lambda: [fixed.experiment(
                bars=experiments[0].bars, plots=[], needs=frozenset())]):
            code, printed = self.command("--gate")
        self.assertEqual(code, 5, printed)

    def test_gate_prepares_the_release_build_alone(self):
        """No change of the product waits for peers to be fetched."""
        asked = []
        needs = frozenset({"release", "package", "peers", "kafka"})
        experiments = [dataclasses.replace(experiment, needs=needs) for experiment in self.experiments()]
        with mock.patch("compare.context.prepare", asked.append), \
                mock.patch.object(self, "experiments", lambda: experiments):
            self.command("--gate")
            self.assertEqual(set(asked), {frozenset({"release"})})
            self.command("E1", "--quick")
        self.assertEqual(asked[-1], needs)

    def test_gate_always_runs(self):
        self.command("--gate")
        self.command("--gate")
        self.assertEqual(len(self.calls), 2)

    def test_not_again(self):
        self.assertEqual(self.command("E1", "--quick")[0], 0)
        self.command("e1", "--quick")
        self.assertEqual(len(self.calls), 1)
        self.command("E1")
        self.assertEqual(len(self.calls), 2, "another mode")
        self.command("E1", "--again")
        self.assertEqual(len(self.calls), 3)

    def test_what_was_stopped_is_run_again(self):
        self.assertEqual(self.command("E1", "--quick", stop=True)[0], 4)
        self.assertEqual(self.command("E1", "--quick")[0], 0)
        self.assertEqual(len(self.calls), 2)

    def test_report_runs_nothing(self):
        self.assertEqual(self.command("--report")[0], 0)
        self.assertEqual(self.calls, [])
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertIn("E1 was **not run**", text)
        self.assertTrue((self.out / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>"))

    def test_a_bar_that_is_missed_is_no_failure_of_a_report(self):
        code, printed = self.command("E1", "--quick", value=7.0)
        self.assertEqual(code, 0)
        self.assertIn("missed", printed)

    def test_what_cannot_be_prepared(self):
        with mock.patch("compare.context.prepare", mock.Mock(side_effect=RuntimeError("no Java"))):
            code, _ = self.command("--gate")
        self.assertEqual(code, 5)
        self.assertEqual(self.calls, [])

    def test_unknown(self):
        with self.assertRaises(SystemExit):
            self.command("E99")

    def test_list(self):
        code, printed = self.command("--list")
        self.assertEqual((code, len(printed.splitlines())), (0, 2))


class Time(unittest.TestCase):
    def test_what_is_left(self):
        """Goes down while one runs, and by what one did not need."""
        first, second = (fixed.experiment(id=name, budget=Budget(quick_s=10, full_s=100)) for name in ("E1", "E2"))
        progress = main.Progress([first, second], "quick", 2)
        self.assertEqual(progress.left_s(5.0), 40)
        progress.began["E1"] = 5.0
        self.assertEqual(progress.left_s(8.0), 37)
        self.assertEqual(progress.left_s(50.0), 20)
        progress.done(first)
        self.assertEqual(progress.left_s(50.0), 20)


class There(unittest.TestCase):
    """Of the experiments in the tree."""

    def setUp(self):
        self.experiments = registry.load()

    def test_budgets(self):
        for mode, most in registry.BUDGET_S.items():
            spent = sum(registry.budget_s(experiment, mode) for experiment in self.experiments)
            self.assertLessEqual(spent + registry.LIMITS_S[mode], most, mode)

    def test_declarations(self):
        ids = [experiment.id for experiment in self.experiments]
        self.assertEqual(len(ids), len(set(ids)))
        plots = [plot.file for experiment in self.experiments for plot in experiment.plots]
        self.assertEqual(len(plots), len(set(plots)))
        for experiment in self.experiments:
            number = f"e{int(experiment.id[1:]):02}"
            self.assertTrue(registry.sources(experiment)[0].name.startswith(number + "_"), experiment.id)
            self.assertTrue(experiment.bars or experiment.id == "E12", "reported, not judged")
            self.assertLessEqual(experiment.needs, frozenset(context.PARTS))
            for plot in experiment.plots:
                self.assertTrue(plot.file.startswith(number + "-"), plot.file)
                self.assertIn(plot.kind, ("lines", "bars", "course"))
            for bar in experiment.bars:
                self.assertIn(bar.bound, ("<=", ">="), bar.what)
            if experiment.budget.gate_s:
                self.assertTrue(any(bar.counted for bar in experiment.bars), experiment.id)

    def test_bars_and_plots_of_nothing(self):
        """Without data every bar is open and nothing fails: an experiment may be stopped at any cell."""
        told = [output.Told(experiment, fixed.record(id=experiment.id, cells=[])) for experiment in self.experiments]
        for one in told:
            self.assertLessEqual({verdict.word for verdict in one.verdicts()}, {"not measured"}, one.experiment.id)
            for value in one.experiment.paper_values:
                self.assertIsInstance(value.ours(one.results), str)
            if one.experiment.losses:
                one.experiment.losses(one.results)
            if one.experiment.headline:
                self.assertIsNone(one.experiment.headline(one.results))
        self.assertEqual(output.plots_of(told), [])


if __name__ == "__main__":
    unittest.main()
