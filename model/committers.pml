/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit machine (src/protocol/commit*.c, chain*.c) under two kinds of intent: a producer's open and
 * publishes (intent_open.c, intent_publish.c), and an operator's seal (intent_seal.c).
 *
 * One store request is one step; between two of them the process may sleep as long as it likes. What a reply
 * allows to be claimed is claimed in the step of that reply: all claims are of the kind that stays true.
 * A process that crashed is one that never takes its next step.
 */

/* Any name that is there, from version `least` on: by hint, by search, by following. */
#define PICK_ONE(m, v, least) :: v >= least && store[v] != 0 -> m = store[v]
#if MAXV > 6
#define PICK_SEVEN(m, least) PICK_ONE(m, 7, least)
#else
#define PICK_SEVEN(m, least)
#endif
#if MAXV > 5
#define PICK_SIX(m, least) PICK_ONE(m, 6, least) PICK_SEVEN(m, least)
#else
#define PICK_SIX(m, least)
#endif
#if MAXV > 4
#define PICK_FIVE(m, least) PICK_ONE(m, 5, least) PICK_SIX(m, least)
#else
#define PICK_FIVE(m, least)
#endif
#define PICK(m, least) \
    if \
    PICK_ONE(m, 0, least) PICK_ONE(m, 1, least) PICK_ONE(m, 2, least) PICK_ONE(m, 3, least) \
    PICK_ONE(m, 4, least) PICK_FIVE(m, least) \
    fi

/* The marker of m's block is read, unless a mutant leaves that out. */
#define FOUND_RETIRED(m, left_out) (!(left_out) && MARKED(V(m)))

/* One incarnation `me` of producer id "a", which has `tries` attempts, at slots from `mine` on. */
proctype Producer(byte me; byte mine; byte tries)
{
    byte base, got, seen, held, x;
    byte next = 1;              /* seq of the next TGB; what is before it is acknowledged */
    bool opened, fixed, eager;
    byte end = mine + tries;

    atomic {
        mine = mine - 1;        /* the slot of the last attempt */
        if
        :: me == FIRST_TOKEN -> opened = true; base = 1; goto decide
        :: else
        fi
    }

look:
    atomic {
        !quiet;
        PICK(base, (NO_R8_FORWARD -> 0 : held));
        printf("P%d reads version %d\n", me, V(base));
        if
        :: EAGER -> eager = true; goto decide
        :: true
        fi
    }
prove:
    atomic {
        !quiet;
        printf("P%d reads the marker of block %d\n", me, BLOCK(V(base)));
        if
        :: FOUND_RETIRED(base, NO_R8_BASE) -> base = 0; goto look
        :: else
        fi
    }

decide: /* intent_apply; `eager`: the base is not proved, so nothing may be claimed from it */
    atomic {
        !quiet;
        if
        :: !eager && V(base) > held -> held = V(base)
        :: else
        fi;
        if
        :: !opened -> goto decide_open
        :: opened && C[base].token != me && !NO_R7_TOKEN -> goto fenced
        :: else
        fi;
        if
        :: C[base].seq >= next && !NO_R3_DROP ->
            if
            :: !eager || NO_EAGER_CLAIMS -> goto acknowledge
            :: eager && !NO_EAGER_CLAIMS && C[base].seq < GOAL && NO_EAGER_KEEPS ->
                x = C[base].seq + 1;
                goto build
            :: else -> goto prove
            fi
        :: else
        fi;
        if
        :: next > GOAL -> goto done
        :: C[base].sealed && !NO_R10_PUBLISH ->
            if
            :: eager -> goto prove
            :: else -> goto sealed
            fi
        :: C[base].seq + 1 != next && !NO_R3_START -> goto done     /* a broken rule of our own: refused */
        :: else
        fi;
        x = next;
        if
        :: (staged >> TGB(me, next)) & 1 -> goto build
        :: NO_R2_DONE -> goto build
        :: NO_R2_ORDER && next < GOAL && (staged >> TGB(me, next + 1)) & 1 -> x = next + 1; goto build
        fi
    }

decide_open:
    atomic {
        if
        :: !fixed -> seen = C[base].epoch; fixed = true
        :: else
        fi;
        if
        :: eager && (C[base].token == me || C[base].epoch > seen || C[base].finished || C[base].sealed) ->
            goto prove
        :: !eager && C[base].token == me -> goto tell
        :: !eager && C[base].token != me && C[base].epoch > seen && !NO_R1_EPOCH -> goto fenced
        :: !eager && C[base].token != me && C[base].finished && !NO_R10_FINISHED -> goto finished
        :: !eager && C[base].token != me && C[base].sealed && !NO_R10_OPEN -> goto sealed
        :: else
        fi;
        x = 0;
        if
        :: NO_R1_FENCE -> goto tell
        :: else
        fi
    }

build: /* the candidate, and its create is sent: from here on it may land at any time */
    atomic {
        eager = false;
        if
        :: mine + 1 >= end || V(base) >= MAXV -> goto done      /* the bounds of the model */
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            if
            :: x != 0 ->
                if
                :: NO_R3_COPY && C[base].next > 0 -> C[mine].next--; C[mine].steps = 0
                :: else
                fi;
                append(mine, TGB(me, x));
                C[mine].seq = x;
                if
                :: FINISH && x == GOAL ->
                    C[mine].finished = 1;
                    C[mine].sealed = C[mine].sealed || (EXPECTED && !NO_R10_SAME)
                :: else
                fi
            :: else ->
                C[mine].late = (C[base].epoch > seen);
                C[mine].epoch = (NO_R1_EPOCH -> C[base].epoch : seen) + 1;
                C[mine].token = me;
                C[mine].finished = 0
            fi;
            printf("P%d sends version %d\n", me, V(mine));
            x = 0;
            base = 0
        }
    }

