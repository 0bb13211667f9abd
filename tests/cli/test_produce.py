# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""produce: real input into batches, exactly once, across kills and damage."""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "independent"))

import check_namespace
import harness
from harness import frame, samples_of

# A child that writes COUNT frames from BATCHWEAVE_OFFSET on; frame k is k % 50 times "SHARD k".
CHILD = """
import os, sys, time
count, pause, fail_at = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
for k in range(int(os.environ["BATCHWEAVE_OFFSET"]), count):
    if k == fail_at:
        sys.stdout.buffer.write(b"\\x09\\0\\0\\0abc")
        sys.stdout.buffer.flush()
        sys.exit(3)
    data = f"{os.environ['BATCHWEAVE_SHARD']} {k}".encode() * (k % 50)
    sys.stdout.buffer.write(len(data).to_bytes(4, "little") + data)
    if k % 10 == 0:
        sys.stdout.buffer.flush()
        time.sleep(pause)
"""


def child_frame(shard, k):
    return f"{shard} {k}".encode() * (k % 50)


class Documents(harness.CliTest):
    """A corpus, and what must come out of it."""

    def corpus(self, count=12, seed=1, size=3000):
        rng = random.Random(seed)
        documents = {}
        for k in range(count):
            name = f"{'deep/er/' if k % 3 == 0 else ''}d{k:02}-ä.txt"
            documents[name] = b"" if k % 5 == 4 else rng.randbytes(rng.randrange(size))
        for name, data in documents.items():
            path = self.folder / "corpus" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return documents

    def assert_documents(self, items, documents, seq_len, shards=1):
        """The fragments of all items tile all documents; sequences are full but for the last of each shard."""
        parts = {}
        short = 0
        for item in items:
            samples = samples_of(item)
            tokens = sum(len(s["tokens"]) for s in samples)
            self.assertLessEqual(tokens, seq_len)
            short += tokens < seq_len
            for sample in samples:
                self.assertEqual(list(sample), ["doc", "at", "tokens"])
                self.assertEqual(len(sample["at"]), 8)
                parts.setdefault(sample["doc"].decode(), []).append(
                    (int.from_bytes(sample["at"], "little"), sample["tokens"]))
        self.assertLessEqual(short, shards)
        got = {}
        for name, fragments in parts.items():
            fragments.sort()
            end = 0
            for at, data in fragments:
                self.assertEqual(at, end, name)
                self.assertTrue(data)
                end += len(data)
            got[name] = b"".join(data for _, data in fragments)
        self.assertEqual(got, {name: data for name, data in documents.items() if data})


