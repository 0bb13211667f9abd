# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the rows of a run into the table of docs/performance.md.

    build/bench/bw-bench -o json | python3 bench/table.py
"""

import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- bench/table.py: begin -->\n", "<!-- bench/table.py: end -->\n"

WHAT = {
    "limit.memcpy": "copying 64 MiB, 1 MiB at a time",
    "limit.pread": "reading a cached file, 1 MiB at a time",
    "limit.append_fdatasync": "appending 4 KiB and fdatasync",
    "limit.publish.durable": "publishing 4 KiB by link, synced, on the disk",
    "limit.publish.disk": "the same without the syncs",
    "limit.publish.memory": "the same on the memory file system",
    "commit.durable.floor": "floor: the same bytes by the fewest calls, synced, on the disk",
    "commit.durable": "commits of one staged batch, durable",
    "commit.durable.bytes": "what such a commit writes, folds included",
    "commit.plain.floor": "floor without syncs, memory file system",
    "commit.plain": "commits, not durable, memory file system",
    "commit.plain.bytes": "what such a commit writes",
    "commit.plain.disk.floor": "floor without syncs, on the disk",
    "commit.plain.disk": "commits, not durable, on the disk",
    "commit.plain.disk.bytes": "what such a commit writes",
    "history.1e3.manifest": "manifest behind 10^3 preloaded steps",
    "history.1e6.manifest": "manifest behind 10^6 preloaded steps",
    "history.1e3.floor_p50": "floor publishing those bytes",
    "history.1e6.floor_p50": "floor publishing those bytes",
    "history.1e3.commit_p50": "a commit behind 10^3",
    "history.1e6.commit_p50": "a commit behind 10^6",
    "history.1e3_ones.manifest":
        "the same behind a history of commits of one batch each: manifest, 10^3",
    "history.1e6_ones.manifest": "manifest, 10^6",
    "history.1e3_ones.floor_p50": "floor, 10^3",
    "history.1e6_ones.floor_p50": "floor, 10^6",
    "history.1e3_ones.commit_p50": "a commit, 10^3",
    "history.1e6_ones.commit_p50": "a commit, 10^6",
    "manifest.32_producers.mean": "a commit of one batch, 32 producers in turn, 2,020 commits",
    "manifest.32_producers.max": "the largest of them",
    **{f"states.{where}{slices}x{kilobytes}k.over_{other}":
       f"a {commit} with a resume state of 256 B, {slices} slices of {kilobytes} KB, over {what}"
       for where, commit in (("", "durable commit"), ("put20.", "commit where a PUT takes 20 ms,"))
       for slices in (8, 32, 128) for kilobytes in (10, 100, 1000)
       for other, what in (("dummy", "one with as many bytes that do not change"), ("none", "one with none"))},
    "rivals.one": "batches published by one process, cadence off, memory file system",
    "rivals.eight": "as many by eight processes into one namespace; none lost",
    "decode.descriptor": "CRC and full check, segment of 20,000 descriptors",
    "decode.descriptor.one_fold": "the same, segment of 100",
    "next.prefetched.p50": "`bw_consumer_next` of an item that is there",
    "next.prefetched.p99": "the slowest hundredth, other processes included",
    "verified.without": "delivery of cached files without the check of items",
    "verified.with": "with it",
    "memory.per_budget": "peak resident memory of 128 ranks, 13 of them slow, over their budget of 128 MiB",
    "restart.first_item": "from opening a namespace of 10^5 steps to the first item",
    "restart.trips.starved": "round trips of a restart, 10^5 steps, cursors of a rank that waited for its next "
                             "step; share of at most 3",
    "restart.trips.behind_10": "… of one 10 steps behind the producers",
    "restart.trips.behind_1000": "… 1,000 steps",
    "restart.trips.behind_10000": "… 10,000 steps",
    "restart.trips.stored": "… of one that began when all steps were there",
    "restart.trips.gone": "… whose cursors' versions are gone",
    "objects.put.bare": "processor time of a PUT of 100 KB, a bare loop over libcurl",
    "objects.put": "the same, signed as over TLS, by the store",
    "objects.put_hashed.bare": "the bare loop beside the next row",
    "objects.put_hashed": "the same with the body's SHA-256, as over plain http",
    "objects.get.bare": "processor time of a ranged GET of 100 KB, a bare loop over libcurl",
    "objects.get": "the same, signed and checked, by the store",
    "objects.put_large.bare": "processor time of a PUT of 4 MiB, a bare loop over libcurl",
    "objects.put_large": "the same, signed as over TLS, with a CRC-32C that the store reads the bytes for",
    "objects.put_large_known.bare": "the bare loop beside the next row",
    "objects.put_large_known": "the same with a CRC-32C that the caller knows",
    "requests.per_rank_step": "reads and maps of data files, by strace",
    "requests.bytes_per_payload": "bytes of those over bytes of items, slices of 100 KiB, 4 items",
    "reads.per_rank_step": "GETs of data by eight ranks' reads, per rank and step, by the store's counters",
    "reads.per_rank_step.all": "… with those of the manifests, markers and hints, opens included",
    "reads.bytes_per_payload": "bytes of those GETs over bytes of items",
    "polling.rank": "GETs a second of a rank that waits for the next step",
    "polling.producer": "… of a producer that `max_lag` holds",
    "polling.job_of_1024": "GETs a second below the manifests' prefix by 1,024 starved ranks, a commit each 0.4 s; "
                           "one rank's, times 1,024",
    "scaling.8_producers": "batches published by 8 producers where a PUT takes 50 ms",
    "scaling.128_producers": "… by 128, over 8",
    "scaling.of_the_cap": "what 128 producers upload, over the bandwidth that the store has",
    "tail.quiet.p50": "a training step of eight ranks: a modelled trainer computes for two medians of a GET",
    "tail.quiet.p99": "the slowest hundredth of them",
    "tail.unhedged.p99": "… where one request in a hundred takes ten times as long, without second requests",
    "tail.hedged.p99": "… with second requests; over the quiet one",
    "tail.hedged.requests": "requests for a read then",
    "tail.all_slow.change": "requests for a read while the store becomes ten times as slow as a whole",
    "tail.all_slow.requests": "… once it is",
    "tail.bare.quiet.p99": "a step without reading ahead and without a trainer, the slowest hundredth",
    "tail.bare.hedged.p99": "… where one request in a hundred takes ten times as long, with second requests",
    "tail.bare.hedged.requests": "requests for a read then",
    **{f"latency.{what}.{when}.{part}": f"{text}, {where}: {rank}"
       for what, text in (("create", "a conditional write where a PUT takes 50 ms"), ("commit", "a commit there"))
       for when, where in (("alone", "alone"), ("loaded", "beside other producers' load"))
       for part, rank in (("p50", "median"), ("p99", "the slowest hundredth"))},
    "lifecycle.none.peak": "most that lay there in 1,010 steps, a checkpoint each 10, nothing deleted",
    "lifecycle.keep_1.peak": "the same, swept behind each pin, the newest kept; over its bound",
    "lifecycle.keep_1.saved": "less than without",
    "lifecycle.keep_3.peak": "three pins kept; over its bound",
    "lifecycle.keep_3.saved": "less than without",
    "lifecycle.two_groups.peak": "a second job 40 steps behind, two pins, each 20; over its bound",
    "lifecycle.two_groups.saved": "less than without",
    "lifecycle.metadata": "the most of it that was not data",
}


def number(value):
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"


def spread(row, of):
    least, most = row[of + "_min"], row[of + "_max"]
    text = number(row[of]) if of == "value" else f"{row[of]:.3f}"
    if least == most:
        return text
    form = number if of == "value" else (lambda x: f"{x:.2f}")
    return f"{text} ({form(least)} – {form(most)})"


def line(row):
    ratio = "" if row["ratio"] is None else spread(row, "ratio")
    limit = ""
    if row["limit"] is not None:
        sign = {"<=": "≤", ">=": "≥"}[row["bound"]]
        limit = f"{row['judged']} {sign} {row['limit']:g}: **{'kept' if row['kept'] else 'missed'}**"
    name = row["name"]
    return (f"| `{name}` | {WHAT[name]} | {spread(row, 'value')} {row['unit']} | {ratio} | {limit} "
            f"| `batchweave bench {name.split('.')[0].replace('limit', 'limits')}` |\n")


def main():
    table = ("| row | what | median (least – greatest) | ratio | limit | command |\n"
             "|---|---|---|---|---|---|\n")
    table += "".join(line(json.loads(text)) for text in sys.stdin)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
