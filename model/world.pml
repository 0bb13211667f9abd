/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * The store, the truth, and everybody who is not looked at closely.
 *
 * Manifest contents stand in one table, C; a place in it is a manifest's nonce. Place v + 1 is the
 * version v that "others" made; places from SLOT on belong to attempts of the processes that are modelled
 * step by step. `store` says what lies under each version's name now (0: nothing), `chain` what was
 * created there first. The two differ where a name was retired: nothing, or a ghost.
 *
 * Blocks have two versions. Version 0 stands for the first manifest of the real chain, which is 1.
 * A TGB is a number: 2·(token − 1) + seq of the modelled producer id "a" for 1 … 5, 6 and 7 of other ids.
 */

#define BLOCK(v) ((v) >> 1)
#define MARKED(v) ((retired >> BLOCK(v)) & 1)
#define SLOT (MAXV + 2)
#define TGB(token, seq) (2 * ((token) - 1) + (seq))
#define TOKEN_OF(x) (((x) + 1) >> 1)
#define SEQ_OF(x) (2 - ((x) & 1))
#define FOREIGN 6               /* the first TGB of another id */
#define HAS(m, x) ((C[m].steps & 7) == (x) || ((C[m].steps >> 3) & 7) == (x) || \
                   ((C[m].steps >> 6) & 7) == (x) || ((C[m].steps >> 9) & 7) == (x))
#define STEPS_BELOW(n) ((1 << (3 * (n))) - 1)
#define V(m) C[m].version
#define NEWEST chain[newest]

typedef manifest {
    unsigned next : 3;          /* steps */
    unsigned steps : 12;        /* which TGB each of them is */
    unsigned epoch : 2;         /* the map's entry of "a" … */
    unsigned token : 2;
    unsigned seq : 2;
    unsigned finished : 1;
    unsigned sealed : 1;
    unsigned previous : 4;      /* hash link */
    unsigned version : 3;
    unsigned failed : 1;        /* its committer said that it is definitely not made */
    unsigned late : 1           /* an open on an epoch above the one that it saw first */
};

manifest C[SLOT + SLOTS];
byte store[MAXV + 1];
byte chain[MAXV + 1];
byte newest;                    /* the last version of the truth */
byte retired;                   /* a bit for each block whose marker is there */
byte uploaded = 255 * (1 - STAGE);  /* a bit for each TGB whose parts are there */
byte other;                     /* bits: what others did once */
byte told;                      /* the highest epoch that told its user an offset */
byte ended;                     /* 1 + the step at which a rank was told the end */
bool quiet;                     /* everybody but the observers has stopped */

#define OTHER_FILLED 1
#define OTHER_FENCED 2

inline copy(to, from)
{
    C[to].next = C[from].next;
    C[to].steps = C[from].steps;
    C[to].epoch = C[from].epoch;
    C[to].token = C[from].token;
    C[to].seq = C[from].seq;
    C[to].finished = C[from].finished;
    C[to].sealed = C[from].sealed;
    C[to].previous = from;
    C[to].version = C[from].version + 1
}

inline append(to, tgb)
{
    C[to].steps = C[to].steps | ((tgb) << (3 * C[to].next));
    C[to].next++
}

byte old, last;                 /* scratch within a d_step; else 0 */

/* What must be true of the object `m` that becomes the chain's next version. */
inline check_link(m)
{
    CLAIM(ONE_CHAIN, V(m) == newest + 1);
    old = NEWEST;
    CLAIM(ONE_CHAIN, C[m].previous == old);
    CLAIM(DEFINITE, !C[m].failed);
    CLAIM(ORDER, ((C[m].steps ^ C[old].steps) & STEPS_BELOW(C[old].next)) == 0);
    CLAIM(ORDER, C[m].next >= C[old].next && C[m].next <= C[old].next + 1);
    CLAIM(SEALING, C[m].sealed >= C[old].sealed);
    if
    :: C[m].next > C[old].next ->
        last = C[m].steps >> (3 * C[old].next);
        CLAIM(VISIBLE, (uploaded >> last) & 1);
        CLAIM(SAME_END, !ended);
        CLAIM(ONCE, !HAS(old, last));
        if
        :: last < FOREIGN ->
            CLAIM(ONCE, SEQ_OF(last) == C[old].seq + 1 && C[m].seq == SEQ_OF(last));
            CLAIM(FENCING, TOKEN_OF(last) == C[old].token);
            CLAIM(FINAL_OFFSET, C[old].epoch >= told);
            CLAIM(SEALING, !C[old].finished)
        :: else
        fi
    :: else
    fi;
    if
    :: C[m].token != C[old].token ->            /* an open */
        CLAIM(FENCING, C[m].epoch == C[old].epoch + 1);
        CLAIM(SUCCESSOR, !C[m].late);
        CLAIM(SEALING, !C[old].sealed && !C[old].finished)
    :: else
    fi;
    if
    :: C[m].sealed && !C[old].sealed ->
        CLAIM(SEALING, FORCED || C[m].token == 0 || C[m].finished)
    :: else
    fi;
    old = 0;
    last = 0
}

