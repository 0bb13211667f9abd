// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A consumer is one rank: it is handed exactly its own slice of each step, item by item, in the one
 * global order.
 *
 * The position in the mesh comes from properties d, c; or rank, world (with tp, pp, cp: rank =
 * ((pp·DP+d)·CP+c)·TP+tp); or, when none of them is set, from the environment: torchrun's RANK and
 * WORLD_SIZE, Slurm's SLURM_PROCID and SLURM_NTASKS, Open MPI's OMPI_COMM_WORLD_RANK and _SIZE,
 * PMI_RANK and PMI_SIZE. All that are there must agree (BW_INVALID names two that do not), but a
 * process that torchrun started (TORCHELASTIC_RUN_ID) asks only torchrun.
 *
 * The consumers of one bw_space share one follower of the chain. One thread calls next and cursor;
 * the other calls from any thread.
 */
#ifndef BATCHWEAVE_CONSUMER_H
#define BATCHWEAVE_CONSUMER_H

#include <batchweave/space.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_consumer bw_consumer;

/**
 * `group`: the training job's name, or NULL. With a group all ranks of the job begin at one place:
 * rank 0 (or position 0,0) registers or resumes it under the launch id (property `launch`, else
 * Slurm's or torchrun's; one id for all ranks, another at each start), the others wait for that and
 * begin there; the space of rank 0 must be open for writing, and the group keeps what it has not
 * pinned (group.h). BW_RANKS_DISAGREE, BW_LAUNCH_REUSED (another cursor under this launch id),
 * BW_FENCED (rank 0: a newer launch), BW_INVALID (several ranks, and nothing that names the
 * launch). BW_TIMEOUT: rank 0 has not begun; the message names the launch that the group has
 * instead, which may be the one before ours or one that replaced it. Without a group nothing is
 * written or held, and BW_TRIMMED may be met.
 *
 * `from`: where to go on. NULL: property `start` (earliest, latest or a step); when that is not
 * set, the group's newest pin, else its hold; a new group or none begins at the first retained
 * step. BW_CURSOR_FOREIGN, BW_CURSOR_REWRITTEN, BW_TRIMMED, BW_BEYOND_END, BW_MESH_MISMATCH.
 * `latest` without a group is refused for several ranks: each would resolve it alone.
 *
 * Property `tags`: only steps whose tag (bw_batch_meta) is wanted are handed out, all others are
 * passed over by every rank alike; the cursor carries them, so that a restart wants the same unless
 * it says otherwise. Property `skip_to_tip` (rollouts gone stale): a job goes on behind the newest
 * step, and its cursor says which steps it skipped; only from a step's beginning
 * (BW_CURSOR_INVALID). With a group both are part of the launch: a rank that wants other tags or
 * does not skip gets BW_RANKS_DISAGREE. Several ranks without a group are refused (BW_INVALID):
 * resolve the start once and give all of them that cursor (bw_cursor_begin). BW_UNSUPPORTED: tags
 * where several steps are one training step (scale_batch, dp above the namespace's).
 */
bw_status bw_consumer_open(bw_space *space, const char *group, const bw_config *config,
                           const bw_cursor *from, int64_t timeout_ns, bw_consumer **consumer,
                           bw_error *error);
/** The position that was found out. */
uint32_t bw_consumer_d(const bw_consumer *consumer);
uint32_t bw_consumer_c(const bw_consumer *consumer);

/**
 * The next item. BW_END: sealed, and all was handed out. BW_STARVED: nothing new in time (the
 * message says why: newest step, producers, age of the last commit), or what keeps the store from
 * answering (BW_IO …). BW_TRIMMED, BW_CORRUPT (names key, step, slice), BW_INTERRUPTED. A failed
 * call changes nothing: the next one looks again.
 */
bw_status bw_consumer_next(bw_consumer *consumer, int64_t timeout_ns, bw_item **item,
                           bw_error *error);

