// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * polling: how long to wait before looking for a newer manifest again. Pure: times come in, a time
 * goes out.
 *
 * A quarter of the time between commits finds a new one within an eighth of that time on average.
 * When commits stop coming, the interval grows with the silence, so that a commit after a silence
 * is found within a sixteenth of it. It ends at a second, which is one request a second and
 * process, or at a tenth of one on a local store, where a poll costs microseconds.
 *
 * All ranks of a job ask below one prefix, manifest/, and stores limit that: S3 gives 5,500 reads a
 * second. So the interval has a floor that grows with the job: together its polls stay below a
 * quarter of that, whatever its size; each new version is a read of each rank on top.
 * docs/design/pacing.md.
 */
#ifndef CLIENT_POLLING_H
#define CLIENT_POLLING_H

#include "base/rng.h"
#include <stdbool.h>
#include <stdint.h>

/** Of each rank of a job: 1,250 polls a second of all together. */
#define POLLING_NS_A_RANK 800000

typedef struct polling {
    int64_t gap_ns;      /* learnt: mean time between commits */
    int64_t last_new_ns; /* when the chain last grew */
} polling;

void polling_init(polling *p, int64_t now_ns);
/** The chain was found to be so many versions longer. */
void polling_learn(polling *p, uint64_t versions, int64_t now_ns);

/** The least interval of a process that polls for `here` of the `ranks` of a job. */
int64_t polling_floor_ns(uint32_t ranks, uint32_t here);
/** Without jitter. `local`: a store on this machine, which has no floor. */
int64_t polling_interval_ns(const polling *p, bool local, int64_t floor_ns, int64_t now_ns);
/** A quarter less to a quarter more, as long on average: processes that began together spread. */
int64_t polling_jitter_ns(int64_t interval_ns, rng *random);

#endif
