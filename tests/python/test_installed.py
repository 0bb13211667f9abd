# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What a user has after `pip install`: the package alone, quickly imported, with nothing of others."""

import pathlib
import subprocess
import sys
import unittest

import batchweave

IMPORT_MS_MAX = 50
TRIES = 20
# Whoever imports the package pays for what it imports; these it may use, later.
HEAVY = ["asyncio", "multiprocessing", "numpy", "safetensors", "socket", "ssl", "torch"]

IMPORT = """
import sys, time
began = time.process_time()
import batchweave
print((time.process_time() - began) * 1e3, *(name for name in sys.argv[1:] if name in sys.modules))
"""


def imported() -> list[str]:
    """Of a fresh process: milliseconds of processor time that the import took, and what it brought of HEAVY."""
    return subprocess.run([sys.executable, "-c", IMPORT, *HEAVY], check=True, capture_output=True,
                          text=True).stdout.split()


class InstalledTest(unittest.TestCase):
    def test_the_import_is_fast(self) -> None:
        # Of a busy machine the best of several tries.
        taken = []
        while len(taken) < TRIES and min(taken, default=IMPORT_MS_MAX) >= IMPORT_MS_MAX:
            taken.append(float(imported()[0]))
        self.assertLess(min(taken), IMPORT_MS_MAX)

    def test_the_import_brings_nothing_heavy(self) -> None:
        self.assertEqual(imported()[1:], [])

    def test_the_package_is_the_one_of_the_wheel(self) -> None:
        folder = pathlib.Path(batchweave.__file__).parent
        self.assertEqual(folder.parent.name, "site-packages")
        self.assertTrue((folder / "py.typed").is_file())
        self.assertEqual([path.name for path in folder.rglob("*.so")], ["_core.abi3.so"])


if __name__ == "__main__":
    unittest.main()
