# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The suite that every store passes, on the test store in each of its dialects, and what was sent there."""

import os
import subprocess
import unittest

import stores

FOLDER = os.environ["CONTRACT_PROGRAMS"]
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true",
        "AZURE_STORAGE_ACCOUNT": stores.ACCOUNT, "AZURE_STORAGE_KEY": "c2VjcmV0"}


class Contract(unittest.TestCase):
    def suite(self, name):
        server = stores.Server()
        self.addCleanup(server.stop)
        done = subprocess.run([os.path.join(FOLDER, f"test_contract_{name}"), f"http://127.0.0.1:{server.port}"],
                              env={**os.environ, **KEYS}, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-3000:])
        return server.counters()["requests"]

    def test_s3(self):
        self.suite("s3")

    # A thousand names are deleted on each of two places: 256 at once on Azure, 100 on Google.
    def test_azure(self):
        self.assertEqual(self.suite("azure")["delete_many"], {"202": 8})

    def test_gcs(self):
        self.assertEqual(self.suite("gcs")["delete_many"], {"200": 20})


if __name__ == "__main__":
    stores.main()
