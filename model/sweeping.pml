/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sweep may delete, and in which order (docs/protocol.md; src/protocol/reclaim*.c, intent_swept.c): parts,
 * the segment that describes them, orphans. As in retention.pml the promises of R4 - R8 are used, not shown:
 * a proved manifest is the chain's, at any age; a process reads, decides and sends in one step, and may
 * sleep before its create; one that crashed never takes its next step.
 *
 * All steps are of one producer id, so seq is step + 1 and the swept seq is the swept step. Step 0 and 1
 * were published by incarnation 1, as objects 0 and 1. Object 2 is its third batch, 3 another upload for the
 * same seq that was given up; 4 is the first batch of incarnation 2.
 */
#include "claims.pml"
#include "switches.pml"

/* docs/protocol.md, Sweep: the order */
#ifndef NO_S_TRIM
#define NO_S_TRIM OFF(0)           /* parts of steps at or above trim go, too */
#endif
#ifndef NO_S_ANSWERED
#define NO_S_ANSWERED OFF(1)       /* swept is committed before every delete was answered */
#endif
#ifndef NO_S_FROM
#define NO_S_FROM OFF(2)           /* swept is committed on a base that another sweep changed */
#endif
/* segments */
#ifndef NO_S_SEGMENT_SWEPT
#define NO_S_SEGMENT_SWEPT OFF(3)  /* a segment goes when trim is above its last step, swept or not */
#endif
#ifndef NO_S_SEGMENT_LAST
#define NO_S_SEGMENT_LAST OFF(4)   /* … when swept is above its first step */
#endif
#ifndef NO_S_SEGMENT_NAMED
#define NO_S_SEGMENT_NAMED OFF(5)  /* … when a proved manifest does not reference it */
#endif
#ifndef NO_S_SEGMENT_DURABLE
#define NO_S_SEGMENT_DURABLE OFF(6) /* a candidate references it before its put was answered */
#endif
/* orphans, on proof */
#ifndef NO_S_OPEN
#define NO_S_OPEN OFF(7)           /* what no descriptor names goes, whoever may still publish it */
#endif
#ifndef NO_S_SAME
#define NO_S_SAME OFF(8)          /* the descriptors of an older manifest than that of the verdict are looked at */
#endif
#ifndef NO_S_EPOCH
#define NO_S_EPOCH OFF(9)         /* finished, forgotten: of all epochs, not only of those up to the entry's */
#endif
#ifndef NO_S_SEQ
#define NO_S_SEQ OFF(10)           /* published is enough: seq ≤ the map's seq, not its swept seq */
#endif
#ifndef NO_S_DESCRIPTOR
#define NO_S_DESCRIPTOR OFF(11)    /* an epoch that is over loses its published batches, too */
#endif
#ifndef NO_S_STATE
#define NO_S_STATE OFF(12)         /* the resume state that the map names goes as its parts do */
#endif
#ifndef NO_S_AGAIN
#define NO_S_AGAIN OFF(13)         /* what lies below the swept seq is not looked for again */
#endif

/* How much of the world a configuration has. */
#ifndef MAXV
#define MAXV 5
#endif
#ifndef SLOTS
#define SLOTS 2                 /* attempts of all processes together */
#endif
#ifndef TRIMS
#define TRIMS 2                 /* how often others move the trim step */
#endif
#ifndef DEPARTS
#define DEPARTS 0               /* others open the id, or forget it, or seal the namespace */
#endif
#ifndef ORPHANS
#define ORPHANS 0               /* sweepers look for orphans, uploads may be applied late */
#endif
#ifndef STATES
#define STATES 0                /* each batch brings a resume state, which the map names until the next one */
#endif
#ifndef FOLDED
#define FOLDED 1                /* the segment of steps 0 and 1 is there from the beginning */
#endif

#define V(m) C[m].version
#define NEWEST chain[newest]
#define SLOT (MAXV + 1)
#define OBJECTS 5
#define BIT(x) (1 << (x))
#define SEGMENT_LAST 1

typedef manifest {
    unsigned version : 3;
    unsigned previous : 4;
    unsigned next : 3;
    unsigned third : 3;         /* the objects of step 2 and 3; 0: none */
    unsigned fourth : 3;
    unsigned trim : 3;
    unsigned swept : 3;
    unsigned bytes : 3;         /* that were swept, in steps */
    unsigned folded : 1;        /* steps 0 and 1 are described by the segment, not by the tail */
    unsigned epoch : 2;         /* the entry of the id */
    unsigned departed : 1;      /* finished or forgotten */
    unsigned sealed : 1
};

