# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""info, inspect, get, tail, verify, gc, seal: their lines keep their keys, and reading never writes."""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import frame

INFO = set("url uuid created_ms dp cp items expected_producers block_size tail_cap part_size page_min max_lag "
           "max_bytes layout schema version next_step trim_step swept_step sealed committed_bytes swept_bytes "
           "finished_producers committer clock_ms manifest_bytes segments tail_steps page_entries producers groups "
           "kept_by frontier last_commit_age_ms".split())
PRODUCER = set("id epoch seq offset finished forgotten last_publish last_commit swept_seq swept_offset slot_ms token "
               "state_bytes state".split())
STEP = set("step producer epoch seq start end nonce kind items form parts bytes samples tokens tag key".split())
IDLE = set("idle idle_ms step version producers producers_alive last_commit_age_ms".split())
VERIFY = set("summary clean findings deep first_version newest_version unproven_below_version unproven_below_step "
             "trim_step swept_step next_step sealed producers segments parts items pads states blocks_retired ghosts "
             "newer_manifests unreferenced_parts unreferenced_states unreferenced_segments unreferenced_pages probes "
             "temporary foreign".split())
FINDING = {"finding", "key", "step", "message"}
GC = set("applied newest_version next_step trim_step swept_step swept_to kept_by bytes_kept steps_deleted "
         "bytes_deleted segments_deleted producers_moved orphans_deleted orphan_bytes strangers staged_objects "
         "staged_bytes staged overtaken "
         "blocks_retired blocks_total manifests_deleted ghosts_deleted".split())
OBJECT = set("key kind bytes modified_ms".split())
GET = set("step d c item kind pad bytes sha256".split())
KINDS = {"genesis": "genesis", "manifest": "manifest", "segment": "segment", "data": "part", "hint": "hint"}


