# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: a fresh namespace each, and programs of their own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from typing import Any, Tuple

import batchweave as bw

# Of `tools/python test --full`: as often as it takes to be sure.
FULL = os.environ.get("BATCHWEAVE_TEST_FULL") == "1"


class Case(unittest.TestCase):
    """A test with a folder of its own, gone afterwards."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="batchweave-python-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.url = "file://" + os.path.join(self.folder, "ns")

    def init(self, dp: int = 1, cp: int = 1, producers: int = 1, **settings: Any) -> str:
        """Sealed when its one producer has finished."""
        bw.init(self.url, dp=dp, cp=cp, producers=producers, durable=False, **settings)
        return self.url

    def producer(self, id: str = "p0", **settings: Any) -> bw.Producer:
        return bw.Producer(self.url, id, policy="naive", durable=False, **settings)

    def raw_steps(self, steps: int, dp: int = 1, items: int = 1, finish: bool = True) -> None:
        """Steps of raw items that say where they belong."""
        with self.producer(kind="raw") as p:
            for step in range(p.resume_offset, p.resume_offset + steps):
                p.write([[b"%d/%d/%d" % (step, d, m) for m in range(items)] for d in range(dp)], offset=step + 1)
            if finish:
                p.finish()

    def start_program(self, text: str, *arguments: str) -> "subprocess.Popen[str]":
        """Python text in a process of its own."""
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), self.url, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def killed_program(self, text: str, steps: int) -> bool:
        """Kills it with -9 when it has published `steps` more; whether it had not ended before."""
        with bw.Space(self.url) as space:
            wanted = space.info()["next_step"] + steps
            process = self.start_program(text)
            while process.poll() is None and space.info()["next_step"] < wanted:
                time.sleep(0.005)
        process.kill()
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def run_program(self, text: str, *arguments: str, timeout: float = 60) -> Tuple[int, str]:
        """Runs Python text in a process of its own: (exit status, output)."""
        process = self.start_program(text, *arguments)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"the program did not end within {timeout} s:\n{output}") from None
        return process.returncode, output
