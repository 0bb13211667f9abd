# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer that waits for data: its SIGTERM handler saves, then Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from batchweave.torch import Loader

loader = Loader(sys.argv[1], dp=(0, 2))


def save(*_: Any) -> None:
    print("saved", loader.cursor.step, flush=True)
    os.kill(os.getpid(), signal.SIGINT)


signal.signal(signal.SIGTERM, save)
# What started this may have had it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
next(loader)
next(loader)
print("waits", flush=True)
try:
    next(loader)
except KeyboardInterrupt:
    print("keyboard", flush=True)
