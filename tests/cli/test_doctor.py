# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""doctor: what a healthy place is told, what each broken promise is told as, and that nothing is left behind."""

import json
import os
import pathlib
import resource
import signal
import time
import unittest

import harness

SHIM = os.environ.get("BATCHWEAVE_DOCTOR_SHIM", "")
CHECKS = "file_system room limits place create read names durability clock race".split()
FIGURES = {"file_system": {"type"}, "room": {"free_bytes", "total_bytes", "free_inodes"}, "limits": {"descriptors"},
           "durability": {"file_us", "directory_us"}, "race": {"processes", "names", "wrong"}}
# What is broken, and what is said of it: check, verdict, code, a word of the message.
BROKEN = (
    ("nfs", "file_system", "fault", "STORE_UNSAFE", "nfs"),
    ("full", "room", "fault", "NO_SPACE", "bytes are free"),
    ("no-inodes", "room", "fault", "NO_SPACE", "no inode is free"),
    ("failing-syncs", "durability", "fault", "STORE_UNSAFE", "fdatasync of a file failed: Input/output error"),
    ("no-directory-syncs", "place", "fault", "IO", "Invalid argument"),
    ("dropped-syncs", "durability", "warning", None, "something drops it"),
    ("overwriting", "create", "fault", "STORE_UNSAFE", "overwrites"),
    ("overwriting", "race", "fault", "STORE_UNSAFE", "several"),
    ("looking", "race", "fault", "STORE_UNSAFE", "several"),
    ("dying", "race", "fault", "IO", "did not come to its end"),
    ("short-names", "names", "warning", None, "shorter than 255 bytes"),
    ("unset-clock", "clock", "warning", None, "was never set"),
    ("late-clock", "clock", "warning", None, "100.0 s ahead"),
)


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")} if folder.exists() else None


