# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""batchweave.torch.Loader in one process: what it hands out, and that its state is exact."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from typing import Any, List

import torch

import batchweave
from batchweave import errors
from batchweave.torch import Loader
from batchweave.torch import transfer
from feed import HERE, ROOT, Feed, publish, rows


def values(microbatch: Any) -> List[List[int]]:
    listed: List[List[int]] = microbatch["x"].tolist()
    return listed


class Items(Feed):
    """What is handed out."""

    def test_own_slice_in_order(self) -> None:
        self.space()
        for d in range(2):
            with Loader(self.url, dp=(d, 2)) as loader:
                got = [(loader.step, loader.microbatch, loader.is_last_microbatch, values(microbatch))
                       for microbatch in loader]
            self.assertEqual(got, [(step, m, m == 1, rows(step)[d * 4 + m * 2:d * 4 + m * 2 + 2].tolist())
                                   for step in range(6) for m in range(2)])

    def test_about(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2))
        with self.assertRaises(errors.Invalid):
            loader.step
        next(loader)
        next(loader)
        next(loader)
        self.assertEqual((loader.step, loader.microbatch, loader.microbatches, loader.tokens, loader.tag, loader.pad),
                         (1, 0, 2, 11, 1, False))
        self.assertEqual(loader.samples, [f"s1.{k}" for k in range(8)])
        told = loader.metrics()
        self.assertEqual((told["data/step"], told["data/items"], told["data/lag_steps"]), (1, 3, 5))
        self.assertTrue(all(isinstance(value, (int, float)) for value in told.values()))

    def test_tensors_outlive_the_loader_and_are_writable(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2))
        microbatch = next(loader)
        loader.close()
        loader.close()
        microbatch["x"] += 1
        self.assertEqual(values(microbatch), (rows(0)[:2] + 1).tolist())
        with self.assertRaises(ValueError):
            next(loader)

    def test_raw_and_pads(self) -> None:
        batchweave.init(self.url, dp=1, items=2, durable=False, producers=1)
        with batchweave.Producer(self.url, "p", kind="raw") as producer:
            producer.write([[b"abc", None]], offset=1)
            producer.finish()
        loader = Loader(self.url)
        first = next(loader)
        self.assertEqual((first.dtype, bytes(first.tolist()), loader.pad), (torch.uint8, b"abc", False))
        self.assertEqual((next(loader).numel(), loader.pad, loader.is_last_microbatch), (0, True, True))
        self.assertEqual(list(loader), [])

    def test_samples_kind(self) -> None:
        batchweave.init(self.url, dp=1, durable=False, producers=1)
        with batchweave.Producer(self.url, "p", kind="samples") as producer:
            producer.write([[[{"txt": b"one"}, {"txt": b"two"}]]], offset=1)
            producer.finish()
        self.assertEqual([bytes(sample["txt"]) for sample in next(Loader(self.url))], [b"one", b"two"])

    def test_tags_and_filter_agree(self) -> None:
        self.space()
        by_filter = Loader(self.url, dp=(0, 2), filter=lambda tag: tag == 1)
        self.assertEqual([by_filter.step for _ in by_filter], [1, 1, 4, 4])
        cursor = batchweave.space(self.url).begin(tags="1")
        by_tags = Loader(self.url, dp=(0, 2), cursor=cursor)
        self.assertEqual([by_tags.step for _ in by_tags], [1, 1, 4, 4])

    def test_filter_resumes(self) -> None:
        self.space()
        for count in range(5):
            loader = Loader(self.url, dp=(0, 2), filter=lambda tag: tag == 1)
            before = [values(next(loader)) for _ in range(count)]
            again = Loader(self.url, dp=(0, 2), filter=lambda tag: tag == 1)
            again.load_state_dict(loader.state_dict())
            self.assertEqual(before + [values(m) for m in again],
                             [rows(step)[m * 2:m * 2 + 2].tolist() for step in (1, 4) for m in range(2)])

    def test_rescale(self) -> None:
        self.space(dp=2, items=2)
        one = Loader(self.url)
        self.assertEqual([sorted(sum((values(next(one)) for _ in range(4)), [])) for _ in range(6)],
                         [rows(step).tolist() for step in range(6)])
        self.assertEqual(list(one), [])
        four = [Loader(self.url, dp=(d, 4)) for d in range(4)]
        self.assertEqual([sorted(sum((values(next(rank)) for rank in four), [])) for _ in range(6)],
                         [rows(step).tolist() for step in range(6)])
        scaled = Loader(self.url, dp=(0, 4), rescale="scale_batch")
        steps = [scaled.step for _ in scaled]
        self.assertEqual(steps, [0, 0, 2, 2, 4, 4])

    def test_settings_of_the_runtime(self) -> None:
        """As Consumer takes them, where the Loader opens the space itself."""
        self.space()
        loader = Loader(self.url, dp=(0, 2), memory="8MiB", prefetch=2)
        next(loader)
        self.assertEqual(loader.consumer.space._settings["memory"], "8MiB")
        with self.assertRaises(errors.Invalid):
            next(Loader(batchweave.space(self.url), dp=(0, 2), memory="8MiB"))

    def test_device_without_cuda_warns_once(self) -> None:
        if torch.cuda.is_available():
            self.skipTest("there is CUDA")
        self.space()
        transfer._warned.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                self.assertEqual(values(next(Loader(self.url, dp=(0, 2), device="cuda", pin_memory=True))),
                                 rows(0)[:2].tolist())
        self.assertEqual(len(caught), 2, [str(w.message) for w in caught])
        self.assertIn("not available", str(caught[0].message))

    def test_moved_ahead_is_not_in_the_state(self) -> None:
        """With a mover one microbatch is begun ahead: it is handed out once, and never lost."""
        self.space()
        want = [values(m) for m in Loader(self.url, dp=(1, 2))]
        for count in range(13):
            loader = Loader(self.url, dp=(1, 2), device="meta")
            plain = transfer.PlainMover(torch.device("cpu"))
            loader._open()
            loader._mover = plain
            before = [values(next(loader)) for _ in range(count)]
            again = Loader(self.url, dp=(1, 2))
            again.load_state_dict(loader.state_dict())
            self.assertEqual(before + [values(m) for m in again], want, count)
            self.assertEqual(before + [values(m) for m in loader], want, count)

    def test_ring_of_lent_buffers(self) -> None:
        """What a pinned ring does, with memory that is not pinned: items come to lie in it."""
        self.space(steps=40)
        want = [values(m) for m in Loader(self.url, dp=(0, 2))]
        loader = Loader(self.url, dp=(0, 2), lend=True)
        loader._open()
        loader._ring = transfer.Ring(lambda size: torch.empty(size, dtype=torch.uint8))
        self.assertEqual([values(m) for m in loader], want)
        told = loader.consumer.stats()
        self.assertEqual(told["lent"], transfer.BUFFERS)
        self.assertGreater(told["lent_reads"], 20)


