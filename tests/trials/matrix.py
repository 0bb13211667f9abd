# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The cells: what goes wrong, with which kind of object, and how the test store is told so."""

# Of the keys of a namespace.
KINDS = {"manifest": "*/manifest/*", "part": "*/data/*.[0-9][0-9][0-9][0-9][0-9][0-9]", "marker": "*/retired/*",
         "genesis": "*/genesis", "segment": "*/segment/*", "state": "*/data/*.state"}
DIALECTS = ["s3", "gcs", "azure"]
WRITES = ["lost reply", "late apply", "double apply", "409", "412-own", "200 with error", "5xx", "reset mid-body"]
READS = ["lost reply", "200 with error", "5xx", "reset mid-body"]
# How likely a request is struck: what is rare in a life is struck oftener.
SHARE = {"manifest": 0.35, "part": 0.2, "marker": 0.7, "genesis": 1.0, "segment": 0.5, "state": 0.5}
READ_SHARE = {"manifest": 0.1, "part": 0.2, "marker": 0.05, "genesis": 0.2, "segment": 0.4, "state": 0.7}
APPLIED_LATER = ("late apply", "double apply")


def cells():
    """Every cell, as (dialect, verb, kind, fault)."""
    for dialect in DIALECTS:
        for kind in KINDS:
            for fault in WRITES:
                yield dialect, "write", kind, fault
            for fault in READS:
                yield dialect, "read", kind, fault


def error(draw):
    """A 5xx, with a code of the store's or without one, as a gateway answers."""
    name = draw.choice(["internal", "unavailable", "gateway"])
    if name != "gateway":
        return {"error": name, "status": 500 if name == "internal" else 503}
    return {"error": "internal", "status": draw.choice([502, 504]), "code": "Gateway"}


def applied(draw):
    """Whoever answers an error may have applied the request all the same."""
    return {"apply": draw.choice(["once", "none"])}


def write_fault(fault, kind, draw):
    later = {"after_ms": draw.choice([1, 5, 20, 60, 150])}
    if fault == "lost reply":
        return {"end": draw.choice(["reset", "close"]), "head_bytes": draw.choice([0, 12, 40])}
    if fault == "late apply":
        return {"apply": "late", **later, **draw.choice([{"end": "reset"}, {"end": "close"}, error(draw)])}
    if fault == "double apply":
        return {"apply": "twice", **later, **draw.choice([{}, {}, {"end": "reset"}])}
    if fault == "409":
        return {"error": "conflict", **applied(draw)}
    if fault == "412-own":
        return {"error": "exists", "apply": "once"}
    if fault == "200 with error":
        return {"reply": "ok_error", "error": draw.choice(["internal", "slow_down"]), **applied(draw)}
    if fault == "5xx":
        return {**error(draw), **applied(draw)}
    return {"read_bytes": draw.choice([0, 1, 30] if kind in ("genesis", "marker") else [0, 30, 200]), "end": "reset"}


def read_fault(fault, draw):
    if fault == "lost reply":
        return {"end": draw.choice(["reset", "close"])}
    if fault == "200 with error":
        return {"reply": "ok_error", "error": draw.choice(["internal", "slow_down"])}
    if fault == "5xx":
        return error(draw)
    return {"end": draw.choice(["reset", "close"]), "body_bytes": draw.choice([0, 1, 20])}


def rules(number, dialect, draw, kinds=tuple(KINDS)):
    """A rule for each kind's writes and one for its reads. `number` walks through the faults, so that each comes
    equally often; what each does exactly is drawn."""
    made = []
    for place, kind in enumerate(KINDS):
        if kind not in kinds:
            continue
        fault = WRITES[(number + 3 * place) % len(WRITES)]
        common = {"dialect": dialect, "key": KINDS[kind]}
        rule = {"name": f"write/{kind}/{fault}", "verb": "put,create", "probability": SHARE[kind], **common,
                **write_fault(fault, kind, draw)}
        if kind == "genesis":
            rule["times"] = 2
        if fault == "412-own" and kind in ("part", "state", "segment"):
            rule["times"] = 2  # of an unconditional put it is the end of the handle
        made.append(rule)
        fault = READS[(number + place) % len(READS)]
        # A HEAD has no body to be an error's.
        verbs = "get" if fault == "200 with error" else "get,head"
        made.append({"name": f"read/{kind}/{fault}", "verb": verbs, "probability": READ_SHARE[kind], **common,
                     **read_fault(fault, draw)})
    return made