class Text(Documents):
    def test_everything_comes_out_once(self):
        documents = self.corpus()
        self.init(2, 3)
        for shard in range(2):
            line = self.json_line("produce", self.url, "--id", f"p{shard}", "--shard", f"{shard}/2", "--seq-len", 100,
                                  f"text:{self.folder / 'corpus'}")
            self.assertEqual(line["finished"], True)
            self.assertEqual(line["batches"] * 6, line["items"] + line["pads"])
            self.assertEqual(line["tokens"], sum(
                len(documents[n]) for n in sorted(documents, key=str.encode)[shard::2]))
        self.run_cli("seal", self.url)
        items = self.delivered()
        self.assert_documents([i for i in items if i is not None], documents, 100, 2)
        meta = self.json_line("get", self.url, 0, "--meta")
        self.assertIn(sorted(documents, key=str.encode)[0] + "@0", str(meta))

    def test_slots_are_item_major_and_pads_last(self):
        (self.folder / "one").write_bytes(bytes(range(7)))
        self.init(2, 2)
        self.run_cli("produce", self.url, "--id", "p", "--seq-len", 1, f"text:{self.folder / 'one'}")
        self.run_cli("seal", self.url)
        items = self.delivered()
        self.assertEqual(len(items), 8)
        self.assertIsNone(items[7])
        for k, item in enumerate(items[:7]):
            self.assertEqual(samples_of(item), [{"doc": b"one", "at": k.to_bytes(8, "little"), "tokens": bytes([k])}])

    def test_several_inputs(self):
        for name in ("a", "b"):
            (self.folder / name).mkdir()
            (self.folder / name / "same").write_text(name)
        self.init(1)
        self.run_cli("produce", self.url, "--id", "p", "text:a", "text:b/same")
        self.run_cli("seal", self.url)
        item, = self.delivered(1)
        self.assertEqual([(s["doc"], s["tokens"]) for s in samples_of(item)], [(b"a/same", b"a"), (b"b/same", b"b")])

    def test_no_document_at_all_is_refused(self):
        (self.folder / "empty").mkdir()
        self.init(1, 1, "--producers", 2)
        self.assertIn("empty", self.refused("INPUT_BAD", "produce", self.url, "--id", "p", "text:empty").err)
        self.assertEqual(self.json_line("info", self.url)["producers"], [])
        self.corpus(1)
        line = self.json_line("produce", self.url, "--id", "p", "--shard", "1/2", "text:corpus", "text:empty")
        self.assertEqual((line["finished"], line["offset"]), (True, 0))

    def test_an_empty_stream_is_an_end(self):
        self.init(1)
        self.assertEqual(self.json_line("produce", self.url, "--id", "p", "frames:-", input=b"")["offset"], 0)

    def test_context_parallel_is_refused(self):
        self.corpus(1)
        self.run_cli("init", self.url, "--dp", 1, "--cp", 2)
        self.refused("MESH_MISMATCH", "produce", self.url, "--id", "p", "text:corpus")
        self.produce_frames([b"a", b"b"])

    def test_a_file_that_vanishes(self):
        documents = self.corpus(3)
        self.init(1)
        names = sorted(documents, key=str.encode)
        process = self.start("produce", self.url, "--id", "p", "--seq-len", 10, "text:corpus", "--set", "threads=1")
        # Whether it is met in time is the scheduler's choice; both ends are right, and a rerun completes.
        (self.folder / "corpus" / names[-1]).unlink()
        result = self.finish(process, None)
        if result.code != 0:
            self.assertRegex(result.err, r"\[INPUT_(CHANGED|BAD)\]")
            self.assertEqual(result.code, 3 if "CHANGED" in result.err else 5)
            (self.folder / "corpus" / names[-1]).write_bytes(documents[names[-1]])
            self.run_cli("produce", self.url, "--id", "p", "--seq-len", 10, "text:corpus")

    def test_killed_and_started_again(self):
        documents = self.corpus(40, 2, 4000)
        self.init(2, 1)
        words = ["produce", self.url, "--id", "p", "--seq-len", 64, f"text:{self.folder / 'corpus'}"]
        kills = self.kill_until_done(words)
        self.assertGreater(kills, 3)
        self.run_cli("seal", self.url)
        self.assert_documents([i for i in self.delivered() if i is not None], documents, 64)
        self.run_cli("verify", self.url, "--deep")

    def kill_until_done(self, words):
        """Kills at named points, each a little later than the one before, until it ends by itself."""
        kills = 0
        for n in range(2, 60):
            for point, passage in (("staging", 3 * n), ("create-in-flight", n), ("created", n), ("before-ack", n)):
                process = self.start(*words, env={"BATCHWEAVE_FAULT": f"kill:{point}:{passage}"})
                result = self.finish(process, None)
                if result.code == 0:
                    return kills
                self.assertEqual(result.code, -signal.SIGKILL, result.err)
                kills += 1
        return self.fail("never done")