/**
 * Lends memory for slices to be read into, by the store itself and without a copy: buffers of a
 * pinned ring, say. For a consumer opened with property `lend`: it reads ahead only into lent
 * buffers, and nothing before the first of them. Any thread. `token` is the caller's: bw_item_lent
 * tells it.
 *
 * Ownership: the memory is the caller's, and lent until bw_consumer_close has returned. A buffer
 * takes one slice, and is free for another when all items of that slice were released; until then
 * its bytes stay as they are. Do not write to it or free it while it is lent. After the close the
 * library writes to none of it and reads none of it; items not released yet are views of the
 * caller's memory, which must stay for as long as they are looked at.
 *
 * `data` must be a multiple of 64, as items then are. `bytes`: for M items, 64 + 16·M and the
 * stored length of each, every term rounded up to a multiple of 64; for items stored as zstd their
 * plain lengths, rounded up likewise, on top, since they are unpacked behind what was read. Buffers
 * may differ; the smallest that will do is taken. A job whose dp is a k-th of the namespace's reads
 * k slices a step.
 *
 * No buffer free (all are read ahead, or their items not released): nothing more is read ahead
 * until one is, but bw_consumer_next never waits for a buffer: what it is called for is then read
 * into memory of the library, as is every slice that is larger than all buffers, and what was
 * packed and finds no room when it is unpacked; within property `memory`, and counted as
 * `lent_missed` (bw_consumer_stats). Who lends a buffer for each slice read ahead (property
 * `prefetch`; at most 64 steps where it is not set) and each that is held at once, large enough,
 * meets none of that.
 *
 * BW_INVALID: opened without `lend`; misaligned, shorter than 64 bytes, overlapping a buffer lent
 * before, or more than 65,536 buffers. BW_NOMEM. A failed call lends nothing.
 */
bw_status bw_consumer_lend(bw_consumer *consumer, void *data, size_t bytes, uint64_t token,
                           bw_error *error);

/* Items stay valid until released, also after their consumer, space and runtime are closed. */
/** Bytes of the item: verified, 64-byte aligned where the store's file is mapped; for a pad *size =
 * 0. They are this item's alone: who casts the const away may change them, and nothing that is
 * stored changes. */
void bw_item_view(const bw_item *item, const void **data, size_t *size);
/** Whether its bytes lie in a lent buffer; then its token, unless `token` is NULL. */
int bw_item_lent(const bw_item *item, uint64_t *token);
uint64_t bw_item_step(const bw_item *item);
uint32_t bw_item_d(const bw_item *item);
uint32_t bw_item_c(const bw_item *item);
uint32_t bw_item_index(const bw_item *item); /* within the slice */
uint32_t bw_item_count(const bw_item *item); /* items of the slice in this step */
/** Which of the rank's own items of this step it is, in [0, total): the same as index and count
 * unless the job's dp is not the namespace's. The last one ends the step. */
uint32_t bw_item_order(const bw_item *item);
uint32_t bw_item_total(const bw_item *item);
int bw_item_pad(const bw_item *item);
uint64_t bw_item_tag(const bw_item *item);
uint64_t bw_item_tokens(const bw_item *item);  /* of the whole step */
const char *bw_item_kind(const bw_item *item); /* "raw", "samples" or "safetensors" */
void bw_item_release(bw_item *item);

/** The next item to hand out, never what was prefetched. Equal on all ranks that stand at the same
 * place. */
bw_status bw_consumer_cursor(bw_consumer *consumer, bw_cursor **cursor, bw_error *error);
void bw_cursor_free(bw_cursor *cursor);
uint64_t bw_cursor_step(const bw_cursor *cursor);
uint32_t bw_cursor_item(const bw_cursor *cursor);
int bw_cursor_equal(const bw_cursor *a, const bw_cursor *b);
/** Canonical JSON, NUL-terminated, valid until bw_cursor_free. */
const char *bw_cursor_json(const bw_cursor *cursor);
/** BW_CURSOR_INVALID says where. */
bw_status bw_cursor_parse(const char *json, size_t bytes, bw_cursor **cursor, bw_error *error);

/**
 * Where a job without a group begins, resolved once, by who can tell all its ranks: properties
 * start, tags, skip_to_tip, dp and rescale as bw_consumer_open takes them. Writes and holds
 * nothing.
 */
bw_status bw_cursor_begin(bw_space *space, const bw_config *config, const bw_cursor *from,
                          int64_t timeout_ns, bw_cursor **cursor, bw_error *error);
/** `from`, and steps [first, end) are skipped too (a loss spike): a cursor to go on from with all
 * ranks. BW_CURSOR_INVALID: an empty range, or more than 1,024 ranges. */
bw_status bw_cursor_skip(const bw_cursor *from, uint64_t first, uint64_t end, bw_cursor **cursor,
                         bw_error *error);

/** Why next would wait, as one JSON object (docs/reports.md). */
bw_status bw_consumer_wait_reason(bw_consumer *consumer, char *json, size_t cap, size_t *length,
                                  bw_error *error);
bw_status bw_consumer_stats(bw_consumer *consumer, char *json, size_t cap, size_t *length,
                            bw_error *error);
/** While on, waits end with BW_INTERRUPTED. Any thread, async-signal-safe. */
void bw_consumer_interrupt(bw_consumer *consumer, int on);
/** NULL is fine. */
void bw_consumer_close(bw_consumer *consumer);

#ifdef __cplusplus
}
#endif
#endif
