// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/isotime.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

static bool two(const char *text, int *out)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *out = (text[0] - '0') * 10 + text[1] - '0';
    return true;
}

/* Z, +hh:mm or +hhmm and nothing behind it. */
static bool parse_zone(const char *text, int *seconds)
{
    int hours = 0;
    int minutes = 0;
    *seconds = 0;
    if (strcmp(text, "Z") == 0)
        return true;
    const size_t size = strlen(text);
    const bool colon = size == 6 && text[3] == ':';
    if ((text[0] != '+' && text[0] != '-') || (size != 5 && !colon) || !two(text + 1, &hours) ||
        !two(text + (colon ? 4 : 3), &minutes))
        return false;
    *seconds = (hours * 60 + minutes) * (text[0] == '-' ? -60 : 60);
    return true;
}

int64_t iso_time_ms(const char *text)
{
    static const char form[] = "2009-10-12T17:50:30";
    struct tm t = {0};
    int century = 0;
    int year = 0;
    int month = 0;
    int zone = 0;
    if (strlen(text) < sizeof form || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
        text[13] != ':' || text[16] != ':' || !two(text, &century) || !two(text + 2, &year) ||
        !two(text + 5, &month) || !two(text + 8, &t.tm_mday) || !two(text + 11, &t.tm_hour) ||
        !two(text + 14, &t.tm_min) || !two(text + 17, &t.tm_sec))
        return 0;
    const char *rest = text + sizeof form - 1;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (!parse_zone(rest, &zone))
        return 0;
    t.tm_year = century * 100 + year - 1900;
    t.tm_mon = month - 1;
    const time_t seconds = timegm(&t) - zone;
    return seconds > 0 ? (int64_t)seconds * 1000 : 0;
}
