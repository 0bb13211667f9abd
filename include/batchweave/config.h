// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Settings by name and value, from one table. The same table gives the command line's `--set`, the
 * text of `batchweave help settings`, and range checks; an unknown name or a bad value is refused
 * by name. Every function that takes a `bw_config` copies what it needs; NULL means all defaults.
 * One thread at a time.
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
