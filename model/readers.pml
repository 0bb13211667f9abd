/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * Who reads the chain (src/protocol/chain*.c), and who retires it (sweep.c).
 */

/* The manifest `m` of a proved run: everything in it is handed out, so everything must be the truth. */
#define HAND_OUT(m) \
    CLAIM(AGREEMENT, C[m].next <= C[NEWEST].next); \
    CLAIM(AGREEMENT, ((C[m].steps ^ C[NEWEST].steps) & STEPS_BELOW(C[m].next)) == 0); \
    if \
    :: C[m].sealed || (NO_R10_SAME && C[m].finished) -> \
        printf("R is told the end, step %d\n", C[m].next); \
        CLAIM(SAME_END, C[NEWEST].next == C[m].next); \
        ended = 1 + C[m].next \
    :: else \
    fi

#define TURNS_MAX 20

/* A rank. `tip`: read last; `held`: proved; `opening`: the tip was found, not reached by links from `held`. */
proctype Reader()
{
    byte held, tip, got, above, polls, turns;
    bool opening, was_newest, before;

look: /* hint or search: any name that is there; when a marker was met, above the highest one */
    atomic {
        !quiet || LIVE;
        opening = true;
        tip = 0;
        if
        :: NO_R8_AFTER && retired == 0 -> before = true     /* the marker first, then the object */
        :: true
        fi;
        if
        :: LIVE ->
            do
            :: (retired >> (above >> 1)) & 1 -> above = above + 2
            :: else -> break
            od
        :: else
        fi
    }
    atomic {
        !quiet || LIVE;
        PICK(tip, above);
        printf("R reads version %d\n", V(tip));
        above = 0
    }
step:
    atomic {
        !quiet || LIVE;
        if
        :: LIVE && quiet ->
            turns++;
            CLAIM(LIVENESS, turns < TURNS_MAX || held == NEWEST);
            if
            :: held == NEWEST -> goto done
            :: else
            fi
        :: else
        fi;
        if
        :: V(tip) < MAXV -> got = store[V(tip) + 1]
        :: else -> got = 0
        fi;
        was_newest = (got == 0 && newest == V(tip));
        printf("R reads version %d: found %d\n", V(tip) + 1, got != 0);
        if
        :: got == 0 -> goto absent
        :: got != 0 && C[got].previous == tip -> tip = got; got = 0
        :: got != 0 && C[got].previous != tip -> goto odd
        fi
    }
    atomic {
        !quiet || LIVE;
        if
        :: goto step
        :: !LIVE && (!opening || held == 0 || V(tip) >= V(held)) -> goto prove  /* a run may end anywhere */
        fi
    }
odd: /* an object that does not belong: in the way, or a ghost? */
    atomic {
        !quiet || LIVE;
        got = 0;
        printf("R reads a marker, for what does not belong\n");
        if
        :: tip == held -> CLAIM(SAFE_STORE, MARKED((V(tip) + 1)))
        :: else -> CLAIM(SAFE_STORE, MARKED(V(tip)))
        fi;
        goto look
    }
prove: /* the marker of the tip proves the run that its links reach */
    atomic {
        !quiet || LIVE;
        printf("R reads the marker of block %d\n", BLOCK(V(tip)));
        if
        :: FOUND_RETIRED(tip, (opening && (NO_R8_READER || before)) || (!opening && NO_R8_FOLLOW)) ->
            goto look
        :: else -> held = tip
        fi;
        opening = false;
        before = false;
        HAND_OUT(held);
        goto step
    }
absent:
    atomic {
        !quiet || LIVE;
        if
        :: tip != held ->
            printf("R reads the marker of block %d\n", BLOCK(V(tip)));
            if
            :: FOUND_RETIRED(tip, (opening && (NO_R8_READER || before)) || (!opening && NO_R8_FOLLOW)) ->
                goto look
            :: else
            fi
        :: tip == held && LIVE ->
            polls = 1 - polls;
            if
            :: polls || NO_R8_POLL -> goto step             /* a poll that found nothing */
            :: else
            fi
        :: tip == held && !LIVE
        fi
    }
    atomic { /* after the 404 of v + 1: its marker */
        !quiet || LIVE;
        before = false;
        printf("R reads the marker of block %d\n", BLOCK((V(tip) + 1)));
        if
        :: MARKED((V(tip) + 1)) && !NO_R8_NEWEST -> goto look
        :: else
        fi;
        printf("R says: version %d is the newest\n", V(tip));
        CLAIM(TRUE_NEWEST, was_newest);
        CLAIM(FORWARD, held == 0 || V(tip) >= V(held));
        held = tip;
        opening = false;
        was_newest = false;
        HAND_OUT(held);
        goto step
    }
done:
    skip
}

