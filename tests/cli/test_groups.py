#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""group, pin, release, forget, and consume with checkpoints: what a job keeps, and what gc then deletes."""

import json
import os
import random
import sys
import threading
import time
import unittest

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "independent"))
import check_namespace  # noqa: E402

GROUP = set("name launch launch_number hold last_version last_clock_ms pins".split())


class Groups(harness.CliTest):
    STEPS = 20

    def setUp(self):
        super().setUp()
        self.init(4, 1, "--block-size", 4, "--tail-cap", 256, "--part-size", 4096)
        self.produce_frames([f"item {k}".encode() for k in range(4 * self.STEPS)], "a")

    def groups(self):
        lines = self.run_cli("group", "ls", self.url, "-o", "json").out.decode().splitlines()
        return {line["name"]: line for line in map(json.loads, lines)}

    def pins(self, name="train"):
        return {pin["id"]: pin["step"] for pin in self.groups()[name]["pins"]}

    def parts(self):
        return sum(1 for path in (self.space / "data").rglob("*") if path.is_file())

    def consume(self, steps, *more, group="train"):
        return json.loads(self.run_cli("consume", self.url, "--world", 4, "--group", group, "--steps", steps, "--set",
                                       "reclaim=false", *more, "-o", "json").out)

    def test_columns_of_names_in_any_script(self):
        """Tables are aligned by what a terminal shows, not by bytes: wide letters take two columns, accents none."""
        wide = {"run-1": 5, "größe": 5, "訓練": 4, "e\u0301te\u0301": 3}
        for k, launch in enumerate(wide):
            self.consume(1, "--launch", launch, group=f"g{k}")
        for env in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}):
            head, *rows = self.run_cli("group", "ls", self.url, env=env).out.decode().splitlines()
            self.assertEqual({row.split()[1] for row in rows}, set(wide))
            for row in rows:
                launch = row.split()[1]
                self.assertEqual(len(row) - len(launch) + wide[launch], len(head), row)

    def test_a_job_pins_and_gc_follows(self):
        self.assertEqual(self.consume(7, "--pin-every", 3, "--keep", 2)["next_step"], 7)
        line = self.groups()["train"]
        self.assertEqual(set(line), GROUP)
        self.assertEqual(line["hold"], 6)
        self.assertEqual(sorted(self.pins().values()), [3, 6])
        before = self.parts()
        dry = self.json_line("gc", self.url)
        self.assertEqual((dry["steps_deleted"], dry["swept_to"], self.parts()), (3, 3, before))
        self.assertEqual((dry["kept_by"]["group"], dry["kept_by"]["step"]), ("train", 3))
        wet = self.json_line("gc", self.url, "--apply")
        self.assertEqual((wet["steps_deleted"], self.parts()), (3, before - 3))
        self.run_cli("verify", self.url, "--deep")
        # The next run goes on at the newest pin, and its own checkpoints replace the old.
        self.assertEqual(self.consume(4, "--pin-every", 2, "--keep", 1)["next_step"], 10)
        self.assertEqual(list(self.pins().values()), [10])
        self.assertEqual(self.json_line("gc", self.url, "--apply")["swept_to"], 10)
        self.run_cli("verify", self.url, "--deep")
        self.refused("TRIMMED", "consume", self.url, "--world", 4, "--from", 9, "--steps", 1)

    def test_pins_sweep_behind_them(self):
        before = self.parts()
        self.run_cli("consume", self.url, "--world", 4, "--group", "train", "--pin-every", 2, "--step-ms", 50,
                     "--steps", self.STEPS)
        self.assertLess(self.parts(), before)
        self.run_cli("verify", self.url, "--deep")

    def test_an_older_checkpoint_is_gone_back_to(self):
        cursor = self.folder / "cursor"
        self.consume(3, "--cursor", cursor, "--pin-every", 3, "--keep", 3)
        old = cursor.read_bytes()
        self.consume(6, "--cursor", cursor, "--pin-every", 3, "--keep", 3)
        self.assertEqual(sorted(self.pins().values()), [3, 6, 9])
        cursor.write_bytes(old)
        self.assertEqual(self.consume(2, "--cursor", cursor)["next_step"], 5)
        self.assertEqual(self.groups()["train"]["hold"], 3)
        self.assertEqual(self.groups()["train"]["launch_number"], 3)

    def test_going_back_keeps_as_many_as_asked(self):
        """Neither the pin made again nor those ahead take the place of one that is to be kept."""
        self.consume(9, "--pin-every", 3, "--keep", 3)
        self.consume(3, "--from", 3, "--pin-every", 3, "--keep", 2)
        self.assertEqual(sorted(self.pins().values()), [3, 6])

    def test_pin_release_and_rm(self):
        cursor = self.folder / "cursor"
        self.consume(5, "--cursor", cursor)
        self.assertEqual(self.groups()["train"]["hold"], 0)
        line = self.json_line("pin", self.url, "train", "best", "--cursor", cursor)
        self.assertEqual(line, {"group": "train", "pin": "best", "step": 5})
        self.run_cli("pin", self.url, "train", "best", "--cursor", cursor)
        self.assertEqual((self.pins(), self.groups()["train"]["hold"]), ({"best": 5}, 5))
        self.consume(2, "--cursor", cursor)
        self.refused("PIN_EXISTS", "pin", self.url, "train", "best", "--cursor", cursor)
        self.refused("FENCED", "pin", self.url, "train", "other", "--cursor", cursor, "--launch", "gone")
        one = self.run_cli("group", "ls", self.url, "train").out.decode()
        self.assertRegex(one, r"^ +step +item +pin\n +5 +0 +best\n$")
        self.assertEqual(self.json_line("group", "ls", self.url, "train"), self.groups()["train"])
        self.refused("GROUP_GONE", "group", "ls", self.url, "nobody")
        line = self.json_line("pin", self.url, "train", 'a "b"', "--cursor", cursor)
        self.assertEqual((line["pin"], self.pins()), ('a "b"', {"best": 5, 'a "b"': 7}))
        self.run_cli("release", self.url, "train", "best", 'a "b"', "never")
        self.assertEqual((self.pins(), self.groups()["train"]["hold"]), ({}, 7))
        self.assertIn("no pins; it holds step 7", self.run_cli("group", "ls", self.url, "train").out.decode())
        self.refused("FENCED", "group", "rm", self.url, "train", "--launch", "gone")
        self.assertIn("is removed", self.run_cli("group", "rm", self.url, "train").out.decode())
        self.assertEqual(self.groups(), {})
        self.refused("GROUP_GONE", "group", "rm", self.url, "train")
        self.refused("GROUP_GONE", "release", self.url, "train", "best")
        self.assertIn("no group is registered", self.run_cli("group", "ls", self.url).out.decode())

    def test_two_groups_keep_what_either_needs(self):
        self.consume(1)
        self.consume(4, "--pin-every", 4, group="eval")
        self.assertEqual(self.consume(9, "--pin-every", 9)["next_step"], 9)
        self.assertEqual(self.json_line("gc", self.url)["kept_by"]["group"], "eval")
        self.assertEqual(self.json_line("gc", self.url)["swept_to"], 4)
        self.run_cli("group", "rm", self.url, "eval")
        self.assertEqual(self.json_line("gc", self.url, "--apply")["swept_to"], 9)
        table = self.run_cli("group", "ls", self.url).out.decode().splitlines()
        self.assertEqual((len(table), table[1].split()[0]), (2, "train"))
        text = self.run_cli("info", self.url).out.decode()
        self.assertIn("\n1 group\n" + "".join(f"  {line}\n" for line in table), text)
        self.assertRegex(text, r"newest +version \d+, \d+ s ago\n")  # a sweep's commit names nobody

    def test_a_job_without_its_group_trains_on(self):
        job = self.start("consume", self.url, "--world", 4, "--group", "train", "--pin-every", 2, "--keep", 2,
                         "--step-ms", 50, "--steps", self.STEPS, "-o", "json")
        while "train" not in self.groups():
            time.sleep(0.01)
        self.run_cli("group", "rm", self.url, "train")
        result = self.finish(job)
        self.assertEqual(json.loads(result.out)["next_step"], self.STEPS)
        self.assertIn("there is no group train; the job goes on, and pins no more", result.err)
        self.assertEqual(self.groups(), {})

    def test_ranks_of_several_processes_start_together(self):
        late = [self.start("consume", self.url, "--rank", rank, "--world", 4, "--group", "train", "--launch", "one",
                           "--from", "latest", "--steps", 1, "--timeout", 30, "-o", "json") for rank in (1, 2, 3, 0)]
        # What "latest" is must be settled before there is more.
        while "train" not in self.groups():
            self.assertTrue(all(process.poll() is None for process in late))
            time.sleep(0.02)
        self.produce_frames([b"more"] * 8, "b")
        nexts = {json.loads(self.finish(process).out)["next_step"] for process in late}
        self.assertEqual(len(nexts), 1)
        self.refused("INVALID", "consume", self.url, "--rank", 1, "--world", 4, "--group", "train", "--steps", 1)
        self.refused("LAUNCH_REUSED", "consume", self.url, "--rank", 0, "--world", 4, "--group", "train", "--launch",
                     "one", "--from", 3, "--steps", 1)
        self.refused("RANKS_DISAGREE", "consume", self.url, "--rank", 2, "--world", 4, "--group", "train", "--launch",
                     "one", "--from", 3, "--steps", 1)
        for words in (["--launch", "x"], ["--pin-every", 3], ["--keep", 2]):
            self.refused("INVALID", "consume", self.url, "--world", 4, *words)

    def test_forget(self):
        self.run_cli("produce", self.url, "--id", "c", "--exec", "exit 1", expect=4)
        self.refused("SEAL_REFUSED", "seal", self.url)
        self.refused("FENCED", "forget", self.url, "c", "--epoch", 7)
        self.refused("INVALID", "forget", self.url, "nobody")
        self.refused("FINISHED", "forget", self.url, "a")
        self.assertEqual(self.json_line("forget", self.url, "c"), {"producer": "c", "forgotten": True})
        self.run_cli("forget", self.url, "c")
        self.run_cli("seal", self.url)

    def test_verbs_of_group(self):
        self.refused("INVALID", "group", "mv", self.url)
        self.refused("INVALID", "group", "rm", self.url)


