# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Producing from Python: batches cut into slices, exact resume, fences, checks before anything is written."""

import gc
import os
import random
import unittest
import warnings
from typing import Any

import numpy as np
import batchweave as bw
from batchweave import cutting, errors
from support import Case


class Writing(Case):
    def all_items(self, dp: Any = 1, cp: Any = 1) -> Any:
        got = {}
        for d in range(dp):
            for c in range(cp):
                with bw.Consumer(self.url, dp=(d, dp), cp=(c, cp)) as consumer:
                    for item in consumer:
                        got[item.step, d, c, item.index] = item
        return got

    def test_context_parallel_layouts(self) -> None:
        for layout, parts in (("contiguous", [[0, 1, 2, 3], [4, 5, 6, 7]]), ("headtail", [[0, 1, 6, 7], [2, 3, 4, 5]])):
            with self.subTest(layout):
                self.url = f"file://{self.folder}/{layout}"
                self.init(dp=1, cp=2, layout=layout)
                with self.producer() as p:
                    p.write({"t": np.arange(8)[None], "w": np.array([3])}, offset=1, sequences=["t"])
                    p.finish()
                for (_, _, c, _), item in self.all_items(cp=2).items():
                    self.assertEqual(item.tensors("numpy")["t"].tolist(), [parts[c]])
                    self.assertEqual(item.tensors("numpy")["w"].tolist(), [3])

    def test_what_cannot_be_cut_is_refused(self) -> None:
        self.init(dp=2, cp=2, items=2)
        with self.producer() as p:
            for batch, words in (({"t": np.zeros((6, 4))}, "6 samples"), ({"t": np.zeros((4, 3))}, "sequence of 3"),
                                 ({"t": np.zeros((4, 4)), "u": np.zeros(3)}, "one size"), ({}, "empty batch")):
                with self.assertRaisesRegex(errors.Invalid, words):
                    p.write(batch, offset=1, sequences=["t"] if batch else [])
            with self.assertRaisesRegex(errors.Invalid, "lacks: s"):
                p.write({"t": np.zeros((4, 4))}, offset=1, sequences=["s"])
        self.assertEqual(bw.Space(self.url).info()["next_step"], 0)

    def test_explicit_slices_must_fit_the_mesh(self) -> None:
        self.init(dp=2)
        with self.producer(kind="raw") as p:
            with self.assertRaisesRegex(errors.Invalid, "1 slices.*dp=2"):
                p.write([[b"a"]], offset=1)
            with self.assertRaisesRegex(errors.Invalid, "same number of items"):
                p.write([[b"a"], [b"b", b"c"]], offset=1)
        with self.producer(id="p1") as p, self.assertRaisesRegex(errors.Invalid, "kind='raw'"):
            p.write([[b"a"], [b"b"]], offset=1)

    def test_schema_names_slice_and_tensor(self) -> None:
        self.init(dp=2, schema={"t": {"dtype": "I64", "shape": [None, 4]}})
        with self.producer() as p:
            for batch, words in (({"t": np.zeros((2, 4))}, "d=0.*'t'.*F64.*I64"),
                                 ({"u": np.zeros(2, int)}, "lacks 't'"),
                                 ({"t": np.zeros((2, 5), int)}, r"shape \[1, 5\]")):
                with self.assertRaisesRegex(errors.Invalid, words):
                    p.write(batch, offset=1)

    def test_provenance(self) -> None:
        self.init(dp=2)
        with self.producer() as p:
            p.write({"t": np.zeros((4, 1))}, offset=1, samples=list("abcd"), tokens=5, tag=9, meta={"k": [1]})
            p.finish()
        meta = bw.Space(self.url).samples(0)
        self.assertEqual((meta["tag"], meta["tokens"], meta["metadata"]), (9, 5, {"k": [1]}))
        self.assertEqual([s["samples"] for s in meta["slices"]], [["a", "b"], ["c", "d"]])

    def test_commits_are_told_in_order_with_their_offsets(self) -> None:
        self.init()
        told = []
        with self.producer(kind="raw") as p:
            p.on_commit(told.append)
            for n in range(50):
                p.write([[b"x"]], offset=10 * n + 10)
            p.flush()
            self.assertEqual([c.offset for c in told], [10 * n + 10 for n in range(50)])
        self.assertEqual([c.step for c in told], list(range(50)))

    def test_borrowed_memory_is_given_back(self) -> None:
        self.init()
        block = bytearray(1 << 20)
        with self.producer(kind="raw") as p:
            p.write([[block]], offset=1)
            with self.assertRaises(BufferError):
                block.append(1)
            p.flush()
            p.poll()
            block.append(1)


