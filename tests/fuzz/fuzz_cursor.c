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
    PROMISE(second.way_count == c->way_count && c->way_count <= WAY_MAX);
    PROMISE(memcmp(second.way, c->way, sizeof c->way) == 0);
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

/* Whatever is skipped besides, what was skipped stays so, and the cursor is one. */
static void check_skip(cursor *c, uint64_t first, uint64_t end)
{
    const uint32_t before = c->skip_count;
    const bw_status status = cursor_skip(c, first, end);
    PROMISE(status == BW_OK || status == BW_CURSOR_INVALID);
    PROMISE(c->skip_count <= before + 1);
    check_again(c);
}

/* The same bytes as the text of `--tags`. */
static void check_tags(const uint8_t *data, size_t size)
{
    char text[256];
    tag_range tags[TAGS_MAX];
    uint32_t count;
    if (size >= sizeof text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!tags_parse(text, tags, &count))
        return;
    for (uint32_t i = 0; i < count; i++)
        PROMISE(tags[i].first <= tags[i].last && tag_is_wanted(tags, count, tags[i].last));
    PROMISE(count > 0 || tag_is_wanted(tags, count, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool metered;
    if (!metered)
        meter_jansson();
    metered = true;
    check_tags(data, size);
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
    check_skip(&c, c.step, c.step + 1 + c.item);
    check_skip(&c, c.version, c.step);
    cursor_free(&c);
    return 0;
}
