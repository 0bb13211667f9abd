// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "codec/cursor.h"
#include "fuzz.h"
#include <string.h>

#define CANONICAL_MAX (64u << 10)

/* Canonical bytes come back as they are; any other spelling becomes canonical and then stays. */
static void check_again(const cursor *c)
{
    buf text, again;
    buf_init(&text, CANONICAL_MAX);
    buf_init(&again, CANONICAL_MAX);
    cursor second, copy;
    PROMISE(cursor_encode(c, &text) == BW_OK);
    PROMISE(cursor_decode(view_of(text.data, text.size), &second, NULL) == BW_OK);
    PROMISE(cursor_equal(c, &second) && second.version == c->version);
    PROMISE(second.has_nonce == c->has_nonce && second.nonce == c->nonce);
    PROMISE(memcmp(second.uuid, c->uuid, UUID_BYTES) == 0);
    PROMISE(cursor_encode(&second, &again) == BW_OK);
    PROMISE(view_equal(view_of(text.data, text.size), view_of(again.data, again.size)));
    hash128 one, two;
    PROMISE(cursor_copy(&copy, c) == BW_OK);
    PROMISE(cursor_hash(c, &one) == BW_OK && cursor_hash(&copy, &two) == BW_OK);
    PROMISE(hash_equal(&one, &two) && cursor_equal(c, &copy));
    cursor_free(&copy);
    cursor_free(&second);
    buf_free(&text);
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool metered;
    if (!metered)
        meter_jansson();
    metered = true;
    cursor c;
    bw_error error = {.code = BW_OK};
    meter_start();
    const bw_status status = cursor_decode(view_of(data, size), &c, &error);
    /* A list of JSON takes two bytes and about a hundred of memory, so this bound is its own. */
    PROMISE(meter_peak() <= ((size_t)1 << 20));
    if (status != BW_OK) {
        PROMISE(status == BW_CURSOR_INVALID);
        check_told(status, &error);
        return 0;
    }
    check_again(&c);
    cursor_free(&c);
    return 0;
}
