# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""consume: ranks that read their own slices, resume at cursors, and write what they were handed."""

import hashlib
import json
import os
import random
import signal
import subprocess
import time
import unittest

import harness


class Consume(harness.CliTest):
    FRAMES = [f"item {k} ".encode() * (1 + k % 30) for k in range(120)]

    def fill(self, dp=3, items=2, seal=True, frames=None):
        self.init(dp, items)
        self.produce_frames(frames or self.FRAMES)
        if seal:
            self.run_cli("seal", self.url)

    def digest(self, *words, expect=0):
        return [json.loads(line) for line in
                self.run_cli("consume", self.url, "--digest", *words, expect=expect).out.splitlines()]

    def test_digests(self):
        self.fill()
        lines = self.digest("--world", 3)
        self.assertEqual([(x["step"], x["d"], x["c"]) for x in lines], [(s, d, 0) for s in range(20) for d in range(3)])
        for line in lines:
            for k, item in enumerate(line["items"]):
                data = self.FRAMES[line["step"] * 6 + k * 3 + line["d"]]
                self.assertEqual(item, {"item": k, "bytes": len(data), "pad": False,
                                        "sha256": hashlib.sha256(data).hexdigest()})

    def test_one_rank_is_its_part_of_all(self):
        self.fill()
        lines = self.digest("--world", 3)
        for rank in range(3):
            self.assertEqual(self.digest("--world", 3, "--rank", rank), [x for x in lines if x["d"] == rank])

    def test_torchrun_s_environment(self):
        self.fill()
        words = ["consume", self.url, "--digest"]
        out = self.run_cli(*words, env={"RANK": "1", "WORLD_SIZE": "3"}).out
        self.assertEqual(out, self.run_cli(*words, "--rank", 1, "--world", 3).out)
        self.refused("INVALID", *words)

    def test_slurm_s_and_mpi_s_environment(self):
        self.fill()
        words = ["consume", self.url, "--digest"]
        expected = self.run_cli(*words, "--rank", 1, "--world", 3).out
        slurm = {"SLURM_PROCID": "1", "SLURM_NTASKS": "3"}
        openmpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}
        pmi = {"PMI_RANK": "1", "PMI_SIZE": "3"}
        for env in slurm, openmpi, pmi, {**slurm, **pmi}:
            self.assertEqual(self.run_cli(*words, env=env).out, expected)
        err = self.refused("INVALID", *words, env={**slurm, "PMI_RANK": "2", "PMI_SIZE": "3"}).err
        self.assertIn("1 of 3 by SLURM_PROCID", err)
        self.assertIn("2 of 3 by PMI_RANK", err)

    def test_context_and_tensor_parallel(self):
        self.run_cli("init", self.url, "--dp", 2, "--cp", 2)
        self.produce_frames([bytes([k]) for k in range(8)])
        self.run_cli("seal", self.url)
        lines = self.digest("--world", 8, "--set", "tp=2")
        self.assertEqual([(x["d"], x["c"]) for x in lines], [(0, 0), (0, 1), (1, 0), (1, 1)] * 2)
        last = [x for x in lines if x["d"] + x["c"] == 2]
        self.assertEqual(self.digest("--world", 8, "--rank", 7, "--set", "tp=2"), last)

    def test_mesh(self):
        self.fill()
        self.refused("MESH_MISMATCH", "consume", self.url, "--world", 4)
        self.assertNotIn("tp=", self.refused("MESH_MISMATCH", "consume", self.url, "--world", 4, "--rank", 3).err)
        self.assertIn("--set tp=N", self.refused("MESH_MISMATCH", "consume", self.url, "--world", 6).err)
        for env in ({}, {"RANK": "0", "WORLD_SIZE": "3"}):
            result = self.refused("INVALID", "consume", self.url, "--rank", 1, env=env)
            self.assertIn("--rank needs --world", result.err)

    def test_out(self):
        self.fill(2, 2, frames=self.FRAMES[:7])
        out = self.folder / "a" / "b"
        self.run_cli("consume", self.url, "--world", 2, "--out", out)
        found = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
        expected = {f"{k // 4}/{k % 4 % 2}.0.{k % 4 // 2}": self.FRAMES[k] for k in range(7)}
        self.assertEqual(found, expected)
        self.refused("IO", "consume", self.url, "--world", 2, "--out", out / "0" / "0.0.0")

    def test_summary(self):
        self.fill()
        line = self.json_line("consume", self.url, "--world", 3)
        self.assertEqual(set(line), {"ended", "steps", "next_step", "items", "pads", "bytes", "seconds"})
        self.assertEqual((line["ended"], line["steps"], line["next_step"], line["items"], line["pads"]),
                         ("end", 20, 20, 120, 0))
        self.assertEqual(line["bytes"], sum(map(len, self.FRAMES)))
        line = self.json_line("consume", self.url, "--world", 3, "--steps", 4)
        self.assertEqual((line["ended"], line["steps"], line["next_step"]), ("steps", 4, 4))

    def test_from(self):
        self.fill(seal=False)
        steps = [x["step"] for x in self.digest("--world", 3, "--from", 15, "--steps", 2)]
        self.assertEqual(steps, [15] * 3 + [16] * 3)
        self.assertEqual(self.digest("--world", 3, "--rank", 1, "--from", 18, "--steps", 1)[0]["step"], 18)
        process = self.start("consume", self.url, "--world", 3, "--from", "latest", "--digest", "--steps", 1)
        time.sleep(0.3)
        self.produce_frames(self.FRAMES[:6], "q")
        lines = self.finish(process).out.splitlines()
        self.assertEqual([json.loads(line)["step"] for line in lines], [20] * 3)
        self.refused("INVALID", "consume", self.url, "--world", 3, "--from", "soon")
        self.refused("BEYOND_END", "consume", self.url, "--world", 3, "--from", 1000)

    def test_latest_is_never_found_out_by_each_rank_for_itself(self):
        self.fill()
        latest = ["consume", self.url, "--from", "latest"]
        torchrun = {"RANK": "0", "WORLD_SIZE": "3"}
        for words, env in (["--world", 3, "--rank", 0], {}), ([], torchrun), (["--set", "d=0", "--set", "c=0"], {}):
            self.assertIn("each rank for itself", self.refused("INVALID", *latest, *words, env=env).err)
        self.run_cli(*latest, "--world", 3, env=torchrun)
        self.url += "-alone"
        self.init(dp=1)
        self.produce_frames([b"x"])
        self.run_cli("seal", self.url)
        latest = ["consume", self.url, "--from", "latest"]
        for words, env in ([], {}), (["--world", 1, "--rank", 0], {}), ([], {"RANK": "0", "WORLD_SIZE": "1"}):
            self.run_cli(*latest, *words, env=env)
        self.refused("INVALID", *latest, "--set", "tp=2", env={"RANK": "1", "WORLD_SIZE": "2"})

    def test_starved(self):
        self.fill(seal=False)
        began = time.monotonic()
        result = self.run_cli("consume", self.url, "--world", 3, "--timeout", "600ms", expect=2)
        self.assert_code(result, "STARVED")
        self.assertLess(time.monotonic() - began, 5)
        self.assertRegex(result.err, r"rank \d+: ")

    def test_waiting_says_why(self):
        self.fill(seal=False)
        process = self.start("consume", self.url, "--world", 3)
        time.sleep(3.4)
        process.send_signal(signal.SIGINT)
        err = self.finish(process, 130).err
        self.assertRegex(err, r"waiting for 2 s: step 20 .*its producer has finished: .*batchweave seal ends it")
        self.assertRegex(err, r" \d+\.\d s old")

    def test_cursor_goes_on(self):
        self.fill()
        words = ["--world", 3, "--cursor", "c.json"]
        lines = self.digest("--world", 3)
        got = []
        for _ in range(5):
            got += self.digest(*words, "--steps", 4)
        self.assertEqual(got, lines)
        self.assertEqual(self.digest(*words), [])
        cursor = json.loads((self.folder / "c.json").read_bytes())
        self.assertEqual((cursor["step"], cursor["item"]), (20, 0))
        # --from is for the first start only, and one rank may go on from a cursor of all.
        (self.folder / "one.json").write_text(json.dumps({**cursor, "step": 7, "nonce": None}))
        steps = [x["step"] for x in self.digest("--world", 3, "--rank", 2, "--cursor", "one.json", "--from", 3)]
        self.assertEqual(steps, list(range(7, 20)))

    def test_interrupted_saves_the_newest_step(self):
        self.fill()
        process = self.start("consume", self.url, "--world", 3, "--cursor", "c.json", "--save-every", 1000,
                             "--digest", "--step-ms", 30)
        seen = [json.loads(process.stdout.readline()) for _ in range(9)]
        process.send_signal(signal.SIGTERM)
        result = self.finish(process, 143)
        seen += map(json.loads, result.out.splitlines())
        step = json.loads((self.folder / "c.json").read_bytes())["step"]
        self.assertGreaterEqual(step, 2)
        self.assertEqual(step, seen[-1]["step"] + 1)
        self.assertEqual(seen + self.digest("--world", 3, "--cursor", "c.json"), self.digest("--world", 3))

    def test_save_every(self):
        self.fill()
        self.kill_at("--save-every", 4, fault="kill:cursor-save:4")  # the first is of the start
        self.assertEqual(json.loads((self.folder / "c.json").read_bytes())["step"], 8)
        self.assertEqual(self.digest("--world", 3, "--cursor", "c.json", "--save-every", 4)[0]["step"], 8)

    def test_next_step_without_a_delivery(self):
        self.fill()
        for start in ("latest", 20):
            line = self.json_line("consume", self.url, "--world", 3, "--from", start)
            self.assertEqual((line["steps"], line["next_step"]), (0, 20))

    def test_the_start_is_saved(self):
        """`latest` is found out once: a kill before the first step, or before the first save, finds no later one."""
        self.fill(seal=False)
        words = ["consume", self.url, "--world", 3, "--from", "latest", "--cursor", "c.json", "--save-every", 1000]
        process = self.start(*words)
        cursor = self.folder / "c.json"
        self.wait_for("the cursor of the start", cursor.exists)
        self.assertEqual(json.loads(cursor.read_bytes())["step"], 20)
        self.kill(process)
        self.produce_frames(self.FRAMES[:18], "q")
        lines = [json.loads(line) for line in self.run_cli(*words, "--digest", "--steps", 1).out.splitlines()]
        self.assertEqual([line["step"] for line in lines], [20] * 3)
        process = self.start("consume", self.url, "--world", 3, "--from", "latest", "--cursor", "d.json")
        self.wait_for("the cursor of the start", (self.folder / "d.json").exists)
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted before step 23", self.finish(process, 130).err)

    def kill_at(self, *words, fault):
        process = self.start("consume", self.url, "--world", 3, "--cursor", "c.json", *words, "--out", "out",
                             "--digest", env={"BATCHWEAVE_FAULT": fault})
        return self.finish(process, -signal.SIGKILL).out

    def test_killed_and_started_again(self):
        """Delivered twice is byte-equal, and nothing is left out."""
        self.fill()
        lines = {(x["step"], x["d"]): x for x in self.digest("--world", 3)}
        rng = random.Random(4)
        seen = {}
        for _ in range(6):
            out = self.kill_at(fault=f"kill:cursor-save:{rng.randrange(1, 4)}")
            for line in map(json.loads, out.splitlines()):
                seen[line["step"], line["d"]] = line
        for line in self.digest("--world", 3, "--cursor", "c.json", "--out", "out"):
            seen[line["step"], line["d"]] = line
        self.assertEqual(seen, lines)
        files = {str(p.relative_to(self.folder / "out")): p.read_bytes() for p in (self.folder / "out").glob("*/*.*.?")}
        self.assertEqual(files, {f"{k // 6}/{k % 6 % 3}.0.{k % 6 // 3}": f for k, f in enumerate(self.FRAMES)})

    def test_stopped_at_a_point_goes_on(self):
        self.fill()
        process = self.start("consume", self.url, "--world", 3, "--cursor", "c.json",
                             env={"BATCHWEAVE_FAULT": "stop:cursor-save:2"})
        pid, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(pid == process.pid and os.WIFSTOPPED(status))
        process.send_signal(signal.SIGCONT)
        self.finish(process)

    def test_cursors_that_do_not_fit(self):
        self.fill()
        self.digest("--world", 3, "--cursor", "c.json", "--steps", 5)
        cursor = json.loads((self.folder / "c.json").read_bytes())
        self.assertEqual(cursor["step"], 5)

        def write(**changes):
            (self.folder / "x.json").write_text(json.dumps({**cursor, **changes}))
        words = ["consume", self.url, "--world", 3, "--cursor", "x.json"]
        write(namespace="0" * 32)
        self.refused("CURSOR_FOREIGN", *words)
        write(nonce="0123456789abcdef")
        self.refused("CURSOR_REWRITTEN", *words)
        write(step=1000)
        self.refused("BEYOND_END", *words)
        write(unknown=1)
        self.refused("CURSOR_INVALID", *words)
        for text in ("", "{", "[]", "null", "7", "{}"):
            (self.folder / "x.json").write_text(text)
            self.assertIn("x.json", self.refused("CURSOR_INVALID", *words).err)
        (self.folder / "x.json").unlink()
        (self.folder / "x.json").mkdir()
        self.refused("IO", *words)

    def test_cursor_that_cannot_be_saved(self):
        self.fill()
        result = self.refused("IO", "consume", self.url, "--world", 3, "--cursor", "none/c.json", "--digest",
                              "--out", "o")
        self.assertIn("none/c.json", result.err)
        self.assertEqual((result.out, list((self.folder / "o").iterdir())), (b"", []))  # found before the first step

    def test_a_reader_that_has_seen_enough(self):
        self.fill()
        process = self.start("consume", self.url, "--world", 3, "--digest", "--step-ms", 20)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(10), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")

    def test_a_full_disk_is_said(self):
        self.fill()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.BINARY, "consume", self.url, "--world", "3", "--digest", "--cursor",
                                   self.folder / "c"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, rb"standard output cannot be written: .*\[NO_SPACE\]\n$")
        self.assertEqual(json.loads((self.folder / "c").read_bytes())["step"], 0)

    def test_live(self):
        """Ranks and a producer at the same time: everything arrives, in order."""
        self.init(2, 1, "--producers", 1)
        process = self.start("consume", self.url, "--world", 2, "--digest")
        self.produce_frames(self.FRAMES)
        lines = [json.loads(line) for line in self.finish(process).out.splitlines()]
        digests = [hashlib.sha256(f).hexdigest() for f in self.FRAMES]
        self.assertEqual([x["items"][0]["sha256"] for x in lines], digests)

    def test_progress(self):
        self.fill()
        self.assertEqual(self.run_cli("consume", self.url, "--world", 3).err, "")
        result = self.run_cli("consume", self.url, "--world", 3, "--progress", "--step-ms", 80)
        self.assertRegex(result.err, r"step \d+, [\d.]+ steps/s, \d+ more are committed")

    def test_pads(self):
        self.fill(2, 2, frames=[b"only"])
        pads = [[item["pad"] for item in line["items"]] for line in self.digest("--world", 2)]
        self.assertEqual(pads, [[False, True], [True, True]])

    def test_pads_are_counted_apart_as_produce_does(self):
        self.init(2, 2)
        said = self.json_lines("produce", self.url, "--id", "a", f"frames:{self.write_frames('a.frames', [b'only'])}")
        self.run_cli("seal", self.url)
        line = self.json_line("consume", self.url, "--world", 2)
        self.assertEqual((line["items"], line["pads"]), (1, 3))
        self.assertEqual([(x["items"], x["pads"]) for x in said], [(1, 3)])
        self.assertIn("; 1 item and 3 pads, ", self.run_cli("consume", self.url, "--world", 2).out.decode())


if __name__ == "__main__":
    unittest.main()
