/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups, launches, holds, pins, releases and the trim step (docs/protocol.md; src/protocol/intent_launch.c,
 * intent_pin.c, intent_group.c) on one chain. Steps are 0 … 3, all of them published; deleted are always
 * all steps below some step. What R4 - R8 promise is used here, not shown again: a proved manifest is the
 * chain's, at any age; an attempt is closed before the next one.
 */
#include "claims.pml"
#include "switches.pml"

/* docs/protocol.md, Groups: W is the least of all holds and pins */
#ifndef NO_G_W
#define NO_G_W OFF(0)              /* each group holds its newest pin only */
#endif
#ifndef NO_G_AGAIN
#define NO_G_AGAIN OFF(1)          /* W is that of the first try's base, also in later tries */
#endif
#ifndef NO_G_MAX
#define NO_G_MAX OFF(2)            /* trim is W, not the highest W so far */
#endif
#ifndef NO_G_PIN_TRIM
#define NO_G_PIN_TRIM OFF(3)       /* a pin below trim is accepted */
#endif
#ifndef NO_G_LAUNCH_TRIM
#define NO_G_LAUNCH_TRIM OFF(4)    /* a launch that begins below trim is accepted */
#endif
/* the hold */
#ifndef NO_G_HOLD
#define NO_G_HOLD OFF(5)           /* resuming a group that has pins sets no hold */
#endif
#ifndef NO_G_RAISE
#define NO_G_RAISE OFF(6)          /* a pin above the hold leaves the hold where it is */
#endif
#ifndef NO_G_KEEP
#define NO_G_KEEP OFF(7)           /* a pin at or above the hold ends it; the release of the last pin sets it anew */
#endif
#ifndef NO_G_SAME
#define NO_G_SAME OFF(8)           /* a pin that is there already, of an earlier launch, leaves the hold */
#endif
/* keys and fences */
#ifndef NO_G_NONCE
#define NO_G_NONCE OFF(9)          /* a release names an id, not the pin's nonce */
#endif
#ifndef NO_G_LAUNCH
#define NO_G_LAUNCH OFF(10)        /* pins and releases of any launch are accepted */
#endif
#ifndef NO_G_NUMBER
#define NO_G_NUMBER OFF(11)        /* a later try of a launch takes the number seen then, plus one */
#endif
#ifndef NO_G_SEEN
#define NO_G_SEEN OFF(12)          /* the number seen is compared, not whose it was: a removed group counts anew */
#endif
#ifndef NO_G_REMOVE
#define NO_G_REMOVE OFF(13)        /* group rm does not look at who holds the group now */
#endif
/* R8 for who has no entry in the map */
#ifndef NO_G_MARKER
#define NO_G_MARKER OFF(14)        /* CREATED counts as made, the marker is not read */
#endif
#ifndef NO_G_PROVED
#define NO_G_PROVED OFF(15)        /* a sweeper takes the trim step of a manifest that is not proved */
#endif

/* How much of the world a configuration has. */
#ifndef MAXV
#define MAXV 5
#endif
#ifndef SLOTS
#define SLOTS 5                 /* attempts of all processes together */
#endif
#ifndef OTHERS
#define OTHERS 2                /* commits of others */
#endif

#define NONE 7
#define V(m) C[m].version
#define NEWEST chain[newest]
#define SLOT (MAXV + 1)
#define LEAST(a, b) (a < b -> a : b)
#define MOST(a, b) (a > b -> a : b)

/* A pin's nonce is its number; id and step come with it. Pin 3 has the id of pin 0, used anew. */
#define BIT(p) (1 << (p))
#define AT_ONE BIT(0)           /* a checkpoint that is there from the beginning */
#define AT_TWO (BIT(2) | BIT(4))    /* 2: launch 1 makes it, a save that took long; 4: launch 2 */
#define AT_THREE (BIT(1) | BIT(3))  /* 1: the newest one of the beginning; 3: launch 2 */
#define LOWEST(pins) (((pins) & AT_ONE) -> 1 : (((pins) & AT_TWO) -> 2 : (((pins) & AT_THREE) -> 3 : NONE)))
#define HIGHEST(pins) (((pins) & AT_THREE) -> 3 : (((pins) & AT_TWO) -> 2 : (((pins) & AT_ONE) -> 1 : 0)))
#define SAME_ID(p) (NO_G_NONCE && (p) == 0 -> BIT(0) | BIT(3) : BIT(p))