manifest C[SLOT + SLOTS];       /* place v ≤ MAXV: what others made as version v; then attempts */
byte chain[MAXV + 1];
byte newest;
byte there;                     /* a bit for each object whose parts are there */
byte sent;                      /* … whose upload was sent: it may be applied late, or again */
byte states;                    /* a bit for each resume state that is there */
bool segment;                   /* the segment is there */
byte seq4;                      /* the seq of object 4 */
bool quiet;                     /* everybody has stopped but a sweeper */

#define EPOCH_OF(x) (x == 4 -> 2 : 1)
#define SEQ_OF(x) (x == 4 -> seq4 : (x == 3 -> 3 : x + 1))
#define OBJECT_AT(m, s) (s == 3 -> C[m].fourth : (s == 2 -> C[m].third : s))
/* The batch whose resume state the map of m names. */
#define LAST(m) OBJECT_AT(m, (C[m].next - 1))
/* Does a descriptor of m name object x, at a step from `least` on? */
#define NAMES(m, x, least) \
    ((x <= 1 && x >= least) || (x > 1 && C[m].third == x && 2 >= least) || (x > 1 && C[m].fourth == x && 3 >= least))

inline copy(to, from)
{
    C[to].version = C[from].version + 1;
    C[to].previous = from;
    C[to].next = C[from].next;
    C[to].third = C[from].third;
    C[to].fourth = C[from].fourth;
    C[to].trim = C[from].trim;
    C[to].swept = C[from].swept;
    C[to].bytes = C[from].bytes;
    C[to].folded = C[from].folded;
    C[to].epoch = C[from].epoch;
    C[to].departed = C[from].departed;
    C[to].sealed = C[from].sealed
}

byte old, x;                    /* scratch within a d_step; else 0 */

/* What the newest manifest lets a reader reach is there. In a d_step. */
inline check_reachable()
{
    old = C[NEWEST].trim;
    do
    :: old < C[NEWEST].next -> CLAIM(NO_HOLE, there & BIT(OBJECT_AT(NEWEST, old))); old++
    :: else -> break
    od;
    CLAIM(NO_HOLE, !C[NEWEST].folded || C[NEWEST].swept > SEGMENT_LAST || segment);
    CLAIM(STATE_KEPT, !STATES || (states & BIT(LAST(NEWEST))));
    old = 0
}

/* The create of `m` is applied, its name being the next one. In a d_step. */
inline land(m)
{
    CLAIM(ONE_CHAIN, V(m) == newest + 1 && C[m].previous == NEWEST);
    CLAIM(SWEPT_GONE, C[m].swept >= C[NEWEST].swept && C[m].swept <= C[m].trim);
    CLAIM(SWEPT_GONE, C[m].bytes == C[m].swept);
    old = C[NEWEST].swept;
    do
    :: old < C[m].swept -> CLAIM(SWEPT_GONE, ORPHANS || !(there & BIT(OBJECT_AT(m, old)))); old++
    :: else -> break
    od;
    chain[V(m)] = m;
    newest = V(m);
    check_reachable()
}

#define OTHERS(condition, change) \
    :: d_step { !quiet && newest < MAXV && condition -> \
        copy((newest + 1), NEWEST); \
        change; \
        land((newest + 1)); \
        printf("others commit version %d: trim %d, epoch %d, departed %d, sealed %d\n", newest, \
               C[NEWEST].trim, C[NEWEST].epoch, C[NEWEST].departed, C[NEWEST].sealed) }

proctype World()
{
    byte trims = TRIMS;
    do
#if !DEPARTS
    OTHERS(trims > 0, trims--)
#endif
    OTHERS(trims > 0 && C[NEWEST].trim < C[NEWEST].next, C[newest + 1].trim++; trims--)
    OTHERS(trims > 0 && C[NEWEST].trim < C[NEWEST].next, C[newest + 1].trim = C[NEWEST].next; trims--)
#if DEPARTS
    /* Finished or forgotten; sealed; opened by incarnation 2. */
    OTHERS(!C[NEWEST].departed && !C[NEWEST].sealed, C[newest + 1].departed = 1)
    OTHERS(!C[NEWEST].sealed, C[newest + 1].sealed = 1)
    OTHERS(C[NEWEST].epoch == 1 && !C[NEWEST].sealed, C[newest + 1].epoch = 2; C[newest + 1].departed = 0)
#endif
#if ORPHANS
    :: d_step { !quiet && (sent & ~there) != 0 ->
                there = there | sent; states = (STATES -> states | sent : 0); printf("uploads are applied late\n") }
#endif
    od
}

