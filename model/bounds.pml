/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/* How much of the world a configuration has; model/table.py sets what differs. */

#ifndef MAXV
#define MAXV 5                  /* the last version */
#endif
#ifndef SLOTS
#define SLOTS 2                 /* attempts of all processes together; MAXV + SLOTS <= 13 */
#endif
#ifndef GOAL
#define GOAL 1                  /* the stream of producer id "a", in TGBs; at most 2 */
#endif
#ifndef FIRST_TOKEN
#define FIRST_TOKEN 1           /* 1: version 0 already has incarnation 1 of "a"; 0: nobody */
#endif
#ifndef FILLER
#define FILLER 0                /* others publish one TGB of theirs */
#endif
#ifndef FENCER
#define FENCER 0                /* others open "a" once */
#endif
#ifndef ZOMBIES
#define ZOMBIES 0               /* attempts of correct committers that died after sending */
#endif
#ifndef ZOMBIE_FENCE
#define ZOMBIE_FENCE 0          /* … may be an open of "a", too */
#endif
#ifndef CALM
#define CALM 0                  /* no create is applied late, or twice */
#endif
#ifndef STAGE
#define STAGE 0                 /* parts are uploaded one by one */
#endif
#ifndef EXPECTED
#define EXPECTED 0              /* the finish of "a" is the last one expected */
#endif
#ifndef SWEEPERS
#define SWEEPERS 0              /* sweepers modelled step by step; 0: any number of them, at once */
#endif
#ifndef RETIRING
#define RETIRING 1              /* blocks are retired */
#endif
#ifndef EAGER
#define EAGER 0                 /* candidates on bases whose marker is not read yet */
#endif
#ifndef FINISH
#define FINISH 0                /* the producer finishes with its last TGB */
#endif
#ifndef FORCED
#define FORCED 0                /* the operator seals by force */
#endif
#ifndef LIVE
#define LIVE 0                  /* an observer stops everybody else, and the reader must arrive */
#endif
