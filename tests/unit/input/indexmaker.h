// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Megatron pairs in the scratch directory: token k of the set is k mod 60000. */
#ifndef TESTS_INDEXMAKER_H
#define TESTS_INDEXMAKER_H

#include "base/buf.h"
#include "scratch.h"

static inline void index_head(buf *out, unsigned type, uint64_t sequences, uint64_t docs_count)
{
    buf_put(out, "MMIDIDX\0\0", 9);
    buf_put_u64(out, 1);
    buf_put_u8(out, (uint8_t)type);
    buf_put_u64(out, sequences);
    buf_put_u64(out, docs_count + 1);
}

/** `lengths` of sequences; `starts`: docs_count + 1 numbers, or NULL: each is a document. */
static inline void index_make(buf *out, unsigned type, unsigned bytes, const uint32_t *lengths,
                              uint64_t sequences, const uint64_t *starts, uint64_t docs_count)
{
    uint64_t end = 0;
    index_head(out, type, sequences, starts != NULL ? docs_count : sequences);
    for (uint64_t i = 0; i < sequences; i++)
        buf_put_u32(out, lengths[i]);
    for (uint64_t i = 0; i < sequences; i++) {
        buf_put_u64(out, end);
        end += (uint64_t)lengths[i] * bytes;
    }
    for (uint64_t i = 0; i <= (starts != NULL ? docs_count : sequences); i++)
        buf_put_u64(out, starts != NULL ? starts[i] : i);
}

static inline void tokens_file(const char *name, uint64_t tokens, unsigned bytes)
{
    buf out;
    buf_init(&out, SIZE_MAX);
    for (uint64_t k = 0; k < tokens; k++)
        for (unsigned b = 0; b < bytes; b++)
            buf_put_u8(&out, (uint8_t)(k % 60000 >> 8 * b));
    scratch_file(name, out.size > 0 ? (const void *)out.data : "", out.size);
    buf_free(&out);
}

#endif