typedef manifest {
    unsigned version : 3;
    unsigned previous : 4;
    unsigned trim : 3;
    unsigned launch : 2;        /* who holds the group: a process; 0: the group is not there */
    unsigned number : 3;
    unsigned hold : 3;          /* a step; NONE: no group */
    unsigned pins : 5;
    unsigned other : 3;         /* what the second group holds; NONE: it is not there */
    unsigned start : 3;         /* what the launch has not trained on yet begins here; NONE: no group */
    unsigned since : 3;         /* the version that made it the launch (or removed the group) */
    unsigned by : 2;            /* who committed it; 0: others */
    unsigned late : 1           /* a launch or a removal whose caller saw another launch first */
};

manifest C[SLOT + SLOTS];       /* place v ≤ MAXV: what others made as version v; then attempts */
byte chain[MAXV + 1];
byte newest;
byte gone;                      /* the steps below it are deleted */
byte acknowledged;              /* pins whose call was answered OK */
byte given_back;                /* pins that their owner, or an operator, asked to release */
byte asked;                     /* pins that were asked for here: a nonce is used once */

/* What a group holds, and all of them. */
#define GROUP_W(m) LEAST(C[m].hold, LOWEST(C[m].pins))
#define ALL_W(m) LEAST(GROUP_W(m), C[m].other)
/* A hold counts beside pins only where it is higher: NONE is 0 here. */
#define HOLD_OR_0(m) (C[m].hold == NONE -> 0 : C[m].hold)
#define GROUP_F(m) (C[m].launch == 0 -> NONE : MOST(HOLD_OR_0(m), HIGHEST(C[m].pins)))
#define ALL_F(m) LEAST(GROUP_F(m), C[m].other)

inline copy(to, from)
{
    C[to].version = C[from].version + 1;
    C[to].previous = from;
    C[to].trim = C[from].trim;
    C[to].launch = C[from].launch;
    C[to].number = C[from].number;
    C[to].hold = C[from].hold;
    C[to].pins = C[from].pins;
    C[to].other = C[from].other;
    C[to].start = C[from].start;
    C[to].since = C[from].since
}

byte w, old;                    /* scratch within a d_step; else 0 */

/* Every candidate states trim = max(trim of its base, W). `first`: what the first try found; 1 + W, or 0. */
inline settle(m, first)
{
    w = (NO_G_W -> ALL_F(m) : ALL_W(m));
    if
    :: NO_G_AGAIN && first != 0 -> w = first - 1
    :: else -> first = w + 1
    fi;
    if
    :: w != NONE && (w > C[m].trim || NO_G_MAX) -> C[m].trim = w
    :: else
    fi;
    w = 0
}

/* The create of `m` is applied, its name being the next one. In a d_step. */
inline land(m)
{
    old = NEWEST;
    CLAIM(ONE_CHAIN, V(m) == newest + 1 && C[m].previous == old);
    CLAIM(TRIM_FORWARD, C[m].trim >= C[old].trim);
    CLAIM(RETAINED, C[m].trim <= C[m].hold && C[m].trim <= LOWEST(C[m].pins) && C[m].trim <= C[m].other);
    CLAIM(RUNNING, C[m].trim <= C[m].start);
    CLAIM(REACHABLE, gone <= ALL_W(m) && gone <= C[m].start);
    CLAIM(ALWAYS_HELD, C[m].launch == 0 || GROUP_W(m) != NONE);
    CLAIM(KEPT, C[m].launch == 0 || (acknowledged & ~given_back & C[old].pins & ~C[m].pins) == 0);
    CLAIM(LAUNCH_FENCED, C[m].pins == C[old].pins || C[m].by == C[old].launch || C[m].launch == 0);
    CLAIM(LAUNCH_SUCCESSOR, !C[m].late);
    chain[V(m)] = m;
    newest = V(m);
    old = 0
}

