/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of departed producers (docs/protocol.md; src/protocol/reclaim_swept.c, reclaim_orphans.c,
 * intent_swept.c, lookup.c): how an id gets there, how it is found when it opens again, when a page may go.
 * As in retention.pml a proved manifest is the chain's, at any age; a process reads, decides and sends in
 * one step, and may sleep before its create.
 *
 * Two ids, 0 and 1. Id 0 has finished when all begins, and all of its batches are swept.
 */
#include "claims.pml"
#include "switches.pml"

/* docs/protocol.md, Pages: the move */
#ifndef NO_P_DURABLE
#define NO_P_DURABLE OFF(0)        /* the page is referenced before its put was answered */
#endif
#ifndef NO_P_SWEPT
#define NO_P_SWEPT OFF(1)          /* who has departed moves, though not all of theirs is swept */
#endif
#ifndef NO_P_DEPARTED
#define NO_P_DEPARTED OFF(2)       /* whoever has nothing left to sweep moves, though it may publish more */
#endif
#ifndef NO_P_NAME
#define NO_P_NAME OFF(3)           /* a page may be referenced first by a later version than its name says */
#endif
#ifndef NO_P_BASE
#define NO_P_BASE OFF(4)           /* … by a base whose page is not the one it was made from */
#endif
#ifndef NO_P_ENTRY
#define NO_P_ENTRY OFF(5)          /* whoever is on the page leaves the map, though it was opened again since */
#endif
/* the look-up */
#ifndef NO_P_LOOKUP
#define NO_P_LOOKUP OFF(6)         /* who is not in the map is new, the page is not read */
#endif
#ifndef NO_P_MAP_FIRST
#define NO_P_MAP_FIRST OFF(7)      /* the page is looked at before the map */
#endif
#ifndef NO_P_MISSING
#define NO_P_MISSING OFF(8)        /* a page that is not there is an empty one */
#endif
/* the deletion */
#ifndef NO_P_OWN
#define NO_P_OWN OFF(9)            /* a page that any proved manifest does not reference goes */
#endif
#ifndef NO_P_REFERENCED
#define NO_P_REFERENCED OFF(10)    /* the page that the manifest references goes, too */
#endif

#ifndef MAXV
#define MAXV 5
#endif
#ifndef SLOTS
#define SLOTS 4                 /* attempts of all processes together, and pages */
#endif

#ifndef IDLE
#define IDLE 0                  /* commits of others that change nothing here */
#endif

#define V(m) C[m].version
#define NEWEST chain[newest]
#define SLOT (MAXV + 1)

/* The entry of id i: epoch 0 is none. */
typedef entry {
    unsigned epoch : 3;
    unsigned departed : 1;
    unsigned swept : 1
};
typedef manifest {
    unsigned version : 3;
    unsigned previous : 4;
    unsigned page : 3;          /* 1 + its place in P; 0: none */
    unsigned opens : 2;         /* 1 + the id that it opens; 0: none */
    entry id[2]
};
/* A page, made for the attempt of the same place. */
typedef leaf {
    unsigned version : 3;       /* in its name; 0: it was never put */
    unsigned there : 1;
    unsigned first : 3;         /* the epoch of id 0 that lies there; 0: none */
    unsigned second : 3;        /* … of id 1 */
    unsigned on : 3             /* 1 + the page that it was made from */
};

manifest C[SLOT + SLOTS];
leaf P[SLOTS];
byte chain[MAXV + 1];
byte newest;
byte top[2];                    /* the highest epoch of each id on the chain */
bool quiet;

#define ON_PAGE(k, i) (i == 0 -> P[k].first : P[k].second)

inline copy(to, from)
{
    C[to].version = C[from].version + 1;
    C[to].previous = from;
    C[to].page = C[from].page;
    C[to].id[0].epoch = C[from].id[0].epoch;
    C[to].id[0].departed = C[from].id[0].departed;
    C[to].id[0].swept = C[from].id[0].swept;
    C[to].id[1].epoch = C[from].id[1].epoch;
    C[to].id[1].departed = C[from].id[1].departed;
    C[to].id[1].swept = C[from].id[1].swept
}

