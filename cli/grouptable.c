// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "grouptable.h"

#include "report.h"
#include "table.h"

/** Where a group stands: its hold, and its lowest and newest pin. */
static json_t *row_of(const json_t *g)
{
    const json_t *pins = json_object_get(g, "pins");
    json_t *lowest = NULL, *newest = NULL, *each;
    size_t i;
    json_array_foreach(pins, i, each)
    {
        json_t *step = json_object_get(each, "step");
        if (lowest == NULL || json_integer_value(step) < json_integer_value(lowest))
            lowest = step;
        if (newest == NULL || json_integer_value(step) > json_integer_value(newest))
            newest = step;
    }
    return json_pack("{s:O, s:O, s:O, s:I, s:O?, s:O?, s:O}", "group", json_object_get(g, "name"),
                     "launch", json_object_get(g, "launch"), "hold", json_object_get(g, "hold"),
                     "pins", (json_int_t)json_array_size(pins), "lowest pin", lowest, "newest pin",
                     newest, "last version", json_object_get(g, "last_version"));
}

void grouptable_pins(const json_t *group)
{
    const json_t *pins = json_object_get(group, "pins");
    table rows;
    size_t i;
    const json_t *each;
    table_begin(&rows, stdout, 0);
    json_array_foreach(pins, i, each)
    {
        json_t *row = json_pack("{s:O, s:O, s:O}", "step", json_object_get(each, "step"), "item",
                                json_object_get(each, "item"), "pin", json_object_get(each, "id"));
        if (row != NULL)
            table_row(&rows, row);
        json_decref(row);
    }
    table_end(&rows);
    if (json_array_size(pins) == 0)
        printf("no pins; it holds step %" JSON_INTEGER_FORMAT "\n",
               json_integer_value(json_object_get(group, "hold")));
}

void grouptable_print(const json_t *groups, int indent)
{
    table rows;
    size_t i;
    const json_t *each;
    table_begin(&rows, stdout, indent);
    json_array_foreach(groups, i, each)
    {
        json_t *row = row_of(each);
        if (row != NULL)
            table_row(&rows, row);
        json_decref(row);
    }
    table_end(&rows);
}