class Frames(harness.CliTest):
    def test_summaries_count_as_people_do(self):
        self.init(2, 1)
        frames = f"frames:{self.write_frames('one.bin', [b'x'])}"
        said = self.run_cli("produce", self.url, "--id", "p", frames).out.decode()
        self.assertIn("offset 1: 1 batch, 1 item and 1 pad, ", said)
        self.assertIn("steps: 1 step, next is 1; 1 item and 1 pad, ",
                      self.run_cli("consume", self.url, "--world", 2, "--steps", 1).out.decode())

    FRAMES = [f"frame {k}".encode() * (k % 40) for k in range(500)]

    def test_shards_are_disjoint_and_complete(self):
        self.init(2, 2)
        path = self.write_frames("f", self.FRAMES)
        for shard in range(3):
            self.run_cli("produce", self.url, "--id", f"p{shard}", "--shard", f"{shard}/3", f"frames:{path}")
        self.run_cli("seal", self.url)
        items = [i for i in self.delivered() if i is not None]
        self.assertEqual(sorted(items), sorted(self.FRAMES))
        third = len(self.FRAMES[0::3])
        self.assertEqual(items[:third], self.FRAMES[0::3])

    def test_standard_input_skips_what_is_in(self):
        self.init(1)
        data = b"".join(map(frame, self.FRAMES[:20]))
        words = ["produce", self.url, "--id", "p", "frames:-"]
        result = self.run_cli(*words, input=data[:-1], expect=5)
        self.assert_code(result, "INPUT_BAD")
        self.assertIn("offset 19", result.err)
        result = self.run_cli(*words, input=data)
        self.assertIn("goes on at offset 19", result.err)
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), self.FRAMES[:20])

    def test_a_bad_record_loses_nothing(self):
        self.init(2, 2)
        whole = b"".join(map(frame, self.FRAMES[:10]))
        path = self.folder / "f"
        path.write_bytes(whole + b"\xff\xff\xff\xff" + b"x" * 100)
        words = ["produce", self.url, "--id", "p", f"frames:{path}"]
        result = self.run_cli(*words, expect=5)
        self.assert_code(result, "INPUT_BAD")
        self.assertIn(f"{path} at byte {len(whole)}, frame 10", result.err)
        self.assertIn("offset 10", result.err)
        # Repaired, so of another size: that must be said.
        path.write_bytes(whole + frame(b"repaired"))
        self.refused("INPUT_CHANGED", *words)
        path.write_bytes(frame(b"repaired"))
        line = self.json_line(*words, "--new-input")
        self.assertEqual(line["offset"], 11)
        self.run_cli("seal", self.url)
        items = [i for i in self.delivered() if i is not None]
        self.assertEqual(items, self.FRAMES[:10] + [b"repaired"])

    def test_the_same_input_is_demanded(self):
        self.init(1)
        for name in ("f", "g"):
            self.write_frames(name, self.FRAMES[:5])
        (self.folder / "f").write_bytes((self.folder / "f").read_bytes() + b"\1")
        self.run_cli("produce", self.url, "--id", "p", "frames:f", expect=5)
        for words in (["frames:g"], ["frames:f", "--shard", "0/2"], ["frames:f", "frames:g"], ["frames:-"],
                      ["text:f"], ["--exec", "cat f"]):
            result = self.refused("INPUT_CHANGED", "produce", self.url, "--id", "p", *words)
            self.assertNotIn("goes on", result.err)
        result = self.run_cli("produce", self.url, "--id", "p", "frames:f", expect=5)
        self.assert_code(result, "INPUT_BAD")

    def test_finished_ids(self):
        self.init(1)
        self.produce_frames([b"a"])
        result = self.produce_frames([b"a"])
        self.assertEqual(result.out, b"p has finished at offset 1; nothing left to do (--reopen goes on)\n")
        line = self.json_line("produce", self.url, "--id", "p", f"frames:{self.folder / 'p.frames'}")
        self.assertEqual((line["finished"], line["before"]), (True, True))
        self.assertEqual(self.json_line("info", self.url)["next_step"], 1)
        path = self.write_frames("more", [b"b", b"c"])
        line = self.json_line("produce", self.url, "--id", "p", f"frames:{path}", "--reopen", "--new-input")
        self.assertEqual(line["offset"], 3)
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), [b"a", b"b", b"c"])
        result = check_namespace.check(str(self.space))
        self.assertTrue(result.ok, result.findings)

    def test_the_summary_s_seconds_have_three_decimals(self):
        """docs/reports.md: the only number that is no integer."""
        self.init(1)
        path = self.write_frames("one", [b"a"])
        out = self.run_cli("produce", self.url, "--id", "p", f"frames:{path}", "-o", "json").out
        self.assertRegex(out, rb'"seconds":\d+\.\d{1,3},')

    def test_a_finished_id_takes_no_other_input_in_silence(self):
        self.init(1)
        self.produce_frames([b"a"])
        before = self.json_line("info", self.url)
        path = self.write_frames("more", [b"b"])
        for words in ([f"frames:{path}"], [f"frames:{self.folder / 'p.frames'}", "--shard", "0/2"],
                      [f"text:{path}"], ["--exec", "true"], [f"frames:{path}", "--new-input"]):
            result = self.refused("INPUT_CHANGED", "produce", self.url, "--id", "p", *words)
            self.assertIn("p has finished at offset 1, with another input", result.err)
            self.assertIn("--reopen --new-input", result.err)
        after = self.json_line("info", self.url)
        self.assertEqual((after["version"], after["producers"]), (before["version"], before["producers"]))
        self.produce_frames([b"a"], "p", "--new-input")

    def test_text_instead_of_frames_is_said(self):
        self.init(1)
        result = self.refused("INPUT_BAD", "produce", self.url, "--id", "p", "--exec", "echo hello")
        self.assertIn('"hell": is it text rather than frames?', result.err)

    def test_expected_producers_seal(self):
        self.init(1, 1, "--producers", 2)
        self.produce_frames([b"a"], "p")
        self.assertFalse(self.json_line("info", self.url)["sealed"])
        self.produce_frames([b"b"], "q")
        self.assertTrue(self.json_line("info", self.url)["sealed"])
        self.refused("SEALED", "produce", self.url, "--id", "r", f"frames:{self.folder / 'p.frames'}")

    def test_an_empty_frame_is_no_pad(self):
        self.init(2, 1)
        self.produce_frames([b""])
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(), [b"", None])

    def test_context_parallel_frames(self):
        self.run_cli("init", self.url, "--dp", 2, "--cp", 2)
        frames = [bytes([k]) for k in range(6)]
        self.produce_frames(frames)
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(4), frames + [None, None])

    def test_compressed_items(self):
        """They come out as they went in, take less room, and are proved by two decoders."""
        self.init(2, 2)
        frames = [f"{k} and what follows is much alike, much alike, much alike; ".encode() * (k % 40)
                  for k in range(30)]
        self.produce_frames(frames, "plain")
        self.produce_frames(frames, "packed", "--set", "compress=zstd:5")
        self.run_cli("seal", self.url)
        items = self.delivered()
        self.assertEqual(items[:30], frames)
        self.assertEqual([x for x in items[30:] if x is not None][:30], frames)
        steps = self.json_lines("inspect", self.url, "--first", 0, "--last", 16)
        sizes = {name: sum(s["bytes"] for s in steps if s["producer"] == name) for name in ("plain", "packed")}
        self.assertLess(3 * sizes["packed"], sizes["plain"])
        part = self.json_line("inspect", self.url, [s["key"] for s in steps if s["producer"] == "packed"][3])
        items = [item for s in part["slices"] for item in s["items"]]
        self.assertTrue(any(item["bytes"] < item["plain"] for item in items))
        self.run_cli("verify", self.url, "--deep")
        result = check_namespace.check(str(self.space))
        self.assertTrue(result.ok, result.findings)
        for wrong in "gzip", "zstd:0", "zstd:20", "zstd:", "zstd:3x":
            self.refused("INVALID", "produce", self.url, "--id", "z", "--set", f"compress={wrong}", "frames:-")

    def test_items_option(self):
        self.init(1, 1)
        self.produce_frames([b"a", b"b", b"c"], "p", "--items", 2)
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), [b"a", b"b", b"c", None])

    def test_killed_and_started_again(self):
        self.init(1, 1)
        path = self.write_frames("f", self.FRAMES)
        kills = Text.kill_until_done(self, ["produce", self.url, "--id", "p", f"frames:{path}"])
        self.assertGreater(kills, 2)
        self.run_cli("seal", self.url)
        self.assertEqual([i for i in self.delivered(1) if i is not None], self.FRAMES)

    def test_interrupted(self):
        self.init(1)
        process = self.start("produce", self.url, "--id", "p", "frames:-", stdin=subprocess.PIPE)
        process.stdin.write(b"".join(map(frame, self.FRAMES[:9])))
        process.stdin.flush()
        self.wait_for("a step", lambda: self.json_line("info", self.url)["next_step"] >= 9)
        process.send_signal(signal.SIGINT)
        result = self.finish(process, 130)
        self.assert_code(result, "INTERRUPTED")
        process = self.start("produce", self.url, "--id", "p", "frames:-", stdin=subprocess.PIPE)
        self.finish(process, 0, b"".join(map(frame, self.FRAMES[:12])))
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), self.FRAMES[:12])

    def test_a_second_signal_ends_at_once(self):
        self.init(1)
        mark = self.folder / "child"
        process = self.start("produce", self.url, "--id", "p", "--exec",
                             f"trap '' TERM; echo $$ > {mark}; sleep 20; sleep 20")
        self.wait_for("its child", lambda: mark.exists() and mark.read_text().strip())
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(0.7), 130)  # a stubborn child is given a second
        harness.os.killpg(int(mark.read_text()), signal.SIGKILL)

    def test_a_silent_input_is_said(self):
        self.init(1)
        process = self.start("produce", self.url, "--id", "p", "frames:-", stdin=subprocess.PIPE)
        time.sleep(2.9)
        process.send_signal(signal.SIGTERM)
        result = self.finish(process, 143)
        self.assertIn("waiting for 2 s: the input", result.err)

    def test_a_silent_input_is_given_up(self):
        """--timeout counts what stands still, of the input as of the store; all that came is published."""
        self.init(1)
        words = ["produce", self.url, "--id", "p", "--timeout", "700ms", "frames:-"]
        process = self.start(*words, stdin=subprocess.PIPE)
        for k in range(8):  # slow, but it moves
            process.stdin.write(frame(b"a")[:3] if k % 2 == 0 else frame(b"a")[3:])
            process.stdin.flush()
            time.sleep(0.25)
        self.assert_code(self.finish_open(process), "TIMEOUT")
        self.assertEqual(self.json_line("info", self.url)["next_step"], 4)
        self.run_cli(*words, input=frame(b"a") * 5)
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), [b"a"] * 5)

    def finish_open(self, process):
        """Ends by itself, its input still open."""
        self.assertEqual(process.wait(20), 2)
        result = harness.Result(process.returncode, process.stdout.read(), process.stderr.read().decode())
        self.assertIn("the input gave nothing for 0.7 s", result.err)
        return result

    def test_a_silent_child_is_given_up(self):
        self.init(1)
        result = self.refused("TIMEOUT", "produce", self.url, "--id", "p", "--timeout", 1, "--exec", "sleep 1000")
        self.assertIn("the input gave nothing", result.err)

    def test_fenced(self):
        self.init(1)
        words = ["produce", self.url, "--id", "p", "frames:-"]
        zombie = self.start(*words, stdin=subprocess.PIPE)
        zombie.stdin.write(frame(b"a"))
        zombie.stdin.flush()
        self.wait_for("its step", lambda: self.json_line("info", self.url)["next_step"] == 1)
        self.run_cli(*words, input=frame(b"a") + frame(b"b"))
        result = self.finish(zombie, 6, frame(b"b") * 3)
        self.assert_code(result, "FENCED")
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), [b"a", b"b"])


