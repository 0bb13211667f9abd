# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Items as buffers: no copy, writable and nobody else's, alive as long as a view of them."""

import gc
import sys
import unittest
from typing import Any

import numpy as np
import safetensors.numpy
import batchweave as bw
from batchweave import errors, tensors
from support import Case


class Buffers(Case):
    def test_two_views_are_one_memory(self) -> None:
        self.init()
        self.raw_steps(1)
        with bw.Consumer(self.url) as c:
            item = c.next(5)
        first, second = item.numpy(), item.numpy()
        first[0] = 65
        self.assertEqual(second[0], 65)
        self.assertEqual(bytes(item), b"A/0/0")

    def test_an_iterating_consumer_holds_no_item(self) -> None:
        """It would be unmapped in the midst of the next call, and a second one lie in memory until then."""
        self.init()
        self.raw_steps(2)
        with bw.Consumer(self.url) as c:
            item = next(iter(c))
            asked = c.next(5)
            self.assertEqual(sys.getrefcount(item), sys.getrefcount(asked))

    def test_what_is_changed_is_changed_for_nobody_else(self) -> None:
        self.init()
        self.raw_steps(1)
        with bw.Consumer(self.url) as a, bw.Consumer(self.url) as b:
            mine, yours = a.next(5), b.next(5)
            mine.numpy()[:] = 0
            self.assertEqual(bytes(yours), b"0/0/0")
            with bw.Consumer(self.url) as later:
                self.assertEqual(bytes(later.next(5)), b"0/0/0")

    def test_a_view_outlives_item_consumer_and_space(self) -> None:
        self.init()
        self.raw_steps(1)
        c = bw.Consumer(self.url)
        view = c.next(5).numpy()
        c.close()
        del c
        gc.collect()
        self.assertEqual(view.tobytes(), b"0/0/0")

    def test_release_waits_for_views(self) -> None:
        self.init()
        self.raw_steps(1)
        with bw.Consumer(self.url) as c:
            item = c.next(5)
            view = memoryview(item)
            with self.assertRaises(BufferError):
                item.release()
            view.release()
            item.release()
            with self.assertRaisesRegex(errors.Invalid, "released"):
                len(item)

    def test_dlpack(self) -> None:
        self.init()
        self.raw_steps(1)
        with bw.Consumer(self.url) as c:
            item = c.next(5)
        array = np.from_dlpack(item)
        del item
        gc.collect()
        self.assertEqual(array.tobytes(), b"0/0/0")
        capsule = bw.Space(self.url).item(0).__dlpack__()
        del capsule  # nobody took it: its own end gives the memory back
        gc.collect()


class Tensors(Case):
    ARRAYS = {
        "tokens": np.arange(24, dtype=np.int64).reshape(4, 6), "mask": np.array([True, False, True, True]),
        "half": np.linspace(0, 1, 4).astype(np.float16), "big_endian": np.arange(4, dtype=">u4"),
        "empty": np.zeros((4, 0), np.float32), "column": np.arange(16.0).reshape(4, 4)[:, 1],
    }

    def test_the_stock_package_reads_ours_and_we_read_its(self) -> None:
        packed = tensors.pack(self.ARRAYS, {"note": "é"})
        theirs = safetensors.numpy.load(bytes(packed))
        self.assertEqual(set(theirs), set(self.ARRAYS))
        for name, array in self.ARRAYS.items():
            np.testing.assert_array_equal(theirs[name], array)
        plain = {n: np.ascontiguousarray(a) for n, a in self.ARRAYS.items() if n != "big_endian"}
        stored = safetensors.numpy.save(plain)
        rows = {t.name: t for t in tensors.read(stored)}
        for name, t in rows.items():
            self.assertEqual(stored[t.offset:t.offset + t.size], np.ascontiguousarray(self.ARRAYS[name]).tobytes())

    def test_the_first_tensor_is_aligned(self) -> None:
        first = tensors.read(tensors.pack(self.ARRAYS))[0]
        self.assertEqual(first.offset % 64, 0)

    def test_through_the_store(self) -> None:
        self.init(dp=2, items=2)
        with self.producer() as p:
            p.write(self.ARRAYS, offset=1)
            p.finish()
        for d in range(2):
            with bw.Consumer(self.url, dp=(d, 2)) as c:
                for m, item in enumerate(c):
                    got = item.tensors("numpy")
                    for name, array in self.ARRAYS.items():
                        np.testing.assert_array_equal(got[name], array[2 * d + m:2 * d + m + 1])
                    flat: Any = item  # numpy's types name no buffer of others
                    self.assertEqual(np.frombuffer(flat, np.uint8).ctypes.data % 64, 0)

    def test_ragged(self) -> None:
        got = tensors.ragged({"p": np.arange(6), "p.offsets": np.array([0, 2, 2, 6])}, "p")
        self.assertEqual([g.tolist() for g in got], [[0, 1], [], [2, 3, 4, 5]])

    def test_a_type_without_a_place_is_refused_by_name(self) -> None:
        with self.assertRaisesRegex(errors.Unsupported, "complex128"):
            tensors.pack({"x": np.zeros(2, np.complex128)})
        with self.assertRaisesRegex(errors.Invalid, "'x': a list is no array"):
            tensors.pack({"x": [1, 2]})

    def test_damaged_items_are_corrupt(self) -> None:
        good = bytes(tensors.pack(self.ARRAYS))
        for size in (0, 7, 8, 40, len(good) - 1):
            with self.assertRaises(errors.Corrupt):
                tensors.read(good[:size])


class Samples(Case):
    def test_through_the_store(self) -> None:
        rows = [[{"jpg": b"\xff\xd8", "txt": b"a"}, {"txt": b""}], [{"txt": b"b"}]]
        self.init(dp=1, items=2)
        with self.producer(kind="samples") as p:
            p.write([rows], offset=1)
            p.finish()
        with bw.Consumer(self.url) as c:
            got = [[{k: bytes(v) for k, v in s.items()} for s in item.samples()] for item in c]
        self.assertEqual(got, rows)

    def test_a_pad_has_none(self) -> None:
        self.init(dp=1, items=2)
        with self.producer(kind="samples") as p:
            p.write([[[{"a": b"1"}], None]], offset=1)
            p.finish()
        with bw.Consumer(self.url) as c:
            self.assertEqual([(i.pad, len(i.samples())) for i in c], [(False, 1), (True, 0)])


if __name__ == "__main__":
    unittest.main()
