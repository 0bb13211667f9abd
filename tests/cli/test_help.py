# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Help, docs, options and the table of errors: what needs no namespace."""

import json
import os
import pathlib
import re
import unittest

import harness

COMMANDS = ("init produce consume info inspect get tail verify seal forget group pin release gc doctor bench errors "
            "help version").split()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Help(harness.CliTest):
    def test_docs_are_the_table(self):
        printed = self.run_cli("help", "--markdown").out.decode()
        self.assertEqual((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), printed,
                         "run: batchweave help --markdown > docs/cli.md")

    def test_every_command_has_help_and_examples(self):
        overview = self.run_cli("help").out.decode()
        self.assertEqual(re.findall(r"^  (\w+) ", overview, re.M), COMMANDS)
        for name in COMMANDS:
            text = self.run_cli(name, "--help").out.decode()
            self.assertEqual(text, self.run_cli("help", name).out.decode())
            for part in ("usage: batchweave " + name, "\nexamples:\n", "\nexit codes:\n", "\noutput:\n"):
                self.assertIn(part, text)

    def test_options_stand_in_columns(self):
        """Columns are characters, whatever bytes an ellipsis has."""
        for name in COMMANDS:
            options = self.run_cli(name, "--help").out.decode().split("\noptions", 1)[1].split("\noutput:\n")[0]
            for line in options.splitlines()[1:]:
                if line.startswith("  --"):
                    self.assertRegex(line, r"^  (--.{22}  \S.*|(?=.{25})--\S+( \S+)?)$", name)

    def test_examples_parse(self):
        """Each example is at least well-formed: it fails, if at all, on what it names and not on how."""
        for name in COMMANDS:
            text = self.run_cli(name, "--help").out.decode().split("\nexamples:\n")[1]
            for line in re.findall(r"^  batchweave (.*)$", text, re.M):
                words = [word.strip("'") for word in re.findall(r"'[^']*'|[^\s<>]+", re.sub(r"[<>]\s*\S+", "", line))]
                words = [w.replace("file:///data/run7", "file:///proc/none/run7") for w in words]
                if name == "bench":  # takes minutes
                    words.append("--help")
                result = self.run_cli(*words, expect=None)
                self.assertNotIn("[INVALID]", result.err, line)

    def test_no_command(self):
        result = self.run_cli(expect=1)
        self.assertIn(b"usage:", result.out)

    def test_version(self):
        self.assertRegex(self.run_cli("version").out.decode(), r"^batchweave \d+\.\d+\.\d+\n$")
        self.assertEqual(set(self.json_line("version")), {"version"})
        self.assertEqual(self.run_cli("--version").out, self.run_cli("version").out)

    def test_settings(self):
        lines = self.json_lines("help", "settings")
        names = {line["name"] for line in lines}
        for name in "dp cp items producers max_lag max_bytes block_size tail_cap part_size page_min mode".split():
            self.assertIn(name, names)
        for line in lines:
            self.assertEqual(set(line), {"name", "scope", "type", "default", "help"})
        text = self.run_cli("help", "settings").out.decode()
        for name in names:
            self.assertIn(f"  {name} ", text)
        self.assertNotIn("default )", text)

    def test_defaults_shown_are_the_library_s(self):
        """Options that set a setting show the setting's own default."""
        settings = {line["name"]: line["default"] for line in self.json_lines("help", "settings")}
        text = self.run_cli("init", "--help").out.decode()
        shown = re.findall(r"\(setting (\w+)(?:, (needed|default (\S+)))?\)", text)
        self.assertGreater(len(shown), 8)
        for name, _, preset in shown:
            if preset:
                self.assertEqual(preset, settings[name], name)