/* What others do in no time: publish, and move the second group on, or back to the first step retained. */
proctype World()
{
    byte x;
    byte others = OTHERS;
    do
    :: d_step { newest < MAXV && others > 0 ->
        others--;
        copy((newest + 1), NEWEST);
        settle((newest + 1), x);
        land((newest + 1));
        x = 0;
        printf("others commit version %d\n", newest)
       }
    :: d_step { newest < MAXV && others > 0 && C[NEWEST].other < 3 ->
        others--;
        copy((newest + 1), NEWEST);
        C[newest + 1].other = 3;
        settle((newest + 1), x);
        land((newest + 1));
        x = 0;
        printf("others move the second group to step 3 with version %d, trim is %d\n", newest, C[NEWEST].trim)
       }
    :: d_step { newest < MAXV && others > 0 && C[NEWEST].other != NONE &&
                C[NEWEST].other > C[NEWEST].trim ->
        others--;
        copy((newest + 1), NEWEST);
        C[newest + 1].other = C[NEWEST].trim;
        settle((newest + 1), x);
        land((newest + 1));
        x = 0;
        printf("others resume the second group at step %d with version %d\n", C[NEWEST].trim, newest)
       }
    od
}

/* A manifest of the chain, no older than what was read before. */
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

/* Names this old may be retired: not the newest block, not the one before (blocks have one version here). */
#define MAY_BE_DEAD(v) ((v) + 1 < newest)

/* The create, closed; `made` or `again`. Between sending and this step anything may have happened: a create
   that is applied late, and a reply that was lost, are the same as a process that sleeps here. */
#define CREATE \
        if \
        :: V(mine) == newest + 1 -> \
            d_step { land(mine); printf("P%d: version %d CREATED, trim is %d\n", me, newest, C[mine].trim) }; \
            base = mine; \
            goto made \
        :: V(mine) <= newest && chain[V(mine)] == mine -> base = mine; goto made \
        :: V(mine) <= newest && chain[V(mine)] != mine -> \
            printf("P%d: version %d is another's\n", me, V(mine)); \
            seen = V(mine); \
            goto look \
        :: MAY_BE_DEAD(V(mine)) -> \
            printf("P%d: the name of version %d is dead\n", me, V(mine)); \
            if \
            :: NO_G_MARKER -> base = mine; goto made \
            :: else -> seen = V(mine); goto look        /* neither made nor lost: is our key there? */ \
            fi \
        fi

/* A pin at `step` moves the hold up. */
#define MOVES_HOLD(m, step) \
    (!NO_G_RAISE && C[m].hold != NONE && ((step) > C[m].hold || (step) == C[m].hold && NO_G_KEEP))

/* No release touches the hold; without one the last one that goes would leave it behind. */
#define RELEASE(m, which) \
    if \
    :: (C[m].pins & ~(which)) == 0 && C[m].hold == NONE -> C[m].hold = HIGHEST(C[m].pins) \
    :: else \
    fi; \
    C[m].pins = C[m].pins & ~(which)

/*
 * The committing rank of launch `me`. Launch 1 has the group when all begins: sooner or later it is a
 * zombie. The others resume the group, from any checkpoint they find or have been given.
 */
