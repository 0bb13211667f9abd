// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Settings by name and value, from one table. The same table gives the command line's `--set`, the
 * text of `batchweave help settings`, and range checks; an unknown name or a bad value is refused
 * by name. Every function that takes a `bw_config` copies what it needs; NULL means all defaults.
 * One thread at a time, but for bw_config_interrupt.
 */
#ifndef BATCHWEAVE_CONFIG_H
#define BATCHWEAVE_CONFIG_H

#include <batchweave/error.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_config bw_config;

/** NULL only when out of memory. */
bw_config *bw_config_new(void);
void bw_config_free(bw_config *config);
/**
 * `on` not 0: a call that was given `config` and has not come back (an open or init of a namespace,
 * an open of a producer or consumer, bw_cursor_begin, a report) fails with BW_INTERRUPTED within
 * some 50 ms, with nothing of it under way any more; the answer of a request that was on the
 * network is not waited for, so that what it wrote may be there: an open is safe to repeat. A later
 * call fails at once. Opened handles are not concerned. 0: no call is to end any more; not while
 * one is under way. Any thread, also in a signal handler; `config` must live until the call
 * returns. What only the system can end goes on: a file system that hangs, the look-up of a name.
 */
void bw_config_interrupt(bw_config *config, int on);
/** Sizes take KiB, MiB, GiB, TiB; times ms, s; switches true and false. BW_INVALID names what is
 * legal. */
bw_status bw_config_set(bw_config *config, const char *name, const char *value, bw_error *error);
/** The value as text: as set, else the default; NULL for an unknown name or a value that was not
 * set and has no default. */
const char *bw_config_get(const bw_config *config, const char *name);

/** The table, for tools: properties 0 … count − 1. Strings are static. */
size_t bw_config_count(void);
const char *bw_config_name(size_t index);
/** Where it applies: "runtime", "init", "space", "store" (also in URLs), "producer", "consumer",
 * "report". */
const char *bw_config_scope(size_t index);
/** "size", "integer", "time", "switch", "text" or the choices as "a|b|c". */
const char *bw_config_type(size_t index);
const char *bw_config_default(size_t index); /* NULL: none */
const char *bw_config_help(size_t index);

#ifdef __cplusplus
}
#endif
#endif
