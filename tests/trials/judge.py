# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""What became of a namespace, by the server's journal and by a decoder that shares nothing with the product.

The journal has every object ever stored, overwritten or deleted, with the hash of its bytes. Beside it the judge
keeps a copy of each object that it saw before a sweep could take it, so that the whole history is read, not
only what is retained at the end.
"""

import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "independent"))

import bwformat as bw  # noqa: E402
import check_namespace  # noqa: E402
from bwformat import FormatError  # noqa: E402

ONE_CREATE = ("genesis", "manifest", "marker")  # created if absent: nothing ever replaces one


class Objects(check_namespace.Namespace):
    """A namespace whose objects lie in a dictionary."""

    def __init__(self, objects):
        self.objects = objects
        self.root = ""
        self.genesis_bytes = objects["genesis"]
        self.genesis = bw.decode_genesis(self.genesis_bytes)

    def read(self, key, at=0, size=-1):
        data = self.objects.get(key)
        return data if data is None else data[at:] if size < 0 else data[at:at + size]

    def size(self, key):
        data = self.objects.get(key)
        return None if data is None else len(data)

    def keys(self):
        return list(self.objects)

    def list_numbers(self, kind):
        prefix = {"manifest": "manifest/", "marker": "retired/"}[kind]
        return sorted(bw.parse_key(key)[1][0] for key in self.objects if key.startswith(prefix))


class Judge:
    """Of the namespace below `prefix`; `wrong` is called with what is wrong, in words. It reads by another dialect
    than the job, which is `dialect`: rules strike the job's requests alone."""

    def __init__(self, server, dialect, prefix, wrong):
        self.server, self.stem, self.wrong = server, f"bkt/{prefix}/", wrong
        azure = dialect == "s3"
        self.path, self.headers = ("/devstoreaccount1/", {"x-ms-version": "2021-12-02"}) if azure else ("/", {})
        self.events = []  # of this namespace, in the order of effect
        self.read_to = 0
        self.kept = {}  # name: the bytes it first had, where they were seen

    def fetch(self, connection, key):
        connection.request("GET", self.path + self.stem + key, headers=self.headers)
        response = connection.getresponse()
        data = response.read()
        return data if response.status == 200 else None

    def look(self):
        """Reads on in the journal, and keeps a copy of what is new."""
        lines = self.server.control(f"/log?after={self.read_to}&max=100000").splitlines()
        self.read_to += len(lines)
        connection = self.server.connect()
        for event in map(json.loads, lines):
            if not event["key"].startswith(self.stem):
                continue
            key = event["key"] = event["key"][len(self.stem):]
            self.events.append(event)
            if event["event"] != "deleted" and key not in self.kept and not key.startswith("probe/"):
                data = self.fetch(connection, key)
                if data is not None and bw.object_hash(data).hex() == event["sha256_128"]:
                    self.kept[key] = data
        connection.close()

    def newest(self):
        """The newest version that was ever stored; ghosts, which come again, are older."""
        return max(bw.parse_key(event["key"])[1][0] for event in self.events if event["key"].startswith("manifest/"))

    def living(self):
        """What the journal says is there, with its hash."""
        there = {}
        for event in self.events:
            if event["event"] == "deleted":
                there.pop(event["key"], None)
            else:
                there[event["key"]] = event["sha256_128"]
        return there

    def close(self, puts, eaten, told):
        """`puts`: batches of each producer; `eaten`: rank: step: SHA-256 of what it was handed; `told`:
        (producer, batch, step) that were acknowledged."""
        self.look()
        if self.server.counters()["journal_lost"]:
            self.wrong("the journal is not complete")
        try:
            self.names()
            chain = self.chain()
            steps = self.steps(chain)
            self.deletes(chain, steps)
            self.tiled(steps, puts)
            self.delivered(steps, eaten, told)
            self.retained(chain, puts)
        except FormatError as error:
            self.wrong(f"{error.kind} {error.where}: {error.why}")

    # -- the journal alone --

    def names(self):
        """A name has one content for ever, and what is created if absent is never replaced. A ghost in a retired
        block is the exception that the marker is for."""
        first, retired = {}, set()
        for event in self.events:
            key, digest = event["key"], event["sha256_128"]
            kind, fields = bw.parse_key(key)
            if kind in ("probe", "hint") or event["event"] == "deleted":
                continue
            if kind == "marker":
                retired.add(fields[0])
            ghost = kind == "manifest" and event["event"] == "created" and self.block(fields[0]) in retired
            if first.setdefault(key, digest) != digest and not ghost:
                self.wrong(f"{key} was stored with two contents ({event['event']} {event['applied']})")
            if kind in ONE_CREATE and event["event"] == "overwrote":
                self.wrong(f"{key} was replaced")
        self.first = first

    def block(self, version):
        return version // bw.decode_genesis(self.kept["genesis"]).block_size

    # -- the chain, from version 1 on --

    def chain(self):
        """Every manifest that ever was, each linked to the one before it and stored as it was read."""
        space = Objects(self.kept)
        previous, chain, nonces = bw.object_hash(space.genesis_bytes), [], set()
        while (data := space.read(bw.manifest_key(len(chain) + 1))) is not None:
            key, manifest = bw.manifest_key(len(chain) + 1), space.manifest(data)
            if bw.object_hash(data).hex() != self.first[key] or manifest.previous != previous:
                self.wrong(f"{key} does not follow from the one before it")
            if manifest.nonce in nonces or manifest.version != len(chain) + 1:
                self.wrong(f"{key} has the nonce of another, or another version")
            if chain:
                check_namespace.Check.transition(check_namespace.Check(space, False), chain[-1], manifest)
            nonces.add(manifest.nonce)
            previous = bw.object_hash(data)
            chain.append(manifest)
        stored = [key for key in self.first if key.startswith("manifest/")]
        if len(stored) != len(chain) or not chain:
            self.wrong(f"{len(stored)} manifests were stored, the chain has {len(chain)}")
        return chain

    def steps(self, chain):
        """Each step's descriptor as it was committed: it is in the tail of the version that brought it."""
        steps = []
        for manifest in chain:
            at = manifest.next - len(manifest.tail)
            for number, descriptor in enumerate(manifest.tail, at):
                if number == len(steps):
                    steps.append(descriptor)
                elif number > len(steps) or steps[number].name != descriptor.name:
                    self.wrong(f"version {manifest.version}: step {number} is another one or comes too early")
            if len(steps) != manifest.next:
                self.wrong(f"version {manifest.version}: next step {manifest.next} of {len(steps)} described")
        total = 0
        for number, descriptor in enumerate(steps):
            total = (total + bw.term(number, descriptor)) % bw.SUM_MOD
        if chain and chain[-1].sum != total:
            self.wrong("the last sum is not that of all steps as they were committed")
        return steps

    def deletes(self, chain, steps):
        """Nothing goes before the chain says that it may."""
        at = {event["key"]: number for number, event in reversed(list(enumerate(self.events)))
              if event["event"] == "created"}
        stated = [(at[bw.manifest_key(m.version)], m) for m in chain]
        step_of = {bw.part_key(*d.name, part): step for step, d in enumerate(steps) for part in range(d.shape.parts)}
        for number, event in enumerate(self.events):
            if event["event"] != "deleted":
                continue
            key = event["key"]
            kind, fields = bw.parse_key(key)
            before = [m for place, m in stated if place < number]
            fine = kind in ("probe", "page", "state")
            if kind == "part":
                fine = key not in step_of or any(m.trim > step_of[key] for m in before)
            if kind == "segment":
                fine = any(m.swept > fields[1] for m in before)
            if kind == "manifest":
                fine = at.get(bw.marker_key(self.block(fields[0])), number) < number
            if not fine:
                self.wrong(f"{key} was deleted too early")

    # -- what was put and what was handed out --

    def tiled(self, steps, puts):
        """Each producer's batches are in, in order, each once; and their bytes are what was put."""
        from life import SLICES, payload

        space, at = Objects(self.kept), dict.fromkeys(puts, 0)
        for step, d in enumerate(steps):
            if (d.start, d.end) != (at[d.id], at[d.id] + 1):
                self.wrong(f"step {step}: {d.id} from {d.start} to {d.end}, it stood at {at[d.id]}")
            at[d.id] = d.end
            frames = space.batch(d)
            for slice_ in range(SLICES):
                if [item.data for item in frames[slice_].items] != [payload(d.id, d.end, slice_)]:
                    self.wrong(f"step {step}: slice {slice_} is not what {d.id} put as {d.end}")
        if at != puts:
            self.wrong(f"the chain has {at}, put and acknowledged were {puts}")

    def delivered(self, steps, eaten, told):
        from life import payload

        for rank, seen in eaten.items():
            if sorted(seen) != list(range(len(steps))):
                self.wrong(f"rank {rank} was handed {len(seen)} of {len(steps)} steps")
            for step, digest in seen.items():
                d = steps[step] if step < len(steps) else None
                if d and digest != hashlib.sha256(payload(d.id, d.end, rank)).digest():
                    self.wrong(f"rank {rank} was handed other bytes at step {step}")
        for name, number, step in told:
            if step >= len(steps) or (steps[step].id, steps[step].end) != (name, number):
                self.wrong(f"batch {number} of {name} was acknowledged as step {step}, and is not there")

    def retained(self, chain, puts):
        """What is left on the server at the end, by the checker of namespaces."""
        connection = self.server.connect()
        there = {}
        for key, digest in self.living().items():
            there[key] = self.fetch(connection, key)
            if there[key] is None or bw.object_hash(there[key]).hex() != digest:
                self.wrong(f"{key} is not on the server as the journal says")
                del there[key]
        connection.close()
        result = check_namespace.Check(Objects(there), True).run()
        for finding in result.findings:
            self.wrong(" ".join(finding))
        if puts and not result.sealed or result.versions[1] != len(chain):
            self.wrong(f"ended at version {result.versions[1]} of {len(chain)}, sealed: {result.sealed}")
        if not puts:
            return
        for name, count in puts.items():
            if result.producers[name]["offset"] != count or not result.producers[name]["finished"]:
                self.wrong(f"{name} ends at {result.producers[name]}")