class Exec(harness.CliTest):
    def command(self, count, pause=0.0, fail_at=-1):
        (self.folder / "child.py").write_text(CHILD)
        return f"{sys.executable} {self.folder / 'child.py'} {count} {pause} {fail_at}"

    def test_offset_and_shard(self):
        self.init(2, 1)
        line = self.json_line("produce", self.url, "--id", "p", "--shard", "3/4", "--exec", self.command(31))
        self.assertEqual((line["offset"], line["pads"]), (31, 1))
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered()[:31], [child_frame("3/4", k) for k in range(31)])

    def test_a_child_that_fails(self):
        self.init(1)
        words = ["produce", self.url, "--id", "p", "--exec"]
        result = self.refused("CHILD_FAILED", *words, self.command(20, 0, 7))
        self.assertEqual(result.code, 4)
        self.assertIn("status 3", result.err)
        self.assertIn("frame 7", result.err)
        self.assertIn("offset 7", result.err)
        self.refused("INPUT_CHANGED", *words, self.command(20))
        self.run_cli(*words, self.command(20), "--new-input")
        self.run_cli("seal", self.url)
        self.assertEqual(self.delivered(1), [child_frame("0/1", k) for k in range(20)])

    def test_exit_status_without_frames(self):
        self.init(1)
        for command, needle in (("exit 9", "status 9"), ("kill -9 $$", "signal 9")):
            result = self.refused("CHILD_FAILED", "produce", self.url, "--id", "p", "--exec", command, "--new-input")
            self.assertIn(needle, result.err)

    def test_killed_and_started_again(self):
        self.init(2, 1)
        words = ["produce", self.url, "--id", "p", "--exec", self.command(300, 0.01)]
        kills = Text.kill_until_done(self, words)
        self.assertGreater(kills, 2)
        self.run_cli("seal", self.url)
        self.assertEqual([i for i in self.delivered() if i is not None], [child_frame("0/1", k) for k in range(300)])

    def test_interrupt_ends_the_child(self):
        self.init(1)
        mark = self.folder / "alive"
        process = self.start("produce", self.url, "--id", "p", "--exec", f"echo $$ > {mark}; exec sleep 1000")
        self.wait_for("the child", lambda: mark.exists() and mark.read_text().strip())
        process.send_signal(signal.SIGINT)
        self.finish(process, 130)
        with self.assertRaises(ProcessLookupError):
            harness.os.kill(int(mark.read_text()), 0)


if __name__ == "__main__":
    unittest.main()
