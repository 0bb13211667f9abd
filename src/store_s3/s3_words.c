// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_s3/s3_source.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One word, from *from on; it never gets longer than what it was written as. false: a quote is not
 * closed. */
static bool take_word(char **from, char **to)
{
    char quote = '\0';
    char *at = *from;
    for (; *at != '\0' && (quote != '\0' || !is_blank(*at)); at++) {
        if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
        else if (quote != '\0' && *at == quote)
            quote = '\0';
        else if (*at == '\\' && at[1] != '\0' &&
                 (quote == '\0' || (quote == '"' && (at[1] == '"' || at[1] == '\\'))))
            *(*to)++ = *++at;
        else
            *(*to)++ = *at;
    }
    *from = *at != '\0' ? at + 1 : at;
    *(*to)++ = '\0';
    return quote == '\0';
}

bool s3_words(char *text, char **words, size_t max)
{
    size_t count = 0;
    char *to = text;
    for (char *from = text;;) {
        while (is_blank(*from))
            from++;
        if (*from == '\0')
            break;
        if (count + 1 == max)
            return false;
        words[count++] = to;
        if (!take_word(&from, &to))
            return false;
    }
    words[count] = NULL;
    return count > 0;
}