class State(Feed):
    """Exact from everywhere, the same on all ranks, and tiny."""

    def test_resume_from_every_place(self) -> None:
        self.space()
        want = [values(m) for m in Loader(self.url, dp=(0, 2))]
        for count in range(len(want) + 1):
            loader = Loader(self.url, dp=(0, 2))
            for _ in range(count):
                next(loader)
            state = json.loads(json.dumps(loader.state_dict()))
            fresh = Loader(self.url, dp=(0, 2))
            fresh.load_state_dict(state)
            self.assertEqual(fresh.state_dict(), state)
            self.assertEqual([values(m) for m in fresh], want[count:], count)
            started = Loader(self.url, dp=(0, 2))
            iterator = iter(started)
            next(iterator)
            next(iterator)
            started.load_state_dict(state)
            self.assertEqual([values(m) for m in iterator], want[count:], count)

    def test_group_resumes_and_reloads(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2), group="job", launch="a")
        first = loader.state_dict()
        loader.commit("first")
        for _ in range(5):
            next(loader)
        middle = loader.state_dict()
        for _ in range(2):
            loader.load_state_dict(middle)
            self.assertEqual((values(next(loader)), loader.step), (rows(2)[2:4].tolist(), 2))
        loader.load_state_dict(first)
        self.assertEqual(values(next(loader)), rows(0)[:2].tolist())
        loader.close()

    def test_same_on_all_ranks_whenever_they_looked(self) -> None:
        self.space(finish=False, steps=3, producers=1)
        ranks = [Loader(self.url, dp=(d, 2)) for d in range(2)]
        for _ in range(3):
            next(ranks[0])
        publish(self.url, range(3, 6), finish=True)
        time.sleep(0.2)
        for _ in range(3):
            next(ranks[1])
        self.assertEqual(ranks[0].state_dict(), ranks[1].state_dict())
        for rank in ranks:
            for _ in rank:
                pass
        self.assertEqual(ranks[0].state_dict(), ranks[1].state_dict())
        self.assertLess(len(json.dumps(ranks[0].state_dict())), 400)

    def test_after_a_failure(self) -> None:
        self.space(finish=False, steps=2)
        loader = Loader(self.url, dp=(0, 2), timeout=0.1)
        for _ in range(4):
            next(loader)
        state = loader.state_dict()
        with self.assertRaises(errors.Starved):
            next(loader)
        self.assertEqual(loader.state_dict(), state)
        publish(self.url, range(2, 3))
        loader.timeout = 10
        self.assertEqual(values(next(loader)), rows(2)[:2].tolist())

    def test_at_the_end(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2))
        self.assertEqual(len(list(loader)), 12)
        self.assertEqual(list(loader), [])
        again = Loader(self.url, dp=(0, 2))
        again.load_state_dict(loader.state_dict())
        self.assertEqual(list(again), [])

    def test_what_is_no_state(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2))
        for wrong in ({}, {"cursor": ""}, {"version": 2, "cursor": loader.cursor.json}, {"version": 1, "cursor": "{}"}):
            with self.assertRaises((errors.Invalid, errors.CursorInvalid)):
                loader.load_state_dict(wrong)
        self.assertEqual(values(next(loader)), rows(0)[:2].tolist())

    def test_foreign(self) -> None:
        self.space()
        state = Loader(self.url, dp=(0, 2)).state_dict()
        other = self.url + "2"
        batchweave.init(other, dp=2, durable=False)
        loader = Loader(other, dp=(0, 2))
        loader.load_state_dict(state)
        with self.assertRaises(errors.CursorForeign):
            next(loader)

    def test_skip_a_loss_spike(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2))
        next(loader)
        next(loader)
        loader.load_state_dict(loader.state_dict(), skip=[(2, 4)])
        self.assertEqual([loader.step for _ in loader], [1, 1, 4, 4, 5, 5])

    def test_pickle_and_copy_go_on(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2), group="job", launch="a")
        for _ in range(3):
            next(loader)
        twin = pickle.loads(pickle.dumps(loader))
        self.assertEqual([values(m) for m in twin], [values(m) for m in loader])
        self.assertFalse(twin.commits)
        self.assertTrue(loader.commits)
        copy.copy(Loader(self.url, dp=(0, 2)))

    def test_forked_child_goes_on(self) -> None:
        self.space()
        loader = Loader(self.url, dp=(0, 2), group="job", launch="a")
        for _ in range(3):
            next(loader)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, json.dumps([values(m) for m in loader]).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as told:
            text = told.read()
        os.waitpid(child, 0)
        self.assertEqual(json.loads(text), [values(m) for m in loader])


