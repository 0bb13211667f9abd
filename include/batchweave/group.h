// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Groups and pins: what a training job keeps. A group is a job's name in the namespace; it always
 * holds a step: the one it began at, or its checkpoints' (pins). What no group holds may be swept.
 *
 * One rank of a job pins. Calls wait for one commit; each may be repeated when its outcome is not
 * known (BW_UNKNOWN, BW_TIMEOUT): the same again is success. Any thread.
 */
#ifndef BATCHWEAVE_GROUP_H
#define BATCHWEAVE_GROUP_H

#include <batchweave/consumer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The group and the launch that the consumer began with; "" without a group. */
const char *bw_consumer_group(const bw_consumer *consumer);
const char *bw_consumer_launch(const bw_consumer *consumer);

/**
 * Pins a checkpoint: call it when the checkpoint is durable, with the cursor that was taken when
 * its save began. `release`: ids of pins that this one makes superfluous, in the same commit; ids
 * that are no pins are fine. BW_PIN_EXISTS (another cursor under this id), BW_PINS_FULL,
 * BW_TRIMMED, BW_BEYOND_END, BW_FENCED (a newer launch took the group over), BW_GROUP_GONE,
 * BW_INVALID (no group), BW_CURSOR_FOREIGN, BW_READ_ONLY.
 */
bw_status bw_consumer_pin(bw_consumer *consumer, const char *id, const bw_cursor *cursor,
                          const char *const *release, size_t release_count, int64_t timeout_ns,
                          bw_error *error);
/** Gives checkpoints back that were deleted. */
bw_status bw_consumer_release(bw_consumer *consumer, const char *const *ids, size_t count,
                              int64_t timeout_ns, bw_error *error);
/** Releases every pin but those in `keep`: what the trainer no longer has. `released` may be NULL.
 */
bw_status bw_consumer_reconcile(bw_consumer *consumer, const char *const *keep, size_t count,
                                uint32_t *released, int64_t timeout_ns, bw_error *error);

/* For tools and operators. `launch` NULL: whichever the group has now. */
bw_status bw_space_pin(bw_space *space, const char *group, const char *launch, const char *id,
                       const bw_cursor *cursor, int64_t timeout_ns, bw_error *error);
bw_status bw_space_release(bw_space *space, const char *group, const char *launch,
                           const char *const *ids, size_t count, int64_t timeout_ns,
                           bw_error *error);
/** Removes the group with all its pins; a job that still runs gets BW_GROUP_GONE at its next pin.
 * BW_FENCED: it has another launch than `launch`. */
bw_status bw_space_group_rm(bw_space *space, const char *group, const char *launch,
                            int64_t timeout_ns, bw_error *error);
/** The producer will not come back: seal does not wait for it. `epoch`: the one that was seen, 0
 * for the one it has. BW_FENCED: it was opened again; BW_FINISHED; BW_INVALID: not known. */
bw_status bw_space_forget(bw_space *space, const char *id, uint32_t epoch, int64_t timeout_ns,
                          bw_error *error);

#ifdef __cplusplus
}
#endif
#endif