class Reports(harness.CliTest):
    FRAMES = [f"item {k} ".encode() * (1 + k % 30) for k in range(40)]

    def setUp(self):
        super().setUp()
        self.init(2, 2, "--block-size", 4, "--tail-cap", 256, "--part-size", 4096)
        self.produce_frames(self.FRAMES[:20], "a", "--set", "policy=naive")
        self.produce_frames(self.FRAMES[20:], "b", "--set", "policy=naive")

    def content(self):
        return {str(p.relative_to(self.space)): (p.read_bytes(), p.stat().st_mtime_ns)
                for p in self.space.rglob("*") if p.is_file()}

    def test_info(self):
        line = self.json_line("info", self.url)
        self.assertEqual(set(line), INFO)
        self.assertEqual([line[name] for name in ("dp", "cp", "items", "next_step", "sealed")], [2, 1, 2, 10, False])
        self.assertEqual([set(p) for p in line["producers"]], [PRODUCER] * 2)
        self.assertEqual([(p["id"], p["offset"], p["finished"]) for p in line["producers"]],
                         [("a", 20, True), ("b", 20, True)])

    def test_info_for_people(self):
        text = self.run_cli("info", self.url).out.decode()
        for part in (f"namespace {self.json_line('info', self.url)['uuid']}\n", f"place +{self.url}\n",
                     r"made +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n",
                     r"mesh +dp 2 x cp 1, 2 items per position and step\n",
                     r"\nchain\n  steps +0 to 9; the next is 10\n  sealed +no\n",
                     r"newest +version \d+, \d+ s ago, by b\n",
                     r"manifest +\S+ k?B: \d+ segments?, (no|\d+) steps? in its tail\n",
                     r"\n2 producers, 2 finished\n  id +state +starts +batches +offset +last version\n",
                     r"\n  a +finished +1 +5 +20 +\d+\n"):
            self.assertRegex(text, part)
        self.run_cli("init", self.url + "-new", "--dp", 1)
        text_of_new = self.run_cli("info", self.url + "-new").out.decode()
        self.assertRegex(text_of_new, r"newest +version 1, \d+ s ago, by init\n")
        for noise in ("token", "tail_cap", "swept", "max", "ends", "layout"):
            self.assertNotIn(noise, text)
        self.assertFalse([line for line in text.splitlines() if line != line.rstrip()])

    def test_info_shows_limits_that_there_are(self):
        url = f"file://{self.folder}/limits"
        self.run_cli("init", url, "--dp", 1, "--producers", 1, "--max-lag", 6, "--max-bytes", 7000000,
                     "--schema", "any text")
        text = self.run_cli("info", url).out.decode()
        for part in (r"ends +when 1 producer has finished\n", r"max lag +6 steps", r"max bytes +7.0 MB\n",
                     r"schema +any text\n", r"steps +none; the next is 0\n", r"\nno producers\n$"):
            self.assertRegex(text, part)

    def test_get(self):
        self.assertEqual(self.run_cli("get", self.url, 1, 1, 0, 1).out, self.FRAMES[7])
        self.assertEqual(self.run_cli("get", self.url, 1, 1, 0).out, self.FRAMES[5] + self.FRAMES[7])
        self.assertEqual(self.run_cli("get", self.url, 1).out, b"".join(self.FRAMES[k] for k in (4, 6, 5, 7)))
        lines = self.json_lines("get", self.url, 1)
        self.assertEqual([set(line) for line in lines], [GET] * 4)
        digests = [hashlib.sha256(self.FRAMES[k]).hexdigest() for k in (4, 6, 5, 7)]
        self.assertEqual([x["sha256"] for x in lines], digests)
        meta = self.json_line("get", self.url, 1, "--meta")
        self.assertEqual((meta["step"], meta["producer"], meta["items"]), (1, "a", 2))
        self.refused("BEYOND_END", "get", self.url, 10)
        self.refused("BEYOND_END", "get", self.url, 10, "--meta")
        self.refused("INVALID", "get", self.url, 1, 2, 0)
        self.refused("INVALID", "get", self.url, 1, 0, 1)
        self.refused("INVALID", "get", self.url, 1, 0, 0, 2)

    def test_inspect_lists_all_objects(self):
        lines = self.json_lines("inspect", self.url)
        self.assertEqual([set(line) for line in lines], [OBJECT] * len(lines))
        found = {name: len(data) for name, (data, _) in self.content().items()}
        self.assertEqual({x["key"]: x["bytes"] for x in lines}, found)
        for line in lines:
            self.assertEqual(line["kind"], KINDS[line["key"].split("/")[0]])
        some = self.json_lines("inspect", self.url, "--prefix", "segment/")
        self.assertEqual(some, [x for x in lines if x["key"].startswith("segment/")])
        self.assertTrue(some)

    def test_inspect_decodes_each(self):
        for line in self.json_lines("inspect", self.url):
            one = self.json_line("inspect", self.url, line["key"])
            self.assertEqual((one["key"], one["kind"], one["bytes"]), (line["key"], line["kind"], line["bytes"]))
            self.assertEqual(one, self.json_line("inspect", self.url, "--key", line["key"]))
            self.run_cli("inspect", self.url, line["key"])

    def test_steps(self):
        lines = self.json_lines("inspect", self.url, "--first", 3, "--last", 7)
        self.assertEqual([x["step"] for x in lines], [3, 4, 5, 6])
        self.assertEqual([set(line) for line in lines], [STEP] * 4)
        self.assertEqual([(x["start"], x["end"]) for x in lines], [(12, 16), (16, 20), (0, 4), (4, 8)])

    def test_empty_answers_are_said(self):
        result = self.run_cli("inspect", self.url, "--first", 1000)
        self.assertEqual(result.out, b"")
        self.assertIn("no steps there: the first retained one is 0, the next one 10", result.err)
        self.assertIn("no object", self.run_cli("inspect", self.url, "--prefix", "none").err)
        self.assertEqual(self.run_cli("inspect", self.url, "--first", 1000, "-o", "json").err, "")
        self.refused("INVALID", "inspect", self.url, "--first", 5, "--last", 2)

    def test_tables_for_people(self):
        head, *rows = self.run_cli("inspect", self.url, "--first", 3, "--last", 5).out.decode().splitlines()
        self.assertEqual(head.split(), "step producer batch start end kind items samples tokens bytes".split())
        self.assertEqual([row.split()[:5] for row in rows], [["3", "a", "4", "12", "16"], ["4", "a", "5", "16", "20"]])
        self.assertRegex(rows[0], r" \d+ B$|kB$")
        self.assertEqual(len({row.index(f" {n} ") for row, n in zip(rows, (12, 16))}), 1)
        head, *rows = self.run_cli("inspect", self.url).out.decode().splitlines()
        self.assertEqual(head.split(), ["kind", "bytes", "modified", "key"])
        self.assertRegex(rows[0], r"^\w+ +\d+  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  \S+$")

    def test_tail(self):
        process = self.start("tail", self.url, "-o", "json")
        lines = [json.loads(process.stdout.readline()) for _ in range(11)]
        self.assertEqual([set(line) for line in lines], [STEP] * 10 + [IDLE])
        self.produce_frames(self.FRAMES[:4], "c")
        self.run_cli("seal", self.url)
        rest = [json.loads(line) for line in self.finish(process).out.splitlines()]
        self.assertEqual([x["step"] for x in rest if "idle" not in x], [10])
        self.refused("BEYOND_END", "tail", self.url, "--from", 99)
        text = self.run_cli("tail", self.url, "--from", 8).out.decode().splitlines()
        self.assertEqual([line.split()[0] for line in text], ["step", "8", "9", "10"])

    def test_tail_says_why_it_waits_and_ends_by_a_signal(self):
        process = self.start("tail", self.url)
        time.sleep(4.2)
        process.send_signal(signal.SIGINT)
        result = self.finish(process, 130)
        self.assertIn("waiting for ", result.err)
        self.assertIn("all producers have finished: batchweave seal ends it", result.err)
        self.assertEqual(len(result.out.splitlines()), 11)

    def test_tail_gives_up(self):
        """Without a new step for --timeout, and not before."""
        began = time.monotonic()
        result = self.run_cli("tail", self.url, "--timeout", "1s", expect=2)
        self.assert_code(result, "STARVED")
        self.assertIn("step 10", result.err)
        self.assertGreaterEqual(time.monotonic() - began, 1)
        process = self.start("tail", self.url, "--timeout", "3s", "-o", "json")
        time.sleep(2)
        self.produce_frames(self.FRAMES[:4], "late")
        result = self.finish(process, 2)
        self.assertEqual(json.loads(result.err)["error"]["code"], "STARVED")
        lines = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([x["step"] for x in lines if "idle" not in x], list(range(11)))
        self.assertGreaterEqual(lines[-1]["idle_ms"], 3000)

    def more_commits(self):
        """Open, publish and finish of each are commits of their own."""
        for k in range(6):
            self.produce_frames([b"x"], f"more-{k}")

    def test_gc(self):
        self.more_commits()
        before = self.content()
        dry = self.json_line("gc", self.url, "--manifests-only")
        self.assertEqual(set(dry), GC)
        self.assertEqual(dry["applied"], False)
        self.assertGreater(dry["blocks_retired"], 0)
        self.assertEqual(self.content(), before)
        wet = self.json_line("gc", self.url, "--manifests-only", "--apply")
        self.assertEqual(wet["applied"], True)
        after = self.content()
        gone = {name for name in before if name not in after}
        self.assertEqual(len(gone), wet["manifests_deleted"])
        self.assertTrue(gone and all(name.startswith("manifest/") for name in gone))
        self.assertEqual(sum(name.startswith("retired/") for name in after), wet["blocks_total"])
        again = self.json_line("gc", self.url, "--manifests-only", "--apply")
        self.assertEqual((again["blocks_retired"], again["manifests_deleted"]), (0, 0))
        self.run_cli("verify", self.url, "--deep")
        self.run_cli("info", self.url)

    def test_gc_for_people(self):
        self.more_commits()
        dry = self.run_cli("gc", self.url, "--manifests-only").out.decode()
        self.assertRegex(dry, r"^would delete \d+ old manifests?, retiring \d+ blocks?\nnothing is .*with --apply\n$")
        wet = self.run_cli("gc", self.url, "--manifests-only", "--apply").out.decode()
        self.assertEqual(wet, dry.splitlines()[0].replace("would delete", "deleted") + "\n")
        again = self.run_cli("gc", self.url, "--manifests-only").out.decode()
        self.assertRegex(again, r"^nothing to delete: version \d+ is the newest, \d+ blocks? retired before\n$")
        (self.space / "manifest" / f"{1:020}.manifest").write_bytes(b"late")
        late = self.run_cli("gc", self.url, "--manifests-only").out.decode()
        self.assertIn("and 1 manifest that came late", late)

    def test_gc_without_a_group_keeps_all_data(self):
        before = self.content()
        told = self.run_cli("gc", self.url, "--apply").out.decode()
        self.assertIn("no group is registered: all is kept, ", told)
        self.assertEqual({name for name in before if name.startswith("data/")},
                         {name for name in self.content() if name.startswith("data/")})

    def test_gc_deletes_what_a_dead_producer_staged(self):
        """Only once the chain says that it never will be published; a name that the chain has not is left."""
        line = self.json_line("info", self.url)["producers"][0]
        canonical = self.staged(line["id"], 10**6)
        unknown = self.staged("nobody", 1)
        dry = self.json_line("gc", self.url)
        self.assertEqual((dry["orphans_deleted"], dry["orphan_bytes"], dry["strangers"]), (1, 6, 1))
        self.assertTrue(canonical.exists())
        wet = self.json_line("gc", self.url, "--apply")
        self.assertEqual(wet["orphans_deleted"], 1)
        self.assertTrue(unknown.exists() and not canonical.exists())
        self.run_cli("verify", self.url, "--deep")

    def test_gc_names_who_died_and_was_not_forgotten(self):
        """Its staged parts are kept, and what would release them is said."""
        process = self.start("produce", self.url, "--id", "dead", "frames:-", stdin=subprocess.PIPE)
        while "dead" not in [p["id"] for p in self.json_line("info", self.url)["producers"]]:
            time.sleep(0.05)
        process.kill()
        process.wait()
        self.staged("dead", 1)
        self.staged("dead", 2)
        dry = self.json_line("gc", self.url)
        self.assertEqual((dry["staged_objects"], dry["staged_bytes"], dry["orphans_deleted"]), (2, 12, 0))
        self.assertEqual(dry["staged"], [{"producer": "dead", "objects": 2, "bytes": 12}])
        told = self.run_cli("gc", self.url).out.decode()
        self.assertIn("left alone: 2 objects, 12 B, that producer dead has staged and not published", told)
        words = re.search(r"batchweave (forget \S+ \S+) releases them", told).group(1).split()
        self.run_cli(*words)
        self.assertEqual(self.json_line("gc", self.url, "--apply")["orphans_deleted"], 2)
        self.assertNotIn("left alone", self.run_cli("gc", self.url).out.decode())

    def staged(self, producer, seq):
        """A part in the canonical place, which nobody published."""
        rest = f"{producer}/{1:010}-{seq:020}-{7:016x}.000000"
        path = self.space / "data" / hashlib.sha256(rest.encode()).hexdigest()[:2] / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"staged")
        return path

    def test_gc_deletes_ghosts(self):
        self.more_commits()
        self.run_cli("gc", self.url, "--manifests-only", "--apply")
        (self.space / "manifest" / f"{1:020}.manifest").write_bytes(b"late")
        self.assertEqual(self.json_line("gc", self.url, "--manifests-only", "--apply")["ghosts_deleted"], 1)

    def test_gc_watches(self):
        process = self.start("gc", self.url, "--manifests-only", "--apply", "--watch", "50ms", "-o", "json")
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        self.assertEqual([x["applied"] for x in lines], [True] * 3)
        process.send_signal(signal.SIGTERM)
        self.assertIn("ended by a signal", self.finish(process, 143).err)

    def test_seal(self):
        self.run_cli("produce", self.url, "--id", "c", "--exec", "exit 1", expect=4)
        self.refused("SEAL_REFUSED", "seal", self.url)
        line = self.json_line("seal", self.url, "--force")
        self.assertEqual((set(line), line["sealed"]), ({"uuid", "sealed"}, True))
        self.run_cli("seal", self.url)
        self.assertTrue(self.json_line("info", self.url)["sealed"])

    def test_verify(self):
        for words in ([], ["--deep"]):
            *apart, line = self.json_lines("verify", self.url, *words)
            self.assertEqual({x["apart"] for x in apart} - {"unreferenced"}, set())
            self.assertEqual(set(line), VERIFY)
            self.assertEqual((line["summary"], line["clean"], line["deep"], line["next_step"]),
                             (True, True, bool(words), 10))
            self.assertEqual(line["items"], 40 if words else 0)
        before = self.content()
        newest = self.json_line("info", self.url)["version"]
        manifest = self.json_line("inspect", self.url, f"manifest/{newest:020}.manifest")
        path = self.space / manifest["references"][0]["key"]
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.chmod(0o600)
        path.write_bytes(data)
        result = self.run_cli("verify", self.url, expect=5)
        self.assert_code(result, "UNCLEAN")
        finding = json.loads(self.run_cli("verify", self.url, "-o", "json", expect=5).out.splitlines()[0])
        self.assertEqual(set(finding), FINDING)
        text = result.out.decode()
        self.assertRegex(text, rf"(?m)^SEGMENT  {path.relative_to(self.space)}.*\n    \w")
        self.assertRegex(text, r"(?m)^NOT clean, \d+ findings?:$")
        path.write_bytes(before[str(path.relative_to(self.space))][0])
        self.run_cli("verify", self.url, "--deep")

    def test_a_lost_genesis_is_said(self):
        genesis = self.space / "genesis"
        genesis.rename(self.folder / "genesis")
        for words in (["info", self.url], ["verify", self.url],
                      ["produce", self.url, "--id", "p", f"frames:{self.folder / 'a.frames'}"]):
            result = self.refused("NO_NAMESPACE", *words)
            self.assertIn("the genesis is gone", result.err)
            self.assertIn("init refuses", result.err)
        self.refused("NOT_EMPTY", "init", self.url, "--dp", 2)
        (self.folder / "genesis").rename(genesis)
        self.run_cli("verify", self.url)
        (self.folder / "space-none").mkdir()
        self.assertIn("init makes one", self.refused("NO_NAMESPACE", "info", self.url + "-none").err)

    def test_what_is_no_file_at_the_next_name_blocks(self):
        """docs/protocol.md: whatever stands there, nobody passes it, and the object is named."""
        key = f"manifest/{self.json_line('info', self.url)['version'] + 1:020}.manifest"
        path = self.space / key
        for plant, remove in (os.mkfifo, path.unlink), (os.mkdir, path.rmdir):
            plant(path)
            for words in (["info", self.url], ["consume", self.url, "--world", 2, "--timeout", "5s"],
                          ["produce", self.url, "--id", "p", f"frames:{self.folder / 'a.frames'}"]):
                self.assertIn(key, self.refused("CHAIN_BLOCKED", *words).err)
            remove()
        self.run_cli("verify", self.url)

    def test_verify_goes_on_before_what_blocks_the_chain(self):
        version = self.json_line("info", self.url)["version"]
        newest = self.space / "manifest" / f"{version:020}.manifest"
        good = newest.read_bytes()
        beyond = newest.with_name(f"{version + 1:020}.manifest")

        def verify():
            result = self.run_cli("verify", self.url, "--deep", "-o", "json", expect=5)
            self.assertEqual(json.loads(result.err)["error"]["code"], "UNCLEAN")
            lines = [json.loads(line) for line in result.out.splitlines()]
            return {(x["finding"], x["key"]) for x in lines if "finding" in x}, lines[-1]

        newest.write_bytes(good[:100] + bytes([good[100] ^ 1]) + good[101:])
        findings, summary = verify()
        self.assertEqual(findings, {("BLOCKED", f"manifest/{newest.name}")})
        self.assertEqual(summary["newest_version"], version - 1)
        newest.write_bytes(good)
        beyond.write_bytes(b"foreign")
        findings, summary = verify()
        self.assertEqual(findings, {("BLOCKED", f"manifest/{beyond.name}")})
        self.assertEqual((summary["newest_version"], summary["next_step"]), (version, 10))
        beyond.with_name(f"{version + 2:020}.manifest").write_bytes(b"more")
        findings, summary = verify()
        self.assertEqual(findings, {("BLOCKED", f"manifest/{version + 2:020}.manifest"),
                                    ("MANIFEST", f"manifest/{beyond.name}")})
        self.assertEqual(summary["newest_version"], version)
        self.assertIn("NOT clean, 2 findings", self.run_cli("verify", self.url, expect=5).out.decode())

    def test_names_that_no_key_can_have_are_foreign(self):
        names = ["data/Upper Case", "data/Strange dir/x", "NOTES", "manifest/é"]
        for name in names:
            (self.space / name).parent.mkdir(exist_ok=True)
            (self.space / name).write_bytes(b"x")
        listed = {x["key"] for x in self.json_lines("inspect", self.url) if x["kind"] == "foreign"}
        self.assertEqual(listed, set(names))
        *apart, summary = self.json_lines("verify", self.url)
        self.assertEqual({x["key"] for x in apart if x["apart"] == "foreign"}, set(names))
        self.assertEqual((summary["clean"], summary["foreign"]), (True, len(names)))

    def test_verify_goes_on_behind_what_may_not_be_read(self):
        """A part that is a symbolic link, and one that is damaged behind it in the order of steps."""
        steps = self.json_lines("inspect", self.url, "--first", 0)
        linked, damaged = self.space / steps[0]["key"], self.space / steps[-1]["key"]
        linked.rename(self.folder / "away")
        linked.symlink_to(self.folder / "away")
        damaged.unlink()
        for words in ([], ["--deep"]):
            lines = self.json_lines("verify", self.url, *words, expect=5)
            found = {(x["finding"], x["key"]) for x in lines if "finding" in x}
            self.assertLessEqual({("PART", steps[0]["key"]), ("PART", steps[-1]["key"])}, found)
            self.assertEqual((lines[-1]["summary"], lines[-1]["clean"]), (True, False))

    def test_verify_for_people(self):
        (self.space / "data" / "stray").write_bytes(b"x")
        for k in range(12):
            (self.space / f"foreign{k}").write_bytes(b"x")
        text = self.run_cli("verify", self.url).out.decode()
        for part in (r"(?m)^no fault: foreign  \S+, 1 B$",
                     r"(?m)^clean:\n  steps +0 to 9\n  chain +versions 1 to \d+, 2 producers\n",
                     r"objects +1[0-9] parts, \d+ segments?,", "--deep reads every byte",
                     r"apart +.*13 foreign objects; none is a fault\n"):
            self.assertRegex(text, part)
        self.assertEqual(text.count("no fault: "), 11)
        self.assertNotIn("unproven", text)
        self.assertIn("40 items and no pads, every byte read", self.run_cli("verify", self.url, "--deep").out.decode())
        self.more_commits()
        self.run_cli("gc", self.url, "--manifests-only", "--apply")
        self.assertRegex(self.run_cli("verify", self.url).out.decode(), r"unproven +what versions before \d+ said")

    def test_reading_never_writes(self):
        before = self.content()
        for words in (["info"], ["inspect"], ["inspect", "genesis"], ["get", 0], ["get", 0, "--meta"], ["verify"],
                      ["verify", "--deep"], ["gc", "--manifests-only"], ["inspect", "--first", 0],
                      ["consume", "--world", 2, "--steps", 5]):
            self.run_cli(words[0], self.url, *words[1:])
            self.assertEqual(self.content(), before, words)

    def test_readers_need_no_permission_to_write(self):
        for path in [self.space, *self.space.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        for words in (["info"], ["consume", "--world", 2, "--steps", 5], ["verify", "--deep"], ["inspect"]):
            self.run_cli(words[0], self.url, *words[1:], bound=True)
        self.refused("DENIED", "produce", self.url, "--id", "z", "--exec", "true", bound=True)
        for path in [self.space, *self.space.rglob("*")]:
            path.chmod(0o755)

    def test_a_closed_pipe_ends_quietly(self):
        process = subprocess.Popen([harness.BINARY, "tail", self.url, "-o", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(10), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()


class Docs(unittest.TestCase):
    def test_reports_md_names_every_member(self):
        text = (pathlib.Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
        for members in (INFO, PRODUCER, STEP, IDLE, GC, OBJECT, VERIFY, FINDING):
            self.assertEqual([name for name in members if f"`{name}`" not in text], [])


class Init(harness.CliTest):
    def test_all_options(self):
        self.run_cli("init", self.url, "--dp", 3, "--cp", 2, "--items", 4, "--producers", 5, "--max-lag", 6,
                     "--max-bytes", "7GiB", "--block-size", 8, "--tail-cap", "1KiB", "--part-size", "64KiB",
                     "--page-min", 9, "--layout", "headtail", "--schema", "any \"text\"")
        line = self.json_line("info", self.url)
        expected = dict(dp=3, cp=2, items=4, expected_producers=5, max_lag=6, max_bytes=7 << 30, block_size=8,
                        tail_cap=1024, part_size=65536, page_min=9, layout="headtail", schema="any \"text\"")
        self.assertEqual({name: line[name] for name in expected}, expected)

    def test_line(self):
        line = self.json_line("init", self.url, "--dp", 3)
        self.assertEqual((set(line), line["dp"], line["cp"], line["items"]), ({"uuid", "dp", "cp", "items"}, 3, 1, 1))
        self.assertEqual(line["uuid"], self.json_line("info", self.url)["uuid"])

    def test_set_is_the_option(self):
        self.run_cli("init", self.url, "--set", "items=7", "--dp", 1)
        self.assertEqual(self.json_line("info", self.url)["items"], 7)

    def test_killed_init_is_finished_by_a_writer(self):
        self.finish(self.start("init", self.url, "--dp", 1, env={"BATCHWEAVE_FAULT": "kill:create-in-flight:2"}), None)
        if not list((self.space / "manifest").glob("*")):
            self.refused("NOT_READY", "info", self.url)
        self.run_cli("produce", self.url, "--id", "p", "frames:-", input=frame(b"a"))
        self.assertEqual(self.json_line("info", self.url)["next_step"], 1)


if __name__ == "__main__":
    unittest.main()
