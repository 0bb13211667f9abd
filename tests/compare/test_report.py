# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The report from fixed data, and the generated parts of the documentation."""

import pathlib
import tempfile
import unittest

import fixed
from compare import document, output, report
from compare.report import Told

LIMITS = {"rows": [{"name": "limit.memcpy", "value": 9.0, "value_min": 8.0, "value_max": 10.0, "unit": "GB/s"}]}
PIXEL = bytes.fromhex("89504e470d0a1a0a")


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.picture = self.folder / "e01-throughput.png"
        self.picture.write_bytes(PIXEL)

    def text(self, *told, limits=LIMITS):
        blocks = report.build(told, limits, {"e01-throughput": self.picture})
        return document.markdown(blocks, "plots")

    def test_whole(self):
        text = self.text(Told(fixed.experiment(), fixed.record()))
        for wanted in [
            "1 of 1 experiments, mode full, commit `c0ffeec0ffee`",
            "2 cores (a processor), 24.0 GiB of memory",
            "| E1 | ours over peer at 8 | 2 (1.5 – 2.5) × | ≥ 1.5 | **kept** |",
            "| E1 | ours over peer at 128 | 1 (0.5 – 3) × | ≥ 1.5 | **missed** |",
            "| E1 | of nobody (counted) | – | ≤ 1 | **not measured** |",
            "| limit.memcpy | 9 (8 – 10) GB/s |",
            "| 128 producers | 6.00 × | 1 × |",
            "![Throughput](plots/e01-throughput.png)",
            "| 128 | 200 (100 – 300) | 100 (100 – 400) |",
            "| n 8 | ours | 20 (10 – 30) | 3 |",
            "acks `all`", "its manual",
            "1 kept, 1 missed, 1 not measured",
        ]:
            self.assertIn(wanted, text)

    def test_losses_come_first(self):
        text = self.text(Told(fixed.experiment(), fixed.record()))
        losses = text[text.index("## Losses first"):text.index("## Bars")]
        self.assertLess(text.index("## Losses first"), text.index("## Limits"))
        self.assertIn("**E1, missed**: ours over peer at 128: 1 (0.5 – 3) ×, bar ≥ 1.5. The cores are full.", losses)
        self.assertIn("the peer starts faster", losses)
        self.assertIn("E1, not measured: of nobody", losses)
        self.assertNotIn("ours over peer at 8:", losses)

    def test_no_loss_is_said_too(self):
        kept = fixed.experiment(bars=fixed.experiment().bars[:1], losses=None)
        self.assertIn("Every bar is kept", self.text(Told(kept, fixed.record())))

    def test_what_lacks_is_said(self):
        text = self.text(Told(fixed.experiment(), None))
        self.assertIn("E1 was **not run**", text)
        stopped = fixed.record(complete=False, stopped="its budget is used up", mode="quick")
        text = self.text(Told(fixed.experiment(), stopped), limits=None)
        self.assertIn("E1 is **not complete**: its budget is used up", text)
        self.assertIn("Quick runs prove", text)
        self.assertIn("Not measured.", text)

    def test_modelled_is_labelled(self):
        cells = [{**fixed.CELLS[0], "sides": {"ours": fixed.side(modelled="the trainer sleeps"), "peer": fixed.side()}}]
        text = self.text(Told(fixed.experiment(bars=[]), fixed.record(cells=cells)))
        self.assertIn("ours (modelled)", text)
        self.assertIn("the trainer sleeps", text)
        self.assertNotIn("peer (modelled)", text)

    def test_settings_that_vary_are_not_said_to_hold(self):
        cells = [{**fixed.CELLS[0], "sides": {name: fixed.side(settings={"n": n, "acks": "all"})
                                              for name in ("ours", "peer")}} for n in (1, 2)]
        text = self.text(Told(fixed.experiment(bars=[], plots=[]), fixed.record(cells=cells)))
        self.assertIn("acks `all`", text)
        self.assertNotIn("n `1`", text)

    def test_html(self):
        blocks = report.build([Told(fixed.experiment(), fixed.record())], LIMITS, {"e01-throughput": self.picture})
        text = document.page("a < b", blocks)
        self.assertIn("<title>a &lt; b</title>", text)
        self.assertIn("data:image/png;base64,iVBORw0KGgo=", text)
        self.assertIn("<strong>missed</strong>", text)
        self.assertIn("<code>all</code>", text)
        self.assertNotRegex(text, r'(src|href)="(?!data:)', "stands alone")

    def test_marks_of_html_and_tables_are_escaped(self):
        self.assertEqual(document.inline("a <b> & `c<d` **e**"),
                         "a &lt;b&gt; &amp; <code>c&lt;d</code> <strong>e</strong>")
        self.assertIn("a\\|b", document.markdown([document.Table(["h"], [["a|b"]])], ""))

    def test_plots_for_drawing(self):
        plot, = output.plots_of([Told(fixed.experiment(), fixed.record())])
        self.assertEqual((plot["file"], plot["log_x"], plot["x_label"]), ("e01-throughput", True, "producers"))
        self.assertEqual(plot["series"][1], {"label": "peer", "x": [8, 128], "y": [8, 100], "low": [5, 100],
                                             "high": [20, 400]})
        self.assertEqual(output.plots_of([Told(fixed.experiment(), None)]), [])


class Publish(unittest.TestCase):
    def test_between(self):
        self.assertEqual(output.between("a<b>old<e>z", "<b>", "<e>", "new"), "a<b>new<e>z")
        for text in ("a<b>", "a<e>", "<b><b><e>"):
            with self.assertRaises(ValueError):
                output.between(text, "<b>", "<e>", "")

    def test_the_pages_have_the_marks(self):
        for name in ("README.md", "docs/performance.md"):
            text = (fixed.ROOT / name).read_text(encoding="utf-8")
            output.between(text, output.MARK.format("begin"), output.MARK.format("end"), "")

    def test_readme_part(self):
        told = [Told(fixed.experiment(), fixed.record()), Told(fixed.experiment(id="E4"), None)]
        text = output.readme_part(told, {"e01-throughput": pathlib.Path("x.png")})
        self.assertEqual(text, "- 2 times the peer\n\n![E1: Throughput](docs/plots/e01-throughput.png)\n")

    def test_three_numbers(self):
        told = [Told(fixed.experiment(id=name), fixed.record()) for name in ("E2", "E3", "E1", "E5", "E4")]
        self.assertEqual(len(output.headlines(told)), 3)
        self.assertEqual(output.headlines([Told(fixed.experiment(headline=lambda r: None), fixed.record())]), [])

    def test_local_paths(self):
        self.assertEqual(output.local_paths("see /tmp/bench-x/a and docs/plots"), ["/tmp/bench-x/a"])


if __name__ == "__main__":
    unittest.main()
