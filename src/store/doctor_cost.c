// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/*
 * What the times of a store mean for a job: a rule of thumb, with its constants from where they
 * were measured (docs/design/cadence.md; docs/stores.md has the rule in words).
 *
 * A commit that nobody disturbs is a create and a read. Producers that take turns (`turn`) get 57
 * of a hundred of those out of the chain (6.3 commits a second of 11.1, with requests of 60 and 30
 * ms), and a batch waits half a round for its producer's turn. One producer alone waits for its
 * create. Ranks see the batch a read later.
 *
 * Requests of a step: a part is put; each rank reads its slice and looks for the next manifest,
 * which a waiting process does at most about once a second. Of a commit: a create, its
 * committer's look behind it, and a read by each other producer.
 */
#include "store/doctor_bucket.h"

#include <inttypes.h>

#define TURN_SHARE 0.57
#define LOOKS_PER_S 1.1
#define S_PER_HOUR 3600.0

static double least(double a, double b)
{
    return a < b ? a : b;
}

void doctor_cost(const doctor_job *job, const bucket_pace *pace, doctor_finding *f)
{
    const double ns = (double)NS_PER_S;
    const double create_s = (double)pace->create_ns / ns, get_s = (double)pace->get_ns / ns;
    const double producers = job->producers, ranks = job->ranks;
    if (pace->create_ns <= 0 || pace->get_ns <= 0) {
        doctor_say(f, DOCTOR_WARNING, BW_OK, "no estimate without the times of creates and reads");
        return;
    }
    const bool alone = job->producers == 1;
    const double chain = (alone ? 1.0 : TURN_SHARE) / (create_s + get_s);
    const double lag_s = (alone ? create_s : producers / chain / 2) + get_s;
    const double steps = 1000.0 / job->step_ms;
    const double commits = least(chain, steps);
    const double puts = steps + commits;
    const double gets = ranks * (steps + least(steps, LOOKS_PER_S)) + commits * producers;
    /* Behind a moving pin as many parts go as come. */
    const double cents =
        (puts * job->price_put + gets * job->price_get + steps * job->price_delete) * S_PER_HOUR /
        1e6;
    doctor_decimal_add(f, "commits_per_s_max", (uint64_t)(chain * 1000 + 0.5), 3);
    doctor_decimal_add(f, "lag_s", (uint64_t)(lag_s * 1000 + 0.5), 3);
    doctor_decimal_add(f, "puts_per_s", (uint64_t)(puts * 1000 + 0.5), 3);
    doctor_decimal_add(f, "gets_per_s", (uint64_t)(gets * 1000 + 0.5), 3);
    doctor_decimal_add(f, "usd_per_hour", (uint64_t)(cents * 100 + 0.5), 4);
    doctor_say(f, DOCTOR_OK, BW_OK,
               "%" PRIu32 " ranks, a step in %" PRIu32 " ms, %" PRIu32
               " producer%s: at most %.1f commits/s, visible after %.2f s (p50), "
               "%.1f puts/s and %.1f gets/s, %.4f USD an hour by the prices given, which you must "
               "check; without storage and transfer",
               job->ranks, job->step_ms, job->producers, alone ? "" : "s", chain, lag_s, puts, gets,
               cents / 100);
}
