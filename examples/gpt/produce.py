# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""One producer: reads its share of the documents, packs them into rows, publishes whole batches.

    python produce.py URL --shard 0/3

Kill it at any moment and start it again: it goes on at the very sample, and nothing is twice or lost.
"""

import argparse
import time

import batchweave as bw
from batchweave.packing import Packer
from corpus import Documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--shard", required=True, metavar="I/N")
    parser.add_argument("--documents", type=int, default=0, help="of the library, over all producers; 0: all")
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--rows", type=int, default=4, help="of an item")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between batches: preprocessing that is heavy")
    arguments = parser.parse_args()
    shard, shards = (int(part) for part in arguments.shard.split("/"))
    documents = Documents(shard, shards, arguments.documents)
    packer = Packer(arguments.seq_len, method="best_fit")
    try:
        producer = bw.Producer(arguments.url, f"p{shard}")
    except bw.errors.Finished:
        return
    with producer:
        dp, items = producer.space.dp, producer.space.items
        for batch in packer.batches(documents, dp * items * arguments.rows, state=producer.resume_state):
            producer.write(batch.slices(dp, items), offset=batch.offset, state=batch.state, tokens=batch.tokens,
                           samples=[[f"{shard}:{name}" for name in names] for names in batch.samples(dp)])
            time.sleep(arguments.pause)
        producer.finish()


if __name__ == "__main__":
    main()
