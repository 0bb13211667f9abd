# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The input of the soak: frames made now, for `produce --exec`, at a rate, until a file says that it is enough.

    soak_source.py NAME FRAMES_PER_SECOND FOLDER

Frame k of a name is always the same bytes, so that whoever checks can make it again. It begins at BATCHWEAVE_OFFSET
and ends when FOLDER/stop is there; then FOLDER/totals/NAME.PID says how many there have been.
"""

import os
import random
import sys
import time


def frame(name, number):
    rng = random.Random(f"{name} {number}")
    return f"{name} {number} ".encode() + rng.randbytes(rng.choice((0, 10, 300, 1500)))


def main():
    name, rate, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    number = int(os.environ["BATCHWEAVE_OFFSET"])
    out = sys.stdout.buffer
    due = time.monotonic()
    while not os.path.exists(os.path.join(folder, "stop")):
        data = frame(name, number)
        try:
            out.write(len(data).to_bytes(4, "little") + data)
            out.flush()
        except BrokenPipeError:  # the producer was killed
            os._exit(1)
        number += 1
        due = max(due + 1 / rate, time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))
    with open(os.path.join(folder, "totals", f"{name}.{os.getpid()}"), "w", encoding="ascii") as file:
        file.write(str(number))


if __name__ == "__main__":
    main()