class Resuming(Case):
    def test_offset_and_state_come_back(self) -> None:
        self.init()
        with self.producer(kind="raw") as p:
            p.write([[b"a"]], offset=5, state=b"five")
        with self.producer(kind="raw") as p:
            self.assertEqual((p.resume_offset, p.resume_state), (5, b"five"))

    def test_any_source(self) -> None:
        self.init()
        source = [b"%d" % n for n in range(7)]
        for stop in (2, 3, 9):
            with self.producer(kind="raw") as p:
                for n, element in enumerate(p.resume(source if stop != 3 else iter(source))):
                    p.write([[element]])
                    if n + 1 == stop:
                        break
        with self.producer(kind="raw") as p:
            self.assertEqual(list(p.resume(source)), [])
            p.finish()
        with bw.Consumer(self.url) as c:
            self.assertEqual([bytes(i) for i in c], source)

    def test_kill_nine_at_any_moment_loses_and_repeats_nothing(self) -> None:
        self.init()
        program = """
            import sys, time, batchweave as bw
            with bw.Producer(sys.argv[1], "p0", kind="raw", policy="naive", durable=False) as p:
                for n in p.resume(range(600)):
                    p.write([[b"%d" % n]])
                    time.sleep(0.002)
                p.finish()
        """
        rng = random.Random(7)
        kills = sum(self.killed_program(program, rng.randint(1, 90)) for _ in range(6))
        self.assertEqual(kills, 6)
        code, output = self.run_program(program)
        self.assertTrue(code == 0 or "finished" in output, output)
        with bw.Consumer(self.url) as c:
            self.assertEqual([int(bytes(i)) for i in c], list(range(600)))

    def test_a_newer_process_fences_the_older(self) -> None:
        self.init()
        old = self.producer(kind="raw")
        old.write([[b"a"]], offset=1)
        old.flush()
        with self.producer(kind="raw") as new:
            self.assertEqual(new.resume_offset, 1)
            with self.assertRaises(errors.Fenced):
                for n in range(1000):
                    old.write([[b"b"]], offset=n + 2)
                    old.flush()
            new.write([[b"c"]], offset=2)
        old.close()
        steps = bw.Space(self.url).info()["next_step"]
        self.assertEqual(steps, 2)

    def test_a_child_may_not_use_it(self) -> None:
        self.init()
        with self.producer(kind="raw") as p:
            child = os.fork()
            if child == 0:
                try:
                    p.write([[b"x"]], offset=1)
                except errors.Forked:
                    os._exit(0)
                os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)


class Dropped(Case):
    """A producer that nobody closed says what is lost with it."""

    def told(self, batches: Any, end: Any) -> Any:
        """What a drop of a producer warns, which had `batches` more than were flushed, and then `end`."""
        p = bw.Producer(self.url, "p0", kind="raw", policy="fixed:3600000", durable=False)
        base = p.resume_offset
        p.write([[b"flushed"]], offset=base + 1)
        p.flush(urgent=True)
        for n in range(batches):
            p.write([[b"left"]], offset=base + 2 + n)
        end(p)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del p
            gc.collect()
        return [str(w.message) for w in caught if w.category is ResourceWarning and "producer" in str(w.message)]

    def test_unpublished_batches_are_counted(self) -> None:
        self.init()
        told = self.told(3, lambda p: None)
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], "'p0' was dropped with 3 unpublished batches.*beyond offset 1 ")
        with bw.Space(self.url) as space:
            self.assertEqual(space.info()["next_step"], 1)

    def test_silent_where_nothing_is_lost_or_it_was_closed(self) -> None:
        self.init()
        self.assertEqual(self.told(0, lambda p: None), [])
        self.assertEqual(self.told(2, lambda p: p.flush(urgent=True)), [])
        self.assertEqual(self.told(2, lambda p: p.close()), [])

    def test_one_that_never_opened(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(errors.NoNamespace):
                bw.Producer(self.url, "p0")
            gc.collect()


class Identity(unittest.TestCase):
    def test_places(self) -> None:
        slurm = {"SLURM_ARRAY_TASK_ID": "13", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "4",
                 "SLURM_ARRAY_TASK_STEP": "1"}
        self.assertEqual(bw.shard(environment=slurm), bw.Shard("p3", 3, 4))
        self.assertEqual(bw.shard(8, {"JOB_COMPLETION_INDEX": "5"}), bw.Shard("p5", 5, 8))
        self.assertEqual(bw.shard(environment={"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}), bw.Shard("p0", 0, 2))

    def test_nothing_says_it(self) -> None:
        with self.assertRaisesRegex(errors.Invalid, "nothing says"):
            bw.shard(environment={})
        with self.assertRaisesRegex(errors.Invalid, "5 of 4"):
            bw.shard(4, {"JOB_COMPLETION_INDEX": "5"})
        with self.assertRaisesRegex(errors.Invalid, "is no number"):
            bw.shard(4, {"JOB_COMPLETION_INDEX": "x"})


class Cutting(unittest.TestCase):
    def test_every_sample_once_in_order(self) -> None:
        rng = random.Random(1)
        for _ in range(200):
            dp, items, size = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3)
            batch = {"x": np.arange(dp * items * size)}
            parts = list(cutting.cut(batch, dp, 1, items, "", []))
            self.assertEqual([(d, m) for d, _, m, _ in parts], [(d, m) for d in range(dp) for m in range(items)])
            self.assertEqual(np.concatenate([t["x"] for *_, t in parts]).tolist(), batch["x"].tolist())


if __name__ == "__main__":
    unittest.main()