create: /* UNKNOWN, RETRY: the same bytes at the same name again, which is this step */
    atomic {
        !quiet;
        if
        :: store[V(mine)] == 0 ->
            d_step { land(mine); printf("P%d: version %d CREATED\n", me, V(mine)) };
            if
            :: NO_R4 -> goto exists
            :: true
            fi
        :: store[V(mine)] != 0 -> goto exists
        :: NO_R6_NOTFOUND && store[V(mine)] == 0 -> goto failed
        :: NO_R6_CLOSE || NO_R6_QUIET -> goto look
        :: NO_R6_SAME && mine + 1 < end ->
            d_step {
                copy(mine + 1, mine);           /* the same, under a new nonce */
                C[mine + 1].version = V(mine);
                C[mine + 1].previous = C[mine].previous;
                mine++;
                printf("P%d sends other bytes for version %d\n", me, V(mine))
            };
            goto create
        fi
    }
created:
    atomic {
        !quiet;
        printf("P%d reads the marker of block %d\n", me, BLOCK(V(mine)));
        if
        :: FOUND_RETIRED(mine, (opened && NO_R8_CREATED) || (!opened && NO_R8_FENCE)) -> goto witness
        :: else -> base = mine; goto made
        fi
    }
exists:
    atomic {
        !quiet;
        got = store[V(mine)];
        printf("P%d: version %d EXISTS, own %d\n", me, V(mine), got == mine)
    }
    atomic {
        !quiet;
        printf("P%d reads the marker of block %d\n", me, BLOCK(V(mine)));
        if
        :: FOUND_RETIRED(mine, (NO_R8_OURS && got == mine) || (NO_R8_LOST && got != mine && got != 0)) ->
            got = 0;
            goto witness
        :: else ->
            CLAIM(SAFE_STORE, got != 0);
            base = got;
            got = 0;
            if
            :: base == mine && !NO_R5_NONCE -> goto made
            :: else -> goto lost
            fi
        fi
    }

witness: /* our name lies in a retired block */
    atomic {
        !quiet;
        PICK(got, (NO_R8_ABOVE -> 0 : V(mine)));
        printf("P%d reads version %d as a witness\n", me, V(got))
    }
    atomic {
        !quiet;
        printf("P%d reads the marker of block %d\n", me, BLOCK(V(got)));
        if
        :: FOUND_RETIRED(got, NO_R8_WITNESS) -> got = 0; goto witness
        :: else
        fi;
        base = got;
        got = 0;
        if
        :: C[base].token == me && (!opened || C[base].seq >= next) -> goto made
        :: C[base].token != me && (opened || C[base].epoch > seen) ->
            if
            :: opened && C[mine].seq == next && HAS(base, TGB(me, next)) -> goto acknowledge
            :: NO_R7_OPEN -> goto failed
            :: else -> goto fenced
            fi
        :: else -> goto lost
        fi
    }

lost: /* definitely: the attempt, and what it would have published */
    atomic {
        printf("P%d: version %d is lost\n", me, V(mine));
        C[mine].failed = 1;
        CLAIM(DEFINITE, chain[V(mine)] != mine);
        CLAIM(DEFINITE, !opened || NO_R6_QUIET || !HAS(NEWEST, TGB(me, next)));
        if
        :: NO_R9 && opened -> uploaded = uploaded & ~(1 << TGB(me, next))
        :: else
        fi;
        if
        :: goto decide          /* on what it lost to, which is proved */
        :: base = 0; goto look
        fi
    }
