# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Every block of Python in the documents runs, in order, and prints what its comments say."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^\s*print\(.*\)\s+# (.+?)(?:: \D.*)?$", re.MULTILINE)


class Documents(unittest.TestCase):
    def run_page(self, page: Any) -> Any:
        """The page's blocks in one process, with a folder of its own in place of /tmp."""
        folder = tempfile.mkdtemp(prefix="batchweave-docs-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
        self.assertGreater(len(blocks), 0)
        names = {"__name__": "__main__"}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for number, block in enumerate(blocks, 1):
                code = compile(block.replace("/tmp/", folder + "/"), f"{page}, block {number}", "exec")
                exec(code, names)
        wanted = [text for block in blocks for text in PRINTED.findall(block)]
        for text in wanted:
            self.assertIn(text, printed.getvalue().splitlines())
        return len(wanted)

    def test_python_md(self) -> None:
        self.assertGreaterEqual(self.run_page("docs/python.md"), 5)

    def test_training_md(self) -> None:
        self.assertGreaterEqual(self.run_page("docs/training.md"), 5)

    def test_readme(self) -> None:
        self.run_page("README.md")


class Complaints(unittest.TestCase):
    def test_each_test_that_is_named_is_there(self) -> None:
        page = (ROOT / "docs" / "design" / "complaints.md").read_text(encoding="utf-8")
        rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| complaint")]
        self.assertGreater(len(rows), 40)
        for row in rows:
            named = re.findall(r"`(test_\w+\.(?:py|c)): (test_\w+)`", row)
            self.assertTrue(named, row)
            for file, test in named:
                texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob(file)]
                self.assertTrue(any(f" {test}(" in text for text in texts), f"{file}: {test}")


class Templates(unittest.TestCase):
    """What runs on a cluster cannot run here: that they are what the cluster reads, and name files that are there."""

    def named_files(self, text: Any) -> None:
        for name in re.findall(r"examples/[\w/]+\.py", text):
            self.assertTrue((ROOT / name).is_file(), name)

    def test_slurm(self) -> None:
        for path in sorted((ROOT / "examples" / "slurm").glob("*.sbatch")):
            subprocess.run(["bash", "-n", path], check=True)
            self.named_files(path.read_text(encoding="utf-8"))

    def test_kubernetes(self) -> None:
        kinds = []
        for path in sorted((ROOT / "examples" / "kubernetes").glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            kinds += [part["kind"] for part in yaml.safe_load_all(text)]
            self.named_files(text)
        self.assertEqual(kinds, ["Job", "Service", "Job"])


if __name__ == "__main__":
    unittest.main()
