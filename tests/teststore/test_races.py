# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Who wins a name when many create it at once.

    test_races.py BATCHWEAVE_TESTSTORE
"""

import threading

import stores
from stores import DIALECTS, FaultCase, Gcs, events


class Races(FaultCase):
    """16 threads that create the same 100 names."""

    THREADS, NAMES = 16, 100

    def race(self, dialect, names=NAMES):
        barrier = threading.Barrier(self.THREADS)
        won = [[] for _ in range(names)]
        told = set()

        def run(number):
            client = dialect(self.server)
            for index in range(names):
                barrier.wait(30)
                answer = client.put(f"race/{index}", b"%d" % number, create=True)
                told.add((answer.status, answer.code))
                if answer.status == client.CREATED:
                    won[index].append(number)
            client.close()

        threads = [threading.Thread(target=run, args=(number,)) for number in range(self.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return won, told

    def test_one_winner_each(self):
        for dialect in DIALECTS:
            self.fresh()
            won, told = self.race(dialect)
            self.assertEqual([len(winners) for winners in won], [1] * self.NAMES)
            self.assertEqual(told, {(dialect.CREATED, None), dialect.EXISTS})
            client = dialect(self.server)
            for index, (winner,) in enumerate(won):
                self.assertEqual(client.get(f"race/{index}").body, b"%d" % winner)
            client.close()
            self.assertEqual(events(self.server), [("created", "once")] * self.NAMES)

    def test_check_then_put_has_several(self):
        for dialect in DIALECTS:
            self.fresh()
            self.rules({"verb": "create", "condition": "racy", "window_ms": 60})
            won, _ = self.race(dialect, 10)
            self.assertTrue(all(len(winners) > 1 for winners in won), won)
            client = dialect(self.server)
            self.expect(client.put("race/0", b"x", create=True), client.EXISTS)  # it does check
            client.close()
            self.assertIn(("overwrote", "racy"), events(self.server))

    def test_condition_ignored_has_sixteen(self):
        for dialect in DIALECTS:
            self.fresh()
            self.rules({"verb": "create", "condition": "ignored"})
            won, _ = self.race(dialect, 10)
            self.assertEqual([len(winners) for winners in won], [16] * 10)

    def test_versions_swap_atomically(self):
        """16 threads that count one object up, each try on the version it read."""
        for dialect in DIALECTS:
            self.fresh()
            first = dialect(self.server)
            first.put("n", b"0")
            first.close()

            def run(dialect=dialect):
                client = dialect(self.server)
                done = 0
                for _ in range(10000):
                    if done == 10:
                        break
                    got = client.get("n")
                    version = got.headers["x-goog-generation" if dialect is Gcs else "etag"]
                    answer = client.put("n", b"%d" % (int(got.body) + 1), match=version)
                    done += answer.status == client.CREATED
                client.close()

            threads = [threading.Thread(target=run) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            last = dialect(self.server)
            self.assertEqual(last.get("n").body, b"160")
            last.close()


if __name__ == "__main__":
    stores.main()