#define PICK_ONE(m, v, least) :: v >= least && v <= newest -> m = chain[v]
#if MAXV > 4
#define PICK_FIVE(m, least) PICK_ONE(m, 5, least)
#else
#define PICK_FIVE(m, least)
#endif
#define PICK(m, least) \
    if \
    PICK_ONE(m, 0, least) PICK_ONE(m, 1, least) PICK_ONE(m, 2, least) PICK_ONE(m, 3, least) \
    PICK_ONE(m, 4, least) PICK_FIVE(m, least) \
    fi

/* Sent, and some time later closed: see retention.pml. */
#define CREATE(retry) \
        if \
        :: V(mine) == newest + 1 -> \
            d_step { land(mine); printf("P%d: version %d CREATED\n", me, newest) }; \
            goto made \
        :: V(mine) <= newest && chain[V(mine)] == mine -> goto made \
        :: V(mine) <= newest && chain[V(mine)] != mine -> \
            printf("P%d: version %d is another's\n", me, V(mine)); \
            seen = V(mine); \
            goto retry \
        fi

/* Incarnation `me` of the id. Its batch is uploaded, then published; a publish of incarnation 1 may fold. */
proctype Producer(byte me; byte mine; byte tries)
{
    byte base, seen;
    bool folds;
    byte end = mine + tries;

    mine = mine - 1;
    if
    :: me == 2 ->
        atomic { /* its open is World's: it is told the offset */
            !quiet && C[NEWEST].epoch == 2;
            seq4 = C[NEWEST].next + 1;
            seen = newest
        }
        atomic {
            !quiet;
            sent = sent | BIT(4);
            there = there | BIT(4);
            states = (STATES -> states | BIT(4) : 0);
            printf("P2 uploads its batch, seq %d\n", seq4)
        }
    :: me == 1
    fi;
look:
    atomic {
        !quiet;
        PICK(base, seen);
        printf("P%d reads version %d\n", me, V(base));
        seen = V(base);
        if
        :: C[base].epoch != me || C[base].departed || C[base].sealed -> goto done
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: else
        fi;
        if
        :: !folds && !C[base].folded && C[base].swept == 0 ->
            segment = !NO_S_SEGMENT_DURABLE;
            folds = true;
            printf("P%d puts the segment\n", me)
        :: true
        fi
    }
    atomic {
        !quiet;
        d_step {
            mine++;
            copy(mine, base);
            x = (me == 1 -> 2 : 4);
            if
            :: C[base].next == 2 -> C[mine].third = x
            :: else -> C[mine].fourth = x
            fi;
            C[mine].next++;
            C[mine].folded = C[base].folded || (folds && C[base].swept == 0);
            printf("P%d sends version %d: publishes object %d, folded %d\n", me, V(mine), x, C[mine].folded);
            x = 0;
            base = 0
        }
    }
    atomic {
        !quiet;
        CREATE(look);
made:
        printf("P%d has published\n", me)
    }
done:
    atomic {
        base = 0; seen = 0; folds = false
    }
}

/* May object x go, by the proved manifest m? */
#define OVER(m, x) (C[m].sealed || EPOCH_OF(x) < C[m].epoch || C[m].departed && EPOCH_OF(x) == C[m].epoch)
#define MAY_BE_OVER(m, x) (OVER(m, x) || NO_S_OPEN || C[m].departed && NO_S_EPOCH)
#define IS_ORPHAN(m, x) \
    (SEQ_OF(x) <= C[m].swept && !NO_S_AGAIN || SEQ_OF(x) <= C[m].next && NO_S_SEQ || \
     MAY_BE_OVER((NO_S_SAME -> NEWEST : m), x) && (!NAMES(m, x, C[m].swept) || NO_S_DESCRIPTOR))
#define SEGMENT_GOES(m) \
    (C[m].swept > SEGMENT_LAST || C[m].trim > SEGMENT_LAST && NO_S_SEGMENT_SWEPT || \
     C[m].swept > 0 && NO_S_SEGMENT_LAST || !C[m].folded && NO_S_SEGMENT_NAMED)
/* What must not stay behind when m is the newest manifest for good. */
#define IS_DEAD(m, x) (!NAMES(m, x, C[m].swept) && (SEQ_OF(x) <= C[m].swept || ORPHANS && OVER(m, x)))

/* With its state, but for the one that the map of m names. */
inline delete(which, m)
{
    d_step {
        there = there & ~BIT(which);
        if
        :: LAST(m) != which || NO_S_STATE -> states = states & ~BIT(which)
        :: else
        fi;
        printf("S%d deletes object %d\n", me, which);
        check_reachable()
    }
}

