# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Lance as a log of commits: appends of one row, each a version of its own, on a folder.

`series` is the median of each hundredth of the run: what a commit costs as history grows. Metadata is all that is not
a data file. Lance makes one link and flushes nothing to the device on a commit, so it is compared with ours
durable=false.
"""

import importlib
import importlib.metadata
import os
import pathlib
import shutil
import time
from typing import Any

import carried
import side


def tree_bytes(folder: pathlib.Path, without: frozenset[str]) -> int:
    """Of files below it, but for folders of these names."""
    total = 0
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        total += sum(os.stat(os.path.join(path, name)).st_size for name in files)
    return total


def measure(plan: dict[str, Any]) -> dict[str, Any]:
    lance, arrow = importlib.import_module("lance"), importlib.import_module("pyarrow")
    place = pathlib.Path(plan["folder"]) / "lance"
    # Of the size of what a batch's descriptor says: producer, offset, place.
    row = arrow.table({"producer": ["p0"], "offset": [1], "key": ["data/00/0123456789abcdef"]})
    lance.write_dataset(row, str(place), mode="create")
    samples = []
    with side.Meter() as meter:
        for _ in range(plan["commits"]):
            began = time.monotonic()
            lance.write_dataset(row, str(place), mode="append")
            samples.append(time.monotonic() - began)
    counted = tree_bytes(place, frozenset({"data"}))
    shutil.rmtree(place)
    return side.row(carried.commit_figures(samples, counted, meter.wall_s), meter,
                    series={"commit_us": carried.course_us(samples)},
                    settings={"pylance": importlib.metadata.version("pylance"), "rows a commit": 1,
                              "commits": plan["commits"]})


if __name__ == "__main__":
    side.main(measure)
