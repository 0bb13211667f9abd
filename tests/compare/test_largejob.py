# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of E11 by hand, and that it follows the product's settings."""

import unittest
from unittest import mock

import fixed  # noqa: F401  (the path of the harness)
from compare.experiments import largejob
from compare.experiments.largejob import Job


class LargeJob(unittest.TestCase):
    def test_settings_are_the_product_s(self):
        self.assertGreater(largejob.poll_floor_s_a_rank(), 0)
        self.assertGreater(largejob.marker_every(), 1)
        with self.assertRaises(ValueError):
            largejob.constant("src/client/polling.h", "NO_SUCH_SETTING")

    def test_interval(self):
        with mock.patch.object(largejob, "poll_floor_s_a_rank", lambda: 0.0008):
            self.assertEqual(largejob.poll_interval_s(1, 1.0), 0.25)
            self.assertEqual(largejob.poll_interval_s(1, 0.1), 1.0)
            self.assertEqual(largejob.poll_interval_s(1, 1000.0), 0.002)
            self.assertEqual(largejob.poll_interval_s(1, 0.0), 1.0)
            self.assertAlmostEqual(largejob.poll_interval_s(1000, 100.0), 0.8)

    def test_polls(self):
        """Two polls a second; a version every four of them."""
        with mock.patch.object(largejob, "poll_floor_s_a_rank", lambda: 0.5), \
                mock.patch.object(largejob, "marker_every", lambda: 16):
            found = largejob.polls(1, 0.5)
            self.assertEqual((found.manifests, found.markers), (0.5 + 2, 0.5 + 1.5 / 16))
            found = largejob.polls(1, 6.0)  # three versions a poll, proved together
            self.assertEqual((found.manifests, found.markers), (8.0, 2.0))
            self.assertEqual(found.all, 10.0)

    def test_job(self):
        job = Job(ranks=100, producers=4, steps_per_s=2.0, slice_bytes=1_000_000, commits_per_s=0.5,
                  reads_per_commit=10.0, manifest_bytes=1000.0)
        with mock.patch.object(largejob, "polls", lambda ranks, commits: largejob.Polls(2.5, 1.0)):
            found = largejob.figures(job)
        self.assertEqual(found["slice_gets_per_s"], 200)
        self.assertEqual(found["slice_gets_per_prefix"], 200 / 256)
        self.assertEqual(found["manifest_reads_per_s"], 100 * 2.5 + 0.5 * 10)
        self.assertEqual(found["marker_reads_per_s"], 100 + 0.5)
        self.assertEqual(found["manifest_writes_per_s"], 0.5)
        self.assertEqual(found["chain_versions_per_hour"], 1800)
        # Ranks read each version once; what is not there has no bytes.
        self.assertAlmostEqual(found["gb_out_per_s"], (200 * 1e6 + (0.5 * 10 + 100 * 0.5) * 1000) / 1e9)
        gets, puts = 200 + 255 + 100.5, 2.5
        self.assertAlmostEqual(found["dollars_per_hour.S3 Standard"], 3600 * (gets * 0.0004 + puts * 0.005) / 1000)
        self.assertGreater(found["dollars_per_hour.S3 Express"], 3600 * 0.2 * 0.0032, "transfer is paid there")

    def test_commits_are_not_more_than_steps(self):
        job = Job(1, 1, 0.1, 1, commits_per_s=6.5, reads_per_commit=1.0, manifest_bytes=1.0)
        self.assertEqual(job.commits, 0.1)


if __name__ == "__main__":
    unittest.main()
