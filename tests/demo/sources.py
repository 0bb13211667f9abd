# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's real text: a fixed part of the standard library of the Python that runs this."""

import os

BYTES_AT_MOST = 6_000_000
SHARDS = 6  # shard k is the documents whose number, in the order of their names, is k modulo this


def root():
    return os.path.dirname(os.path.abspath(os.__file__))


def select(limit=BYTES_AT_MOST):
    """Relative names of .py files in the order of their names, the first `limit` bytes of them; what was installed
    on top (site-packages) is left out, so that the same Python always gives the same text."""
    names = []
    for folder, folders, files in os.walk(root()):
        folders[:] = [f for f in folders if f not in ("site-packages", "dist-packages", "__pycache__")]
        names += [os.path.relpath(os.path.join(folder, f), root()) for f in files if f.endswith(".py")]
    chosen, total = [], 0
    for name in sorted(names):
        path = os.path.join(root(), name)
        if os.path.isfile(path) and total + os.path.getsize(path) <= limit:
            chosen.append(name)
            total += os.path.getsize(path)
    return chosen


def read(name):
    with open(os.path.join(root(), name), "rb") as file:
        return file.read()
