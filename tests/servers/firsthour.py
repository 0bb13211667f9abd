# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What a user meets first on a store: what doctor says of it, and the guide, word for word at its URL."""

import json
import pathlib
import subprocess
import sys

GUIDE = pathlib.Path(__file__).resolve().parents[1] / "cli" / "test_guide.py"


def check_doctor(tally, server):
    """It finds no fault, and leaves nothing behind."""
    output = tally.batchweave(server.environment, "doctor", server.url("doctor"), "-o", "json")
    lines = [json.loads(line) for line in output.splitlines()]
    tally.expect(lines[-1]["fit"] and not any(line.get("check") == "left" for line in lines), f"doctor: {lines}")


def check_guide(tally, server):
    environment = {**server.environment, "BATCHWEAVE_BINARY": str(tally.binary()),
                   "BATCHWEAVE_GUIDE_URL": server.url("guide/{}")}
    done = subprocess.run([sys.executable, "-B", str(GUIDE)], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    tally.expect(done.returncode == 0, f"the guide: exit {done.returncode}\n{done.stdout[-4000:]}")
