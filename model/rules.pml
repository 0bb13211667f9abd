/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of docs/protocol.md, each of which -DNO_<rule>=1 removes. What a removal stands for is said here and
 * where the macro is used; model/table.py says in which configuration it is caught.
 */
#include "switches.pml"

/* R1 open: the offset is told only after a fence of one's own, its epoch fixed at the first base */
#ifndef NO_R1_FENCE
#define NO_R1_FENCE OFF(0)         /* the offset of any proved manifest is told, nothing is committed */
#endif
#ifndef NO_R1_EPOCH
#define NO_R1_EPOCH OFF(1)         /* a later try takes the epoch seen then, plus one */
#endif
/* R2 stage: the contiguous prefix of what is uploaded */
#ifndef NO_R2_DONE
#define NO_R2_DONE OFF(2)          /* published before its parts are there */
#endif
#ifndef NO_R2_ORDER
#define NO_R2_ORDER OFF(3)         /* whatever is there first, not the prefix */
#endif
/* R3 candidate */
#ifndef NO_R3_DROP
#define NO_R3_DROP OFF(4)          /* what the map says is in is not dropped */
#endif
#ifndef NO_R3_START
#define NO_R3_START OFF(5)         /* start need not be the map's offset */
#endif
#ifndef NO_R3_COPY
#define NO_R3_COPY OFF(6)          /* the last step of somebody else is replaced, not kept */
#endif
/* R4 attempt: one transport attempt */
#ifndef NO_R4
#define NO_R4 OFF(7)               /* the transport repeats a create and reports the second answer */
#endif
/* R5 exists */
#ifndef NO_R5_NONCE
#define NO_R5_NONCE OFF(8)         /* EXISTS is a lost race, whosever nonce it is */
#endif
/* R6 unknown */
#ifndef NO_R6_NOTFOUND
#define NO_R6_NOTFOUND OFF(9)      /* 404 on reading back is taken as a failure */
#endif
#ifndef NO_R6_SAME
#define NO_R6_SAME OFF(10)         /* other bytes (a new nonce) at the same name */
#endif
#ifndef NO_R6_CLOSE
#define NO_R6_CLOSE OFF(11)        /* a new candidate while the old attempt is open */
#endif
#ifndef NO_R6_QUIET
#define NO_R6_QUIET OFF(12)        /* … but "lost" is never said of what it would have published */
#endif
/* R7 fenced */
#ifndef NO_R7_TOKEN
#define NO_R7_TOKEN OFF(13)        /* the token in the map is not looked at */
#endif
#ifndef NO_R7_OPEN
#define NO_R7_OPEN OFF(14)         /* FENCED counts as a definite failure of the open attempt */
#endif
/* R8 reclaimed names: marker reads after … */
#ifndef NO_R8_CREATED
#define NO_R8_CREATED OFF(15)      /* … CREATED of a publish */
#endif
#ifndef NO_R8_FENCE
#define NO_R8_FENCE OFF(16)        /* … CREATED of an open's fence */
#endif
#ifndef NO_R8_SEAL
#define NO_R8_SEAL OFF(17)         /* … CREATED of a seal: a committer without a map entry */
#endif
#ifndef NO_R8_OURS
#define NO_R8_OURS OFF(18)         /* … EXISTS with our nonce */
#endif
#ifndef NO_R8_LOST
#define NO_R8_LOST OFF(19)         /* … EXISTS with another nonce */
#endif
#ifndef NO_R8_BASE
#define NO_R8_BASE OFF(20)         /* … the base that a committer adopts */
#endif
#ifndef NO_R8_WITNESS
#define NO_R8_WITNESS OFF(21)      /* … the witness */
#endif
#ifndef NO_R8_READER
#define NO_R8_READER OFF(22)       /* … the manifest that a reader opens at */
#endif
#ifndef NO_R8_FOLLOW
#define NO_R8_FOLLOW OFF(23)       /* … the run that a reader followed */
#endif
#ifndef NO_R8_NEWEST
#define NO_R8_NEWEST OFF(24)       /* … a 404 for v+1, before v is called the newest */
#endif
#ifndef NO_R8_SWEEPER
#define NO_R8_SWEEPER OFF(25)      /* … the manifest from which a sweeper decides what is dead */
#endif
#ifndef NO_R8_AFTER
#define NO_R8_AFTER OFF(26)        /* the marker is read before the object, not after it */
#endif
#ifndef NO_R8_POLL
#define NO_R8_POLL OFF(27)         /* a follower that keeps getting 404 never reads the marker */
#endif
#ifndef NO_R8_FORWARD
#define NO_R8_FORWARD OFF(28)      /* a handle may go back to an older manifest than it has proved */
#endif
/* R8, the witness */
#ifndef NO_R8_ABOVE
#define NO_R8_ABOVE OFF(29)        /* any proved manifest is a witness, also of a version below ours */
#endif
#ifndef NO_R8_SEEK
#define NO_R8_SEEK OFF(30)         /* a retired name counts as made (committer without a map entry) */
#endif
/* R8, the sweeper */
#ifndef NO_R8_ASCENDING
#define NO_R8_ASCENDING OFF(31)    /* blocks in any order, the marker before not looked at */
#endif
#ifndef NO_R8_BEFORE
#define NO_R8_BEFORE OFF(32)       /* the block before the newest one may go */
#endif
#ifndef NO_R8_NEWEST_BLOCK
#define NO_R8_NEWEST_BLOCK OFF(33) /* … and the newest one, too */
#endif
#ifndef NO_R8_MARKER_FIRST
#define NO_R8_MARKER_FIRST OFF(34) /* names are deleted before their marker is there */
#endif
#ifndef NO_R8_MARKER_UNKNOWN
#define NO_R8_MARKER_UNKNOWN OFF(35) /* an UNKNOWN of the marker's create counts as written */
#endif
#ifndef NO_R8_MARKER_KEPT
#define NO_R8_MARKER_KEPT OFF(36)  /* the marker goes once its block is empty */
#endif
#ifndef NO_R8_SWEEP_READ
#define NO_R8_SWEEP_READ OFF(37)   /* the newest version is what a hint says */
#endif
#ifndef NO_R8_AGAIN
#define NO_R8_AGAIN OFF(38)        /* what lies in retired blocks is not deleted again */
#endif
/* R9 */
#ifndef NO_R9
#define NO_R9 OFF(39)              /* a producer that lost, or was fenced, deletes what it staged */
#endif
/* R10 finish and seal */
#ifndef NO_R10_PUBLISH
#define NO_R10_PUBLISH OFF(40)     /* a sealed namespace takes publishes */
#endif
#ifndef NO_R10_OPEN
#define NO_R10_OPEN OFF(41)        /* … and opens */
#endif
#ifndef NO_R10_FINISHED
#define NO_R10_FINISHED OFF(42)    /* a finished id is opened without being asked to reopen it */
#endif
#ifndef NO_R10_SAME
#define NO_R10_SAME OFF(43)        /* the last finish does not seal in the same manifest: ranks count finishes */
#endif
#ifndef NO_R10_UNFORCED
#define NO_R10_UNFORCED OFF(44)    /* an unforced seal does not wait for who has not finished */
#endif
/* the last paragraph but one: candidates on a base whose marker is not read yet */
#ifndef NO_EAGER_KEEPS
#define NO_EAGER_KEEPS OFF(45)     /* … may also drop batches that the unproved base has */
#endif
#ifndef NO_EAGER_CLAIMS
#define NO_EAGER_CLAIMS OFF(46)    /* … and what it has altogether is acknowledged without a create */
#endif