made:
    atomic {
        if
        :: V(base) > held -> held = V(base)
        :: else
        fi;
        if
        :: opened -> goto acknowledge
        :: else -> goto tell
        fi
    }
acknowledge:
    atomic {
        printf("P%d acknowledges its TGB %d\n", me, next);
        CLAIM(DURABLE, HAS(NEWEST, TGB(me, next)));
        next++;
        eager = false;
        goto decide
    }
tell: /* the resume offset of this manifest */
    atomic {
        printf("P%d tells offset %d, of version %d\n", me, C[base].seq, V(base));
        opened = true;
        CLAIM(FINAL_OFFSET, C[base].seq <= C[NEWEST].seq);
        next = C[base].seq + 1;
        if
        :: NO_R1_FENCE -> x = seen + 1
        :: else -> x = C[base].epoch
        fi;
        if
        :: x > told -> told = x
        :: else
        fi;
        x = 0;
        seen = 0;
        fixed = false;
        goto decide
    }
failed: /* said of an attempt that may be open: only mutants come here */
    atomic {
        printf("P%d: version %d failed\n", me, V(mine));
        C[mine].failed = 1;
        CLAIM(DEFINITE, chain[V(mine)] != mine);
        goto done
    }
fenced:
    atomic {
        if
        :: eager -> goto prove
        :: else
        fi;
        printf("P%d is fenced\n", me);
        CLAIM(REFUSAL, C[NEWEST].token != me);
        if
        :: NO_R9 && opened -> uploaded = uploaded & ~(1 << TGB(me, next))
        :: else
        fi;
        goto done
    }
finished: /* with the offset at which it did */
    atomic {
        CLAIM(REFUSAL, C[NEWEST].finished && C[NEWEST].seq == C[base].seq);
        goto done
    }
sealed:
    CLAIM(REFUSAL, C[NEWEST].sealed);
done:
    atomic {
        base = 0; got = 0; seen = 0; held = 0; next = 0; opened = false; fixed = false; eager = false; x = 0
    }
}

/* An operator's seal: a committer without an entry in the map. */
proctype Operator(byte mine; byte tries)
{
    byte base, got;
    byte end = mine + tries;

    mine = mine - 1;
look:
    atomic {
        !quiet;
        PICK(base, 0);
        printf("O reads version %d\n", V(base))
    }
    atomic {
        !quiet;
        printf("O reads the marker of block %d\n", BLOCK(V(base)));
        if
        :: FOUND_RETIRED(base, NO_R8_BASE) -> base = 0; goto look
        :: else
        fi
    }
decide:
    atomic {
        !quiet;
        if
        :: C[base].sealed -> goto sealed
        :: else
        fi;
        if
        :: !FORCED && C[base].token != 0 && !C[base].finished && !NO_R10_UNFORCED -> base = 0; goto look
        :: mine + 1 >= end || V(base) >= MAXV -> goto done
        :: else
        fi;
        d_step {
            mine++;
            copy(mine, base);
            C[mine].sealed = 1;
            printf("O sends version %d\n", V(mine));
            base = 0
        }
    }
    atomic {
        !quiet;
        if
        :: store[V(mine)] == 0 -> d_step { land(mine); printf("O: version %d CREATED\n", V(mine)) }
        :: else -> goto exists
        fi
    }
    atomic {
        !quiet;
        printf("O reads the marker of block %d\n", BLOCK(V(mine)));
        if
        :: FOUND_RETIRED(mine, NO_R8_SEAL) ->
            if
            :: NO_R8_SEEK -> goto sealed
            :: else -> goto look        /* neither made nor lost: is it sealed? */
            fi
        :: else -> goto sealed
        fi
    }
exists:
    atomic {
        !quiet;
        got = store[V(mine)];
        printf("O: version %d EXISTS, own %d\n", V(mine), got == mine)
    }
    atomic {
        !quiet;
        printf("O reads the marker of block %d\n", BLOCK(V(mine)));
        if
        :: FOUND_RETIRED(mine, false) ->
            got = 0;
            if
            :: NO_R8_SEEK -> goto sealed
            :: else -> goto look
            fi
        :: else ->
            CLAIM(SAFE_STORE, got != 0);
            base = got;
            got = 0;
            if
            :: base == mine -> goto sealed
            :: else -> goto decide
            fi
        fi
    }
sealed:
    atomic {
        printf("O says: sealed\n");
        CLAIM(DURABLE, C[NEWEST].sealed)
    }
done:
    atomic {
        base = 0; got = 0
    }
}