/* The orphan verdict of a later sweep: parts of an incarnation that is over, and that no descriptor names,
   are deleted. "Proved" alone must make that safe. */
proctype Judge()
{
    byte base;
look:
    atomic {
        !quiet;
        PICK(base, 0);
        printf("J reads version %d\n", V(base))
    }
    atomic {
        !quiet;
        printf("J reads the marker of block %d\n", BLOCK(V(base)));
        if
        :: FOUND_RETIRED(base, NO_R8_SWEEPER) -> base = 0; goto look
        :: else
        fi;
        if
        :: C[base].token > 1 && !HAS(base, TGB(1, 1)) ->
            uploaded = uploaded & ~(1 << TGB(1, 1));
            printf("J deletes the parts of P1's TGB 1\n")
        :: else -> base = 0; goto look
        fi;
        base = 0
    }
}

#if SWEEPERS
byte dropped;                   /* a bit for each version whose delete was sent: it may be late, or come twice */
byte wanted;                    /* a bit for each marker whose create was answered UNKNOWN */

/* What is late of the sweepers' requests. */
#define LATE_DELETE(n) \
    :: d_step { !quiet && ((dropped >> n) & 1) && store[n] != 0 -> \
        store[n] = 0; printf("a delete of version %d is applied late\n", n) }
proctype Network()
{
    do
    :: d_step { !quiet && (wanted & ~retired) != 0 -> retired = retired | wanted; wanted = 0 }
    LATE_DELETE(0)
    LATE_DELETE(1)
    LATE_DELETE(2)
    LATE_DELETE(3)
    LATE_DELETE(4)
#if MAXV > 4
    LATE_DELETE(5)
#endif
#if MAXV > 5
    LATE_DELETE(6)
#endif
    od
}

/* The rules that bind a sweeper. World's RETIRE and DELETE stand for any number of sweepers that keep them. */
#define SWEEPS_BY_ALL_RULES \
    (!NO_R8_ASCENDING && !NO_R8_BEFORE && !NO_R8_MARKER_FIRST && !NO_R8_MARKER_UNKNOWN && \
     !NO_R8_MARKER_KEPT && !NO_R8_SWEEP_READ)

inline delete(n)
{
    CLAIM(SWEEPING, !SWEEPS_BY_ALL_RULES || MARKED(n));
    if
    :: store[n] != 0 -> printf("S deletes version %d\n", n)
    :: else
    fi;
    store[n] = 0;
    dropped = dropped | (1 << (n))
}

/* Passes without end; a sweeper that is killed begins again. After the observer's stop one more whole pass
   must leave nothing behind. */
