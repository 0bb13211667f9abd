// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * A producer publishes whole global batches, exactly once and in its own order.
 *
 * Open fences every earlier incarnation of the id and tells where to go on. A batch is built from
 * the caller's memory without a copy, put (which uploads in the background), and published in order
 * with its end offset and resume state. What became of it arrives as events. One thread may put
 * while another takes events; all other calls from any thread.
 */
#ifndef BATCHWEAVE_PRODUCER_H
#define BATCHWEAVE_PRODUCER_H

#include <batchweave/space.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bw_producer bw_producer;
typedef struct bw_batch bw_batch;
typedef struct bw_event bw_event;

/** The space must be open with mode=write (BW_READ_ONLY). BW_FINISHED (its message has the offset)
 * unless `reopen`; BW_SEALED; BW_INVALID for a bad id. */
bw_status bw_producer_open(bw_space *space, const char *id, const bw_config *config,
                           int64_t timeout_ns, bw_producer **producer, bw_error *error);
/** Where the chain says this id stands: final, since every earlier incarnation is fenced. The state
 * is valid until close; any pointer may be NULL. */
bw_status bw_producer_resume(const bw_producer *producer, uint64_t *offset, const void **state,
                             size_t *state_bytes);

/** A batch of dp × cp slices of `items_per_slice` items. Not thread-safe. Free one that was not put
 * with bw_batch_free. */
bw_status bw_batch_new(bw_producer *producer, uint32_t items_per_slice, bw_batch **batch,
                       bw_error *error);
void bw_batch_free(bw_batch *batch);
/** One item, from `count` pieces of the caller's memory, borrowed until RELEASED (or until
 * bw_batch_free). Setting one twice is BW_INVALID. An empty item is no pad. */
bw_status bw_batch_item(bw_batch *batch, uint32_t d, uint32_t c, uint32_t item,
                        const struct iovec *pieces, int count, bw_error *error);
bw_status bw_batch_pad(bw_batch *batch, uint32_t d, uint32_t c, uint32_t item, bw_error *error);
/** Provenance of a slice: sample ids (copied, ≤ 65,535 bytes each) and its number of tokens. May be
 * called again: adds. */
bw_status bw_batch_samples(bw_batch *batch, uint32_t d, uint32_t c, const char *const *ids,
                           size_t count, uint64_t tokens, bw_error *error);
/** A tag for filters, and metadata (copied, ≤ 1 MiB; JSON by convention). */
bw_status bw_batch_meta(bw_batch *batch, uint64_t tag, const void *json, size_t bytes,
                        bw_error *error);

/**
 * Takes over the batch (on success) and uploads it in the background. `end_offset` ≥ the one
 * before; `state` (≤ 1 MiB, copied) is what bw_producer_resume gives after a restart behind this
 * batch. Waits while the staging budget is full, or while as many events as property `events` were
 * not taken (take them from another thread or between puts, or open with events=0: without that a
 * put with BW_FOREVER would wait for ever): BW_TIMEOUT says which, nothing is lost, put again.
 * With property `compress` this call packs the items with zstd, each for itself and only where that
 * makes it shorter, in the caller's thread; consumers unpack them by themselves.
 * BW_UNSET_ITEM names the first item never set. BW_TOO_LARGE when it could never be published.
 * BW_FINISHED behind a finish.
 */
bw_status bw_producer_put(bw_producer *producer, bw_batch *batch, uint64_t end_offset,
                          const void *state, size_t state_bytes, uint64_t token, int64_t timeout_ns,
                          bw_error *error);

typedef enum bw_event_kind {
    /* token: the batch's memory is the caller's again */
    BW_EVENT_RELEASED = 1,
    /* token, step, version: durable on the chain for good */
    BW_EVENT_COMMITTED = 2,
    /* message: what holds the producer up (a limit, no space); progress resumes by itself */
    BW_EVENT_BLOCKED = 3,
    /* version, message: a commit outlived its deadline; the handle keeps resolving it */
    BW_EVENT_UNKNOWN = 4,
    /* a newer incarnation took over: nothing more will be committed by this handle */
    BW_EVENT_FENCED = 5,
    /* message: the handle is finished */
    BW_EVENT_FAILED = 6
} bw_event_kind;

/** Readable (poll) while events are queued; owned by the producer. */
int bw_producer_event_fd(const bw_producer *producer);
/** The next event; BW_TIMEOUT when there is none in time. Release with bw_event_free. */
bw_status bw_producer_event(bw_producer *producer, int64_t timeout_ns, bw_event **event,
                            bw_error *error);
bw_event_kind bw_event_what(const bw_event *event);
uint64_t bw_event_token(const bw_event *event);
uint64_t bw_event_step(const bw_event *event);
uint64_t bw_event_version(const bw_event *event);
const char *bw_event_message(const bw_event *event);
void bw_event_free(bw_event *event);

/** Flag of flush: attempt at once instead of waiting for the cadence. */
#define BW_URGENT 1u
/**
 * Returns when everything put before is on the chain for good. When it is not in time: BW_TIMEOUT,
 * or what stands in the way: BW_UNKNOWN (a commit without an outcome), BW_NO_SPACE, BW_IO,
 * BW_BLOCKED; all of it may still be published. BW_FENCED, BW_SEALED … : the handle is finished.
 * So it is, without a time limit too, by BW_IO where the store takes no write any more (an fsync
 * failed): open the namespace again, and a new producer knows what is on the chain.
 */
bw_status bw_producer_flush(bw_producer *producer, unsigned flags, int64_t timeout_ns,
                            bw_error *error);
/** Publishes what is left and says that this producer is done. With the expected number finished,
 * the namespace is sealed by the same commit. Fails as flush does; again is fine. */
bw_status bw_producer_finish(bw_producer *producer, int64_t timeout_ns, bw_error *error);
/** While on, waits end with BW_INTERRUPTED. Any thread, async-signal-safe. */
void bw_producer_interrupt(bw_producer *producer, int on);
/** One JSON object: offsets, staged batches and bytes, commits, conflicts, requests, latencies.
 * `*length` = bytes needed without NUL; BW_TOO_LARGE when `cap` is too small. */
bw_status bw_producer_stats(bw_producer *producer, char *json, size_t cap, size_t *length,
                            bw_error *error);
/**
 * Ends the handle, always: tries to commit what is staged until the timeout (0: not at all), then
 * stops. On return no caller memory is in use. Anything but BW_OK says what was not acknowledged.
 * NULL is fine.
 */
bw_status bw_producer_close(bw_producer *producer, int64_t timeout_ns, bw_error *error);

#ifdef __cplusplus
}
#endif
#endif