byte i;                         /* scratch within a d_step; else 0 */

inline check_page()
{
    CLAIM(NO_HOLE, C[NEWEST].page == 0 || P[C[NEWEST].page - 1].there)
}

/* The create of `m` is applied, its name being the next one. In a d_step. */
inline land(m)
{
    CLAIM(ONE_CHAIN, V(m) == newest + 1 && C[m].previous == NEWEST);
    i = 0;
    do
    :: i == 2 -> break
    :: i < 2 ->
        if
        :: C[m].opens == i + 1 ->
            CLAIM(NEVER_AGAIN, C[m].id[i].epoch == top[i] + 1);
            top[i] = C[m].id[i].epoch
        :: C[m].id[i].epoch == 0 && C[NEWEST].id[i].epoch != 0 ->
            CLAIM(MOVED_WHOLE, C[NEWEST].id[i].departed && C[NEWEST].id[i].swept)
        :: else
        fi;
        i++
    od;
    i = 0;
    chain[V(m)] = m;
    newest = V(m);
    check_page()
}

#define OTHERS(condition, change) \
    :: d_step { !quiet && newest < MAXV && condition -> \
        copy((newest + 1), NEWEST); \
        change; \
        land((newest + 1)); \
        printf("others commit version %d: id 1 departed %d, swept %d\n", newest, C[NEWEST].id[1].departed, \
               C[NEWEST].id[1].swept) }
proctype World()
{
    byte idle = IDLE;
    do
    OTHERS(idle > 0, idle--)
    OTHERS(C[NEWEST].id[1].epoch != 0 && !C[NEWEST].id[1].departed, C[newest + 1].id[1].departed = 1)
    OTHERS(C[NEWEST].id[1].epoch != 0 && !C[NEWEST].id[1].swept, C[newest + 1].id[1].swept = 1)
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
            d_step { land(mine); printf("P%d: version %d CREATED\n", me, newest) } \
        :: V(mine) <= newest && chain[V(mine)] == mine \
        :: V(mine) <= newest && chain[V(mine)] != mine -> \
            printf("P%d: version %d is another's\n", me, V(mine)); \
            seen = V(mine); \
            goto retry \
        fi

/* Opens id `which`: its epoch is the one above its last, wherever that is written. */
proctype Opener(byte me; byte mine; byte tries; byte which)
{
    byte base, seen, at, epoch;
    byte end = mine + tries;

    mine = mine - 1;
look:
    atomic {
        !quiet;
        PICK(base, seen);
        printf("P%d reads version %d\n", me, V(base));
        seen = V(base);
        epoch = C[base].id[which].epoch;
        if
        :: C[base].page != 0 && (epoch == 0 && !NO_P_LOOKUP || NO_P_MAP_FIRST) ->
            at = C[base].page - 1;
            printf("P%d reads page %d, there %d\n", me, at, P[at].there);
            if
            :: P[at].there || NO_P_MISSING ->
                if
                :: P[at].there && ON_PAGE(at, which) != 0 -> epoch = ON_PAGE(at, which)
                :: else
                fi
            :: else ->
                CLAIM(NO_HOLE, base != NEWEST);         /* not there: is there a newer manifest? */
                at = 0;
                goto look
            fi;
            at = 0
        :: else
        fi;
        CLAIM(REFUSAL, epoch != 0 || NO_P_LOOKUP);      /* "there is no such producer", said by a proved manifest */
        if
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            C[mine].opens = which + 1;
            C[mine].id[which].epoch = epoch + 1;
            C[mine].id[which].departed = 0;
            C[mine].id[which].swept = 0;
            printf("P%d sends version %d: opens id %d at epoch %d\n", me, V(mine), which, epoch + 1);
            base = 0;
            epoch = 0
        }
    }
    atomic {
        !quiet;
        CREATE(look)
    }
done:
    atomic {
        base = 0; seen = 0; at = 0; epoch = 0
    }
}

#define DEPARTS(m, i) \
    (C[m].id[i].epoch != 0 && (C[m].id[i].departed || NO_P_DEPARTED) && (C[m].id[i].swept || NO_P_SWEPT))
