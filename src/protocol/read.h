// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Reading a manifest or a page that a machine asked for: is it the one that the chain can have
 * under that name? */
#ifndef PROTOCOL_READ_H
#define PROTOCOL_READ_H

#include "codec/manifest.h"
#include "protocol/machine.h"

/** Present is present, whatever the content of a marker: room for more than one has. */
#define MARKER_READ_MAX 4096u

/** Something is there, and it is damaged by the store's own word: an object beyond its cap, or what
 * is no object at all (a directory, a FIFO). */
static inline bool reply_damaged(const machine_reply *reply)
{
    return reply->outcome == STORE_FATAL &&
           (reply->code == BW_TOO_LARGE || reply->code == BW_CORRUPT);
}

/** What is wrong with a damaged reply: `too_large`, or what the store said. */
static inline const char *reply_damage(const machine_reply *reply, const char *too_large)
{
    return reply->code == BW_TOO_LARGE || reply->message == NULL ? too_large : reply->message;
}

/** `reply` is OK or damaged. The manifest must be `version` of this namespace and, unless
 * `previous` is NULL, follow that one. BW_OK, BW_NOMEM, or what is wrong with it (key in `error`):
 * then the marker of its block decides what that means. */
bw_status manifest_read(machine_reply *reply, const genesis *g, uint64_t version,
                        const hash128 *previous, manifest **out, bw_error *error);

/** Decodes an object if it is the very page that `ref` names. `page` lies in `object`: page_free it
 * before the object. BW_OK, BW_NOMEM, or what is wrong with it. */
bw_status page_prove(view object, const page_ref *ref, page *out, bw_error *error);
/** The same of a reply that is OK, damaged or says that there is none. BW_OK: `*object` is the
 * reply's bytes, from now on the caller's. */
bw_status page_read(machine_reply *reply, const page_ref *ref, page *out, uint8_t **object,
                    bw_error *error);

#endif
