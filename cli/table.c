// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_MIN 6

/** A value as a cell: text as it is, `-` for null, else JSON. Release with free. */
static char *cell_text(json_t *value)
{
    if (json_is_string(value))
        return strdup(json_string_value(value));
    if (json_is_null(value))
        return strdup("-");
    if (json_is_boolean(value))
        return strdup(json_is_true(value) ? "yes" : "no");
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static int column_width(const char *key, json_t *value)
{
    /* Numbers grow down a table, names and hashes keep their length. */
    const int name = (int)strlen(key);
    int width = name > COLUMN_MIN ? name : COLUMN_MIN;
    if (json_is_integer(value) && width < 9)
        width = 9;
    if (json_is_string(value) && (int)json_string_length(value) > width)
        width = (int)json_string_length(value);
    return width;
}

/** All keys with their widths, joined: equal for rows of one kind. */
static char *head_of(json_t *object)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return NULL;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        fprintf(memory, "%-*s  ", column_width(key, value), key);
    }
    fclose(memory);
    return text;
}

void table_begin(table *t, FILE *out, int indent)
{
    *t = (table){.out = out, .indent = indent};
}

/** The keys alone must be equal: widths may differ from row to row. */
static int same_keys(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return 0;
    for (;;) {
        const size_t length = strcspn(a, " ");
        if (strcspn(b, " ") != length || strncmp(a, b, length) != 0)
            return 0;
        a += length + strspn(a + length, " ");
        b += length + strspn(b + length, " ");
        if (*a == '\0' || *b == '\0')
            return *a == *b;
    }
}

void table_row(table *t, json_t *object)
{
    char *head = head_of(object);
    if (!same_keys(head, t->head)) {
        fprintf(t->out, "%s%*s%s\n", t->head != NULL ? "\n" : "", t->indent, "",
                head != NULL ? head : "");
        free(t->head);
        t->head = head;
    } else {
        free(head);
    }
    fprintf(t->out, "%*s", t->indent, "");
    const char *column = t->head != NULL ? t->head : "";
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const size_t name = strcspn(column, " ");
        const size_t width = name + strspn(column + name, " ");
        char *cell = cell_text(value);
        fprintf(t->out, "%-*s  ", (int)(width >= 2 ? width - 2 : 0), cell != NULL ? cell : "?");
        free(cell);
        column += width;
    }
    fputc('\n', t->out);
}

void table_end(table *t)
{
    free(t->head);
    t->head = NULL;
}

static void print_array(json_t *array, FILE *out, int indent)
{
    size_t i;
    json_t *element;
    table rows;
    table_begin(&rows, out, indent);
    json_array_foreach(array, i, element)
    {
        if (json_is_object(element)) {
            table_row(&rows, element);
        } else {
            char *cell = cell_text(element);
            fprintf(out, "%*s%s\n", indent, "", cell != NULL ? cell : "?");
            free(cell);
        }
    }
    table_end(&rows);
}

static int name_width(json_t *object)
{
    int width = COLUMN_MIN;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const int length = (int)strlen(key);
        width = length > width ? length : width;
    }
    return width;
}

void sheet_print(json_t *object, FILE *out, int indent)
{
    const int width = name_width(object);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (json_is_object(value) && json_object_size(value) > 0) {
            fprintf(out, "%*s%s:\n", indent, "", key);
            sheet_print(value, out, indent + 2);
        } else if (json_is_array(value) && json_array_size(value) > 0) {
            fprintf(out, "%*s%s:\n", indent, "", key);
            print_array(value, out, indent + 2);
        } else {
            char *cell = cell_text(value);
            fprintf(out, "%*s%-*s  %s\n", indent, "", width, key, cell != NULL ? cell : "?");
            free(cell);
        }
    }
}