class Lives(harness.CliTest):
    """Producers come, finish and come back, jobs pin and release, sweeps run in between: whenever one looks, the
    namespace is clean, by `verify --deep` and by the checker that shares nothing with it."""

    MOVES = 28
    LOOKS = int(os.environ.get("BATCHWEAVE_LOOKS", 25))

    def setUp(self):
        super().setUp()
        self.init(2, 1, "--block-size", 4, "--tail-cap", 256, "--part-size", 4096, "--page-min", 2)
        self.frames = {}

    def produce(self):
        """A new id, or one that has finished and comes back with more of its input. All finish."""
        if self.frames and self.dice.random() < 0.4:
            name = self.dice.choice(sorted(self.frames))
        else:
            name = f"p{len(self.frames)}"
        mine = self.frames.setdefault(name, [])
        again = ["--reopen", "--new-input"] if mine else []
        more = [f"{name} {len(mine) + k} ".encode() * self.dice.randrange(1, 40)
                for k in range(self.dice.randrange(2, 9))]
        mine += more + [b"."] * (-len(mine + more) % 2)
        self.produce_frames(mine, name, *again)

    def stands(self, group):
        """Where a next run of it begins: at the newest pin, else the hold; a new group at the first retained step."""
        groups = {g["name"]: g for g in self.json_lines("group", "ls", self.url)}
        if group not in groups:
            return self.json_line("info", self.url)["trim_step"]
        pins = [pin["step"] for pin in groups[group]["pins"]]
        return max(pins) if pins else groups[group]["hold"]

    def train(self):
        group = self.dice.choice(("train", "train", "eval"))
        first = self.stands(group)
        left = self.json_line("info", self.url)["next_step"] - first
        if left == 0:
            return
        steps = self.dice.randrange((left + 1) // 2, left + 1)
        line = json.loads(self.run_cli("consume", self.url, "--world", 2, "--group", group, "--steps", steps,
                                       "--pin-every", self.dice.randrange(1, 4), "--keep", self.dice.randrange(1, 4),
                                       "-o", "json").out)
        self.assertEqual(line["next_step"], first + steps)

    def remove(self):
        if self.dice.random() < 0.3:
            self.run_cli("group", "rm", self.url, "eval", expect=None)

    def sweep(self):
        line = self.json_line("gc", self.url, "--apply")
        self.assertEqual(line["swept_to"], self.json_line("info", self.url)["swept_step"])

    def look(self, move):
        self.run_cli("verify", self.url, "--deep")
        result = check_namespace.check(str(self.space))
        self.assertTrue(result.ok, f"after {move}: {result.findings}")
        return result

    def live(self, seed):
        self.dice = random.Random(seed)
        for _ in range(self.MOVES):
            move = self.dice.choice((self.produce, self.produce, self.train, self.train, self.sweep, self.remove))
            move()
            self.look(move.__name__)
        # What is left after a sweep is referred to: by the trim step, the page, the chain.
        self.sweep()
        self.sweep()
        result = self.look("the last sweep")
        info = self.json_line("info", self.url)
        # A fold that another candidate outran stays until its steps are swept.
        left = [key for key in result.orphans if not key.startswith("segment/")
                or int(key.split("-")[1]) < info["swept_step"]]
        self.assertEqual((result.ghosts, left), ([], []))
        return info

    def has_any(self, kind):
        folder = self.space / kind
        return folder.is_dir() and any(folder.iterdir())

    def test_clean_at_any_moment(self):
        life = int(os.environ.get("BATCHWEAVE_LIFE", 5))
        info = self.live(life)
        if life != 5:
            return
        # In this life all of it happens. A sweep that another one overtakes moves nobody to the page; with the
        # group that holds the trim step gone, one that is alone does.
        for _ in range(5):
            if self.has_any("page"):
                break
            self.run_cli("group", "rm", self.url, "eval", expect=None)
            self.produce()
            self.train()
            self.sweep()
        self.assertGreater(info["swept_step"], 10)
        self.assertTrue(self.has_any("page"), "nobody moved to the page")
        self.assertTrue(self.has_any("retired"), "no block was retired")

    def test_clean_while_all_go_on(self):
        """Nobody waits for the one who looks: what a sweep deletes under it is no finding."""
        over, broken = threading.Event(), []

        def again_and_again(work):
            n = 0
            while not over.is_set():
                try:
                    work(n)
                except Exception as error:  # pylint: disable=broad-except
                    broken.append(error)
                    return
                n += 1

        def produce(n):
            self.produce_frames([b"%d %d" % (n, k) * 20 for k in range(12)], f"q{n}")

        def train(_):
            steps = max(1, self.json_line("info", self.url)["next_step"] - self.stands("train"))
            self.run_cli("consume", self.url, "--world", 2, "--group", "train", "--steps", steps, "--pin-every", 1,
                         "--keep", 1)

        def sweep(_):
            self.run_cli("gc", self.url, "--apply")

        produce(0)
        threads = [threading.Thread(target=again_and_again, args=(work,))
                   for work in (lambda n: produce(n + 1), train, sweep, sweep)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(self.LOOKS):
                result = self.run_cli("verify", self.url, "--deep", expect=None)
                self.assertEqual(result.code, 0, result.out.decode() + result.err)
        finally:
            over.set()
            # A reader that waits for a batch gets one.
            threads[0].join()
            self.run_cli("produce", self.url, "--id", "last", f"frames:{self.write_frames('last', [b'x'] * 40)}")
            for thread in threads:
                thread.join()
        self.assertEqual(broken, [])
        info = self.json_line("info", self.url)
        self.assertGreater(info["swept_step"], 0)
        self.assertTrue(list((self.space / "page").iterdir()), "nobody moved to the page")
        self.look("the end")


if __name__ == "__main__":
    unittest.main()
