// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Whether a place is fit for a namespace, found out by doing there what a store does: for tools. It
 * works below names of its own beneath the place, `tmp/doctor-…`, and removes what it made; a
 * namespace that is there is neither read nor changed.
 */
#ifndef BATCHWEAVE_DOCTOR_H
#define BATCHWEAVE_DOCTOR_H

#include <batchweave/space.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How many processes race for names. */
#define BW_DOCTOR_RACERS 16u

/**
 * Runs the race in `place`: starts BW_DOCTOR_RACERS processes, each of which calls bw_doctor_race
 * once, and waits until all have ended. When one ends by anything else than BW_OK, calls
 * bw_doctor_abandon at once, so that the others end, too. 0 when all ended well. Called in the
 * thread that called bw_doctor_check.
 */
typedef int (*bw_doctor_race_fn)(void *context, const char *place, void *board);

/**
 * A line of JSON for each check and one for the verdict (docs/reports.md, doctor). `race` and
 * `board` may be NULL: then the race is not run, and a line says so. `board`: zeroed memory that
 * the racers share (mmap, MAP_SHARED | MAP_ANONYMOUS) of bw_doctor_board_bytes(). `config`:
 * settings of the scopes store and doctor; NULL is fine.
 *
 * BW_OK: fit, perhaps with warnings; else the code of the first fault. BW_INVALID, BW_UNSUPPORTED
 * (the URL); BW_INTERRUPTED: `line` had enough.
 */
bw_status bw_doctor_check(const char *url, const bw_config *config, void *board,
                          bw_doctor_race_fn race, bw_line_fn line, void *context, bw_error *error);

size_t bw_doctor_board_bytes(void);
/** One racer, in [0, BW_DOCTOR_RACERS); in a process of its own. */
bw_status bw_doctor_race(const char *place, const bw_config *config, void *board, unsigned racer,
                         bw_error *error);
void bw_doctor_abandon(void *board);

#ifdef __cplusplus
}
#endif
#endif
