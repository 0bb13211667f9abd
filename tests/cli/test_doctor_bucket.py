# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""doctor in a bucket, on the test store: what a good store is told, what each broken promise is told as, and that
nothing is left behind. The servers of other people: tools/stores."""

import json
import pathlib
import signal
import sys
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "teststore"))
import stores  # noqa: E402

SECRET = "plantedsecret0123456789"
KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET, "GOOGLE_OAUTH_ACCESS_TOKEN": SECRET,
        "AZURE_STORAGE_KEY": SECRET + "x", "AWS_EC2_METADATA_DISABLED": "true"}
PLACES = {"s3": "s3://bkt", "gs": "gs://bkt", "az": f"az://{stores.ACCOUNT}/bkt"}
SOURCES = {"s3": "the environment", "gs": "GOOGLE_OAUTH_ACCESS_TOKEN", "az": "AZURE_STORAGE_KEY"}
CHECKS = ("place clock may_put may_create may_get may_list may_delete bucket condition read_after_write absence list "
          "range race throughput").split() + ["pace"] * 7 + ["estimate"]
FIGURES = {"place": {"endpoint", "region", "keys"}, "clock": {"skew_s"}, "bucket": {"versioning", "lifecycle"},
           "list": {"made", "listed", "out_of_order"}, "throughput": {"put_bytes_per_s", "read_bytes_per_s"},
           "pace": {"verb", "count", "failed", "p50_us", "p99_us"}, "race": {"processes", "names", "wrong"},
           "estimate": {"commits_per_s_max", "lag_s", "puts_per_s", "gets_per_s", "usd_per_hour"}}
RACY = {"verb": "create", "condition": "racy", "window_ms": 5}


class Bucket(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.server = stores.Server()
        self.addCleanup(self.server.stop)

    def place(self, scheme, prefix="team/run7"):
        return f"{PLACES[scheme]}/{prefix}?endpoint=http://127.0.0.1:{self.server.port}"

    def run_doctor(self, scheme, *words, prefix="team/run7", env=None):
        env = {**KEYS, "HOME": str(self.folder), **(env or {})}
        result = self.run_cli("doctor", self.place(scheme, prefix), *words, expect=None, env=env)
        self.assertNotIn(SECRET, result.out.decode() + result.err)
        return result

    def doctor(self, scheme, *rules, words=(), until=None, **more):
        """The lines of each check, on an empty bucket with these rules; nothing is left there. It is stopped when it
        has told of the check `until`."""
        self.server.control(reset="all", rules=list(rules))
        if until:
            lines = self.first_lines(scheme, until, *words, **more)
        else:
            lines = self.all_lines(scheme, *words, **more)
        checks = {}
        for line in lines:
            checks.setdefault(line["check"], []).append(line)
        if "delete" not in json.dumps(rules):
            self.assertEqual(self.counters()["objects"], 0)
        self.lines = lines
        return checks

    def first_lines(self, scheme, until, *words, env=None, prefix="team/run7"):
        env = {**KEYS, "HOME": str(self.folder), **(env or {})}
        process = self.start("doctor", self.place(scheme, prefix), "-o", "json", *words, env=env)
        lines = []
        for text in process.stdout:
            lines.append(json.loads(text))
            if lines[-1].get("check") == until:
                break
        self.assertEqual(lines[-1].get("check"), until, lines)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        error = process.stderr.read().decode()
        # Ended by the signal, or so near its end that it came too late.
        self.assertIn(process.wait(60), (143, 4, 0), error)
        self.assertNotIn(SECRET, json.dumps(lines) + error)
        return lines

    def all_lines(self, scheme, *words, **more):
        result = self.run_doctor(scheme, "-o", "json", *words, **more)
        *lines, summary = map(json.loads, result.out.splitlines())
        verdicts = [line["verdict"] for line in lines]
        self.assertEqual((summary["faults"], summary["warnings"]), (verdicts.count("fault"), verdicts.count("warning")))
        self.assertEqual((summary["fit"], result.code == 0), (not summary["faults"],) * 2, result.err)
        if summary["faults"]:
            first = next(line for line in lines if line["verdict"] == "fault")
            self.assertEqual(json.loads(result.err.splitlines()[-1])["error"]["code"], first["code"])
            self.assertEqual(result.code, 4)
        return lines

    def counters(self):
        return self.server.counters()

    def assert_fault(self, checks, check, word):
        line = checks[check][0]
        self.assertEqual((line["verdict"], line["code"]), ("fault", "STORE_UNSAFE"), line)
        self.assertIn(word, line["message"])

    def test_a_good_store(self):
        for scheme in PLACES:
            with self.subTest(scheme=scheme):
                checks = self.doctor(scheme)
                self.assertEqual([line["check"] for line in self.lines], CHECKS)
                for line in self.lines:
                    self.assertEqual(set(line), {"check", "verdict", "code", "message"}
                                     | FIGURES.get(line["check"], set()))
                    if (scheme, line["check"]) != ("az", "bucket"):  # Azure does not tell
                        self.assertEqual((line["verdict"], line["code"]), ("ok", None), line)
                place, race = checks["place"][0], checks["race"][0]
                self.assertEqual(place["keys"], SOURCES[scheme])
                self.assertEqual(place["endpoint"], f"http://127.0.0.1:{self.server.port}")
                self.assertEqual((race["processes"], race["names"], race["wrong"]), (16, 100, 0))
                self.assertEqual([line["verb"] for line in checks["pace"]],
                                 "put create get absent read list delete".split())
                self.assertEqual({line["failed"] for line in checks["pace"]}, {0})
                self.assertEqual(checks["bucket"][0]["verdict"], "warning" if scheme == "az" else "ok")

    def test_the_condition_is_ignored(self):
        for scheme in PLACES:
            with self.subTest(scheme=scheme):
                checks = self.doctor(scheme, {"verb": "create", "condition": "ignored"},
                                     until="condition" if scheme != "s3" else None)
                self.assert_fault(checks, "condition", "ignored")
                self.assertEqual(checks["may_create"][0]["verdict"], "ok")

    def test_the_condition_is_honoured_without_atomicity(self):
        """Check, then put: one process after the other, such a store does well. Caught each time."""
        for scheme, attempts in (("s3", 3), ("gs", 1), ("az", 1)):
            for attempt in range(attempts):
                with self.subTest(scheme=scheme, attempt=attempt):
                    checks = self.doctor(scheme, RACY, until="race")
                    self.assertEqual(checks["condition"][0]["verdict"], "ok")
                    self.assert_fault(checks, "race", "several")
                    self.assertGreater(checks["race"][0]["wrong"], 0)

    def test_other_broken_promises(self):
        for rule, check, word in (
                ({"verb": "get", "stale_ms": 300}, "may_get", "just written is not there"),
                ({"verb": "get,head", "key": "*again*", "stale_ms": 300}, "read_after_write", "not read back at once"),
                ({"verb": "get,head", "key": "*absent*", "stale_ms": 300}, "absence", "remembered"),
                ({"verb": "get", "key": "*range*", "reply": "full"}, "range", "range"),
                ({"verb": "get", "key": "*range*", "reply": "corrupt"}, "range", "other bytes")):
            with self.subTest(check=check, word=word):
                checks = self.doctor("s3", rule, until=check)
                self.assert_fault(checks, check, word)
        checks = self.doctor("s3", {"verb": "list", "unordered": True}, until="list")
        self.assertEqual(checks["list"][0]["verdict"], "warning")
        self.assertGreater(checks["list"][0]["out_of_order"], 0)

    def test_rights_and_policies(self):
        for scheme in PLACES:
            for verb, check, verdict, roles in (
                    ("put", "may_put", "fault", 3), ("create", "may_create", "fault", 3),
                    ("get", "may_get", "fault", 3),
                    ("list", "may_list", "warning", 3), ("delete,delete_many", "may_delete", "warning", 1)):
                with self.subTest(scheme=scheme, verb=verb):
                    checks = self.doctor(scheme, {"verb": verb, "reply": "error", "error": "denied"},
                                         until="may_delete")
                    line = checks[check][0]
                    self.assertEqual((line["verdict"], line["code"]),
                                     (verdict, "DENIED" if verdict == "fault" else None))
                    self.assertEqual(len(line["policies"]), roles)
                    self.assertIn(SOURCES["s3"] if scheme == "s3" else "403", line["message"])
                    self.check_policies(scheme, line["policies"])
                    others = [c for c in CHECKS[2:7] if c != check]
                    self.assertEqual({checks[c][0]["verdict"] for c in others}, {"ok"})

    def check_policies(self, scheme, policies):
        text = json.dumps(policies)
        if scheme == "s3":
            for policy in policies.values():
                allowed = {s["Action"]: s["Resource"] for s in policy["Statement"]}
                self.assertEqual(allowed["s3:GetObject"], ["arn:aws:s3:::bkt/team/run7/*"])
                self.assertEqual(allowed["s3:ListBucket"], "arn:aws:s3:::bkt")
            self.assertIn("arn:aws:s3:::bkt/team/run7/*", allowed["s3:DeleteObject"])  # of the sweeper
            if len(policies) == 3:
                trainer = {s["Action"]: s["Resource"] for s in policies["trainer"]["Statement"]}
                self.assertNotIn("arn:aws:s3:::bkt/team/run7/*", trainer["s3:PutObject"] + trainer["s3:DeleteObject"])
        elif scheme == "gs":
            self.assertIn("storage.objects.delete", policies["sweeper"]["includedPermissions"])
            self.assertEqual(text.count("storage.objects.delete"), 1)
        else:
            self.assertEqual(text.count("blobs/delete"), 1)
            self.assertIn("containers/bkt", text)

    def test_the_prefix_is_written_as_json(self):
        checks = self.doctor("s3", {"verb": "list", "reply": "error", "error": "denied"}, until="may_list",
                             prefix="a%22b%5Cc")
        self.assertIn('arn:aws:s3:::bkt/a"b\\c/*', json.dumps(checks["may_list"][0]["policies"]["producer"])
                      .encode().decode("unicode_escape"))

    def test_the_clock(self):
        self.server.control(clock_skew_ms=3600 * 1000)
        for scheme in ("s3", "az"):
            line = self.doctor(scheme, until="bucket")["clock"][0]
            self.assertEqual(line["verdict"], "warning")
            self.assertIn(line["skew_s"], range(3598, 3602))
            self.assertIn("ahead", line["message"])

    def test_keys(self):
        line = self.doctor("s3", until="place", env=self.profile())["place"][0]
        self.assertRegex(line["keys"], "^profile p7 of ")
        line = self.doctor("s3", words=("--set", "anonymous=true"), until="place")["place"][0]
        self.assertEqual(line["keys"], "none: anonymous")
        line = self.doctor("az", until="place", env={"AZURE_STORAGE_KEY": "",
                                                     "AZURE_STORAGE_SAS_TOKEN": "sig=" + SECRET})["place"][0]
        self.assertEqual(line["keys"], "AZURE_STORAGE_SAS_TOKEN")
        result = self.run_doctor("gs", env={"GOOGLE_OAUTH_ACCESS_TOKEN": ""})
        self.assert_code(result, "DENIED")

    def profile(self):
        path = self.folder / "credentials"
        path.write_text(f"[p7]\naws_access_key_id = AKID\naws_secret_access_key = {SECRET}\n", encoding="utf-8")
        return {"AWS_SHARED_CREDENTIALS_FILE": str(path), "AWS_CONFIG_FILE": str(path), "AWS_PROFILE": "p7",
                "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}

    def test_the_job(self):
        self.server.control(latency={"create": {"p50_ms": 6}, "put": {"p50_ms": 6}, "get": {"p50_ms": 3}})
        words = ("--ranks", "100", "--step-ms", "500", "--producers", "32", "--price-put", "1000", "--price-get", "0")
        line = self.doctor("s3", words=words)["estimate"][0]
        self.assertGreater(line["commits_per_s_max"], 10)
        self.assertLess(line["commits_per_s_max"], 64)  # .57 / 9 ms
        self.assertGreater(line["lag_s"], 0.25)
        self.assertAlmostEqual(line["gets_per_s"], 100 * (2 + 1.1) + 2 * 32, places=2)
        self.assertAlmostEqual(line["usd_per_hour"], 4 * 1000 * 3600 / 1e6 / 100, places=3)
        self.server.control(latency={})

    def test_what_cannot_be_reached(self):
        self.server.control(reset="all", rules=[])
        no_bucket = f"s3://nobucket/run?endpoint=http://127.0.0.1:{self.server.port}"
        result = self.run_cli("doctor", no_bucket, expect=4, env={**KEYS, "HOME": str(self.folder)})
        self.assertRegex(result.out.decode(), "(?m)^FAULT +place .*make the bucket first")
        self.refused("INVALID", "doctor", "s3://bkt/x?regio=y", env=KEYS)

    def test_text(self):
        self.server.control(rules=[{"verb": "delete,delete_many,list", "reply": "error", "error": "denied"}])
        text = self.run_doctor("s3").out.decode()
        self.assertRegex(text, r"(?m)^warning +may_list +gc and verify .*AccessDenied.* from the environment")
        for role in ("producer", "trainer", "sweeper"):
            self.assertEqual(text.count(f"what a {role} needs here: {{"), 1)
        self.assertRegex(text, r"fit for a namespace: 3 warnings\n$")

    def test_beside_a_live_namespace(self):
        self.url = self.place("s3")
        self.server.control(reset="all", rules=[])
        env = {**KEYS, "HOME": str(self.folder)}
        self.run_cli("init", self.url, "--dp", 2, "--producers", 1, env=env)
        path = self.write_frames("f", [b"y" * 100] * 3000)
        producer = self.start("produce", self.url, "--id", "p", f"frames:{path}", env=env)
        self.assertEqual(self.run_doctor("s3").code, 0)
        self.finish(producer)
        self.run_cli("verify", self.url, "--deep", env=env)


if __name__ == "__main__":
    unittest.main()
