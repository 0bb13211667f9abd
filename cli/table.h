// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** JSON objects as text for people: rows of one kind as a table, one large object as a sheet. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 24u

typedef struct table_column {
    char *name;
    int width;
    bool right; /* numbers end in one line */
} table_column;

typedef struct table {
    FILE *out;
    int indent;
    table_column columns[TABLE_COLUMNS_MAX]; /* of the last row: one with others begins anew */
    size_t count;
} table;

void table_begin(table *t, FILE *out, int indent);
/** One row of at most TABLE_COLUMNS_MAX members; nested values are written as JSON. */
void table_row(table *t, json_t *object);
void table_end(table *t);

/** `name  value` per line; objects are nested sheets, arrays of objects tables. */
void sheet_print(json_t *object, FILE *out, int indent);

#endif
