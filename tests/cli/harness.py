# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The real `batchweave` (environment BATCHWEAVE_BINARY) in a folder of its own, for the tests of the command line."""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ.get("BATCHWEAVE_BINARY") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "cli", "batchweave")
EXITS = {"OK": 0, "USAGE": 1, "WAIT": 2, "STATE": 3, "STORE": 4, "DATA": 5, "FATAL": 6}

Result = collections.namedtuple("Result", "code out err")


def environment(**more):
    """Without what a torchrun or a Slurm around the tests, or another test, would leave."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "BATCHWEAVE_FAULT", "BATCHWEAVE_OFFSET", "BATCHWEAVE_SHARD")
    of_launchers = ("TORCHELASTIC_", "SLURM_", "OMPI_", "PMI_")
    kept = {name: value for name, value in os.environ.items()
            if name not in names and not name.startswith(of_launchers)}
    return {**kept, **more}


def frame(data):
    return len(data).to_bytes(4, "little") + data


def samples_of(item):
    """The samples of an item, each a dict of its fields (docs/format.md 5.3)."""
    at = 0

    def take(size):
        nonlocal at
        if at + size > len(item):
            raise ValueError("item ends too early")
        at += size
        return item[at - size:at]

    def number(size):
        return int.from_bytes(take(size), "little")
    samples = []
    for _ in range(number(4)):
        fields = {}
        for _ in range(number(2)):
            key = take(number(2)).decode()
            fields[key] = take(number(4))
        samples.append(fields)
    if at != len(item):
        raise ValueError("bytes behind the last sample")
    return samples


# Root without the right to pass over permission bits. Another user could not do: the checkout, and with it the
# binary, may lie in a home that only root may enter.
BOUND = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


class CliTest(unittest.TestCase):
    """Each test has a folder, `self.url` in it, and helpers to run commands."""

    def setUp(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bw-cli-", dir=base))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.space = self.folder / "space"
        self.url = f"file://{self.space}"

    def start(self, *words, env=None, stdin=subprocess.DEVNULL, bound=False, **more):
        """`bound`: permission bits bind the process, root's too."""
        prefix = BOUND if bound and os.geteuid() == 0 else []
        process = subprocess.Popen([*prefix, BINARY, *map(str, words)], stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=environment(**(env or {})), **more)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def finish(self, process, expect=0, input=None, timeout=60):
        out, err = process.communicate(input, timeout=timeout)
        result = Result(process.returncode, out, err.decode(errors="replace"))
        if expect is not None:
            self.assertEqual(result.code, expect, f"{process.args[1:]}: {result.err}")
        return result

    def run_cli(self, *words, expect=0, input=None, env=None, **more):
        stdin = subprocess.PIPE if input is not None else subprocess.DEVNULL
        process = self.start(*words, env=env, stdin=stdin, **more)
        return self.finish(process, expect, input)

    def json_lines(self, *words, expect=0, **more):
        result = self.run_cli(*words, "-o", "json", expect=expect, **more)
        return [json.loads(line) for line in result.out.splitlines()]

    def json_line(self, *words, **more):
        lines = self.json_lines(*words, **more)
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def assert_code(self, result, code):
        """The last word on stderr is the code, and the exit code is its class's."""
        last = result.err.rstrip().splitlines()[-1] if result.err.strip() else ""
        self.assertTrue(last.endswith(f"[{code}]"), f"[{code}] expected, got: {result.err}")

    def refused(self, code, *words, **more):
        result = self.run_cli(*words, expect=None, **more)
        self.assertNotEqual(result.code, 0, result.out)
        self.assert_code(result, code)
        return result

    # -- namespaces and inputs --

    def init(self, dp=2, items=1, *more):
        self.run_cli("init", self.url, "--dp", dp, "--items", items, *more)

    def write_frames(self, name, frames):
        path = self.folder / name
        path.write_bytes(b"".join(map(frame, frames)))
        return path

    def produce_frames(self, frames, id="p", *more, expect=0):
        path = self.write_frames(f"{id}.frames", frames)
        return self.run_cli("produce", self.url, "--id", id, f"frames:{path}", *more, expect=expect)

    def delivered(self, world=2, *more):
        """All items, step by step, item-major, as a producer filled them; None for a pad."""
        lines = self.run_cli("consume", self.url, "--world", world, "--digest", "--out", self.folder / "all", *more).out
        steps = collections.defaultdict(dict)
        for line in map(json.loads, lines.splitlines()):
            steps[line["step"]][line["d"], line["c"]] = line["items"]
        items = []
        for step in sorted(steps):
            slices = sorted(steps[step])
            for k in range(len(steps[step][slices[0]])):
                for d, c in slices:
                    path = self.folder / "all" / str(step) / f"{d}.{c}.{k}"
                    items.append(None if steps[step][d, c][k]["pad"] else path.read_bytes())
        return items

    def wait_for(self, what, until, seconds=20):
        deadline = time.monotonic() + seconds
        while not until():
            self.assertLess(time.monotonic(), deadline, f"waited in vain for {what}")
            time.sleep(0.01)

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