proctype Trainer(byte me; byte mine; byte tries)
{
    byte base, seen;            /* the base; the version below which nothing is looked at again */
    byte add, drop;             /* the call: 1 + a pin, and pins to release */
    byte start, number, fences, since;  /* of the launch; 1 + the number seen at the first base, and whose */
    byte first;
    bool opened;
    byte end = mine + tries;

    atomic {
        mine = mine - 1;
        opened = (me == 1);
        if
        :: opened -> start = 1
        :: !opened -> start = 0
        :: !opened -> start = 1
        :: !opened -> start = 3
        fi
    }
look:
    atomic {
        PICK(base, seen);
        printf("P%d reads version %d\n", me, V(base));
        /* What is asked of it: only pins that this launch has reached, and releases of pins that it saw. */
        if
        :: !opened || add != 0 || drop != 0 -> skip
        :: else ->
            if
            :: me == 1 && !(asked & BIT(2)) -> add = 3
            :: me == 2 && start <= 2 && !(asked & BIT(4)) -> add = 5
            :: me == 2 && !(asked & BIT(3)) -> add = 4
            :: me == 2 && !(asked & BIT(1)) && (C[base].pins & BIT(1)) -> add = 2   /* the same id and cursor */
            :: true
            fi;
            if
            :: add != 0 && !(add == 4 && (C[base].pins & BIT(0)))
            :: C[base].pins & BIT(0) -> drop = BIT(0)           /* also together with a pin */
            :: add == 0 && (C[base].pins & BIT(1)) -> drop = BIT(1)
            :: add == 0 && me == 2 && (C[base].pins & BIT(4)) -> drop = BIT(4)
            :: add == 0 && C[base].pins != 0 -> drop = C[base].pins         /* reconcile: whatever it has no longer */
            :: add == 0 -> goto done
            fi;
            asked = asked | (add != 0 -> BIT(add - 1) : 0);
            given_back = given_back | drop;
            printf("P%d: asked to pin %d (0: none), to release %d\n", me, add, drop)
        fi;

        /* intent_launch_apply, intent_pin_apply */
        seen = V(base);
        if
        :: opened -> goto decide_pin
        :: !opened && C[base].launch == me -> goto made
        :: else
        fi;
        if
        :: number == 0 || NO_G_NUMBER ->
            if
            :: number == 0 -> since = C[base].since
            :: else
            fi;
            number = C[base].number + 1;
            fences = C[base].launch
        :: else
        fi;
        if
        :: number != C[base].number + 1 || (fences != C[base].launch && !NO_G_SEEN) -> goto fenced
        :: start < C[base].trim && !NO_G_LAUNCH_TRIM -> goto trimmed
        :: mine + 1 >= end || V(base) >= MAXV -> goto done      /* the bounds of the model */
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            C[mine].by = me;
            C[mine].launch = me;
            C[mine].number = number;
            C[mine].late = (C[base].since != since);
            C[mine].since = V(mine);
            C[mine].start = start;
            if
            :: NO_G_HOLD && C[base].pins != 0
            :: else -> C[mine].hold = start
            fi;
            settle(mine, first);
            base = 0;
            printf("P%d sends version %d: resumes at step %d\n", me, V(mine), start)
        };
        goto create;
decide_pin:
        if
        :: C[base].launch == 0 -> goto done                     /* GROUP_GONE */
        :: C[base].launch != me && !NO_G_LAUNCH -> goto fenced
        :: else
        fi;
        if
        :: add != 0 && (C[base].pins & BIT(add - 1)) && (C[base].pins & drop) == 0 &&
           (NO_G_SAME || !MOVES_HOLD(base, LOWEST(BIT(add - 1)))) -> goto made
        :: add == 0 && (C[base].pins & drop) == 0 -> goto made
        :: add == 4 && (C[base].pins & BIT(0) & ~drop) -> goto done     /* PIN_EXISTS */
        :: else
        fi;
        if
        :: add != 0 && LOWEST(BIT(add - 1)) < C[base].trim && !NO_G_PIN_TRIM -> goto trimmed
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            C[mine].by = me;
            if
            :: add != 0 ->
                old = LOWEST(BIT(add - 1));
                C[mine].pins = (C[mine].pins & ~drop) | BIT(add - 1);
                if
                :: MOVES_HOLD(mine, old) ->
                    C[mine].hold = (NO_G_KEEP -> NONE : old)
                :: else
                fi;
                if
                :: C[mine].start != NONE && old >= C[mine].start -> C[mine].start = old
                :: else
                fi
            :: else ->
                RELEASE(mine, drop)
            fi;
            old = 0;
            settle(mine, first);
            base = 0;
            printf("P%d sends version %d: pins %d, hold %d\n", me, V(mine), C[mine].pins, C[mine].hold)
        }
    }
