// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include <batchweave/status.h>

#include <stddef.h>

const char *bw_status_name(bw_status status)
{
    switch (status) {
#define STATUS_NAME(number, name, class_name, text)                                                \
    case BW_##name:                                                                                \
        return #name;
        BW_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UNKNOWN_STATUS";
}

const char *bw_status_text(bw_status status)
{
    switch (status) {
#define STATUS_TEXT(number, name, class_name, text)                                                \
    case BW_##name:                                                                                \
        return text;
        BW_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "a number that is no status code";
}

bw_class bw_status_class(bw_status status)
{
    switch (status) {
#define STATUS_CLASS(number, name, class_name, text)                                               \
    case BW_##name:                                                                                \
        return BW_CLASS_##class_name;
        BW_STATUS_MAP(STATUS_CLASS)
#undef STATUS_CLASS
    }
    return BW_CLASS_FATAL;
}

/* Not toupper: the answer must not depend on the locale. */
static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static int equal_any_case(const char *a, const char *b)
{
    while (*a != '\0' && upper(*a) == upper(*b)) {
        a++;
        b++;
    }
    return upper(*a) == upper(*b);
}

int bw_status_parse(const char *name, bw_status *status)
{
    static const struct {
        const char *name;
        bw_status status;
    } codes[] = {
#define STATUS_ROW(number, name, class_name, text) {#name, BW_##name},
        BW_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
    };
    if (name == NULL || status == NULL)
        return -1;
    if (upper(name[0]) == 'B' && upper(name[1]) == 'W' && name[2] == '_')
        name += 3;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (equal_any_case(name, codes[i].name)) {
            *status = codes[i].status;
            return 0;
        }
    }
    return -1;
}
