#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs a trainer to be handed the next item, and a torch DataLoader in the same run.

    python bench/python/handoff.py [-o json] [--folder DIR] [--rounds 5]

For each payload, interleaved over the rounds, medians of the rounds: `next()` of an item that was
read ahead and verified; letting go of one (a thread of the library unmaps it); next, a copy out and letting
go; `mmap` + frombuffer of a file, unverified (the least that is possible); preadv into a new
buffer; DataLoader with one worker. Microseconds an item.
"""

import argparse
import json
import mmap
import os
import statistics
import sys
import tempfile
import time

import batchweave as bw

SIZES = {"100 KB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
ITEMS = {"100 KB": 2000, "1 MB": 400, "10 MB": 60}


def fill(url, size, items):
    bw.init(url, dp=1, producers=1, durable=False)
    block = os.urandom(size)
    with bw.Producer(url, "p", kind="raw", policy="naive", durable=False, events=0) as p:
        for n in range(items):
            p.write([[block]], offset=n + 1)
        p.finish()


def percentiles(laps):
    laps.sort()
    return {"p50": laps[len(laps) // 2] * 1e6, "p99": laps[len(laps) * 99 // 100] * 1e6}


def handed_out(url, items, measured):
    """Each item by itself, after it had the time to be read ahead."""
    laps = []
    with bw.Consumer(url, memory="1GiB") as c:
        for _ in range(items):
            while c.stats()["ready"] == 0:
                time.sleep(0.0005)
            begin = time.perf_counter()
            item = c.next()
            handed = time.perf_counter()
            if measured == "copy":
                bytes(item)
            item.release()
            ended = time.perf_counter()
            laps.append({"next": handed - begin, "release": ended - handed, "copy": ended - begin}[measured])
    return percentiles(laps)


def bare_map(path, items):
    import numpy as np
    laps = []
    for _ in range(items):
        fd = os.open(path, os.O_RDONLY)
        size = os.fstat(fd).st_size
        begin = time.perf_counter()
        view = np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
        laps.append(time.perf_counter() - begin)
        os.close(fd)
        del view
    return percentiles(laps)


def positioned_read(path, size, items):
    laps = []
    fd = os.open(path, os.O_RDONLY)
    for _ in range(items):
        begin = time.perf_counter()
        buffer = bytearray(size)
        os.preadv(fd, [buffer], 0)
        laps.append(time.perf_counter() - begin)
    os.close(fd)
    return percentiles(laps)


def data_loader(path, size, items):
    try:
        import torch
        from torch.utils.data import DataLoader, IterableDataset
    except ImportError:
        return None

    class Blocks(IterableDataset):
        def __iter__(self):
            with open(path, "rb") as file:
                block = file.read()
            for _ in range(items):
                yield torch.frombuffer(bytearray(block), dtype=torch.uint8)

    laps = []
    source = iter(DataLoader(Blocks(), batch_size=None, num_workers=1, prefetch_factor=4))
    next(source)
    for _ in range(items - 1):
        begin = time.perf_counter()
        next(source)
        laps.append(time.perf_counter() - begin)
    return percentiles(laps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", choices=["text", "json"], default="text")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name, size in SIZES.items():
            url, items = f"file://{folder}/{size}", ITEMS[name]
            fill(url, size, items)
            path = os.path.join(folder, "block")
            with open(path, "wb") as file:
                file.write(os.urandom(size))
            ways = {"next()": lambda: handed_out(url, items, "next"),
                    "release()": lambda: handed_out(url, items, "release"),
                    "next, copy, release": lambda: handed_out(url, items, "copy"),
                    "mmap, unverified": lambda: bare_map(path, items),
                    "preadv": lambda: positioned_read(path, size, items),
                    "DataLoader, 1 worker": lambda: data_loader(path, size, items)}
            rounds = {way: [] for way in ways}
            for _ in range(arguments.rounds):
                for way, measure in ways.items():
                    rounds[way].append(measure())
            for way, laps in rounds.items():
                if laps[0] is not None:
                    rows.append({"payload": name, "way": way, **{
                        p: statistics.median(lap[p] for lap in laps) for p in ("p50", "p99")},
                        "least": min(lap["p50"] for lap in laps), "most": max(lap["p50"] for lap in laps)})
    if arguments.o == "json":
        json.dump(rows, sys.stdout, indent=1)
        return
    for row in rows:
        print(f"{row['payload']:>7}  {row['way']:<22} p50 {row['p50']:9.2f} us "
              f"({row['least']:.2f} to {row['most']:.2f})   p99 {row['p99']:9.2f} us")


if __name__ == "__main__":
    main()
