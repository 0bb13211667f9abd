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
    if (json_is_string(value) && (int)json_string_length(value) > width)
        width = (int)json_string_length(value);
    return width;
}

void table_begin(table *t, FILE *out, int indent)
{
    *t = (table){.out = out, .indent = indent};
}

static bool same_columns(const table *t, json_t *object)
{
    size_t i = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (i >= t->count || strcmp(t->columns[i].name, key) != 0)
            return false;
        i++;
    }
    return i == t->count;
}

static void free_columns(table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->columns[i].name);
    t->count = 0;
}

/** A cell: nothing behind the last one, so that no line ends in spaces. */
static void print_cell(const table *t, size_t index, const char *text)
{
    const table_column *column = &t->columns[index];
    const char *gap = index == 0 ? "" : "  ";
    if (column->right)
        fprintf(t->out, "%s%*s", gap, column->width, text);
    else
        fprintf(t->out, "%s%-*s", gap, index + 1 < t->count ? column->width : 0, text);
}

static void begin_columns(table *t, json_t *object)
{
    if (t->count > 0)
        fputc('\n', t->out);
    free_columns(t);
    const char *key;
    json_t *value;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the columns own their names, see free_columns
    json_object_foreach(object, key, value)
    {
        char *name = t->count < TABLE_COLUMNS_MAX ? strdup(key) : NULL;
        if (name == NULL)
            break;
        t->columns[t->count++] = (table_column){
            .name = name, .width = column_width(key, value), .right = json_is_integer(value)};
    }
    fprintf(t->out, "%*s", t->indent, "");
    for (size_t i = 0; i < t->count; i++)
        print_cell(t, i, t->columns[i].name);
    fputc('\n', t->out);
}

void table_row(table *t, json_t *object)
{
    if (!same_columns(t, object))
        begin_columns(t, object);
    fprintf(t->out, "%*s", t->indent, "");
    size_t i = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (i == t->count)
            break;
        char *cell = cell_text(value);
        print_cell(t, i++, cell != NULL ? cell : "?");
        free(cell);
    }
    fputc('\n', t->out);
}

void table_end(table *t)
{
    free_columns(t);
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
