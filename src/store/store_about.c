// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store/store_about.h"

#include <stdio.h>
#include <string.h>

bool store_about(store *s, store_facts *out)
{
    memset(out, 0, sizeof *out);
    return s->driver->about != NULL && s->driver->about(s, out);
}

void store_bucket_ask(store *s, store_bucket *out)
{
    memset(out, 0, sizeof *out); /* all of it unreadable */
    if (s->driver->bucket != NULL)
        s->driver->bucket(s, out);
}

void store_bucket_add(store_bucket *b, store_rule_does does, const char *name, const char *prefix)
{
    if (b->rule_count == STORE_RULES_MAX)
        return;
    store_rule *rule = &b->list[b->rule_count++];
    rule->does = does;
    (void)snprintf(rule->name, sizeof rule->name, "%s", name);
    (void)snprintf(rule->prefix, sizeof rule->prefix, "%s", prefix);
}
