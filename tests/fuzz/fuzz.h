// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * What every fuzz target shares. A target defines LLVMFuzzerTestOneInput; libFuzzer drives it, or
 * corpus_driver.c over the files of its corpus. Whatever the bytes, it returns 0; a broken promise
 * aborts.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/error.h"
#include "codec/wire.h"
#include "meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn void promise_broken(const char *file, int line, const char *what);
/** Holds in every build, unlike assert. */
#define PROMISE(condition) ((condition) ? (void)0 : promise_broken(__FILE__, __LINE__, #condition))

/** A failure is told: `error` has the same code, and a text. */
void check_told(bw_status status, const bw_error *error);
/** What decoding `size` bytes may allocate: the struct itself and a small multiple of the bytes. */
size_t decode_bytes_max(size_t size);

/** How an object with head and CRC is decoded and encoded again. */
typedef struct object_case {
    /** `slices`: of genesis. `decoded` has room for DECODED_BYTES_MAX. */
    bw_status (*decode)(view object, uint32_t slices, void *decoded, bw_error *error);
    bw_status (*encode)(const void *decoded, buf *out);
    /** Uses every accessor on what was decoded; NULL: there is none. */
    void (*walk)(const void *decoded);
    /** NULL: it owns nothing. */
    void (*release)(void *decoded);
} object_case;

#define DECODED_BYTES_MAX 4096u

/**
 * Decodes the bytes as they are, then with the body's length and the CRC made to fit: plain
 * mutation would die at the CRC. The bytes of the CRC that it replaces choose the number of slices,
 * and one time in sixteen that the length stays.
 */
void object_try(const object_case *c, const uint8_t *data, size_t size);

#endif
