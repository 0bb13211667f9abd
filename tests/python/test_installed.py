# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What a user has after `pip install`: the package alone, with nothing of others (how quickly it is imported
is a row of bench/python/handoff.py)."""

import pathlib
import subprocess
import sys
import unittest

import batchweave

# Whoever imports the package pays for what it imports; these it may use, later.
HEAVY = ["asyncio", "dataclasses", "decimal", "inspect", "multiprocessing", "numpy", "safetensors", "socket", "ssl",
         "torch"]

IMPORT = """
import sys
import batchweave
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def imported() -> list[str]:
    """What the import brought of HEAVY, in a fresh process."""
    return subprocess.run([sys.executable, "-c", IMPORT, *HEAVY], check=True, capture_output=True,
                          text=True).stdout.split()


class InstalledTest(unittest.TestCase):
    def test_the_import_brings_nothing_heavy(self) -> None:
        self.assertEqual(imported(), [])

    def test_the_package_is_the_one_of_the_wheel(self) -> None:
        folder = pathlib.Path(batchweave.__file__).parent
        self.assertEqual(folder.parent.name, "site-packages")
        self.assertTrue((folder / "py.typed").is_file())
        self.assertEqual([path.name for path in folder.rglob("*.so")], ["_core.abi3.so"])


if __name__ == "__main__":
    unittest.main()
