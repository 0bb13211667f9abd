// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "store_net/net_outcome.h"

#include <string.h>

const net_outcome *net_outcome_find(const net_outcomes *table, int status, const char *code)
{
    for (size_t i = 0; i < table->count && code[0] != '\0'; i++) {
        if (table->rows[i].code != NULL && strcmp(table->rows[i].code, code) == 0)
            return &table->rows[i];
    }
    for (size_t i = 0; i < table->count; i++) {
        const net_outcome *row = &table->rows[i];
        if (row->code == NULL && row->first <= status && status <= row->last)
            return row;
    }
    return &table->rows[table->count - 1];
}
