/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be true, each with a number by which model/run names what a removed rule breaks. G and I are
 * the guarantees of docs/guarantees.md and the invariants of the simulator's checker.
 */
#define CLAIM(name, x) assert(name && (x))

#define ONE_CHAIN 901           /* I2: each version stands on the one before it */
#define DEFINITE 902            /* G5, I7: what was called lost or failed is not made, now or later */
#define ORDER 903               /* G2, I4: steps are gapless and never change */
#define VISIBLE 904             /* G1, I1: every exposed step has its parts */
#define SAME_END 905            /* I9: whoever was told the end was told the truth */
#define ONCE 906                /* G3, I5: the ranges of a producer tile its stream */
#define FENCING 907             /* I8: nothing of an incarnation after its successor's fence */
#define FINAL_OFFSET 908        /* R1: a resume offset that was told is final, and not beyond the chain */
#define SUCCESSOR 909           /* R1: an opener that thaws does not fence its successor */
#define SEALING 910             /* R10: sealed and finished are refusals, and nobody is open under a seal */
#define DURABLE 911             /* G4, I6: what was acknowledged is on the chain */
#define SAFE_STORE 912          /* STORE_UNSAFE and CHAIN_BLOCKED are not said of a store that is right */
#define REFUSAL 913             /* what is refused (FENCED, SEALED, TRIMMED, no such id, …) is true when it is said */
#define AGREEMENT 914           /* G2, I9: what a rank is given is what the chain says */
#define TRUE_NEWEST 915         /* "the newest" was true when its 404 was read */
#define FORWARD 916             /* I3: a reader never goes back */
#define LIVENESS 917            /* G11: once faults stop, a rank arrives and a sweep leaves nothing behind */
#define OPENABLE 918            /* G11: the namespace can be opened */
#define SWEEPING 919            /* blocks are retired and names deleted as the other configurations assume */
#define TRIM_FORWARD 920        /* the trim step never falls */
#define RETAINED 921            /* G7: the trim step is at or below every hold and every pin, acknowledged ones too */
#define RUNNING 922             /* G7: … and what the running launch has not trained on yet */
#define REACHABLE 923           /* G7: nothing is deleted that a pin, a hold or a running launch can reach */
#define ALWAYS_HELD 924         /* a group always holds something */
#define KEPT 925                /* a pin that was acknowledged is there until it is given back */
#define LAUNCH_FENCED 926       /* nothing of a launch after its successor */
#define LAUNCH_SUCCESSOR 927    /* a launch or a removal that thaws does not undo its successor */
#define BOUNDED 928             /* G8: once a launch pinned, only pins hold anything */
#define NO_HOLE 929             /* G7: what the newest manifest names, at or above trim, is there */
#define SWEPT_GONE 930          /* G8: swept never falls, never passes trim, and its parts are gone, counted once */
#define NOTHING_LEFT 931        /* G9: a sweep after the last change leaves nothing dead behind */
#define NEVER_AGAIN 932         /* G3: an id that opens again goes on above its last epoch, and no name comes twice */
#define MOVED_WHOLE 933         /* who leaves the map has departed, and all of theirs is swept */
#define STATE_KEPT 934          /* whoever opens the id again finds the resume state that the map names */
