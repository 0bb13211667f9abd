// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * Every manifest and segment that any process ever asked to store, once each, and what it says.
 *
 * A manifest is judged once, when it is first seen, as the successor of the one that it names as
 * its previous: does it tile (G3), keep the order (G2), fence (R1), seal (R10), add up? The judge
 * decodes with the codec and uses nothing of src/protocol. Whoever extends the chain by a manifest
 * that breaks a rule breaks it.
 */
#ifndef SCOPE_CONTENTS_H
#define SCOPE_CONTENTS_H

#include "codec/manifest.h"

#define IDS 2u
#define VERSIONS_MAX 15u
#define STEPS_MAX 8u
#define EPOCHS_MAX 6u
#define REFS_MAX 4u
#define FAULT_BYTES 128u

typedef struct step_note {
    uint32_t id, epoch;
    uint64_t seq, start, end, nonce;
} step_note;

typedef struct id_note {
    bool known, finished;
    uint32_t epoch;
    uint64_t seq, offset;
    token128 token;
    uint64_t opened[EPOCHS_MAX + 1]; /* by epoch: the seq that it began with */
} id_note;

typedef struct content {
    uint8_t *bytes;
    size_t size;
    hash128 hash;
    uint32_t base;    /* the manifest before; 0: genesis, or unknown */
    uint32_t version; /* 0: it is none that can be read */
    token128 nonce;
    uint32_t chain[VERSIONS_MAX + 1]; /* by version: itself and all before */
    uint32_t step_count;
    step_note steps[STEPS_MAX];
    id_note ids[IDS];
    hash128 sum;
    bool sealed;
    uint32_t finished;
    uint32_t ref_count, refs[REFS_MAX]; /* segments; 0: one that nobody ever put */
    char fault[FAULT_BYTES];            /* what it breaks; "" nothing */
} content;

/** The namespace that everything here is about; version 1 is content 1. */
void contents_found(const genesis *g);
const genesis *contents_genesis(void);
view contents_genesis_object(void);

/** The number of these bytes, from 1; the same bytes have the same. */
uint32_t contents_add(const uint8_t *bytes, size_t size);
const content *contents_at(uint32_t number);
uint32_t contents_count(void);
/** By hash; 0 when nobody ever asked to store it. */
uint32_t contents_find(const hash128 *hash);

/** The same for segments. */
uint32_t segments_add(const uint8_t *bytes, size_t size);
uint32_t segments_count(void);

#endif
