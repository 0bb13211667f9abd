# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Signals, threads, forks, spawned processes, the end of the interpreter."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
import unittest
from typing import Any

import batchweave as bw
from batchweave import errors
from support import Case

CTRL_C_SECONDS = 0.2


def step_of_next(consumer: Any, answer: Any) -> None:
    answer.put(bytes(consumer.next(10)))


class Signals(Case):
    def setUp(self) -> None:
        super().setUp()
        # What started this may have had it ignored, as shells do for what runs behind them.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def interrupted(self, call: Any) -> Any:
        """Seconds from Ctrl-C to KeyboardInterrupt."""
        sent = []

        def send() -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, send)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
        seconds = time.monotonic() - sent[0]
        timer.join()
        return seconds

    def test_waits_end_on_ctrl_c(self) -> None:
        self.init(dp=2, max_lag=1)
        ranks = bw.Consumer(self.url, dp=(0, 2), group="job", launch="1")
        with bw.Space(self.url, mode="write") as space, self.producer(kind="raw") as p:
            p.write([[b"a"], [b"b"]], offset=1)
            p.flush()
            p.write([[b"a"], [b"b"]], offset=2)
            waits = {
                "next": lambda: (ranks.next(5), ranks.next(30)),
                "flush": lambda: p.flush(timeout=30),
                "poll": lambda: (p.poll(), p.poll(30)),
                "open of a group whose rank 0 does not come":
                    lambda: bw.Consumer(space, dp=(1, 2), group="other", launch="1", timeout=30),
                "report": lambda: [line for line in space.report("tail", first=5)],
            }
            for name, wait in waits.items():
                with self.subTest(name):
                    self.assertLess(self.interrupted(wait), CTRL_C_SECONDS * 3)  # 0.2 s on a quiet machine
            p.close()
        ranks.close()

    def test_another_thread_ends_a_wait(self) -> None:
        self.init()
        c = bw.Consumer(self.url)
        threading.Timer(0.2, c.close).start()
        with self.assertRaises((errors.Interrupted, ValueError)):
            c.next(30)

    def test_others_run_while_one_waits(self) -> None:
        self.init()
        with bw.Consumer(self.url) as c:
            counted = [0]

            def count() -> None:
                end = time.monotonic() + 0.5
                while time.monotonic() < end:
                    counted[0] += 1

            thread = threading.Thread(target=count)
            thread.start()
            with self.assertRaises(errors.Starved):
                c.next(0.5)
            thread.join()
            self.assertGreater(counted[0], 10000)


class Processes(Case):
    def test_a_forked_child_goes_on_at_the_same_place(self) -> None:
        self.init()
        self.raw_steps(5)
        with bw.Consumer(self.url) as c:
            c.next(5), c.next(5)
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.write(write, bytes(c.next(5)))
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            self.assertEqual(os.read(read, 100), b"2/0/0")
            self.assertEqual(bytes(c.next(5)), b"2/0/0")

    def test_spawn_and_forkserver(self) -> None:
        self.init()
        self.raw_steps(3)
        with bw.Consumer(self.url) as c:
            c.next(5)
            for method in ("spawn", "forkserver", "fork"):
                with self.subTest(method):
                    context = multiprocessing.get_context(method)
                    answer = context.Queue()
                    process = context.Process(target=step_of_next, args=(c, answer))
                    process.start()
                    self.assertEqual(answer.get(timeout=30), b"1/0/0")
                    process.join()

    def test_pickles_carry_configuration_only(self) -> None:
        self.init()
        self.raw_steps(3)
        with bw.Space(self.url) as s:
            self.assertEqual(pickle.loads(pickle.dumps(s)).uuid, s.uuid)
            self.assertLess(len(pickle.dumps(s)), 600)
        with bw.Consumer(self.url) as c:
            c.next(5)
            with pickle.loads(pickle.dumps(c)) as other:
                self.assertEqual(bytes(other.next(5)), b"1/0/0")
            self.assertEqual(pickle.loads(pickle.dumps(c.cursor)), c.cursor)

    def test_a_producer_is_no_pickle(self) -> None:
        self.init()
        with self.producer() as p, self.assertRaises(TypeError):
            pickle.dumps(p)

    def test_a_sub_interpreter(self) -> None:
        self.init()
        code, output = self.run_program("""
            import sys, _xxsubinterpreters as interpreters
            lines = [f"import sys; sys.path[:] = {sys.path!r}; import batchweave as bw",
                     f"p = bw.Producer({sys.argv[1]!r}, 'p0', kind='raw', durable=False)",
                     "p.write([[b'abc']], offset=1); p.finish(); p.close()",
                     f"c = bw.Consumer({sys.argv[1]!r}); assert bytes(c.next(5)) == b'abc'; c.close()",
                     "print('through', flush=True)"]
            other = interpreters.create()
            interpreters.run_string(other, chr(10).join(lines))
            interpreters.destroy(other)
        """)
        self.assertEqual((code, output), (0, "through\n"))

    def test_the_interpreter_ends_with_everything_open(self) -> None:
        self.init()
        self.raw_steps(3, finish=False)
        code, output = self.run_program("""
            import sys, threading, batchweave as bw
            s = bw.Space(sys.argv[1], mode="write")
            c = bw.Consumer(s); item = c.next(5); view = memoryview(item); lines = s.report("tail"); next(lines)
            p = bw.Producer(s, "p1", kind="raw"); p.write([[b"x" * 100000]], offset=1)
            for wait in (lambda: c.next(60), lambda: bw.Consumer(s).next(60)):
                threading.Thread(target=wait, daemon=True).start()
            print("through")
        """)
        self.assertEqual((code, output), (0, "through\n"))


if __name__ == "__main__":
    unittest.main()
