# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""How fast samples are packed, in one thread: PYTHONPATH=python python bench/python/packing_speed.py"""

import time

import numpy

from batchweave.balance import by_tokens
from batchweave.packing import Packer

SAMPLES, SEQ_LEN = 20000, 8192


def main() -> None:
    """Lengths as of web documents (log-normal, median 330 tokens); two i32 fields."""
    random = numpy.random.default_rng(1)
    lengths = numpy.minimum(random.lognormal(5.8, 1.0, SAMPLES).astype(int) + 1, 2 * SEQ_LEN)
    samples = [{name: numpy.zeros(n, numpy.int32) for name in ("tokens", "labels")} for n in lengths]
    for method in ("best_fit", "sequential"):
        began, rows, used, state = time.process_time(), 0, 0, 0
        for batch in Packer(SEQ_LEN, method=method).batches(samples, rows=16):
            batch.slices(4, 2)
            rows, used, state = rows + len(batch.rows), used + batch.tokens, max(state, len(batch.state))
        took = time.process_time() - began
        print(f"{method}: {SAMPLES / took:,.0f} samples/s, {rows / took:,.0f} rows/s, {used / took / 1e6:.1f} Mtok/s,"
              f" {100 * used / rows / SEQ_LEN:.2f} % filled, state at most {state} B")
    tokens = [sample["tokens"][:SEQ_LEN] for sample in samples]
    for padded in (False, True):
        began, full = time.process_time(), []
        for group in by_tokens(tokens, limit=SEQ_LEN, dp=4, items=2, padded=padded):
            full.append(sum(len(s) for row in group.grid for item in row for s in item) / (8 * SEQ_LEN))
        took = time.process_time() - began
        print(f"by_tokens, {'padded' if padded else 'ragged'}: {SAMPLES / took:,.0f} samples/s, "
              f"{100 * sum(full) / len(full):.1f} % filled")


if __name__ == "__main__":
    main()
