# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What a large job asks of an object store, on paper: requests a second and below which names, bytes, dollars an hour.
The settings that decide it are read from the sources of the product, so that the paper does not stay behind."""

import dataclasses
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent

# Published for S3: requests a second below one prefix.
READS_MAX, WRITES_MAX = 5500, 3500
LIMITS_FROM = "S3's documentation: 3,500 PUT/COPY/POST/DELETE and 5,500 GET/HEAD a second and prefix"


@dataclasses.dataclass(frozen=True)
class Prices:
    """Dollars for 1,000 requests, and for each GB that goes through."""

    name: str
    put: float
    get: float
    gb_in: float = 0
    gb_out: float = 0


PRICES = [Prices("S3 Standard", 0.005, 0.0004), Prices("S3 Express", 0.00113, 0.00003, 0.0032, 0.0006)]
PRICES_FROM = "price lists of late 2025; PUT and GET also where a condition fails or nothing is there"


def constant(file: str, name: str) -> int:
    """Of a #define in the product's sources."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^#define {name} (\d+)u?\b", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{file} does not define {name} as a number")
    return int(found.group(1))


@functools.cache
def poll_floor_s_a_rank() -> float:
    return constant("src/client/polling.h", "POLLING_NS_A_RANK") / 1e9


@functools.cache
def marker_every() -> int:
    return constant("src/protocol/chain_step.c", "MARKER_EVERY")


def poll_interval_s(ranks: int, commits_per_s: float) -> float:
    """src/client/polling.c: a quarter of the time between commits, 2 ms to 1 s; not below the job's floor."""
    wanted = min(max(0.25 / commits_per_s, 0.002), 1.0) if commits_per_s > 0 else 1.0
    return max(wanted, ranks * poll_floor_s_a_rank())


@dataclasses.dataclass(frozen=True)
class Polls:
    """Of one rank that waits for each next step, a second: the most that a rank asks."""

    manifests: float
    markers: float

    @property
    def all(self) -> float:
        return self.manifests + self.markers


def polls(ranks: int, commits_per_s: float) -> Polls:
    """A poll reads each version that has come since, one after the other, and one name more, which is not there; news
    are proved by a marker, silence by one each so many polls. That is so for fewer versions a poll than it takes to
    gallop: at the commits of one chain, a few a second, and intervals below a second."""
    a_second = 1 / poll_interval_s(ranks, commits_per_s)
    news = min(commits_per_s, a_second)
    return Polls(commits_per_s + a_second, news + (a_second - news) / marker_every())


@dataclasses.dataclass(frozen=True)
class Job:
    ranks: int                # of different slices: those that share one share its bytes only by a cache
    producers: int
    steps_per_s: float
    slice_bytes: int
    commits_per_s: float      # of the chain: not more than there are steps
    reads_per_commit: float   # of producers
    manifest_bytes: float

    @property
    def commits(self) -> float:
        return min(self.commits_per_s, self.steps_per_s)


def figures(job: Job) -> dict[str, float]:
    """Requests a second by the folder they go to; the data lie below 256 prefixes by their names' hash."""
    each = polls(job.ranks, job.commits)
    slices = job.ranks * job.steps_per_s
    producer_reads = job.commits * job.reads_per_commit
    manifest_reads = job.ranks * each.manifests + producer_reads
    markers = job.ranks * each.markers + job.commits
    found = {
        "slice_gets_per_s": slices, "slice_gets_per_prefix": slices / 256, "manifest_reads_per_s": manifest_reads,
        "marker_reads_per_s": markers, "manifest_writes_per_s": job.commits, "data_puts_per_s": job.steps_per_s,
        "gb_out_per_s": (slices * job.slice_bytes + (manifest_reads - job.ranks * (each.manifests - job.commits))
                         * job.manifest_bytes) / 1e9,
        "gb_in_per_s": job.ranks * job.steps_per_s * job.slice_bytes / 1e9,
        "chain_versions_per_hour": 3600 * job.commits,
    }
    gets, puts = slices + manifest_reads + markers, job.steps_per_s + job.commits
    for price in PRICES:
        dollars = 3600 * ((gets * price.get + puts * price.put) / 1000 + found["gb_in_per_s"] * price.gb_in
                          + found["gb_out_per_s"] * price.gb_out)
        found[f"dollars_per_hour.{price.name}"] = dollars
    found["polling_dollars_per_hour"] = 3600 * (manifest_reads + markers) * PRICES[0].get / 1000
    return found


def figures_of_paper(job: Job) -> dict[str, float]:
    """The same job with the paper's two GETs, a footer's and a slice's, and a poll of 10 Hz by each rank."""
    slices, polled = 2 * job.ranks * job.steps_per_s, 10.0 * job.ranks
    found = {"slice_gets_per_s": slices, "manifest_reads_per_s": polled, "data_puts_per_s": job.steps_per_s}
    for price in PRICES[:1]:
        found[f"dollars_per_hour.{price.name}"] = 3600 * (
            (slices + polled) * price.get + (job.steps_per_s + job.commits) * price.put) / 1000
    return found
