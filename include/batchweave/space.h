// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A namespace: one run's data under a URL (`file:///data/run7`), with an identity.
 * Any number of threads may use one bw_space.
 */
#ifndef BATCHWEAVE_SPACE_H
#define BATCHWEAVE_SPACE_H

#include <batchweave/runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_space bw_space;
typedef struct bw_item bw_item;
typedef struct bw_cursor bw_cursor;

/** For every `timeout_ns`: nanoseconds from the call; 0 does not wait; negative waits without
 * limit. */
#define BW_FOREVER (-1)

/**
 * Makes a namespace in an empty place: mesh and limits from the "init" properties. BW_NOT_EMPTY
 * when anything is there; BW_UNSUPPORTED when the store cannot create-if-absent.
 */
bw_status bw_space_init(bw_runtime *runtime, const char *url, const bw_config *config,
                        bw_error *error);
/**
 * Opens. Property `mode`: `read` (default; never writes anything) or `write` (proves by a probe
 * that the store keeps its promises, and finishes an interrupted init) or `raw` (does not read the
 * chain: for the reports "inspect" and "list" of a namespace that does not open otherwise).
 * BW_NO_NAMESPACE, BW_NOT_READY, BW_DENIED, BW_IO, BW_CORRUPT (also when manifests are gone while
 * data is there), BW_CHAIN_BLOCKED.
 */
bw_status bw_space_open(bw_runtime *runtime, const char *url, const bw_config *config,
                        int64_t timeout_ns, bw_space **space, bw_error *error);
/**
 * Opens to go on from `from`, with a consumer by the same cursor: the manifest that it names, and
 * what leads from there to its step, are read beside all else, so that the first item takes three
 * round trips and not up to eleven. No other effect: the cursor is judged by bw_consumer_open, and
 * one that is of no use costs no round trip.
 * NULL: as bw_space_open.
 */
bw_status bw_space_resume(bw_runtime *runtime, const char *url, const bw_config *config,
                          const bw_cursor *from, int64_t timeout_ns, bw_space **space,
                          bw_error *error);
/** All producers and consumers must be closed before; items may outlive it. NULL is fine. */
void bw_space_close(bw_space *space);

/** Lower-case hex, 32 digits; valid while the space is open. */
const char *bw_space_uuid(const bw_space *space);
/** Mesh of the namespace: data-parallel and context-parallel positions. */
uint32_t bw_space_dp(const bw_space *space);
uint32_t bw_space_cp(const bw_space *space);
/** Advice for tools: items per slice. */
uint32_t bw_space_items_default(const bw_space *space);

/** Flag of bw_space_seal: seal although producers have not finished. */
#define BW_SEAL_FORCE 1u
/** Ends the namespace: no more opens or publishes; all ranks end at the same step. Sealing twice is
 * success. BW_SEAL_REFUSED names unfinished producers. */
bw_status bw_space_seal(bw_space *space, unsigned flags, int64_t timeout_ns, bw_error *error);

/** A line of JSON (no newline) for each finding or row; a non-zero answer stops the report (which
 * then returns BW_INTERRUPTED). */
typedef int (*bw_line_fn)(void *context, const char *json);
/**
 * Reports, safe on a live namespace; they never write, but for gc with `apply`. Every line is
 * documented in docs/reports.md; properties that each takes are in parentheses.
 *
 * - "info": one line: identity, mesh, limits, steps, version, producers, totals
 * - "steps": a line per retained step in [first, last) (first, last)
 * - "tail": a line per step from `first` on as it appears, until sealed or stopped; an "idle" line
 *   each second (first)
 * - "inspect": one stored object, decoded (key)
 * - "list": a line per stored object, with kind and size (prefix)
 * - "verify": findings and a summary; BW_UNCLEAN when there is a fault (deep)
 * - "gc": what may be deleted, or with apply is: data that no group keeps, orphans, old manifests
 * (apply, manifests_only, orphans, steps_max, blocks_max)
 */
bw_status bw_space_report(bw_space *space, const char *what, const bw_config *config,
                          bw_line_fn line, void *context, bw_error *error);

/** One stored item, verified. Release with bw_item_release. BW_TRIMMED, BW_BEYOND_END, BW_INVALID
 * (position), BW_CORRUPT. */
bw_status bw_space_item(bw_space *space, uint64_t step, uint32_t d, uint32_t c, uint32_t item,
                        int64_t timeout_ns, bw_item **out, bw_error *error);
/** Metadata and per-sample ids of a step as one JSON text, from the footer; release with
 * bw_text_free. */
bw_status bw_space_step_meta(bw_space *space, uint64_t step, int64_t timeout_ns, char **json,
                             bw_error *error);
void bw_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
