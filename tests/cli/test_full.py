#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Producers on a file system that is full: they wait, say why, go on when there is room, and nothing is lost.

On a small mount in a mount namespace of its own (with a user namespace around it for who is not root); a machine
that refuses both is told, and nothing runs.
"""

import hashlib
import json
import os
import select
import subprocess
import sys
import time
import unittest

import harness

INSIDE = "BATCHWEAVE_TEST_MOUNTS"
PATIENCE_SECONDS = 60
FRAME_BYTES = 20000
FRAMES = 80  # of one producer: more than the file system takes


def frames_of(label, count):
    return [f"{label} {k} ".encode().ljust(FRAME_BYTES, b".") for k in range(count)]


class FullTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.space.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", self.space], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.space], check=False)
        self.frames = {}

    def make_room(self):
        subprocess.run(["mount", "-o", "remount,size=16m", self.space], check=True)

    def produce(self, name):
        return self.start("produce", self.url, "--id", name, "--set", "policy=naive", "-o", "json", "frames:-",
                          stdin=subprocess.PIPE)

    def feed(self, processes, count):
        """The first frame of each, and the rest when all are open: a full file system refuses new ones."""
        for name, process in processes.items():
            self.frames[name] = frames_of(name, count)
            process.stdin.write(harness.frame(self.frames[name][0]))
            process.stdin.flush()
        end = time.monotonic() + PATIENCE_SECONDS
        while self.json_line("info", self.url)["next_step"] < len(processes):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        for name, process in processes.items():
            process.stdin.write(b"".join(map(harness.frame, self.frames[name][1:])))
            process.stdin.close()
            process.stdin = None

    def wait_for_complaint(self, process):
        """What a running process says on stderr until it tells that there is no room."""
        said, end = b"", time.monotonic() + PATIENCE_SECONDS
        while b"NO_SPACE" not in said and b"room" not in said:
            self.assertIsNone(process.poll(), said)
            self.assertLess(time.monotonic(), end, said)
            if select.select([process.stderr], [], [], 0.2)[0]:
                said += os.read(process.stderr.fileno(), 65536)
        return said

    def prove(self):
        """Every frame of every producer once, and in its order."""
        self.run_cli("verify", self.url, "--deep")
        self.run_cli("seal", self.url)
        lines = self.run_cli("consume", self.url, "--world", 1, "--digest").out.splitlines()
        got = [item["sha256"] for line in map(json.loads, lines) for item in line["items"]]
        for frames in self.frames.values():
            wanted = [hashlib.sha256(frame).hexdigest() for frame in frames]
            self.assertEqual([item for item in got if item in wanted], wanted)
        self.assertEqual(len(got), sum(map(len, self.frames.values())))

    def test_producers_wait_for_room_and_go_on(self):
        self.run_cli("init", self.url, "--dp", 1)
        processes = {name: self.produce(name) for name in ("one", "two")}
        self.feed(processes, FRAMES)
        said = {name: self.wait_for_complaint(process) for name, process in processes.items()}
        time.sleep(1)
        before = self.json_line("info", self.url)["next_step"]
        for name, process in processes.items():
            self.assertIsNone(process.poll(), said[name])
        self.assertLess(before, 2 * FRAMES)
        self.make_room()
        for process in processes.values():
            done = json.loads(self.finish(process, timeout=PATIENCE_SECONDS).out)
            self.assertEqual((done["offset"], done["finished"]), (FRAMES, True))
        self.assertEqual(self.json_line("info", self.url)["next_step"], 2 * FRAMES)
        self.prove()

    def test_a_producer_killed_while_it_waits_goes_on_later(self):
        self.run_cli("init", self.url, "--dp", 1)
        process = self.produce("one")
        self.feed({"one": process}, FRAMES)
        self.wait_for_complaint(process)
        process.kill()
        process.wait()
        before = self.json_line("info", self.url)["next_step"]
        self.assertLess(before, FRAMES)
        self.make_room()
        again = self.produce("one")
        out = again.communicate(b"".join(map(harness.frame, self.frames["one"])), timeout=PATIENCE_SECONDS)[0]
        done = json.loads(out)
        self.assertEqual((done["offset"], done["finished"], again.returncode), (FRAMES, True, 0))
        self.assertEqual(self.json_line("info", self.url)["next_step"], FRAMES)
        self.prove()

    def test_puts_wait_for_room_too(self):
        """Two batches staged at most: it stands at a put, and not at the last flush as the others do."""
        self.run_cli("init", self.url, "--dp", 1)
        self.frames["one"] = frames_of("one", FRAMES)
        path = self.write_frames("frames", self.frames["one"])
        process = self.start("produce", self.url, "--id", "one", "--set", "staged_batches=2", "-o", "json",
                             f"frames:{path}")
        self.wait_for_complaint(process)
        self.make_room()
        self.assertEqual(json.loads(self.finish(process, timeout=PATIENCE_SECONDS).out)["offset"], FRAMES)
        self.prove()

    def gives_up(self, staged):
        self.run_cli("init", self.url, "--dp", 1)
        path = self.write_frames("frames", frames_of("one", FRAMES))
        result = self.refused("NO_SPACE", "produce", self.url, "--id", "one", "--set", f"staged_batches={staged}",
                              "--timeout", "1s", f"frames:{path}")
        self.assertEqual(result.code, harness.EXITS["STORE"])

    def test_a_put_that_gives_up_names_the_cause(self):
        self.gives_up(2)

    def test_a_flush_that_gives_up_names_the_cause(self):
        self.gives_up(1000)


def enter():
    """Runs this program again where it may mount; False when there is no such place."""
    for words in (["unshare", "-m"], ["unshare", "-U", "-r", "-m"]):
        try_mount = [*words, "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
        if subprocess.run(try_mount, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.environ[INSIDE] = "1"
            os.execvp(words[0], [*words, sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]])
    return False


if __name__ == "__main__":
    if not os.environ.get(INSIDE) and not enter():
        print("5 skipped: this machine refuses mount namespaces")
        sys.exit(0)
    unittest.main()