class Doctor(harness.CliTest):
    def doctor(self, url=None, broken=None, **more):
        env = {}
        if broken:
            self.assertTrue(os.path.exists(SHIM), "BATCHWEAVE_DOCTOR_SHIM names what breaks promises")
            order = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
            env = {"LD_PRELOAD": SHIM, "DOCTOR_SHIM": broken, "ASAN_OPTIONS": order.lstrip(":")}
        result = self.run_cli("doctor", url or self.url, "-o", "json", expect=None, env=env, **more)
        *lines, summary = map(json.loads, result.out.splitlines())
        self.assertEqual(set(summary), {"summary", "fit", "faults", "warnings"})
        verdicts = [line["verdict"] for line in lines]
        self.assertEqual((summary["faults"], summary["warnings"]), (verdicts.count("fault"), verdicts.count("warning")))
        self.assertEqual((summary["fit"], result.code == 0), (not summary["faults"],) * 2, result.err)
        if summary["faults"]:
            first = next(line for line in lines if line["verdict"] == "fault")
            error = json.loads(result.err.splitlines()[-1])["error"]
            self.assertEqual((error["code"], result.code), (first["code"], 4))
        return {line.pop("check"): line for line in lines}

    def test_a_healthy_place(self):
        lines = self.doctor()
        self.assertEqual(list(lines), CHECKS)
        for check, line in lines.items():
            self.assertEqual(set(line), {"verdict", "code", "message"} | FIGURES.get(check, set()))
            if check != "file_system":  # of a memory file system there is something to say
                self.assertEqual((line["verdict"], line["code"]), ("ok", None), line)
        self.assertEqual((lines["race"]["processes"], lines["race"]["names"], lines["race"]["wrong"]), (16, 100, 0))
        self.assertIn("does not exist yet", lines["place"]["message"])

    def test_text(self):
        lines = self.run_cli("doctor", self.url).out.decode().splitlines()
        self.assertEqual([line.split()[1] for line in lines[:-1]], CHECKS)
        self.assertRegex(lines[-1], "^fit for a namespace: (no warnings|1 warning)$")
        order = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        result = self.refused("STORE_UNSAFE", "doctor", self.url, env={"LD_PRELOAD": SHIM, "DOCTOR_SHIM": "nfs",
                                                                       "ASAN_OPTIONS": order.lstrip(":")})
        self.assertRegex(result.out.decode(), "(?m)^FAULT +file_system +nfs: ")
        self.assertIn("NOT fit for a namespace: 1 fault", result.out.decode())

    def test_what_is_broken_is_named(self):
        for broken, check, verdict, code, word in BROKEN:
            with self.subTest(broken=broken):
                line = self.doctor(broken=broken)[check]
                self.assertEqual((line["verdict"], line["code"]), (verdict, code), line)
                self.assertIn(word, line["message"])
                self.assertFalse(self.space.exists(), "left behind")

    def test_several_winners_are_counted(self):
        """One process after the other, this store does well."""
        lines = self.doctor(broken="looking")
        self.assertEqual(lines["create"]["verdict"], "ok")
        self.assertGreater(lines["race"]["wrong"], 0)

    def test_limits_of_the_process(self):
        few = self.doctor(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
        self.assertEqual((few["limits"]["verdict"], few["limits"]["descriptors"]), ("warning", 512))

    def test_nothing_is_left_behind(self):
        deep = self.folder / "some" / "where" / "else"
        self.doctor(f"file://{deep}")
        self.assertFalse((self.folder / "some").exists())
        self.space.mkdir()
        self.doctor()
        self.assertEqual(tree(self.space), {})
        (self.space / "tmp").mkdir()
        self.doctor()
        self.assertEqual(tree(self.space), {"tmp": None})

    def test_a_namespace_is_not_touched(self):
        self.init(2, 1, "--block-size", 4)
        self.produce_frames([b"x" * k for k in range(20)])
        before, version = tree(self.space), self.json_line("info", self.url)["version"]
        self.doctor()
        self.assertEqual(tree(self.space), before)
        self.assertEqual(self.json_line("info", self.url)["version"], version)

    def test_beside_a_live_namespace(self):
        self.init(2, 1, "--producers", 1)
        path = self.write_frames("f", [b"y" * 100] * 3000)
        producer = self.start("produce", self.url, "--id", "p", f"frames:{path}")
        self.doctor()
        self.finish(producer)
        self.run_cli("verify", self.url, "--deep")

    def test_a_killed_doctor_is_in_nobody_s_way(self):
        doctor = self.start("doctor", self.url, env={"LD_PRELOAD": SHIM, "DOCTOR_SHIM": "hanging", "ASAN_OPTIONS":
                                                     "verify_asan_link_order=0"}, start_new_session=True)
        self.wait_for(lambda: len(list(self.space.glob("tmp/doctor-*/race/*"))) >= 50)
        os.killpg(doctor.pid, signal.SIGKILL)
        doctor.wait()
        self.assertTrue(list(self.space.glob("tmp/doctor-*")))
        self.init(2)
        self.produce_frames([b"x"] * 4)
        self.run_cli("verify", self.url, "--deep")

    def test_a_signal_ends_it_and_it_cleans_up(self):
        doctor = self.start("doctor", self.url, env={"LD_PRELOAD": SHIM, "DOCTOR_SHIM": "hanging", "ASAN_OPTIONS":
                                                     "verify_asan_link_order=0"})
        self.wait_for(lambda: len(list(self.space.glob("tmp/doctor-*/race/*"))) >= 50)
        doctor.send_signal(signal.SIGTERM)
        self.finish(doctor, expect=143)
        self.assertFalse(self.space.exists())

    def wait_for(self, what):
        until = time.monotonic() + 30
        while not what():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_where_nothing_can_be(self):
        self.refused("INVALID", "doctor", "file://host/x")
        self.refused("UNSUPPORTED", "doctor", "ftp://bucket/x")
        self.refused("INVALID", "doctor")
        (self.folder / "file").write_bytes(b"x")
        self.refused("IO", "doctor", f"file://{self.folder}/file/x")
        self.space.mkdir()
        self.space.chmod(0o555)
        result = self.refused("DENIED", "doctor", self.url, bound=True)
        self.assertIn(b"FAULT    place", result.out)
        self.assertEqual(list(pathlib.Path(self.space).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
