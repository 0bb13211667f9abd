# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""produce from lines of JSON, WebDataset shards and token files: the right records, once, whatever happens."""

import collections
import gzip
import io
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tarfile
import unittest

import harness
from harness import samples_of
import test_produce

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IGNORED = -100


def tensors_of(item):
    """The tensors of a safetensors item of I32, as lists of rows; written from the format's page alone."""
    size, = struct.unpack_from("<Q", item)
    header = json.loads(item[8:8 + size])
    data = item[8 + size:]
    assert (8 + size) % 64 == 0, size
    tensors, end = {}, 0
    notes = header.pop("__metadata__", {})
    for name, entry in sorted(header.items(), key=lambda pair: pair[1]["data_offsets"]):
        begin, behind = entry["data_offsets"]
        rows, columns = entry["shape"]
        assert begin == end and behind - begin == 4 * rows * columns and entry["dtype"] == "I32", entry
        assert notes["batchweave.axis." + name] == "1"
        numbers = struct.unpack(f"<{rows * columns}i", data[begin:behind])
        tensors[name] = [list(numbers[k * columns:(k + 1) * columns]) for k in range(rows)]
        end = behind
    assert end == len(data)
    return tensors


def add(archive, name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


class Records(harness.CliTest):
    def produce(self, *words, id="p", expect=0, **more):
        return self.run_cli("produce", self.url, "--id", id, *words, expect=expect, **more)

    def samples(self, world=2):
        self.run_cli("seal", self.url)
        return [s for i in self.delivered(world) if i is not None for s in samples_of(i)]

    def kill_until_done(self, *words):
        kills = test_produce.Text.kill_until_done(self, ["produce", self.url, "--id", "p", *words])
        self.assertGreater(kills, 2)



class Lines(Records):
    def write(self, name, count, seed=0):
        rng = random.Random(seed)
        lines = [json.dumps({"k": k, "name": name, "text": "ä" * rng.randrange(50)}).encode() for k in range(count)]
        (self.folder / name).write_bytes(b"\n".join(lines) + b"\n")
        return lines

    def test_everything_comes_out_once(self):
        lines = self.write("a.jsonl", 50) + self.write("b.jsonl", 31)
        self.init(2, 2)
        for shard in range(3):
            self.produce("--shard", f"{shard}/3", "--batch", 4, "jsonl:{a,b}.jsonl", id=f"p{shard}")
        got = self.samples()
        self.assertEqual(sorted(s["json"] for s in got), sorted(lines))
        for s in got:
            data = (self.folder / s["doc"].decode()).read_bytes()
            at = int.from_bytes(s["at"], "little")
            self.assertEqual(data[at:data.index(b"\n", at)], s["json"])
        self.assertIn("a.jsonl@0", str(self.json_line("get", self.url, 0, "--meta")))

    def test_marks_ends_and_blank_lines(self):
        (self.folder / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n[2]\n\n"last"')
        self.init(1)
        line = self.json_line("produce", self.url, "--id", "p", "--batch", 2, "jsonl:a.jsonl")
        self.assertEqual((line["offset"], line["skipped"]), (2, 0))
        self.assertEqual([s["json"] for s in self.samples(1)], [b'{"a":1}', b"[2]", b'"last"'])

    def test_bad_lines(self):
        (self.folder / "a.jsonl").write_bytes(b'1\n2\n{"a":\n3\n"\0"\n4\n{"cut')
        self.init(1)
        result = self.produce("jsonl:a.jsonl", expect=5)
        self.assert_code(result, "INPUT_BAD")
        self.assertIn("a.jsonl at byte 9: the text ends too early (the line begins at byte 4)", result.err)
        self.assertIn("offset 2", result.err)
        line = self.json_line("produce", self.url, "--id", "p", "--on-bad", "skip", "jsonl:a.jsonl")
        self.assertEqual((line["offset"], line["skipped"], line["finished"]), (4, 3, True))
        self.assertEqual([s["json"] for s in self.samples(1)], [b"1", b"2", b"3", b"4"])

    def test_bad_lines_are_counted_over_restarts(self):
        body = b"".join(b"{\n" if k % 3 == 0 else b"%d\n" % k for k in range(300))
        (self.folder / "a.jsonl").write_bytes(body)
        self.init(1)
        words = ["--on-bad", "skip", "--shuffle-window", 7, "jsonl:a.jsonl"]
        self.kill_until_done(*words)
        (self.folder / "a.jsonl").write_bytes(body)
        self.assertEqual(sorted(int(s["json"]) for s in self.samples(1)), [k for k in range(300) if k % 3])

    def test_shuffled_epochs_killed_and_started_again(self):
        lines = self.write("a.jsonl", 60)
        self.init(1, 1)
        words = ["--batch", 3, "--shuffle-window", 16, "--seed", 5, "--epochs", 3, "jsonl:a.jsonl"]
        self.kill_until_done(*words)
        got = [s["json"] for s in self.samples(1)]
        self.assertEqual(collections.Counter(got), collections.Counter(lines * 3))
        self.url, self.space = self.url + "-2", self.space.with_name("space-2")
        shutil.rmtree(self.folder / "all")
        self.init(1, 1)
        self.produce(*words)
        self.assertEqual([s["json"] for s in self.samples(1)], got)
        self.assertNotEqual(got, lines * 3)
        self.assertNotEqual(got[:60], got[60:120])
        for at in range(0, 180, 60):
            self.assertEqual(sorted(got[at:at + 16]), sorted(lines[:16]))

    def test_another_order_is_another_input(self):
        (self.folder / "a.jsonl").write_bytes(b"1\n2\n3\n{\n")
        self.init(1)
        self.produce("jsonl:a.jsonl", expect=5)
        for words in (["--seed", 1], ["--shuffle-window", 2], ["--shard", "0/2"]):
            self.refused("INPUT_CHANGED", "produce", self.url, "--id", "p", *words, "jsonl:a.jsonl")
        # How many are an item, how often the input is read and what a bad one means may change.
        line = self.json_line("produce", self.url, "--id", "p", "--batch", 2, "--epochs", 2, "--on-bad", "skip",
                              "jsonl:a.jsonl")
        self.assertEqual((line["offset"], line["skipped"]), (5, 2))
        self.assertEqual([s["json"] for s in self.samples(1)], [b"1", b"2", b"3"] * 2)

    def test_more_epochs_of_a_finished_id(self):
        (self.folder / "a.jsonl").write_bytes(b"1\n2\n")
        self.init(1)
        self.produce("jsonl:a.jsonl")
        self.produce("--epochs", 3, "--reopen", "jsonl:a.jsonl")
        self.assertEqual([s["json"] for s in self.samples(1)], [b"1", b"2"] * 3)

    def test_standard_input(self):
        self.init(1)
        result = self.produce("jsonl:-", input=b"1\n2\n{", expect=5)
        self.assertIn("standard input at byte 5", result.err)
        self.produce("jsonl:-", input=b"1\n2\n3\n")
        self.assertEqual([s["json"] for s in self.samples(1)], [b"1", b"2", b"3"])

    def test_records_larger_than_a_part(self):
        """Namespaces have small parts here; an item may be larger than one."""
        data = json.dumps("x" * 3000000).encode()
        (self.folder / "a.jsonl").write_bytes(data + b"\n1\n" + data)
        self.init(2, 1, "--part-size", "64KiB")
        self.produce("--batch", 2, "jsonl:a.jsonl")
        self.assertEqual([s["json"] for s in self.samples()], [data, b"1", data])
        self.run_cli("verify", self.url, "--deep")
        result = self.produce("--frame-max", 1000, "jsonl:a.jsonl", id="q", expect=3)
        self.assert_code(result, "SEALED")

    def test_a_file_that_changes(self):
        (self.folder / "a.jsonl").write_bytes(b"1\n2\n{\n")
        self.init(1)
        self.produce("jsonl:a.jsonl", expect=5)
        (self.folder / "a.jsonl").write_bytes(b"1\n2\n3\n4\n")
        self.refused("INPUT_CHANGED", "produce", self.url, "--id", "p", "jsonl:a.jsonl")


class Archives(Records):
    def shard(self, name, keys, format=tarfile.PAX_FORMAT, mode="w"):
        wanted = []
        with tarfile.open(self.folder / name, mode, format=format) as archive:
            add(archive, "dir", type=tarfile.DIRTYPE)
            for key in keys:
                fields = {"jpg": b"j" * (len(key) * 37 % 1500), "cls": key.encode(), "seg.png": b""}
                for extension, data in fields.items():
                    add(archive, f"{key}.{extension}", data)
                wanted.append({"__key__": key.encode(), **fields})
        return wanted

    def test_everything_comes_out_once(self):
        wanted = []
        for k in range(5):
            wanted += self.shard(f"d-{k:03}.tar", [f"x/{k}{i:04}" for i in range(7)])
        self.init(2, 2)
        for shard in range(2):
            self.produce("--shard", f"{shard}/2", "--batch", 3, "--shuffle-window", 5, "tar:d-{000..004}.tar",
                         id=f"p{shard}")
        key = lambda s: s["__key__"]
        self.assertEqual(sorted(self.samples(), key=key), sorted(wanted, key=key))
        self.assertIn("d-000.tar:x/00000", str(self.json_line("get", self.url, 0, "--meta")))

    def test_every_format(self):
        """What Python's tarfile writes, long names and all, and what GNU tar does."""
        wanted = []
        long = "deep/" * 40 + "name" * 15
        for k, format in enumerate((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
            keys = ["a", "ä/ö", "deep/" * 30 + "b"] + ([long] if k > 0 else [])
            wanted += self.shard(f"f{k}.tar", keys, format)
        for k, words in enumerate((["--format=gnu"], ["--format=pax"], ["--format=ustar"], ["--format=v7"])):
            folder = self.folder / f"t{k}"
            name = "short" if k > 1 else "long" * 30
            folder.mkdir()
            (folder / f"{name}.txt").write_bytes(b"from tar")
            subprocess.run(["tar", *words, "-cf", f"../f{k + 3}.tar", "."], cwd=folder, check=True)
            wanted.append({"__key__": name.encode(), "txt": b"from tar"})
        self.init(1)
        self.produce("tar:f{0..6}.tar")
        self.assertEqual(self.samples(1), wanted)

    def test_killed_and_started_again(self):
        wanted = []
        for k in range(4):
            wanted += self.shard(f"d{k}.tar", [f"{k}-{i}" for i in range(20)])
        self.init(1, 1)
        self.kill_until_done("--shuffle-window", 9, "--seed", 3, "tar:d{0..3}.tar")
        key = lambda s: s["__key__"]
        self.assertEqual(sorted(self.samples(1), key=key), sorted(wanted, key=key))

    def test_damaged_archives(self):
        good = self.shard("a.tar", ["1", "2", "3"])
        data = (self.folder / "a.tar").read_bytes()
        last = self.shard("c.tar", ["4"])
        (self.folder / "b.tar").write_bytes(data[:data.index(b"3.seg.png")])
        self.init(1)
        result = self.produce("tar:{a,b,c}.tar", expect=5)
        self.assert_code(result, "INPUT_BAD")
        self.assertRegex(result.err, r"b\.tar at byte \d+: the archive ends w")
        line = self.json_line("produce", self.url, "--id", "p", "--on-bad", "skip", "tar:{a,b,c}.tar")
        self.assertEqual(line["skipped"], 1)
        self.assertEqual(self.samples(1), good + good[:2] + last)

    def test_names_open_nothing(self):
        (self.folder / "secret.txt").write_text("secret")
        with tarfile.open(self.folder / "a.tar", "w") as archive:
            add(archive, "../secret.txt", b"a")
            add(archive, "/etc/passwd.txt", b"b")
            add(archive, "1.txt", type=tarfile.SYMTYPE, linkname="secret.txt")
            add(archive, "2.txt", b"fine")
        self.init(1)
        line = self.json_line("produce", self.url, "--id", "p", "--on-bad", "skip", "tar:a.tar")
        self.assertEqual((line["skipped"], line["offset"]), (3, 1))
        self.assertEqual(self.samples(1), [{"__key__": b"2", "txt": b"fine"}])

    def test_compressed_archives_are_told_what_to_do(self):
        self.shard("a.tgz", ["1"], mode="w:gz")
        self.init(1)
        self.assertIn("zcat", self.refused("INPUT_BAD", "produce", self.url, "--id", "p", "tar:a.tgz").err)
        data = subprocess.run(["zcat", self.folder / "a.tgz"], stdout=subprocess.PIPE, check=True).stdout
        self.produce("tar:-", "--new-input", input=data)
        self.assertEqual(len(self.samples(1)), 1)


def pair(folder, name, documents, code=4, form="i"):
    """A Megatron pair, as its indexed_dataset writes it."""
    tokens = sum(documents, [])
    size = struct.calcsize("<" + form)
    ends = [0]
    for d in documents:
        ends.append(ends[-1] + size * len(d))
    (folder / f"{name}.bin").write_bytes(struct.pack(f"<{len(tokens)}{form}", *tokens))
    (folder / f"{name}.idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(documents), len(documents) + 1)
        + struct.pack(f"<{len(documents)}i", *map(len, documents))
        + struct.pack(f"<{len(documents)}q", *ends[:-1])
        + struct.pack(f"<{len(documents) + 1}q", *range(len(documents) + 1)))
    return tokens


def sequences(tokens, seq_len, positions=None):
    """The rows that must come out of one file: tokens, labels, positions."""
    rows = []
    for at in range(0, max(len(tokens) - 1, 0), seq_len):
        fill = lambda numbers, filler: (numbers + [filler] * seq_len)[:seq_len]
        row = [fill(tokens[at:at + seq_len], 0), fill(tokens[at + 1:at + 1 + seq_len], IGNORED)]
        if positions is not None:
            row.append(fill(positions[at:at + seq_len], 0))
        rows.append(row)
    return rows


class Tokens(Records):
    COLUMNS = ("tokens", "labels", "positions")

    def rows(self, world=2, batch=None):
        """All rows that are no filling, in order."""
        self.run_cli("seal", self.url)
        rows = []
        for item in self.delivered(world):
            if item is None:
                continue
            tensors = tensors_of(item)
            columns = [tensors[name] for name in self.COLUMNS if name in tensors]
            self.assertEqual(len(columns), len(tensors))
            if batch is not None:
                self.assertEqual(len(columns[0]), batch)
            for row in zip(*columns):
                if set(row[1]) != {IGNORED}:
                    rows.append(list(row))
        return rows

    def test_flat_files(self):
        rng = random.Random(1)
        wanted = []
        for k, count in enumerate((1000, 1, 65, 0)):
            tokens = [rng.randrange(65536) for _ in range(count)]
            (self.folder / f"t{k}.bin").write_bytes(struct.pack(f"<{count}H", *tokens))
            wanted += sequences(tokens, 64)
        self.init(2, 2)
        line = self.json_line("produce", self.url, "--id", "p", "--batch", 3, "--seq-len", 64, "tokens:t{0..3}.bin")
        self.assertEqual(line["tokens"], 999 + 64)
        self.assertEqual(self.rows(2, 3), wanted)
        kinds = {row["kind"] for row in self.json_lines("get", self.url, 0)}
        self.assertEqual(kinds, {"safetensors"})

    def test_wide_tokens_in_shards(self):
        tokens = [k * 1000003 % 2**31 for k in range(777)]
        (self.folder / "t.bin").write_bytes(struct.pack("<777I", *tokens))
        self.init(1)
        words = ["--seq-len", 16, "--token-type", "u32", "--shuffle-window", 1000, "tokens:t.bin"]
        for shard in range(3):
            self.produce("--shard", f"{shard}/3", *words, id=f"p{shard}")
        rows = self.rows(1)
        self.assertEqual(sorted(rows), sorted(sequences(tokens, 16)))
        straight = sequences(tokens, 16)
        self.assertNotEqual(rows, straight[0::3] + straight[1::3] + straight[2::3])

    def test_megatron_documents(self):
        rng = random.Random(2)
        for code, form, top in ((8, "H", 65536), (4, "i", 2**31), (3, "h", 2**15), (5, "q", 2**31), (1, "B", 256)):
            with self.subTest(code=code):
                documents = [[rng.randrange(top) for _ in range(rng.randrange(40))] for _ in range(50)]
                tokens = pair(self.folder, "m", documents, code, form)
                positions = [k for d in documents for k in range(len(d))]
                shutil.rmtree(self.space, ignore_errors=True)
                shutil.rmtree(self.folder / "all", ignore_errors=True)
                self.init(2, 1)
                self.produce("--batch", 2, "--seq-len", 32, "tokens:m.idx")
                self.assertEqual(self.rows(2, 2), sequences(tokens, 32, positions))

    def test_killed_and_started_again(self):
        documents = [list(range(k * 10, k * 10 + k % 30)) for k in range(200)]
        tokens = pair(self.folder, "m", documents)
        positions = [k for d in documents for k in range(len(d))]
        self.init(1, 1)
        self.kill_until_done("--seq-len", 16, "--shuffle-window", 50, "--epochs", 2, "tokens:m.idx")
        self.assertEqual(sorted(self.rows(1)), sorted(2 * sequences(tokens, 16, positions)))

    def test_wrong_files_have_a_place(self):
        pair(self.folder, "m", [[1, 2, 3], [4, 5]])
        self.init(1)
        index = (self.folder / "m.idx").read_bytes()
        words = ["produce", self.url, "--id", "p", "--seq-len", 4]
        for spoilt, needle in ((index[:-1], r"m\.idx at byte \d+: the index is truncated"),
                               (b"TNTIDX" + index[6:], r"m\.idx at byte 0: not the index"),
                               (index[:34] + b"\4" + index[35:], r"m\.idx at byte 50: a sequence that does not begin"),
                               (index[:34] + struct.pack("<i", -1) + index[38:], r"m\.idx at byte 34: a negative")):
            (self.folder / "m.idx").write_bytes(spoilt)
            self.assertRegex(self.refused("INPUT_BAD", *words, "tokens:m.idx").err, needle)
        (self.folder / "m.idx").write_bytes(index)
        (self.folder / "m.bin").write_bytes(b"\0" * 21)
        self.assertIn("m.bin at byte 21: it has 21 bytes, by its index 20",
                      self.refused("INPUT_BAD", *words, "tokens:m.idx").err)
        self.assertIn("has an index beside it", self.refused("INVALID", *words, "tokens:m.bin").err)
        self.assertIn("m.bin at byte 21: the file ends within a token",
                      self.refused("INPUT_BAD", *words, "--token-type", "u16", "tokens:m.bin").err)

    def test_context_parallel(self):
        """Positions get the parts of each sequence that a trainer with this layout would cut itself."""
        tokens = [k * 7919 % 50257 for k in range(400)]
        (self.folder / "t.bin").write_bytes(struct.pack("<400H", *tokens))
        wanted = sequences(tokens, 24)
        for layout, chunks in (("contiguous", lambda c: [c]), ("headtail", lambda c: [c, 5 - c])):
            with self.subTest(layout=layout):
                shutil.rmtree(self.space, ignore_errors=True)
                shutil.rmtree(self.folder / "all", ignore_errors=True)
                self.run_cli("init", self.url, "--dp", 2, "--cp", 3, "--layout", layout)
                words = ["--batch", 2, "--seq-len", 24, "--epochs", 2, "tokens:t.bin"]
                self.kill_until_done(*words)
                self.run_cli("seal", self.url)
                items = [i for i in self.delivered(6) if i is not None]
                self.assertEqual(len(items) % 3, 0)
                rows = []
                for at in range(0, len(items), 3):
                    parts = [tensors_of(item) for item in items[at:at + 3]]
                    size = 24 // (3 if layout == "contiguous" else 6)
                    for row in range(2):
                        whole = {}
                        for name in ("tokens", "labels"):
                            whole[name] = [None] * 24
                            for c, part in enumerate(parts):
                                numbers = part[name][row]
                                self.assertEqual(len(numbers), 8)
                                for k, chunk in enumerate(chunks(c)):
                                    whole[name][chunk * size:(chunk + 1) * size] = numbers[k * size:(k + 1) * size]
                        rows.append([whole["tokens"], whole["labels"]])
                rows = [row for row in rows if set(row[1]) != {IGNORED}]
                self.assertEqual(rows, wanted * 2)

    def test_a_sequence_that_cannot_be_cut(self):
        (self.folder / "t.bin").write_bytes(bytes(200))
        self.run_cli("init", self.url, "--dp", 1, "--cp", 2, "--layout", "headtail")
        words = ["produce", self.url, "--id", "p", "tokens:t.bin", "--seq-len"]
        self.assertIn("a multiple of 4", self.refused("MESH_MISMATCH", *words, 6).err)
        self.run_cli(*words, 8)
        self.url += "2"
        self.run_cli("init", self.url, "--dp", 1, "--cp", 2)
        result = self.refused("MESH_MISMATCH", "produce", self.url, "--id", "p", "tokens:t.bin")
        self.assertIn("init --layout", result.err)

    def test_a_token_beyond_any_vocabulary(self):
        (self.folder / "t.bin").write_bytes(struct.pack("<9I", 1, 2, 3, 4, 2**31, 6, 7, 8, 9))
        self.init(1)
        words = ["produce", self.url, "--id", "p", "--seq-len", 4, "--token-type", "u32", "tokens:t.bin"]
        result = self.refused("INPUT_BAD", *words)
        self.assertIn("t.bin at byte 16: a token that is negative or beyond", result.err)
        line = self.json_line(*words, "--on-bad", "skip")
        self.assertEqual((line["skipped"], line["offset"]), (2, 0))


class Refusals(Records):
    def test_options_and_operands(self):
        (self.folder / "a.jsonl").write_bytes(b"1\n")
        (self.folder / "t.bin").write_bytes(b"abcd")
        words = ["produce", self.url, "--id", "p"]
        for more in (["--batch", "2", "text:x"], ["--epochs", "2", "frames:x"], ["--on-bad", "skip", "--exec", "true"],
                     ["--seed", "1", "text:x"], ["--shuffle-window", "2", "text:x"],
                     ["--token-type", "u16", "jsonl:a.jsonl"],
                     ["--token-type", "i32", "tokens:t.bin"], ["--on-bad", "ignore", "jsonl:a.jsonl"],
                     ["--epochs", "2", "jsonl:-"], ["tokens:-"], ["jsonl:-", "jsonl:a.jsonl"],
                     ["--epochs", "0", "jsonl:a.jsonl"],
                     ["--shuffle-window", "0", "jsonl:a.jsonl"], ["jsonl:"], ["jsonl:a.jsonl", "tar:a.jsonl"],
                     ["jsonl:a{.jsonl"], ["jsonl:a.jsonl", "jsonl:a.jsonl"],
                     ["--batch", "1048576", "--seq-len", "67108864", "tokens:t.bin"]):
            with self.subTest(more=more):
                self.assert_code(self.run_cli(*words, *more, expect=1), "INVALID")
        self.refused("INPUT_BAD", *words, "jsonl:a{1..2}.jsonl")
        self.refused("INPUT_BAD", *words, "tar:.")

    def test_parquet_is_left_to_python(self):
        result = self.refused("UNSUPPORTED", "produce", self.url, "--id", "p", "parquet:x.parquet")
        self.assertEqual(result.code, 1)
        for word in ("Python", "pyarrow", "--exec", "docs/guide.md"):
            self.assertIn(word, result.err)

    def test_context_parallel_is_refused(self):
        self.run_cli("init", self.url, "--dp", 1, "--cp", 2)
        (self.folder / "a.jsonl").write_bytes(b"1\n")
        result = self.refused("MESH_MISMATCH", "produce", self.url, "--id", "p", "jsonl:a.jsonl")
        self.assertIn("jsonl: is for cp = 1", result.err)


# Rows of JSON instead of parquet, so that the example's own lines run without the package.
STAND_IN = """
import json

class ParquetFile:
    def __init__(self, path):
        self.path = path

    def iter_batches(self):
        yield self

    def to_pylist(self):
        return [json.loads(line) for line in open(self.path)]
"""


class Guide(Records):
    """The commands of the guide, word for word but for where the namespaces lie."""

    HEADING = "### Lines, archives, tokens\n"

    def inputs(self):
        rng = random.Random(4)
        (self.folder / "shards").mkdir()
        for k in range(4):
            with tarfile.open(self.folder / "shards" / f"train-{k:03}.tar", "w") as archive:
                for i in range(40):
                    add(archive, f"{k}{i:05}.jpg", rng.randbytes(300))
                    add(archive, f"{k}{i:05}.cls", b"%d" % (i % 10))
        (self.folder / "train.bin").write_bytes(struct.pack("<50000H", *(rng.randrange(50257) for _ in range(50000))))
        documents = [[rng.randrange(50257) for _ in range(500)] for _ in range(60)]
        pair(self.folder, "corpus_text_document", documents, 8, "H")
        lines = b"".join(json.dumps({"text": "x" * k}).encode() + b"\n" for k in range(100))
        (self.folder / "docs.jsonl").write_bytes(lines + b'{"text": "cut')
        (self.folder / "more.jsonl.gz").write_bytes(gzip.compress(lines))
        (self.folder / "table.parquet").write_bytes(lines)
        (self.folder / "examples").mkdir()
        shutil.copy(ROOT / "examples" / "parquet.py", self.folder / "examples")
        (self.folder / "pyarrow").mkdir()
        (self.folder / "pyarrow" / "__init__.py").touch()
        (self.folder / "pyarrow" / "parquet.py").write_text(STAND_IN)

    def test_the_commands_of_the_guide(self):
        self.inputs()
        text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
        part = text[text.index(self.HEADING):].split("\n## ")[0]
        blocks = re.findall(r"```\n(.*?)```", part, re.DOTALL)
        self.assertEqual(len(blocks), 4)
        binary = pathlib.Path(harness.BINARY).resolve()
        env = harness.environment(PATH=f"{binary.parent}:{harness.os.environ['PATH']}", PYTHONPATH=str(self.folder))
        (self.folder / "data").mkdir()
        for block in blocks:
            words = block.replace("file:///data/", f"file://{self.folder}/data/")
            result = subprocess.run(["sh", "-ec", words], cwd=self.folder, env=env, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("finished", result.stdout)
        for name, records in (("images", 160), ("tokens", None), ("lines", 200), ("table", 100)):
            self.url = f"file://{self.folder}/data/{name}"
            shutil.rmtree(self.folder / "all", ignore_errors=True)
            if name == "tokens":
                self.assertEqual(len(Tokens.rows(self, 8, 4)), 49 + 2 * 30)
                self.assertEqual(set(tensors_of((self.folder / "item.safetensors").read_bytes())), {"tokens", "labels"})
                continue
            self.run_cli("seal", self.url)
            items = [i for i in self.delivered(8) if i is not None]
            self.assertEqual(len(items) if name == "table" else sum(len(samples_of(i)) for i in items), records)

    COLUMNS = Tokens.COLUMNS


if __name__ == "__main__":
    unittest.main()
