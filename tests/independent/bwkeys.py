# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of objects (section 3) and cursors (section 14)."""

import hashlib
import json
import re
import struct
from dataclasses import dataclass

from bwbase import FormatError, object_hash

_SPREAD = r"data/([0-9a-f]{2})/([a-z0-9][a-z0-9._-]{0,63})/([0-9]{10})-([0-9]{20})-([0-9a-f]{16})\."
KEYS = [
    ("genesis", re.compile("genesis"), ()),
    ("hint", re.compile("hint"), ()),
    ("manifest", re.compile(r"manifest/([0-9]{20})\.manifest"), (10,)),
    ("marker", re.compile(r"retired/([0-9]{20})"), (10,)),
    ("segment", re.compile(r"segment/([0-9]{20})-([0-9]{20})-([0-9a-f]{32})"), (10, 10, bytes)),
    ("page", re.compile(r"page/([0-9]{20})-([0-9a-f]{16})"), (10, 16)),
    ("part", re.compile(_SPREAD + r"([0-9]{6})"), (str, str, 10, 10, 16, 10)),
    ("state", re.compile(_SPREAD + "state"), (str, str, 10, 10, 16)),
    ("probe", re.compile(r"probe/([0-9a-f]+)"), (str,)),
    ("temporary", re.compile(r"tmp/.+"), ()),
]


def parse_key(key):
    """(kind, fields), or FormatError KEY."""
    if len(key) <= 1024:
        for kind, pattern, types in KEYS:
            match = pattern.fullmatch(key)
            if match:
                fields = [bytes.fromhex(g) if t is bytes else g if t is str else int(g, t)
                          for g, t in zip(match.groups(), types)]
                if kind in ("part", "state"):
                    _check_data_key(key, fields)
                return kind, tuple(fields)
    raise FormatError("KEY", key, "no object has such a name")


def _check_data_key(key, fields):
    spread = hashlib.sha256(key.split("/", 2)[2].encode()).hexdigest()[:2]
    if fields[0] != spread:
        raise FormatError("KEY", key, f"the spread is {fields[0]}, it must be {spread}")
    if ".." in fields[1] or not 1 <= fields[2] < 1 << 32 or not 1 <= fields[3] < 1 << 64:
        raise FormatError("KEY", key, "producer, epoch or seq cannot be")


def manifest_key(version):
    return f"manifest/{version:020}.manifest"


def marker_key(block):
    return f"retired/{block:020}"


def segment_key(ref):
    return f"segment/{ref.first:020}-{ref.last:020}-{ref.hash.hex()}"


def page_key(version, nonce):
    return f"page/{version:020}-{nonce:016x}"


def _data_key(producer, epoch, seq, nonce, ending):
    rest = f"{producer}/{epoch:010}-{seq:020}-{nonce:016x}.{ending}"
    return f"data/{hashlib.sha256(rest.encode()).hexdigest()[:2]}/{rest}"


def part_key(producer, epoch, seq, nonce, part):
    return _data_key(producer, epoch, seq, nonce, f"{part:06}")


def state_key(producer, epoch, seq, nonce):
    return _data_key(producer, epoch, seq, nonce, "state")


# --- 14 cursor ---------------------------------------------------------------------------------------

@dataclass
class Cursor:
    namespace: bytes
    step: int
    item: int
    mode: str
    dp: int
    nonce: int | None
    version: int
    skips: list
    tags: list | None = None
    way: list | None = None

    def hash(self):
        raw = struct.pack("<QIBII", self.step, self.item, MODES.index(self.mode), self.dp, len(self.skips))
        raw += b"".join(struct.pack("<QQ", *skip) for skip in self.skips)
        if self.tags:
            raw += struct.pack("<I", len(self.tags))
            raw += b"".join(struct.pack("<QQ", a, (1 << 64) - 1 if b is None else b) for a, b in self.tags)
        return object_hash(raw)

    def json(self):
        more = {name: value for name, value in (("tags", self.tags), ("way", self.way)) if value}
        return json.dumps({
            "batchweave": 1, "namespace": self.namespace.hex(), "step": self.step, "item": self.item,
            "mode": self.mode, "dp": self.dp, "nonce": None if self.nonce is None else f"{self.nonce:016x}",
            "version": self.version, "skips": self.skips, **more}, separators=(",", ":"))


MODES = ("same_batch", "scale_batch")
CURSOR_KEYS = {"batchweave", "namespace", "step", "item", "mode", "dp", "nonce", "version", "skips"}


def _pairs(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise FormatError("CURSOR", "cursor", "a key stands twice")
    return out


def decode_cursor(text):
    def need(ok, why):
        if not ok:
            raise FormatError("CURSOR", "cursor", why)

    def number(value, most=(1 << 63) - 1):
        need(type(value) is int and 0 <= value <= most, f"{value!r} is no number of the right size")
        return value

    try:
        o = json.loads(text, object_pairs_hook=_pairs)
    except ValueError as error:
        raise FormatError("CURSOR", "cursor", str(error)) from None
    need(isinstance(o, dict) and set(o) - {"tags", "way"} == CURSOR_KEYS, "not exactly the keys of a cursor")
    need(number(o["batchweave"]) == 1, "format version")
    need(isinstance(o["namespace"], str) and re.fullmatch("[0-9a-f]{32}", o["namespace"]), "namespace")
    need(o["mode"] in MODES, "mode")
    nonce = o["nonce"]
    need(nonce is None or (isinstance(nonce, str) and re.fullmatch("[0-9a-f]{16}", nonce)), "nonce")
    skips, end = o["skips"], None
    need(isinstance(skips, list) and len(skips) <= 1024, "skips")
    for skip in skips:
        need(isinstance(skip, list) and len(skip) == 2, "a skip is a pair")
        need(number(skip[0]) < number(skip[1]) and (end is None or skip[0] > end), "skips overlap or touch")
        end = skip[1]
    tags, last = o.get("tags"), -2
    need("tags" not in o or (isinstance(tags, list) and 1 <= len(tags) <= 64), "tags")
    for pair in tags or ():
        need(isinstance(pair, list) and len(pair) == 2, "a range of tags is a pair")
        need(last is not None and number(pair[0]) > last + 1, "tags overlap or touch")
        last = pair[1]
        need(last is None or pair[0] <= number(last), "tags end before they begin")
    way, within = o.get("way"), (0, (1 << 63) - 1)
    need("way" not in o or (isinstance(way, list) and 1 <= len(way) <= 4), "way")
    for named in way or ():
        need(isinstance(named, list) and len(named) == 4, "a segment of the way is first, last, bytes, hash")
        need(within[0] <= number(named[0]) <= number(named[1]) <= within[1], "the way leads out of a segment")
        need(20 < number(named[2]) <= (16 << 20) + 20, "a segment of that size")
        need(isinstance(named[3], str) and re.fullmatch("[0-9a-f]{32}", named[3]), "the hash of a segment")
        within = named[:2]
    return Cursor(bytes.fromhex(o["namespace"]), number(o["step"]), number(o["item"], (1 << 32) - 1), o["mode"],
                  number(o["dp"], (1 << 32) - 1), None if nonce is None else int(nonce, 16),
                  number(o["version"]), skips, tags, way)
