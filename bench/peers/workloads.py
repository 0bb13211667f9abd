# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The heavy preprocessing of E6 and the models that train on it, both those of the examples: frames of real video,
decoded and resized; real text, tokenized and packed into rows.

Item `n` of shard `i` of `s` is the same whoever makes it. `read` counts the bytes that went in.
"""

import importlib
import importlib.util
import itertools
import pathlib
import sys
from typing import Any, Iterator

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
Item = dict[str, Any]            # name to numpy array
# Few rows: the model must not be what two cores are busy with.
SEQ_LEN, ROWS, DOCUMENTS = 128, 2, 400


def example(folder: str, name: str) -> Any:
    """A file of the examples, as a module of a name of its own."""
    known = f"example_{folder}_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, EXAMPLES / folder / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


class Video:
    """Pictures and captions, sizes ragged."""

    name = "video"

    def __init__(self, shard: int, shards: int) -> None:
        self.shard, self.shards, self.read = shard, shards, 0.0

    def items(self, first: int = 0) -> Iterator[Item]:
        run = example("video", "run")
        # Of what is decoded, this shard's frames alone count.
        names = {name: (run.folder_of_videos() / name).stat().st_size for name in run.VIDEOS}
        frames = {"bigbuckbunny.mp4": 132, "bikes.mp4": 250}
        per_item = run.FRAMES * sum(names.values()) / sum(frames[name] for name in names)
        for item in itertools.islice(run.groups(self.shard, self.shards, 1 << 30), first, None):
            self.read += per_item
            yield item

    @staticmethod
    def model() -> Any:
        return example("video", "run").Model()


class Tokens:
    """Rows of tokens with positions, packed online."""

    name = "tokens"

    def __init__(self, shard: int, shards: int) -> None:
        self.shard, self.shards, self.read = shard, shards, 0.0

    def items(self, first: int = 0) -> Iterator[Item]:
        packing = importlib.import_module("batchweave.packing")
        documents = example("gpt", "corpus").Documents(self.shard, self.shards, DOCUMENTS)
        size_of = [path.stat().st_size for path in documents.paths]
        made = (batch for _ in itertools.count() for batch in
                packing.Packer(SEQ_LEN, method="best_fit").batches(documents, ROWS))
        for number, batch in enumerate(made):
            if number >= first:
                self.read = sum(size_of[:batch.offset % (len(size_of) + 1)])
                (item,), = batch.slices(1, 1)
                yield {name: item[name].numpy() for name in ("tokens", "position_ids")}

    @staticmethod
    def model() -> Any:
        sys.path.append(str(EXAMPLES / "gpt"))
        return example("gpt", "model").GPT(example("gpt", "corpus").VOCABULARY + 1, SEQ_LEN)


WORKLOADS: dict[str, Any] = {"video": Video, "tokens": Tokens}


def loss_of(model: Any, workload: str, item: Item) -> Any:
    return model(item) if workload == "video" else model(item["tokens"].long(), item["position_ids"].long())


def size_of(item: Item) -> int:
    return sum(int(array.nbytes) for array in item.values())
