# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one type a code, with code, key, step, attempts; they survive a pickle."""

import pickle
import unittest
from typing import Any

import batchweave as bw
from batchweave import _core, errors
from support import Case

CLASSES = {"USAGE": errors.UsageError, "WAIT": errors.WaitError, "STATE": errors.StateError,
           "STORE": errors.StoreError, "DATA": errors.DataError, "FATAL": errors.FatalError}


class Table(unittest.TestCase):
    def test_every_code_has_a_type_of_its_class(self) -> None:
        codes = {name: kind for _, name, kind, _ in _core.status_table() if name != "OK"}
        codes["STATE_MISSING"] = "USAGE"  # of the package alone
        self.assertEqual(set(codes), set(errors.BY_CODE))
        for name, kind in codes.items():
            self.assertTrue(issubclass(errors.BY_CODE[name], CLASSES[kind]), name)

    def test_a_pickle_keeps_everything(self) -> None:
        told = errors.exception_of("TRIMMED", "gone", "m/1", 7, 3)
        again = pickle.loads(pickle.dumps(told))
        self.assertIs(type(again), errors.Trimmed)
        self.assertEqual((str(again), again.code, again.key, again.step, again.attempts),
                         ("gone", "TRIMMED", "m/1", 7, 3))

    def test_waits_are_timeouts_of_python_too(self) -> None:
        self.assertTrue(issubclass(errors.Timeout, TimeoutError))
        self.assertTrue(issubclass(errors.Starved, TimeoutError))


class Raised(Case):
    def test_no_namespace(self) -> None:
        with self.assertRaises(errors.NoNamespace):
            bw.Space(self.url)

    def test_not_empty(self) -> None:
        self.init()
        with self.assertRaises(errors.NotEmpty):
            self.init()

    def test_unknown_and_misplaced_settings_are_named(self) -> None:
        with self.assertRaisesRegex(errors.Invalid, "no setting 'prefetsch'.*prefetch"):
            bw.Consumer(self.url, prefetsch=3)
        with self.assertRaisesRegex(errors.Invalid, "'policy' is one of producer"):
            bw.Space(self.url, policy="turn")

    def test_a_bad_value_is_named(self) -> None:
        with self.assertRaisesRegex(errors.Invalid, "max_bytes"):
            bw.init(self.url, dp=1, max_bytes="2 loaves")

    def test_starved_says_why(self) -> None:
        self.init()
        with bw.Consumer(self.url) as c:
            with self.assertRaisesRegex(errors.Starved, "no producer has come yet"):
                c.next(0.05)

    def test_corrupt_names_key_and_step(self) -> None:
        import glob
        self.init()
        self.raw_steps(1)
        [part] = [f for f in glob.glob(self.folder + "/ns/**", recursive=True) if b"0/0/0" in self.bytes_of(f)]
        data = bytearray(self.bytes_of(part))
        data[data.index(b"0/0/0")] ^= 1
        import os
        os.chmod(part, 0o600)
        with open(part, "wb") as file:
            file.write(data)
        with self.assertRaises(errors.Corrupt) as caught, bw.Consumer(self.url) as c:
            c.next(5)
        self.assertEqual(caught.exception.step, 0)
        self.assertIn(caught.exception.key, part)
        self.assertNotEqual(caught.exception.key, "")

    @staticmethod
    def bytes_of(path: Any) -> Any:
        import os
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
