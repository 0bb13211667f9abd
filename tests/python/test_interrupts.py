# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in every wait, on a store that does not answer: the exception comes at once, nothing of an open goes on."""

import os
import signal
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Tuple

import batchweave as bw
from hanging import Store
from support import Case

# What is promised is 0.2 s, on a machine that has nothing else to do.
CTRL_C_SECONDS = 0.2 * 5


class Hanging(Case):
    def setUp(self) -> None:
        super().setUp()
        # What started this may have had it ignored, as shells do for what runs behind them.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        self.store = Store()
        self.addCleanup(self.store.close)
        self.url = "s3://bucket/run"
        self.opens = {"request_timeout": 60, "retry_limit": 60, "hedge": False, **self.store.settings}

    def init(self, dp: int = 1, cp: int = 1, producers: int = 1, **settings: Any) -> str:
        bw.init(self.url, dp=dp, cp=cp, producers=producers, **settings, **self.opens)
        return self.url

    def producer(self, id: str = "p0", **settings: Any) -> bw.Producer:
        return bw.Producer(self.url, id, kind="raw", policy="naive", **settings, **self.opens)

    def consumer(self, **settings: Any) -> bw.Consumer:
        return bw.Consumer(self.url, dp=(0, 1), **settings, **self.opens)

    def interrupted(self, call: Callable[[], object]) -> None:
        """Ctrl-C once the store holds a request that it will not answer; KeyboardInterrupt in time."""
        sent: List[float] = []
        over = threading.Event()

        def send() -> None:
            # What an earlier call left alone may hold a request, too.
            while not over.is_set() and not self.store.held.wait(0.01):
                continue
            if not over.is_set():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        with self.assertRaises(KeyboardInterrupt):
            thread.start()
            call()
        seconds = time.monotonic() - sent[0]
        thread.join()
        self.store.answer()
        self.assertLess(seconds, CTRL_C_SECONDS)


class Opens(Hanging):
    def test_init(self) -> None:
        self.store.hang("PUT")
        self.interrupted(self.init)
        self.init()

    def test_space(self) -> None:
        self.init()
        for method, word in (("GET", "genesis"), ("GET", "manifest"), ("PUT", "")):
            with self.subTest(method + word):
                self.store.hang(method, word)
                self.interrupted(lambda: bw.Space(self.url, mode="write", **self.opens))
                bw.Space(self.url, mode="write", **self.opens).close()

    def test_producer(self) -> None:
        """The next open of the id in the same process is never fenced by what was interrupted."""
        self.init()
        with bw.Space(self.url, mode="write", **self.opens) as space:
            for n, (method, word) in enumerate((("GET", "manifest"), ("PUT", "manifest"), ("GET", "retired"))):
                with self.subTest(method + word):
                    self.store.hang(method, word)
                    self.interrupted(lambda: bw.Producer(space, "p0", kind="raw", policy="naive"))
                    with bw.Producer(space, "p0", kind="raw", policy="naive") as p:
                        self.assertEqual(p.resume_offset, n)
                        p.write([[b"x"]], offset=n + 1)
                        p.flush(urgent=True, timeout=60)

    def test_consumer(self) -> None:
        self.init()
        with self.producer() as p:
            p.write([[b"x"]], offset=1)
            p.flush(urgent=True, timeout=60)
        for method in ("PUT", "GET"):
            with self.subTest(method), bw.Space(self.url, mode="write", **self.opens) as space:
                self.store.hang(method, "manifest")
                self.interrupted(lambda: bw.Consumer(space, dp=(0, 1), group="job", launch=method))
                with bw.Consumer(space, dp=(0, 1), group="job", launch=method + "again") as c:
                    self.assertEqual(bytes(c.next(60)), b"x")

    def test_begin(self) -> None:
        self.init()
        with bw.Space(self.url, **self.opens) as space:
            self.store.hang("GET", "manifest")
            self.interrupted(lambda: space.begin(start="latest", dp=1))
            self.assertEqual(space.begin(start="latest", dp=1).step, 0)


class Calls(Hanging):
    """On what is open: a call that may not be asked again is left alone, and the handle still closes."""

    def setUp(self) -> None:
        super().setUp()
        # More producers than finish here: a finish that was interrupted may be done all the same, and must not seal.
        self.init(producers=9, max_lag=8)
        with self.producer("before") as p:
            p.write([[b"x"]], offset=1)
            p.flush(urgent=True, timeout=60)

    def test_space(self) -> None:
        with self.consumer(group="job", launch="1") as c:
            c.next(60)
            cursor = c.cursor
        calls: Dict[str, Tuple[str, str, Callable[[bw.Space], object]]] = {
            "item": ("GET", "data", lambda s: s.item(0)),
            "samples": ("GET", "manifest", lambda s: s.samples(0)),
            "info": ("GET", "manifest", lambda s: s.info()),
            "steps": ("GET", "manifest", lambda s: s.steps()),
            "verify": ("GET", "data", lambda s: s.verify(deep=True)),
            "pin": ("PUT", "manifest", lambda s: s.pin("job", "one", cursor)),
            "release": ("PUT", "manifest", lambda s: s.release("job", ["one"])),
            "forget": ("PUT", "manifest", lambda s: s.forget("before")),
            "group_rm": ("PUT", "manifest", lambda s: s.group_rm("job")),
            "seal": ("PUT", "manifest", lambda s: s.seal(force=True)),
            "sweep": ("GET", "manifest", lambda s: s.sweep(apply=True)),
        }
        for name, (method, word, call) in calls.items():
            with self.subTest(name):
                space = bw.Space(self.url, mode="write", **self.opens)
                self.store.hang(method, word)
                self.interrupted(lambda: call(space))
                space.close()

    def test_producer(self) -> None:
        def write_much(p: bw.Producer) -> None:
            for n in range(2, 9):
                p.write([[b"y" * 600000]], offset=n, timeout=60)

        calls: Dict[str, Callable[[bw.Producer], object]] = {
            "flush": lambda p: p.flush(urgent=True, timeout=60),
            "finish": lambda p: p.finish(timeout=60),
            "poll": lambda p: [p.poll(60) for _ in range(100)],
            "write": write_much,
        }
        for name, call in calls.items():
            with self.subTest(name):
                p = self.producer(name, staged_bytes=1 << 20)
                self.store.hang("PUT", "manifest")
                p.write([[b"y"]], offset=1)
                self.interrupted(lambda: call(p))
                p.close()

    def test_consumer(self) -> None:
        with self.consumer(group="job", launch="1") as c:
            c.next(60)
            for name, call in {"pin": lambda: c.pin("one", c.cursor),
                               "release": lambda: c.release(["one"]),
                               "reconcile": lambda: c.reconcile([])}.items():
                with self.subTest(name):
                    self.store.hang("PUT", "manifest")
                    self.interrupted(call)

    def test_next(self) -> None:
        self.store.hang("GET", "data")
        c = self.consumer()
        self.interrupted(lambda: c.next(60))
        self.assertEqual(bytes(c.next(60)), b"x")
        c.close()


if __name__ == "__main__":
    unittest.main()
