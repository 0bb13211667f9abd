// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* The files of AWS's command line: sections of name = value. */
#include "store_s3/s3_profile.h"

#include <string.h>

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
        text[--size] = '\0';
    return text;
}

/* "[name]", of the config file "[profile name]"; default is called that in both. */
static bool is_section(char *line, const char *profile, bool config)
{
    char *close = strchr(line, ']');
    if (close == NULL)
        return false;
    *close = '\0';
    char *name = trim(line + 1);
    if (config && strncmp(name, "profile", 7) == 0 && (name[7] == ' ' || name[7] == '\t'))
        name = trim(name + 8);
    else if (config && strcmp(name, "default") != 0)
        return false;
    return strcmp(name, profile) == 0;
}

bool s3_profile_each(char *text, const char *profile, bool config, s3_setting_fn setting,
                     void *context)
{
    bool found = false;
    bool inside = false;
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        /* An indented line belongs to the setting above it: settings of one service. */
        const bool nested = *line == ' ' || *line == '\t';
        char *start = trim(line);
        if (*start == '[') {
            inside = is_section(start, profile, config);
            found = found || inside;
        } else if (inside && !nested && *start != '#' && *start != ';') {
            char *equals = strchr(start, '=');
            if (equals != NULL) {
                *equals = '\0';
                setting(context, trim(start), trim(equals + 1));
            }
        }
        line = end;
    }
    return found;
}