class Fresh(Feed):
    """A job whose group has checkpoints, started without a state."""

    def setUp(self) -> None:
        super().setUp()
        self.space()
        first = self.loader("first")
        for _ in range(5):
            next(first)
        first.commit("a")
        self.state = first.state_dict()
        next(first)
        first.commit("b")
        first.close()

    def loader(self, launch: str, **settings: Any) -> Loader:
        made = Loader(self.url, dp=(0, 2), group="job", launch=launch, **settings)
        self.addCleanup(made.close)
        return made

    def launch(self) -> Any:
        return batchweave.space(self.url).info()["groups"][0]["launch"]

    def refused(self, loader: Loader) -> None:
        with self.assertRaises(errors.StateMissing) as caught:
            next(loader)
        for part in ("2 checkpoints", "'b' at step 3, item 0", "load_state_dict", 'start="group"', 'start="earliest"'):
            self.assertIn(part, str(caught.exception))

    def goes_on(self, loader: Loader) -> None:
        self.assertEqual((values(next(loader)), loader.step, loader.microbatch), (rows(2)[2:4].tolist(), 2, 1))

    def test_refused_and_nothing_begun(self) -> None:
        loader = self.loader("second")
        self.refused(loader)
        self.refused(loader)
        self.assertEqual(self.launch(), "first")
        loader.load_state_dict(self.state)
        self.goes_on(loader)
        self.assertEqual(self.launch(), "second")

    def test_opened_before_the_state_came(self) -> None:
        """torch.distributed.checkpoint asks for a state before it loads one."""
        loader = self.loader("second")
        self.assertEqual(loader.cursor.step, 3)
        self.refused(loader)
        self.refused(pickle.loads(pickle.dumps(loader)))
        loader.load_state_dict(self.state)
        self.goes_on(loader)

    def test_the_newest_ones_state_is_a_state(self) -> None:
        loader = self.loader("second")
        loader.load_state_dict(loader.state_dict())
        next(loader)
        self.assertEqual((loader.step, loader.microbatch), (3, 0))

    def test_on_purpose(self) -> None:
        # "a" stands within step 2, so that is kept.
        for launch, start, place in (("second", "group", (3, 0)), ("third", "earliest", (2, 0)), ("fourth", 5, (5, 0))):
            loader = self.loader(launch, start=start)
            next(loader)
            self.assertEqual((loader.step, loader.microbatch), place, start)
        loader = self.loader("fifth", cursor=batchweave.Cursor(self.state["cursor"]))
        self.goes_on(loader)

    def test_no_checkpoint_no_question(self) -> None:
        """A job that died before its first one begins again."""
        for launch in ("x", "y"):
            loader = Loader(self.url, dp=(0, 2), group="other", launch=launch)
            next(loader)
            self.assertEqual(loader.step, 2)
            loader.close()

    def test_second_rank_behind_the_first_ones_pin(self) -> None:
        """One that comes when rank 0 has pinned where both begin is not taken for one without a state."""
        rank0 = Loader(self.url, dp=(0, 2), group="other", launch="x")
        rank0.commit("begin")
        rank1 = Loader(self.url, dp=(1, 2), group="other", launch="x")
        next(rank1)
        self.assertEqual((rank1.step, rank1.commits), (2, False))
        rank0.close()
        rank1.close()


