// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The records of a reader in the order in which they are published: shuffled within windows, over
 * several epochs, without the bad ones. A mixer that goes on at a position gives the very records
 * that followed it.
 *
 * A window is so many good records in a row; the order within it comes from the seed, the epoch and
 * the window's place alone, so that a position needs no more than that place and how many of the
 * window were taken: the window is read again. Records of a reader that fills them late cost
 * nothing until they are due; of others a whole window is in memory.
 */
#ifndef INPUT_MIXER_H
#define INPUT_MIXER_H

#include "input/record.h"

#define MIXER_WINDOW_MAX (1u << 20)

typedef struct mixer_position {
    uint32_t epoch;
    record_place place; /* at which the window begins */
    uint32_t taken;     /* of it */
    uint64_t skipped;   /* bad records before */
} mixer_position;

typedef struct mixer_options {
    reader *from; /* borrowed */
    size_t record_bytes_max;
    uint32_t window; /* 1: in the order of the input */
    uint64_t seed;
    uint32_t epochs;
    bool skip_bad;
    void (*on_bad)(void *context, const bw_error *error); /* of each that is skipped; may be NULL */
    void *context;
} mixer_options;

typedef struct mixer mixer;

/** BW_INVALID for a window of 0 or above MIXER_WINDOW_MAX, or no epoch; else as the reader's seek.
 */
bw_status mixer_open(const mixer_options *options, mixer_position from, mixer **out,
                     bw_error *error);
/**
 * The next record, valid until the next call. BW_END behind the last epoch, or after one without
 * any record. BW_INPUT_BAD, of a record that is not skipped, or of a file that cannot be read at
 * all: all windows before its own were given.
 * A failure is given again by every further call.
 * BW_INPUT_CHANGED when the window holds fewer records than were taken of it.
 */
bw_status mixer_next(mixer *m, const record **out, bw_error *error);
/** Behind the last record given. */
mixer_position mixer_at(const mixer *m);
/** Bad records so far, those of runs before this one included. */
uint64_t mixer_skipped(const mixer *m);
void mixer_close(mixer *m);

#endif
