// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** JSON objects as text for people: rows of one kind as a table, one large object as a sheet. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

typedef struct table {
    FILE *out;
    int indent;
    char *head; /* the keys of the last row: a row with others starts a new table */
} table;

void table_begin(table *t, FILE *out, int indent);
/** One row; nested values are written as JSON. */
void table_row(table *t, json_t *object);
void table_end(table *t);

/** `name  value` per line; objects are nested sheets, arrays of objects tables. */
void sheet_print(json_t *object, FILE *out, int indent);

#endif
