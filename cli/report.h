// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Reports of the library on standard output: their lines as they are, or as text for people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli.h"

#include <jansson.h>

/** Called for each line before it is printed in text mode, may change it; false: it is not printed.
 */
typedef bool (*report_filter)(cli *c, json_t *line);

/** Called behind each line, in either mode; true: it is enough, and c->failed says how it ended. */
typedef bool (*report_end)(cli *c, const char *json);

typedef enum report_style { REPORT_TABLE, REPORT_SHEET } report_style;

/** A filter's tools: a member as a number (0: null), and whether it is true. */
int64_t report_number(const json_t *line, const char *key);
bool report_true(const json_t *line, const char *key);

/** A filter for descriptors of steps: what fits a line. */
bool report_step_columns(cli *c, json_t *line);
/** The same for stored objects. */
bool report_object_columns(cli *c, json_t *line);

/** Opens the namespace and prints report `what`. Ends with BW_INTERRUPTED when a signal comes. */
bw_status report_run(cli *c, const char *what, report_style style, report_filter filter);
/** The same on the open namespace. */
bw_status report_print(cli *c, const char *what, report_style style, report_filter filter);
/** A report without an end: opens the namespace and prints a table until `enough`. */
bw_status report_follow(cli *c, const char *what, report_filter filter, report_end enough);
/** The first line of report `what`, to be released with json_decref. */
bw_status report_first(cli *c, const char *what, json_t **line);
/** Sets a property from an option's text when the option has one. */
bw_status report_set(cli *c, const char *property, const char *value);

#endif