create:
    atomic {
        CREATE;
made:
        printf("P%d: its call is done, by version %d\n", me, V(base));
        CLAIM(DURABLE, chain[V(base)] == base);
        if
        :: !opened
        :: opened && add != 0 ->
            CLAIM(KEPT, C[base].pins & BIT(add - 1));
            CLAIM(RETAINED, C[NEWEST].trim <= LOWEST(BIT(add - 1)) || (given_back & BIT(add - 1)) ||
                            C[NEWEST].launch == 0);
            CLAIM(BOUNDED, GROUP_W(base) == LOWEST(C[base].pins));
            acknowledged = acknowledged | BIT(add - 1)
        :: else
        fi;
        if
        :: V(base) > seen -> seen = V(base)
        :: else
        fi;
        opened = true;
        add = 0; drop = 0; first = 0; number = 0; fences = 0; since = 0;
        goto look;
fenced:
        printf("P%d is fenced\n", me);
        CLAIM(REFUSAL, !opened || C[NEWEST].launch != me);
        goto done;
trimmed:
        printf("P%d is told TRIMMED\n", me);
        CLAIM(REFUSAL, C[NEWEST].trim > (opened -> LOWEST(BIT(add - 1)) : start));
done:
        base = 0; seen = 0; add = 0; drop = 0; start = 0; number = 0; fences = 0; since = 0; first = 0; opened = false
    }
}

/* An operator: removes the group, of the launch that was seen first, or releases its pin 0. */
proctype Operator(byte me; byte mine; byte tries; bool removes)
{
    byte base, seen, launch, since, first;
    byte end = mine + tries;

    mine = mine - 1;
look:
    atomic {
        PICK(base, seen);
        printf("P%d reads version %d\n", me, V(base));
        seen = V(base);
        if
        :: launch == 0 -> launch = C[base].launch; since = C[base].since
        :: else
        fi;
        if
        :: C[base].launch == 0 -> goto done
        :: C[base].launch != launch && !NO_G_REMOVE -> goto done        /* FENCED */
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: !removes && (C[base].pins & SAME_ID(0)) == 0 -> goto done
        :: else
        fi;
        d_step {
            given_back = given_back | (removes -> 0 : BIT(0));
            mine++;
            copy(mine, base);
            if
            :: removes ->
                C[mine].launch = 0;
                C[mine].number = 0;
                C[mine].hold = NONE;
                C[mine].pins = 0;
                C[mine].start = NONE;
                C[mine].late = (C[base].since != since);
                C[mine].since = V(mine)
            :: else ->
                C[mine].by = launch;
                RELEASE(mine, SAME_ID(0))
            fi;
            settle(mine, first);
            base = 0;
            printf("P%d sends version %d: removes the group or releases pin 0\n", me, V(mine))
        }
    }
    atomic {
        CREATE;
made:
        printf("P%d: it is done\n", me);
done:
        base = 0; seen = 0; launch = 0; since = 0; first = 0
    }
}

/* Deletes below the trim step of a manifest that it read at any time; a ghost is an attempt that never was on
   the chain, created late on a dead name. */
#define GHOST(x) \
    :: NO_G_PROVED && V(x) > 0 && MAY_BE_DEAD(V(x)) && chain[V(x)] != x -> base = x
proctype Deleter()
{
    byte base;
look:
    atomic {
        if
        :: base = NEWEST                /* an older one has a lower trim step */
        GHOST(SLOT)
        GHOST((SLOT + 1))
        fi;
        if
        :: C[base].trim > gone ->
            gone = C[base].trim;
            printf("D deletes below step %d, by version %d\n", gone, V(base));
            CLAIM(REACHABLE, gone <= ALL_W(NEWEST) && gone <= C[NEWEST].start)
        :: else
        fi;
        base = 0;
        goto look
    }
}

init
{
    atomic {
        READ_SWITCHES;
        C[0].launch = 1;
        C[0].number = 1;
        C[0].hold = 3;
        C[0].pins = BIT(0) | BIT(1);
        C[0].start = 3;
        acknowledged = BIT(0) | BIT(1);
        run World();
        PROCESSES
    }
}