class Starving(Feed):
    """A rank without data says why, in time."""

    def test_message(self) -> None:
        self.space(finish=False, steps=3, max_lag=7)
        loader = Loader(self.url, dp=(0, 2), timeout=0.3)
        for _ in range(6):
            next(loader)
        with self.assertRaises(errors.Starved) as caught:
            next(loader)
        for part in ("step 3", "newest step is 2", "producers: 1", "last commit is", "max_lag is 7"):
            self.assertIn(part, str(caught.exception))
        self.assertGreaterEqual(loader.metrics()["data/wait_s"], 0.3)

    def test_warns_before(self) -> None:
        self.space(finish=False, steps=0)
        loader = Loader(self.url, dp=(0, 2), timeout=0.6, warn_after=0.1)
        with self.assertLogs("batchweave.torch", logging.WARNING) as logs, self.assertRaises(errors.Starved):
            next(loader)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("no step was ever committed", logs.output[0])

    def test_default_is_below_the_collectives(self) -> None:
        from torch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

        limits = [default_pg_timeout.total_seconds()]
        if default_pg_nccl_timeout is not None:
            limits.append(default_pg_nccl_timeout.total_seconds())
        self.assertLess(Loader(self.url).timeout or 1e9, min(limits))

    def test_interrupt(self) -> None:
        self.space(finish=False, steps=0)
        loader = Loader(self.url, dp=(0, 2))
        loader._open()
        threading.Timer(0.2, loader.interrupt).start()
        with self.assertRaises(errors.Interrupted):
            next(loader)


class Signals(Feed):
    """SIGTERM and Ctrl-C reach the trainer first, in a wait too."""

    def test_sigterm_in_a_wait(self) -> None:
        self.space(finish=False, steps=1)
        trainer = subprocess.Popen([sys.executable, str(HERE / "waiting.py"), self.url], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        assert trainer.stdout is not None
        self.assertEqual(trainer.stdout.readline(), "waits\n")
        time.sleep(0.3)
        began = time.monotonic()
        trainer.send_signal(signal.SIGTERM)
        self.assertEqual(trainer.stdout.readline(), "saved 1\n")
        self.assertLess(time.monotonic() - began, 20)
        # Not communicate: what came with the line before is in the file's buffer already.
        self.assertEqual(trainer.stdout.readline(), "keyboard\n")
        self.assertEqual(trainer.wait(timeout=200), 0)


class Imports(unittest.TestCase):
    """What is imported for it."""

    def test_no_data_loader(self) -> None:
        code = ("import sys, batchweave; assert 'torch' not in sys.modules; import torch; "
                "before = set(sys.modules); batchweave.torch.Loader; "
                "added = sorted(m for m in set(sys.modules) - before if m.startswith('torch.utils.data')); "
                "assert not added, added")
        subprocess.run([sys.executable, "-c", code], check=True)
        for source in (ROOT / "python" / "batchweave" / "torch").glob("*.py"):
            if source.name != "dataset.py":
                self.assertNotIn("torch.utils.data import", source.read_text())


if __name__ == "__main__":
    unittest.main()
