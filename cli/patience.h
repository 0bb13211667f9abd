// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * No wait without a reason on screen: while something takes longer than two seconds, what is waited
 * for is told on stderr, then ever more seldom.
 */
#ifndef CLI_PATIENCE_H
#define CLI_PATIENCE_H

#include <stdint.h>

/** For calls that block: a thread of its own watches. `what` is borrowed until patience_end. Not
 * nested. */
void patience_begin(const char *what);
void patience_end(void);
/** What is waited for moves, and says so: the waiting begins anew. Any thread. */
void patience_moved(void);

/** For loops that wait in slices. One thread. */
typedef struct patience {
    int64_t since_ns; /* 0: not waiting */
    int64_t next_ns;  /* when to tell again */
    int64_t gap_ns;
} patience;

void patience_reset(patience *p);
/** Called after each slice of waiting; tells `reason` when it is time. */
void patience_tell(patience *p, const char *reason);
/** How long it has been waiting. */
int64_t patience_waited(const patience *p);

#endif