/* Passes, each from any manifest of the chain; killed anywhere, begun again. After the observer's stop one
   more whole pass must leave nothing behind. */
proctype Sweeper(byte me; byte mine; byte tries)
{
    byte base, seen, from, to, at;
    bool last_pass;
    byte end = mine + tries;

    mine = mine - 1;
look:
    atomic {
        base = 0; seen = 0;
        last_pass = quiet;
        if
        :: last_pass -> base = NEWEST
        :: else -> PICK(base, 0)
        fi;
        from = C[base].swept;
        to = (NO_S_TRIM -> C[base].next : C[base].trim);
        at = from;
        printf("S%d reads version %d: swept %d, trim %d\n", me, V(base), from, to)
    }
parts: /* of the steps below trim, as the descriptors say; each delete is answered before the next line */
    atomic {
        if
        :: !quiet && at > from -> goto look                             /* killed */
        :: segment && at == from && SEGMENT_GOES(base) -> goto segments
        :: at < to && at <= SEGMENT_LAST && C[base].folded && !segment ->
            CLAIM(NO_HOLE, base != NEWEST);                             /* not there: is there a newer manifest? */
            goto look
        :: at < to && !(at <= SEGMENT_LAST && C[base].folded && !segment) ->
            if
            :: there & BIT(OBJECT_AT(base, at)) -> x = OBJECT_AT(base, at); delete(x, base); x = 0
            :: else
            :: NO_S_ANSWERED
            fi;
            at++;
            goto parts
        :: at == to ->
            if
            :: from < to -> seen = V(base); base = 0
            :: else -> goto segments
            fi
        fi
    }
commit: /* intent_swept_apply */
    atomic {
        PICK(base, seen);
        seen = V(base);
        if
        :: C[base].swept >= to -> goto segments
        :: C[base].swept < to && C[base].swept != from && !NO_S_FROM -> goto look       /* another went on */
        :: C[base].swept < to && (C[base].swept == from || NO_S_FROM) ->
            if
            :: mine + 1 >= end || V(base) >= MAXV -> goto done
            :: else
            fi;
            d_step {
                mine++;
                copy(mine, base);
                C[mine].swept = to;
                C[mine].bytes = C[base].bytes + to - from;
                C[mine].folded = C[base].folded && to <= SEGMENT_LAST;
                printf("S%d sends version %d: swept %d\n", me, V(mine), to);
                base = 0
            }
        fi
    }
    atomic {
        CREATE(commit);
made:
        base = mine
    }
segments:
    atomic {
        if
        :: !quiet -> goto look                                          /* killed */
        :: segment && SEGMENT_GOES(base) ->
            d_step {
                segment = false;
                printf("S%d deletes the segment\n", me);
                check_reachable()
            }
        :: !(segment && SEGMENT_GOES(base))
        fi
    }
orphans: /* what a listing shows */
    atomic {
        at = 0;
        do
        :: !ORPHANS || at == OBJECTS -> break
        :: ORPHANS && at < OBJECTS ->
            if
            :: ((there | states) & BIT(at)) && IS_ORPHAN(base, at) -> delete(at, base)
            :: else
            fi;
            at++
        od;
        at = 0;
        if
        :: !last_pass || base != NEWEST -> goto look
        :: else
        fi;
        CLAIM(NOTHING_LEFT, C[NEWEST].swept == C[NEWEST].trim);
        CLAIM(NOTHING_LEFT, !segment || C[NEWEST].swept <= SEGMENT_LAST);
        do
        :: at == OBJECTS -> break
        :: at < OBJECTS ->
            CLAIM(NOTHING_LEFT, !(there & BIT(at)) || !IS_DEAD(NEWEST, at));
            CLAIM(NOTHING_LEFT, !(states & BIT(at)) || !IS_DEAD(NEWEST, at) || LAST(NEWEST) == at);
            at++
        od
    }
done:
    atomic {
        base = 0; seen = 0; from = 0; to = 0; at = 0; last_pass = false
    }
}

/* From any state: everybody stops for good, but for a sweeper. */
proctype Observer()
{
    quiet = true
}

init
{
    atomic {
        READ_SWITCHES;
        C[0].next = 2;
        C[0].epoch = 1;
        C[0].folded = FOLDED;
        segment = FOLDED;
        there = BIT(0) | BIT(1) | BIT(2) | (ORPHANS -> BIT(3) : 0);
        states = (STATES -> there : 0);
        sent = (ORPHANS -> BIT(0) | BIT(3) : 0);
        seq4 = 7;
        run World();
        PROCESSES
    }
}
