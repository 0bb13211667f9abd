// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** What the tests of the codec share: valid objects to start from, and what every decoder must
 * withstand. */
#ifndef UNIT_CODEC_SUPPORT_H
#define UNIT_CODEC_SUPPORT_H

#include "base/rng.h"
#include "codec/manifest.h"

/* Few enough for short tests, many enough for all three forms (more than 204 allow the footer
 * form). */
#define SLICES 300u
#define PART_BYTES ((uint64_t)1 << 20)

/** Decodes, and appends what encoding the result gives. The status of decoding. */
typedef bw_status (*recode_fn)(view object, buf *out);

/** Sets the body's length and the CRC of an object that was changed. */
void reseal(buf *object);
/** `object` decodes and comes back as it was. Cut at any length, or with any byte changed, it is
 * refused. */
void check_protected(const buf *object, recode_fn recode);
/** Changes bytes at random, makes the CRC fit again: the decoder refuses with a data error, or what
 * it accepts comes back byte for byte. Both must happen. */
void check_mutations(const buf *object, recode_fn recode, uint64_t seed, int rounds);
/** As above without an object's head and CRC. */
void check_raw_mutations(const buf *bytes, recode_fn recode, uint64_t seed, int rounds);
/** With `bytes` instead of those at `at` of the body (not the object), resealed, decoding ends in
 * `expected`. */
void check_patched(const buf *object, size_t body_at, const void *bytes, size_t size,
                   recode_fn recode, bw_status expected);
/** Recodes a copy of exactly the object's size, so that reading beyond it is noticed. */
bw_status recode_copy(view object, recode_fn recode, buf *out);

/** Descriptors that own what they point to. */
typedef struct many {
    descriptor *all;
    uint32_t count;
    buf *sides;
} many;
/** `kinds` different shapes at most, of all three forms; ids "p0" … "p6". */
void many_init(many *m, rng *r, uint32_t count, uint32_t kinds);
void many_free(many *m);

/** A valid manifest with all its parts, in memory of its own: three references, `records` in the
 * tail, `producers` entries (p000 …), two groups, a page. */
typedef struct draft {
    manifest m;
    segment_ref refs[3];
    buf tail;
    char ids[64][8];
    producer_entry producers[64];
    group groups[2];
    pin pins[4];
} draft;
void draft_init(draft *d, rng *r, uint32_t records, uint32_t producers);
void draft_free(draft *d);

#endif
