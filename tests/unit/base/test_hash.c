// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_hex(const hash128 *hash, const char *expected)
{
    char hex[HASH_HEX_BYTES];
    hex_encode(hash->bytes, HASH_BYTES, hex);
    assert_string_equal(hex, expected);
}

/* The memory of libcrypto. */
static atomic_uint taken;

static void *crypto_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    (void)atomic_fetch_add(&taken, 1u);
    return size == 0 ? NULL : malloc(size);
}

static void *crypto_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    (void)atomic_fetch_add(&taken, 1u);
    return realloc(memory, size);
}

static void crypto_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

/* The first hash of the process as any other: objects are named by hashes, one at each step. */
static void hashing_takes_no_memory(void **state)
{
    (void)state;
    hash128 hash;
    const unsigned before = atomic_load(&taken);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hash_bytes("abc", 3, &hash), BW_OK);
    assert_int_equal(atomic_load(&taken), before);
    EVP_MD_CTX *context = EVP_MD_CTX_new(); /* it would be seen */
    assert_true(atomic_load(&taken) > before);
    EVP_MD_CTX_free(context);
}

static void known_values(void **state)
{
    (void)state;
    hash128 hash;
    assert_int_equal(hash_bytes("abc", 3, &hash), BW_OK);
    check_hex(&hash, "ba7816bf8f01cfea414140de5dae2223");
    assert_int_equal(hash_bytes(NULL, 0, &hash), BW_OK);
    check_hex(&hash, "e3b0c44298fc1c149afbf4c8996fb924");
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    const hash_piece pieces[] = {{"a", 1}, {NULL, 0}, {"bc", 2}};
    hash128 hash;
    assert_int_equal(hash_pieces(pieces, 3, &hash), BW_OK);
    check_hex(&hash, "ba7816bf8f01cfea414140de5dae2223");
    assert_int_equal(hash_pieces(NULL, 0, &hash), BW_OK);
    check_hex(&hash, "e3b0c44298fc1c149afbf4c8996fb924");
}

static void *hash_many(void *context)
{
    hash128 *out = context;
    for (int i = 0; i < 1000; i++) {
        if (hash_bytes("abc", 3, out) != BW_OK)
            return NULL;
    }
    return context;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    pthread_t threads[4];
    hash128 hashes[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hash_many, &hashes[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
        check_hex(&hashes[i], "ba7816bf8f01cfea414140de5dae2223");
    }
}

static void sums_are_128_bit_and_wrap(void **state)
{
    (void)state;
    hash128 sum, one = {{1}}, zero = {{0}};
    memset(sum.bytes, 0xff, HASH_BYTES);
    const hash128 all = sum;
    hash_add(&sum, &one);
    assert_true(hash_is_zero(&sum));
    hash_subtract(&sum, &one);
    assert_true(hash_equal(&sum, &all));
    assert_false(hash_is_zero(&sum));
    hash_subtract(&sum, &all);
    assert_true(hash_equal(&sum, &zero));
    /* A carry runs through the bytes in between. */
    sum = (hash128){{0xff, 0xff, 0x01}};
    hash_add(&sum, &one);
    assert_true(hash_equal(&sum, &(hash128){{0, 0, 2}}));
    hash_subtract(&sum, &one);
    assert_true(hash_equal(&sum, &(hash128){{0xff, 0xff, 0x01}}));
}

static void hex_is_exact(void **state)
{
    (void)state;
    uint8_t bytes[4];
    assert_int_equal(hex_decode("0badcafe", 8, bytes, 4), 0);
    assert_memory_equal(bytes, "\x0b\xad\xca\xfe", 4);
    assert_int_equal(hex_decode("0badcaf", 7, bytes, 4), -1);
    assert_int_equal(hex_decode("0badcafe0", 9, bytes, 4), -1);
    assert_int_equal(hex_decode("0badcafe", 8, bytes, 3), -1);
    assert_int_equal(hex_decode("0Badcafe", 8, bytes, 4), -1);
    assert_int_equal(hex_decode("0badcag0", 8, bytes, 4), -1);
    assert_int_equal(hex_decode("", 0, bytes, 0), 0);
}

int main(void)
{
    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashing_takes_no_memory),
        cmocka_unit_test(known_values),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(sums_are_128_bit_and_wrap),
        cmocka_unit_test(hex_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