#define IS_MOVED(m, k, i) \
    (ON_PAGE(k, i) != 0 && C[m].id[i].epoch != 0 && (ON_PAGE(k, i) == C[m].id[i].epoch && DEPARTS(m, i) || NO_P_ENTRY))

/* Makes a page from the one that a proved manifest has and those that depart, puts it, and commits it with
   what it swept. */
proctype Sweeper(byte me; byte mine; byte tries)
{
    byte base, seen, k;
    byte end = mine + tries;

    mine = mine - 1;
    atomic {
        PICK(base, 0);
        DEPARTS(base, 0) || DEPARTS(base, 1);
        C[base].page == 0 || P[C[base].page - 1].there;     /* it reads the old page */
        d_step {
            k = mine + 1 - SLOT;                            /* place of its page */
            P[k].version = V(base) + 1;
            P[k].on = C[base].page;
            if
            :: C[base].page != 0 ->
                P[k].first = P[C[base].page - 1].first;
                P[k].second = P[C[base].page - 1].second
            :: else
            fi;
            if
            :: DEPARTS(base, 0) -> P[k].first = C[base].id[0].epoch
            :: else
            fi;
            if
            :: DEPARTS(base, 1) -> P[k].second = C[base].id[1].epoch
            :: else
            fi;
            P[k].there = !NO_P_DURABLE;
            printf("P%d reads version %d, puts page %d of version %d: epochs %d, %d\n", me, V(base), k,
                   P[k].version, P[k].first, P[k].second);
            base = 0
        }
    }
look: /* intent_swept_apply */
    atomic {
        !quiet;
        PICK(base, seen);
        seen = V(base);
        if
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: (P[k].version != V(base) + 1 && !NO_P_NAME) || (P[k].on != C[base].page && !NO_P_BASE) ->
            goto done                                       /* does not fit: swept is committed without it */
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            C[mine].page = 1 + k;
            if
            :: IS_MOVED(base, k, 0) -> C[mine].id[0].epoch = 0; C[mine].id[0].departed = 0; C[mine].id[0].swept = 0
            :: else
            fi;
            if
            :: IS_MOVED(base, k, 1) -> C[mine].id[1].epoch = 0; C[mine].id[1].departed = 0; C[mine].id[1].swept = 0
            :: else
            fi;
            printf("P%d sends version %d with page %d\n", me, V(mine), k);
            base = 0
        }
    }
    atomic {
        !quiet;
        CREATE(look)
    }
done:
    atomic {
        base = 0; seen = 0; k = 0
    }
}

#define GOES(m, k) \
    (P[k].there && (P[k].version <= V(m) || NO_P_OWN) && (C[m].page != k + 1 || NO_P_REFERENCED))
/* A sweep's look at the pages, by any proved manifest; after the observer's stop by the newest. */
proctype Deleter()
{
    byte base, k;
    bool last_pass;
look:
    atomic {
        last_pass = quiet;
        if
        :: last_pass -> base = NEWEST
        :: else -> PICK(base, 0)
        fi;
        do
        :: k == SLOTS -> break
        :: k < SLOTS ->
            if
            :: GOES(base, k) ->
                d_step {
                    P[k].there = 0;
                    printf("D deletes page %d, by version %d\n", k, V(base));
                    check_page()
                }
            :: else
            fi;
            k++
        od;
        base = 0;
        k = 0;
        if
        :: !last_pass -> goto look
        :: else
        fi;
        do
        :: k == SLOTS -> break
        :: k < SLOTS ->
            CLAIM(NOTHING_LEFT, !P[k].there || C[NEWEST].page == k + 1 || P[k].version > newest);
            k++
        od;
        k = 0
    }
}

/* From any state: everybody stops for good, but for who deletes. */
proctype Observer()
{
    quiet = true
}

init
{
    atomic {
        READ_SWITCHES;
        C[0].id[0].epoch = 1;
        C[0].id[0].departed = 1;
        C[0].id[0].swept = 1;
        C[0].id[1].epoch = 1;
        top[0] = 1;
        top[1] = 1;
        run World();
        PROCESSES
    }
}