class Options(harness.CliTest):
    def test_bad_arguments(self):
        url = self.url
        for words in (["fly"], ["info"], ["info", url, "extra"], ["info", url, "--no-such"], ["info", url, "-x"],
                      ["info", url, "-o", "xml"], ["info", url, "--output"], ["info", url, "--progress=1"],
                      ["info", url, "-o", "json", "-o", "json"], ["info", url, "--timeout", "soon"],
                      ["info", url, "--timeout", "1e3"], ["info", url, "--set", "dp"], ["info", url, "--set", "=1"],
                      ["info", url, "--set", "no_such_setting=1"], ["init", url], ["init", url, "--dp", "0"],
                      ["init", url, "--dp", "x"], ["produce", url, "text:x"], ["produce", url, "--id", "p"],
                      ["produce", url, "--id", "p", "x"], ["produce", url, "--id", "p", "text:"],
                      ["produce", url, "--id", "p", "text:x", "frames:y"],
                      ["produce", url, "--id", "p", "frames:-", "frames:-"],
                      ["produce", url, "--id", "p", "--exec", "true", "text:x"],
                      ["produce", url, "--id", "p", "--shard", "2/2", "text:x"],
                      ["produce", url, "--id", "p", "--shard", "1", "text:x"],
                      ["produce", url, "--id", "p", "--shard", "0/0", "text:x"],
                      ["produce", url, "--id", "p", "--seq-len", "0", "text:x"],
                      ["produce", url, "--id", "p", "--frame-max", "5GiB", "frames:x"],
                      ["produce", url, "--id", "p", "--frame-max", "1KB", "frames:x"],
                      ["consume", url, "--world", "0"], ["consume", url, "--rank", "2", "--world", "2"],
                      ["consume", url, "--world", "2", "--save-every", "0"], ["get", url, "x"], ["get", url, "1", "2"],
                      ["get", url, "1", "2", "x"], ["get", url, "-1"], ["get", url, "0", "0", "0", "--meta"],
                      ["get", url, "99999999999999999999"], ["inspect", url, "genesis", "--prefix", "x"],
                      ["help", "fly"], ["errors", "NO_SUCH"]):
            with self.subTest(words=words):
                result = self.run_cli(*words, expect=1)
                self.assert_code(result, "INVALID")
                self.assertEqual(result.out, b"")

    def test_json_errors(self):
        result = self.run_cli("info", self.url, "-o", "json", expect=3)
        error = json.loads(result.err)["error"]
        self.assertEqual(set(error), {"code", "class", "exit", "message", "key", "step", "attempts"})
        self.assertEqual((error["code"], error["class"], error["exit"]), ("NO_NAMESPACE", "STATE", 3))

    def test_options_anywhere(self):
        self.run_cli("init", "--dp=2", self.url, "--items=2", "-ojson")
        out = self.run_cli("info", "--timeout", "500ms", "-o", "json", "--", self.url).out
        self.assertEqual(json.loads(out)["dp"], 2)

    def test_standard_output_that_fails(self):
        self.init()
        self.produce_frames([b"x" * 100000, b"y"])
        for words in (["info"], ["inspect"], ["get", 0], ["get", 0, "-o", "json"], ["help", "settings"],
                      ["help", "--markdown"], ["errors"], ["errors", "-o", "json"], ["version"]):
            if words[0] in ("info", "inspect", "get"):
                words.insert(1, self.url)
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                process = harness.subprocess.run([harness.BINARY, *map(str, words)], stdout=full,
                                                 stderr=harness.subprocess.PIPE, check=False)
                self.assertEqual(process.returncode, 4)
                self.assertIn(b"No space left on device", process.stderr)
                self.assertIn(b"NO_SPACE", process.stderr)


class Errors(harness.CliTest):
    def test_every_code_is_explained(self):
        header = (ROOT / "include" / "batchweave" / "status.h").read_text(encoding="utf-8")
        rows = re.findall(r"X\((\d+), (\w+), (\w+), \"(.*?)\"\)", header)
        self.assertGreater(len(rows), 40)
        lines = self.json_lines("errors")
        self.assertEqual([(str(x["number"]), x["code"], x["class"], x["text"]) for x in lines], rows)
        for line in lines:
            self.assertEqual(line["exit"], harness.EXITS[line["class"]])
            if line["code"] != "OK":
                for part in ("meaning", "causes", "action"):
                    self.assertGreater(len(line[part]), 10, line["code"])
                    self.assertTrue(line[part].endswith("."), line[part])
            text = self.run_cli("errors", line["code"]).out.decode()
            self.assertIn(line["text"], text)
            for width in map(len, text.splitlines()):
                self.assertLessEqual(width, 120)
        self.assertEqual(self.run_cli("errors", "bw_fenced").out, self.run_cli("errors", "FENCED").out)
        self.assertEqual(len(self.run_cli("errors").out.splitlines()), len(rows))


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
