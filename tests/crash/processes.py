# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Real `batchweave` processes for the crash tests and the demo: started with faults, killed, frozen, thawed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MEMORY_BYTES_WANTED = 512 << 20
sys.path.insert(0, os.path.join(ROOT, "tests", "independent"))


def find_binary(given=None):
    """The one given, else the release build's."""
    path = given or os.environ.get("BATCHWEAVE_BINARY") or os.path.join(ROOT, "build", "cli", "batchweave")
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: not there; run sh tools/build")
    return os.path.abspath(path)


def scratch_folder(prefix):
    """On a memory file system when there is one with room: a container's often has 64 MiB only."""
    room = 0
    if os.access("/dev/shm", os.W_OK):
        stat = os.statvfs("/dev/shm")
        room = stat.f_bavail * stat.f_frsize
    return tempfile.mkdtemp(prefix=prefix, dir="/dev/shm" if room >= MEMORY_BYTES_WANTED else None)


class Process:
    """One incarnation of one command. Its output lies in files of its own: LOG.out and LOG.err."""

    def __init__(self, words, log, fault=None, environment=None):
        self.words = words
        self.log = log
        self.fault = fault
        environment = dict(environment or os.environ)
        environment.pop("BATCHWEAVE_FAULT", None)
        if fault:
            environment["BATCHWEAVE_FAULT"] = fault
        with open(log + ".out", "wb") as out, open(log + ".err", "wb") as err:
            self.popen = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)

    def state(self):
        """running, stopped, killed, done (exit 0) or failed."""
        code = self.popen.poll()
        if code is None:
            return "stopped" if self._letter() in "Tt" else "running"
        return "done" if code == 0 else "killed" if code == -signal.SIGKILL else "failed"

    def _letter(self):
        try:
            with open(f"/proc/{self.popen.pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return "Z"

    def kill(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()

    def freeze(self):
        self.popen.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.popen.send_signal(signal.SIGCONT)

    def output(self):
        with open(self.log + ".out", encoding="utf-8", errors="replace") as file:
            return file.read()

    def complaint(self):
        with open(self.log + ".err", encoding="utf-8", errors="replace") as file:
            return file.read()[-1000:]

    def story(self):
        return (f"`{' '.join(self.words)}` with BATCHWEAVE_FAULT={self.fault}: "
                f"exit {self.popen.poll()}: {self.complaint()}")


class Workshop:
    """A folder with one namespace in it, or with none when that is at a URL, and the processes that work on it."""

    def __init__(self, binary, folder, url=None, environment=None):
        self.binary = binary
        self.folder = folder
        self.space = os.path.join(folder, "space")
        self.url = url or "file://" + self.space
        self.environment = environment
        self.logs = os.path.join(folder, "logs")
        os.makedirs(self.logs)
        self.count = 0
        self.processes = []

    def words(self, verb, *more):
        return [self.binary, verb, self.url, *map(str, more)]

    def start(self, name, words, fault=None):
        self.count += 1
        process = Process(words, os.path.join(self.logs, f"{self.count:04}-{name}"), fault, self.environment)
        self.processes.append(process)
        return process

    def run(self, name, words, timeout=60):
        """To its end, which must be exit 0."""
        process = self.start(name, words)
        try:
            process.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise RuntimeError(f"not done after {timeout} s: {process.story()}") from None
        if process.state() != "done":
            raise RuntimeError(process.story())
        return process

    def close(self, keep=False):
        for process in self.processes:
            process.kill()
        if not keep:
            shutil.rmtree(self.folder)
