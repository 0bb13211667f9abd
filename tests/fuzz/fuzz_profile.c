// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The files of AWS's command line: a section of settings. */
#include "base/alloc.h"
#include "fuzz.h"
#include "store_s3/s3_profile.h"
#include <string.h>

static void check_setting(void *context, const char *name, const char *value)
{
    size_t *bytes = context;
    *bytes += strlen(name) + strlen(value);
    PROMISE(strpbrk(name, "=\n") == NULL && strchr(value, '\n') == NULL);
    const size_t size = strlen(value);
    PROMISE(size == 0 || (value[0] != ' ' && value[size - 1] != ' '));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int config = 0; config < 2; config++) {
        char *text = mem_alloc(size + 1);
        size_t bytes = 0;
        PROMISE(text != NULL);
        if (size > 0)
            memcpy(text, data, size);
        text[size] = '\0';
        const bool found =
            s3_profile_each(text, config ? "two" : "default", config != 0, check_setting, &bytes);
        PROMISE(bytes <= size && (found || bytes == 0));
        mem_free(text);
    }
    return 0;
}
