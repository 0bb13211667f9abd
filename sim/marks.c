// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "marks.h"

#define MARK_NAME(name, text) #name,
#define MARK_TEXT(name, text) text,

static const char *const names[] = {MARK_LIST(MARK_NAME)};
static const char *const texts[] = {MARK_LIST(MARK_TEXT)};

const char *mark_name(mark m)
{
    return names[m];
}

const char *mark_text(mark m)
{
    return texts[m];
}
