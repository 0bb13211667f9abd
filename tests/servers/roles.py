# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Each role does its work with its own keys and no more rights than docs/security.md gives it, and what it was not
given is refused: to our commands, which name the permission, and to plain requests with its keys."""

import json
import pathlib
import re
import tempfile

import realservers
import runningserver
import signedrequest

PAGE = realservers.ROOT / "docs" / "security.md"
ROLES = ("reader", "producer", "trainer", "sweeper", "operator")
PREFIX = "run"
RECORDS = 200


def policies():
    """{role: its policy} as the page has them, for the bucket and prefix of the test."""
    text = PAGE.read_text(encoding="utf-8").replace("BUCKET", realservers.BUCKET).replace("PREFIX", PREFIX)
    blocks = re.findall(r"^#### (\w+)\n```json\n(.*?)^```", text, re.M | re.S)
    found = {role: json.loads(policy) for role, policy in blocks}
    if tuple(found) != ROLES:
        raise ValueError(f"{PAGE.name} has policies of {list(found)}")
    return found


def signatures():
    """{role: permissions of its shared access signature} as the page's table has them."""
    text = PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| (\w+) \| `([rwdlac]+)` \|", text, re.M))
    if tuple(found) != ROLES:
        raise ValueError(f"{PAGE.name} has signatures of {list(found)}")
    return found


class Roles:
    """A namespace through all of its life, each step by the role whose it is; `refusals` says for the steps what the
    others hear: {step: {role: permission}}."""

    def __init__(self, tally, server, environments, refusals):
        self.tally, self.url, self.environments, self.refusals = tally, server.url(PREFIX), environments, refusals

    def step(self, role, *words):
        # The URL comes after the command, which may be of two words.
        count = 2 if words[0] == "group" else 1
        words = (*words[:count], self.url, *words[count:])
        for other, permission in self.refusals.get(words[0], {}).items():
            self.tally.refused(self.environments[other], ["DENIED", permission], *words)
        return self.tally.batchweave(self.environments[role], *words)

    def live(self, records):
        self.step("operator", "init", "--dp", "2", "--producers", "2", "--block-size", "2", "--tail-cap", "256",
                  "--page-min", "1")
        for shard in range(2):
            self.step("producer", "produce", "--id", f"p{shard}", "--shard", f"{shard}/2", "--batch", "2",
                      f"jsonl:{records}", "--set", "policy=fixed:20")
        self.step("trainer", "consume", "--world", "2", "--group", "train", "--launch", "one", "--pin-every", "8",
                  "--set", "reclaim=false")
        swept = json.loads(self.step("sweeper", "gc", "--apply", "-o", "json"))
        self.tally.expect(swept["manifests_deleted"] > 0 and swept["steps_deleted"] > 0, f"it swept little: {swept}")
        self.step("operator", "group", "rm", "train")
        self.step("operator", "seal")
        self.step("reader", "verify", "--deep")
        self.step("reader", "info")


def life(tally, server, environments, refusals):
    with tempfile.TemporaryDirectory(prefix="batchweave-roles-") as folder:
        records = pathlib.Path(folder) / "records.jsonl"
        records.write_text("".join(f'{{"n": {n}}}\n' for n in range(RECORDS)), encoding="utf-8")
        Roles(tally, server, environments, refusals).live(records)


# ---- S3: users of versitygw, and the policy of the bucket ----

def of_each(permission, *roles):
    return {role: f"it takes the permission {permission}" for role in roles}


S3_REFUSALS = {"init": of_each("s3:PutObject", "reader", "producer", "trainer", "sweeper"),
               "produce": of_each("s3:PutObject", "reader", "trainer", "sweeper", "operator"),
               "consume": of_each("s3:PutObject", "reader"),
               "gc": {**of_each("s3:PutObject", "reader"),
                      **of_each("s3:DeleteObject", "producer", "trainer", "operator")}}
