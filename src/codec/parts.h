// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The parts that manifests and pages are made of: entries (section 9) and groups (section 11).
 * Inside codec. */
#ifndef CODEC_PARTS_H
#define CODEC_PARTS_H

#include "codec/manifest.h"

/** Bytes of the shortest entry and group: what a count must be backed by before memory is asked
 * for.
 * */
#define ENTRY_BYTES_MIN 75u
#define GROUP_BYTES_MIN 54u

/** Reads an entry and checks it; `r` fails when it breaks a rule. */
void producer_entry_read(wire_reader *r, producer_entry *e);
/** Reads `count` entries, sorted by id, into a new array; BW_CORRUPT, BW_NOMEM or BW_OK. */
bw_status producer_entries_read(wire_reader *r, uint32_t count, producer_entry **entries,
                                bw_error *error);
/** Binary search in sorted entries. */
const producer_entry *producer_entries_find(const producer_entry *entries, uint32_t count, view id);

void group_encode(const group *g, buf *out);
/** Reads all groups of `m`, which owns them whatever the outcome. */
bw_status groups_read(wire_reader *r, manifest *m, bw_error *error);

#endif
