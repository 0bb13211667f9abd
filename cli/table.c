// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

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

/** How many columns of a terminal a text takes, whatever the locale of the process. What is no
 * UTF-8, or cannot be shown, counts a column a byte. */
static int columns_of(const char *text)
{
    static locale_t utf8;
    if (utf8 == (locale_t)0)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    const locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    int columns = 0;
    mbstate_t state = {0};
    for (const char *at = text; *at != '\0';) {
        wchar_t wide;
        const size_t size = mbrtowc(&wide, at, strlen(at), &state);
        const bool whole = size <= strlen(at);
        const int width = whole ? wcwidth(wide) : -1;
        columns += width >= 0 ? width : 1;
        at += whole ? size : 1;
        if (!whole)
            memset(&state, 0, sizeof state);
    }
    if (before != (locale_t)0)
        (void)uselocale(before);
    return columns;
}

static int column_width(const char *key, json_t *value)
{
    /* Numbers grow down a table, names and hashes keep their length. */
    const int name = (int)strlen(key);
    int width = name > COLUMN_MIN ? name : COLUMN_MIN;
    const int text = json_is_string(value) ? columns_of(json_string_value(value)) : 0;
    return text > width ? text : width;
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
    const int columns = columns_of(text);
    const int pad = column->width > columns ? column->width - columns : 0;
    if (column->right)
        fprintf(t->out, "%s%*s%s", gap, pad, "", text);
    else
        fprintf(t->out, "%s%s%*s", gap, text, index + 1 < t->count ? pad : 0, "");
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