# What keys of a role could do harm with, had it more rights: (role, method, key).
S3_RAW = (("reader", "PUT", "manifest/x"), ("reader", "DELETE", "genesis"), ("producer", "PUT", "genesis"),
          ("producer", "PUT", "retired/00000000000000000000"), ("producer", "DELETE", "manifest/x"),
          ("trainer", "PUT", "data/00/p/x"), ("trainer", "DELETE", "data/00/p/x"), ("sweeper", "PUT", "data/00/p/x"),
          ("sweeper", "DELETE", "genesis"), ("sweeper", "DELETE", "retired/00000000000000000000"),
          ("operator", "DELETE", "data/00/p/x"), ("operator", "PUT", "data/00/p/x"))


def set_policy(server):
    """One policy of the bucket instead of one of each user: the same statements, each with its principal."""
    statements = [{**statement, "Principal": {"AWS": [role]}}
                  for role, policy in policies().items() for statement in policy["Statement"]]
    body = json.dumps({"Version": "2012-10-17", "Statement": statements}).encode()
    status, said = signedrequest.s3(server.endpoint, realservers.ROOT_KEYS, "PUT", f"/{realservers.BUCKET}", body,
                                    "policy=")
    if status not in (200, 204):
        raise RuntimeError(f"the policy was answered {status}: {said.decode()}")


def check_s3(tally, server):
    for role in ROLES:
        realservers.command([server.server.program(), "admin", "--access", realservers.ROOT_KEYS[0], "--secret",
                             realservers.ROOT_KEYS[1], "--endpoint-url", server.endpoint, "create-user", "--access",
                             role, "--secret", f"{role}-secret", "--role", "user"])
    set_policy(server)
    keys = {role: (role, f"{role}-secret") for role in ROLES}
    environments = {role: {**server.environment, "AWS_ACCESS_KEY_ID": pair[0], "AWS_SECRET_ACCESS_KEY": pair[1]}
                    for role, pair in keys.items()}
    life(tally, server, environments, S3_REFUSALS)
    place = f"/{realservers.BUCKET}/{PREFIX}"
    for role, method, key in S3_RAW:
        status, said = signedrequest.s3(server.endpoint, keys[role], method, f"{place}/{key}")
        tally.expect(status == 403 and b"AccessDenied" in said, f"{role}: {method} {key} was answered {status} {said}")
        status, _ = signedrequest.s3(server.endpoint, keys[role], "GET", f"/{realservers.BUCKET}/other/x")
        tally.expect(status == 403, f"{role}: another prefix was answered {status}")
    stranger = {**server.environment, "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    says = ["[DENIED]", "look at the access key id", "from the environment"]
    tally.refused(stranger, says, "info", server.url(PREFIX))
    wrong = {**environments["reader"], "AWS_SECRET_ACCESS_KEY": "planted-secret"}
    err = tally.refused(wrong, ["[DENIED]", "look at the secret access key"], "info", server.url(PREFIX))
    tally.expect("planted" not in err, f"the secret is in the message: {err}")


# ---- Azure: shared access signatures ----

WRITE, DELETE, LIST = "write (w of a signature)", "delete (d of a signature)", "list (l of a signature)"
AZURE_REFUSALS = {"init": {**of_each(WRITE, "reader"), **of_each(LIST, "producer", "trainer")},
                  "produce": of_each(WRITE, "reader"), "consume": of_each(WRITE, "reader"),
                  "gc": {**of_each(WRITE, "reader"), **of_each(DELETE, "producer", "trainer", "operator")},
                  "verify": of_each(LIST, "producer", "trainer")}


def check_azure(tally, server):
    environments = {}
    for role, permissions in signatures().items():
        sas = signedrequest.container_sas(realservers.ACCOUNT, realservers.KEYS["AZURE_STORAGE_KEY"],
                                          realservers.BUCKET, permissions)
        environments[role] = {**server.environment, "AZURE_STORAGE_SAS_TOKEN": sas}
        del environments[role]["AZURE_STORAGE_KEY"]
    life(tally, server, environments, AZURE_REFUSALS)


CHECKS = {"versitygw": check_s3, "azurite": check_azure}