/* The create of `m` is applied, its name being free. In a d_step. */
inline land(m)
{
    store[V(m)] = m;
    if
    :: chain[V(m)] == 0 ->
        check_link(m);
        chain[V(m)] = m;
        newest = V(m)
    :: else                                     /* a ghost */
    fi
}

/* A create that is in the network: applied whenever its name is free, again and again. */
#define LATE(m) \
    :: d_step { !quiet && V(m) > 0 && store[V(m)] == 0 -> \
        land(m); \
        printf("a create of version %d is applied late\n", V(m)) }

/* Not the newest version's block, not the one before it. */
#define MAY_RETIRE(k) ((k) + 1 < BLOCK(newest) || NO_R8_BEFORE && (k) < BLOCK(newest) || \
                       NO_R8_BEFORE && NO_R8_NEWEST_BLOCK && (k) == BLOCK(newest))
/* Ascending: the marker before was read as present. */
#define IN_ORDER(k) (NO_R8_ASCENDING || (retired & ((1 << (k)) - 1)) == (1 << (k)) - 1)
#define RETIRE(k) \
    :: d_step { !quiet && !((retired >> k) & 1) && MAY_RETIRE(k) && IN_ORDER(k) -> \
                retired = retired | (1 << k); printf("the marker of block %d is written\n", k) }
#define MAY_DELETE(v) (MARKED(v) || (NO_R8_MARKER_FIRST && MAY_RETIRE(BLOCK(v)) && IN_ORDER(BLOCK(v))))
/* Every pass deletes again what lies in retired blocks, and deletes may be late or come twice. */
#define DELETE(v) \
    :: d_step { !quiet && store[v] != 0 && MAY_DELETE(v) && (!NO_R8_AGAIN || store[v] == chain[v]) -> \
                store[v] = 0; printf("version %d is deleted\n", v) }

#define UPLOAD(x) \
    :: d_step { !quiet && !((staged >> x) & 1) -> uploaded = uploaded | (1 << x); \
                staged = staged | (1 << x) }
byte staged = 255 * (1 - STAGE);    /* what the producer was told is uploaded */

/* A committer that died after it sent a candidate, on any manifest that it could have proved. */
#define ZOMBIE(v, change) \
    :: d_step { !quiet && dead < SLOT + SLOTS && store[v] != 0 && store[v] == chain[v] && !MARKED(v) && \
                !C[store[v]].sealed -> \
        copy(dead, store[v]); \
        change; \
        printf("somebody sends version %d and dies\n", V(dead)); \
        dead++ }
#define PUBLISHES append(dead, (FOREIGN + dead - (SLOT + SLOTS - ZOMBIES)))
#define OPENS C[dead].epoch++; C[dead].token = 3

proctype World()
{
    byte x;
    byte dead = SLOT + SLOTS - ZOMBIES;
    do
    /* Others commit, each on a proved newest manifest, in no time: slow ones are the processes and zombies. */
    :: d_step { !quiet && newest < MAXV ->
        x = newest + 2;
        copy(x, NEWEST);
        land(x);
        printf("others commit version %d\n", newest);
        x = 0
       }
#if FILLER
    :: d_step { !quiet && newest < MAXV && !C[NEWEST].sealed && !(other & OTHER_FILLED) ->
        other = other | OTHER_FILLED;
        x = newest + 2;
        copy(x, NEWEST);
        append(x, 7);
        land(x);
        printf("others publish with version %d\n", newest);
        x = 0
       }
#endif
#if FENCER
    :: d_step { !quiet && newest < MAXV && !C[NEWEST].sealed && !C[NEWEST].finished &&
                !(other & OTHER_FENCED) ->
        other = other | OTHER_FENCED;
        x = newest + 2;
        copy(x, NEWEST);
        C[x].epoch++;
        C[x].token = 3;
        land(x);
        printf("others open a with version %d\n", newest);
        x = 0
       }
#endif
#if ZOMBIES
    ZOMBIE(0, PUBLISHES)
    ZOMBIE(1, PUBLISHES)
    ZOMBIE(2, PUBLISHES)
#if ZOMBIE_FENCE
    ZOMBIE(0, OPENS)
    ZOMBIE(1, OPENS)
    ZOMBIE(2, OPENS)
#endif
#endif
#if !CALM
    LATE(SLOT)
#if SLOTS > 1
    LATE((SLOT + 1))
#endif
#if SLOTS > 2
    LATE((SLOT + 2))
#endif
#if SLOTS > 3
    LATE((SLOT + 3))
#endif
#if SLOTS > 4
    LATE((SLOT + 4))
#endif
#if SLOTS > 5
    LATE((SLOT + 5))
#endif
#endif
#if RETIRING && !SWEEPERS
    RETIRE(0)
    RETIRE(1)
    RETIRE(2)
    DELETE(0)
    DELETE(1)
    DELETE(2)
    DELETE(3)
    DELETE(4)
#if MAXV > 4
    DELETE(5)
#endif
#endif
#if STAGE
    UPLOAD(1)
    UPLOAD(2)
#endif
    od
}
