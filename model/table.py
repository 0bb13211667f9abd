# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The configurations of the model, and what the removal of each rule does in them.

`broken`   removals that must be caught: one rule, or several joined by "+". A removal of several stands
           here only with rules that each of its parts alone leaves clean (`held`): they are redundant.
`held`     removals that must stay clean, and why.

T1 – T8 are the traces that an earlier model found in a draft of the rules (tests/unit/protocol/test_traces.c
plays them on the real machines); they stand at the configuration that finds them again.
"""

import dataclasses
from typing import Dict, List


@dataclasses.dataclass(frozen=True)
class Configuration:
    name: str
    what: str
    run: str                    # the processes beside the world
    sizes: Dict[str, int]       # macros of bounds.pml
    model: str = "protocol"     # the file it is a configuration of
    large: bool = False         # worth an optimising compiler
    broken: List[str] = dataclasses.field(default_factory=list)
    held: Dict[str, str] = dataclasses.field(default_factory=dict)


# The block before the newest one: see docs/protocol.md.
MARGIN = "a margin: the version after a retired block is on the chain, so nothing can be created there"

COMMITS = [
    # T1: NO_R8_CREATED. P sleeps before its create, the name's block is retired, CREATED, acknowledged: lost.
    # T2: NO_R8_OURS. EXISTS, a duplicate of P's own create lands on the dead name, "it was us": lost.
    # T3: NO_R8_LOST. P's create landed, the reply was lost, a zombie lands on the dead name: "lost" is false.
    Configuration(
        "publish", "one producer, a zombie of another id; every create late and repeated",
        "run Producer(1, SLOT, 2);", dict(MAXV=6, SLOTS=3, ZOMBIES=1, GOAL=2),
        broken=["R3_COPY", "R5_NONCE", "R6_NOTFOUND", "R6_SAME", "R6_CLOSE", "R8_CREATED", "R8_OURS", "R8_LOST",
                "R8_BASE", "R8_WITNESS", "R8_MARKER_FIRST", "R9",
                "R8_ASCENDING+R8_ABOVE", "R6_QUIET+R3_DROP+R3_START"],
        held={
            "R8_ASCENDING": "R8_ABOVE: a witness is no older than the attempt",
            "R8_ABOVE": "R8_ASCENDING: what lies above the marker is no older",
            "R3_DROP": "R6: an attempt is closed before the next one, so nothing of it is ever found in",
            "R3_START": "R6, as R3_DROP",
            "R6_QUIET": "R3_DROP: what landed is found in the map",
            "R6_QUIET+R3_DROP": "R3_START: what is in does not fit again, and is refused",
            "R6_QUIET+R3_START": "R3_DROP",
            "R8_BEFORE": MARGIN,
        }),
    # T4: NO_R8_FENCE. A new incarnation's fence lands on a dead name; the old one publishes past the offset.
    # T7: NO_R7_OPEN. P's create landed, the successor's fence too, then the block is retired: "failed" is false.
    Configuration(
        "incarnations", "an incarnation that publishes, and its successor, which opens and publishes",
        "run Producer(1, SLOT, 2); run Producer(2, SLOT + 2, 2);", dict(MAXV=5, SLOTS=4, GOAL=2), large=True,
        broken=["R1_FENCE", "R7_TOKEN", "R7_OPEN", "R8_FENCE", "R8_FORWARD", "R8_BASE"]),
    Configuration(
        "openers", "two processes that open the same new id at once",
        "run Producer(1, SLOT, 2); run Producer(2, SLOT + 2, 2);", dict(MAXV=4, SLOTS=4, FIRST_TOKEN=0), large=True,
        broken=["R1_EPOCH"]),
    # T7 once more, with successors that open in no time, and zombies of their own.
    Configuration(
        "fenced", "one producer, whose id others open, some of them dying after they sent",
        "run Producer(1, SLOT, 2);", dict(MAXV=6, SLOTS=3, ZOMBIES=1, ZOMBIE_FENCE=1, FENCER=1, GOAL=2), large=True,
        broken=["R7_TOKEN", "R7_OPEN", "R8_BASE"]),
    # T5: NO_R8_FOLLOW and NO_R8_READER hand out another step 0; NO_R8_NEWEST takes a deleted v + 1 for the end.
    Configuration(
        "reader", "a rank among zombies, from any start",
        "run Reader();", dict(MAXV=6, SLOTS=1, ZOMBIES=1, FILLER=1),
        broken=["R8_READER", "R8_FOLLOW", "R8_NEWEST", "R8_AFTER"],
        held={"R8_BEFORE": MARGIN}),
    Configuration(
        "waiting", "a rank that waits while the block of v + 1 is retired; then everybody else stops",
        "run Reader(); run Observer();", dict(MAXV=6, SLOTS=1, ZOMBIES=1, FILLER=1, LIVE=1), large=True,
        broken=["R8_POLL"]),
    # T6: NO_R8_SWEEPER. (ii) a fence on a dead name makes a live incarnation look superseded: its parts are
    # deleted, then published. (i), a trim on a dead name, is "seal": the same for a committer without an entry.
    Configuration(
        "orphans", "a producer, a zombie that opens its id, a sweeper of superseded parts",
        "run Producer(1, SLOT, 2); run Judge();", dict(MAXV=6, SLOTS=3, ZOMBIES=1, ZOMBIE_FENCE=1), large=True,
        broken=["R8_SWEEPER"]),
    Configuration(
        "stage", "parts uploaded in any order",
        "run Producer(1, SLOT, 2);", dict(MAXV=4, SLOTS=2, STAGE=1, GOAL=2),
        broken=["R2_DONE", "R2_ORDER", "R9"]),
    Configuration(
        "calm", "a store that answers every create, none late or twice: only there R4 is not R5's twin",
        "run Producer(1, SLOT, 2);", dict(MAXV=4, SLOTS=2, CALM=1),
        broken=["R4+R5_NONCE"],
        held={"R4": "R5: the second answer is EXISTS, and the nonce is ours",
              "R5_NONCE": "R4: EXISTS is always another's"}),
    # docs/protocol.md, Proved: what the order of reads is for.
    Configuration(
        "eager", "candidates on a base whose marker is not read yet",
        "run Producer(1, SLOT, 2);", dict(MAXV=6, SLOTS=3, ZOMBIES=1, GOAL=2, EAGER=1),
        broken=["EAGER_CLAIMS"],
        held={"EAGER_KEEPS": "the check after the create proves the base, too: its hash is in the candidate",
              "R8_BEFORE": MARGIN, "EAGER_KEEPS+R8_BEFORE": MARGIN}),
    Configuration(
        "eager opens", "the same for two incarnations, the second of which opens",
        "run Producer(1, SLOT, 1); run Producer(2, SLOT + 1, 2);", dict(MAXV=5, SLOTS=3, EAGER=1), large=True),
    # T6 (i).
    Configuration(
        "seal", "an operator's seal, and a zombie",
        "run Operator(SLOT, 2);", dict(MAXV=6, SLOTS=3, ZOMBIES=1, FIRST_TOKEN=0),
        broken=["R8_SEAL", "R8_SEEK", "R8_BASE"]),
    Configuration(
        "forced", "a forced seal in the middle of a stream, and a rank",
        "run Producer(1, SLOT, 2); run Operator(SLOT + 2, 1); run Reader();",
        dict(MAXV=4, SLOTS=3, RETIRING=0, FORCED=1), large=True,
        broken=["R10_PUBLISH"]),
    Configuration(
        "unforced", "a seal that waits for the producer",
        "run Producer(1, SLOT, 2); run Operator(SLOT + 2, 1);", dict(MAXV=4, SLOTS=3, FINISH=1),
        broken=["R10_UNFORCED"],
        held={"R10_PUBLISH": "R10_UNFORCED: nobody is left who would publish"}),
    Configuration(
        "finish", "the last finish expected, others that go on publishing while they may, and a rank",
        "run Producer(1, SLOT, 2); run Reader();", dict(MAXV=4, SLOTS=2, FILLER=1, FINISH=1, EXPECTED=1),
        broken=["R10_SAME"]),
    Configuration(
        "finished", "an id that finishes, and is opened again",
        "run Producer(1, SLOT, 2); run Producer(2, SLOT + 2, 2);", dict(MAXV=4, SLOTS=4, GOAL=2, FINISH=1),
        broken=["R10_FINISHED"]),
    Configuration(
        "sealed", "an open of a namespace that is being sealed",
        "run Operator(SLOT, 1); run Producer(1, SLOT + 1, 2);", dict(MAXV=4, SLOTS=3, FIRST_TOKEN=0),
        broken=["R10_OPEN"]),
    Configuration(
        "sweepers", "two sweepers step by step, killed at any time, their requests late; a producer, a zombie",
        "run Producer(1, SLOT, 1); run Sweeper(); run Sweeper(); run Network();",
        dict(MAXV=5, SLOTS=2, ZOMBIES=1, SWEEPERS=2), large=True,
        broken=["R8_MARKER_FIRST", "R8_MARKER_UNKNOWN", "R8_MARKER_KEPT"],
        held={"R8_SWEEPER": "a ghost is older than the newest: it lowers what may be retired"}),
    # T8: NO_R8_NEWEST_BLOCK (and the block before it): nobody can open any more.
    Configuration(
        "stop", "a sweeper, two zombies; everybody stops: a search opens, one more pass leaves nothing behind",
        "run Sweeper(); run Network(); run Observer();", dict(MAXV=6, SLOTS=2, ZOMBIES=2, SWEEPERS=1),
        broken=["R8_BEFORE+R8_NEWEST_BLOCK", "R8_SWEEP_READ", "R8_AGAIN"],
        held={"R8_BEFORE": MARGIN, "R8_NEWEST_BLOCK": "R8_BEFORE keeps more"}),
]

# Groups, launches, holds and pins: retention.pml.
RETENTION = [
    Configuration(
        "pins", "a trainer that becomes a zombie, and the next launch, from any checkpoint; a second group",
        "run Trainer(1, SLOT, 1); run Trainer(2, SLOT + 1, 3);", dict(MAXV=5, SLOTS=4), model="retention", large=True,
        broken=["G_W", "G_AGAIN", "G_PIN_TRIM", "G_LAUNCH_TRIM", "G_HOLD", "G_RAISE", "G_KEEP", "G_SAME",
                "G_LAUNCH", "G_MARKER"],
        held={"G_MAX": "G_PIN_TRIM and G_LAUNCH_TRIM: nothing is accepted that would lower W below trim"}),
    Configuration(
        "zombie", "the zombie tries twice, whatever its successor does meanwhile",
        "run Trainer(1, SLOT, 2); run Trainer(2, SLOT + 2, 2);", dict(MAXV=5, SLOTS=4, OTHERS=1), model="retention",
        broken=["G_LAUNCH"]),
    Configuration(
        "deletes", "both, and a process that deletes",
        "run Trainer(1, SLOT, 1); run Trainer(2, SLOT + 1, 1); run Deleter();", dict(MAXV=5, SLOTS=2, OTHERS=3),
        model="retention", broken=["G_PROVED"]),
    Configuration(
        "releases", "an operator releases a pin, a trainer uses its id anew",
        "run Trainer(2, SLOT, 3); run Operator(3, SLOT + 3, 2, false);", dict(MAXV=5, SLOTS=5, OTHERS=1),
        model="retention", broken=["G_NONCE"]),
    Configuration(
        "launches", "two launches that resume the group at once",
        "run Trainer(2, SLOT, 2); run Trainer(3, SLOT + 2, 2);", dict(MAXV=4, SLOTS=4, OTHERS=1),
        model="retention", broken=["G_NUMBER"]),
    Configuration(
        "removed", "a group that is removed while launches resume it",
        "run Trainer(2, SLOT, 1); run Trainer(3, SLOT + 1, 2); run Operator(1, SLOT + 3, 2, true);",
        dict(MAXV=5, SLOTS=5, OTHERS=0), model="retention", large=True,
        broken=["G_SEEN", "G_REMOVE"]),
]

# What a sweep may delete, and in which order: sweeping.pml.
SWEEPS = [
    Configuration(
        "sweep", "two sweepers on any manifests, killed between any two steps; all stop, one sweeps once more",
        "run Sweeper(1, SLOT, 2); run Sweeper(2, SLOT + 2, 2); run Observer();", dict(MAXV=5, SLOTS=4),
        model="sweeping", large=True,
        broken=["S_TRIM", "S_ANSWERED", "S_FROM", "S_SEGMENT_SWEPT", "S_SEGMENT_LAST"]),
    Configuration(
        "segments", "a producer that folds while two sweepers look at segments; all stop, one sweeps once more",
        "run Producer(1, SLOT, 2); run Sweeper(1, SLOT + 2, 1); run Sweeper(2, SLOT + 3, 1); run Observer();",
        dict(MAXV=5, SLOTS=4, FOLDED=0, TRIMS=1), model="sweeping",
        broken=["S_SEGMENT_NAMED", "S_SEGMENT_DURABLE"]),
    Configuration(
        "verdicts", "two incarnations, finish or forget, seal; creates and uploads in flight; a sweeper of orphans",
        "run Producer(1, SLOT, 1); run Producer(2, SLOT + 1, 1); run Sweeper(1, SLOT + 2, 1);",
        dict(MAXV=4, SLOTS=3, ORPHANS=1, DEPARTS=1, TRIMS=1), model="sweeping", large=True,
        broken=["S_OPEN", "S_SAME", "S_EPOCH", "S_SEQ", "S_DESCRIPTOR"]),
    Configuration(
        "left behind", "a producer that crashes anywhere, late uploads; all stop, a sweeper leaves nothing dead",
        "run Producer(1, SLOT, 1); run Sweeper(1, SLOT + 1, 2); run Observer();",
        dict(MAXV=5, SLOTS=3, ORPHANS=1, DEPARTS=1, TRIMS=1), model="sweeping", large=True,
        broken=["S_AGAIN"],
        held={"S_ANSWERED": "S_AGAIN: a listing finds what was not deleted, if it shows it"}),
    Configuration(
        "states", "a producer with resume states; all stop, a sweeper leaves the last one, and nothing dead",
        "run Producer(1, SLOT, 1); run Sweeper(1, SLOT + 1, 2); run Observer();",
        dict(MAXV=4, SLOTS=3, ORPHANS=1, DEPARTS=1, TRIMS=1, STATES=1), model="sweeping", large=True,
        broken=["S_STATE"]),
]

# The page of departed producers: pages.pml.
VERY_BASE = "P_NAME: the base is the very one that the page was made from"
PAGES = [
    Configuration(
        "moves", "two sweepers move ids to pages",
        "run Sweeper(1, SLOT, 1); run Sweeper(2, SLOT + 1, 2); run Opener(3, SLOT + 3, 1, 1);",
        dict(MAXV=5, SLOTS=4), model="pages",
        broken=["P_DURABLE", "P_SWEPT", "P_DEPARTED", "P_NAME+P_BASE"],
        held={"P_NAME": "pages are not deleted here", "P_BASE": VERY_BASE}),
    Configuration(
        "opened again", "a sweeper, two openers of one id",
        "run Sweeper(1, SLOT, 2); run Opener(2, SLOT + 2, 1, 0); run Opener(3, SLOT + 3, 2, 0);",
        dict(MAXV=5, SLOTS=5), model="pages", broken=["P_LOOKUP", "P_MAP_FIRST", "P_NAME+P_ENTRY"],
        held={"P_NAME": "pages are not deleted here", "P_ENTRY": VERY_BASE}),
    Configuration(
        "pages", "a sweeper that commits again and a process that deletes pages; all stop: no dead page is left",
        "run Sweeper(1, SLOT, 2); run Sweeper(2, SLOT + 2, 1); run Opener(3, SLOT + 3, 1, 0); run Deleter(); "
        "run Observer();", dict(MAXV=4, SLOTS=4, IDLE=1), model="pages",
        broken=["P_NAME", "P_OWN", "P_REFERENCED", "P_MISSING"]),
]

CONFIGURATIONS = COMMITS + RETENTION + SWEEPS + PAGES

# Everything at once: too large to be searched in full, so by bitstate hashing.
UNION = Configuration(
    "union", "two incarnations, an operator, a rank, two kinds of sweeper, a zombie",
    "run Producer(1, SLOT, 2); run Producer(2, SLOT + 2, 2); run Operator(SLOT + 4, 1); run Reader(); "
    "run Judge(); run Sweeper(); run Sweeper(); run Network();",
    dict(MAXV=6, SLOTS=6, ZOMBIES=1, ZOMBIE_FENCE=1, GOAL=2, SWEEPERS=2, FORCED=1), large=True)

# Relaxations rather than rules, and rules that others imply: what is clean without them may be done.
MAY_BE_RELAXED = ["EAGER_KEEPS", "G_MAX"]
