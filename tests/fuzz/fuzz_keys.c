// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* What hands out keys: a JSON document of them, a command line, a point in time. The first byte
 * says which. */
#include "base/alloc.h"
#include "fuzz.h"
#include "http/isotime.h"
#include "store_s3/s3_source.h"
#include <string.h>

#define WORDS_MAX 8u
#define NOW_MS INT64_C(1900000000000)

static void try_document(const uint8_t *data, size_t size)
{
    net_keys keys;
    memset(&keys, 0, sizeof keys);
    bw_error error = {.code = BW_OK};
    const bw_status status = s3_keys_parse(&keys, data, size, "Token", NOW_MS, &error);
    PROMISE(status == error.code);
    if (status == BW_OK) {
        PROMISE(keys.key_id[0] != '\0' && secret_is_set(&keys.key));
        PROMISE(strpbrk(secret_text(&keys.token), " \r\n") == NULL);
        PROMISE(keys.expires_ns >= 0);
    }
    net_keys_clear(&keys);
}

static void try_words(char *text)
{
    char *words[WORDS_MAX];
    const size_t size = strlen(text);
    if (!s3_words(text, words, WORDS_MAX))
        return;
    size_t used = 0;
    size_t count = 0;
    for (; words[count] != NULL; count++) {
        PROMISE(words[count] == text + used);
        used += strlen(words[count]) + 1;
    }
    PROMISE(count > 0 && count < WORDS_MAX && used <= size + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = mem_alloc(size);
    PROMISE(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] == 'J')
        try_document(data + 1, size - 1);
    else if (data[0] == 'W')
        try_words(text);
    else
        PROMISE(iso_time_ms(text) >= 0);
    mem_free(text);
    return 0;
}