proctype Sweeper()
{
    byte tip, block, limit, v;
    bool last_pass;
look:
    atomic {
        tip = 0; block = 0; limit = 0; v = 0;
        last_pass = quiet;
        if
        :: NO_R8_SWEEP_READ -> limit = BLOCK(MAXV) - 1; goto search
        :: else
        fi;
        PICK(tip, 0)
    }
step: /* along the links until one is absent */
    atomic {
        if
        :: V(tip) == MAXV -> skip
        :: V(tip) < MAXV && store[V(tip) + 1] == 0 -> skip
        :: V(tip) < MAXV && store[V(tip) + 1] != 0 ->
            if
            :: C[store[V(tip) + 1]].previous == tip -> tip = store[V(tip) + 1]; goto step
            :: else -> goto look
            fi
        fi
    }
    atomic {
        if
        :: !NO_R8_SWEEPER && (MARKED(V(tip)) || MARKED((V(tip) + 1))) -> goto look
        :: else
        fi;
        printf("S takes version %d for the newest\n", V(tip));
        v = BLOCK(V(tip));
        if
        :: NO_R8_BEFORE && NO_R8_NEWEST_BLOCK -> limit = v + 1
        :: NO_R8_BEFORE && !NO_R8_NEWEST_BLOCK -> limit = v
        :: else -> limit = (v > 0 -> v - 1 : 0)
        fi;
        v = 0;
        tip = 0
    }
search: /* the first block whose marker is absent after that of the one before was read as present */
    atomic {
        if
        :: NO_R8_ASCENDING && limit > 1 -> block = 1
        :: else ->
            do
            :: (retired >> block) & 1 -> block++
            :: else -> break
            od
        fi
    }
mark:
    atomic {
        if
        :: block >= limit -> goto again
        :: !quiet && block < limit -> goto look         /* killed */
        :: block < limit
        fi;
        v = 2 * block;
        CLAIM(SWEEPING, !SWEEPS_BY_ALL_RULES || block + 1 < BLOCK(newest));
        if
        :: NO_R8_MARKER_FIRST
        :: NO_R8_MARKER_UNKNOWN -> wanted = wanted | (1 << block)
        :: !NO_R8_MARKER_FIRST ->
            retired = retired | (1 << block);
            printf("S writes the marker of block %d\n", block)
        fi
    }
erase:
    atomic {
        if
        :: !quiet && SWEEPERS == 1 -> goto look         /* killed */
        :: v < 2 * block + 2 -> delete(v); v++; goto erase
        :: v == 2 * block + 2
        fi;
        if
        :: NO_R8_MARKER_FIRST -> retired = retired | (1 << block)
        :: NO_R8_MARKER_KEPT -> retired = retired & ~(1 << block)
        :: else
        fi;
        v = 0;
        block++;
        if
        :: NO_R8_MARKER_KEPT -> goto again
        :: else -> goto mark
        fi
    }
again: /* what is listed in retired blocks is deleted again */
    atomic {
        if
        :: !NO_R8_AGAIN && v <= MAXV && MARKED(v) ->
            if
            :: store[v] != 0 -> delete(v)
            :: else
            fi;
            v++;
            goto again
        :: else
        fi;
        if
        :: last_pass ->
            v = 0;
            do                  /* G9: a ghost is an orphan; G8: everything that may be retired is */
            :: v > MAXV -> break
            :: v <= MAXV ->
                CLAIM(LIVENESS, !MARKED(v) || store[v] == 0);
                CLAIM(LIVENESS, MARKED(v) || BLOCK(v) + 1 >= BLOCK(newest));
                v++
            od;
            goto done
        :: else -> goto look
        fi
    }
done:
    atomic {
        tip = 0; block = 0; limit = 0; v = 0
    }
}
#endif

/* From any state: everybody stops for good (the sweeper and a rank that is LIVE go on), and what had to be
   possible must be: an opener's search finds the newest manifest, above the highest marker. */
proctype Observer()
{
    byte k, tip;
    d_step {
        quiet = true;
        printf("everybody stops\n");
        do
        :: (retired >> k) & 1 -> k++
        :: else -> break
        od;
        tip = 2 * k;
        do
        :: tip <= MAXV && store[tip] != 0 -> tip++
        :: else -> break
        od;
        CLAIM(OPENABLE, tip > 2 * k);
        CLAIM(OPENABLE, store[tip - 1] == NEWEST);
        k = 0;
        tip = 0
    }
}
