# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of parquet files as frames of JSON, for batchweave produce … --exec (needs pyarrow).

    batchweave produce URL --id p0 --shard 0/1 --exec 'python3 parquet.py FILE …'
"""

import itertools
import json
import os
import sys
from typing import Any

import pyarrow.parquet


def rows(paths: Any) -> Any:
    for path in paths:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()


def main() -> None:
    shard, shards = map(int, os.environ["BATCHWEAVE_SHARD"].split("/"))
    begin = int(os.environ["BATCHWEAVE_OFFSET"])  # rows of this shard that are in already
    mine = itertools.islice(rows(sys.argv[1:]), shard, None, shards)
    for row in itertools.islice(mine, begin, None):
        data = json.dumps(row, default=str).encode()
        sys.stdout.buffer.write(len(data).to_bytes(4, "little") + data)


if __name__ == "__main__":
    main()
