// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** One run of one command: its arguments, its handles, and how it speaks to people and programs. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "command.h"

#define OPTIONS_MAX 24u
#define CLI_MESSAGE_MAX 2048u

typedef struct option_value {
    const char *text; /* NULL: not given and no default */
    bool given;
    uint64_t number, second; /* INTEGER, SIZE, TIME, a decimal SETTING: number; SHARD: of second */
} option_value;

struct cli {
    const command *command;
    option_value values[OPTIONS_MAX]; /* of the command's options, then the global ones */
    const char **operands;
    size_t operand_count;
    bw_config *config;
    bw_error *error;
    bool json;
    bool progress;
    int64_t timeout_ns; /* BW_FOREVER: none */
    bw_status failed;   /* of cli_fail; then what follows holds */
    char message[CLI_MESSAGE_MAX];
    char key[CLI_MESSAGE_MAX];
    int64_t step;
    uint32_t attempts;
    bw_runtime *runtime;
    bw_space *space;
};

/** Fills the run from the words behind the command's name. BW_INVALID says what is wrong; --help is
 * left to the caller. */
bw_status args_parse(cli *c, const command *what, int argc, char **argv);
const option_value *args_get(const cli *c, const char *name);
bool args_given(const cli *c, const char *name);
const char *args_text(const cli *c, const char *name);
uint64_t args_number(const cli *c, const char *name);
/** FIRST-END, two decimals: false for anything else. */
bool args_span(const char *text, uint64_t *first, uint64_t *end);
/** A decimal operand in [min, max], named `what` in the message. */
bw_status args_operand(cli *c, size_t index, const char *what, uint64_t max, uint64_t *value);

/** A failure that the command line finds itself; returns `status`. */
bw_status cli_fail(cli *c, bw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Adds to the newest cli_fail the object, step and attempts of an error that it tells of. */
void cli_add_facts(cli *c, const bw_error *error);
/** Keeps the facts of the library's newest failure `status`, since more calls follow before it is
 * told. */
void cli_keep_failure(cli *c, bw_status status);
/** Tells the failure on stderr, with its code and where it is explained. */
void cli_report(const cli *c, bw_status status);
/** A line on stderr. */
void cli_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Data on standard output; why it failed is kept. */
void cli_write(const void *data, size_t size);
/** Flushes standard output, so that a live command is watched line by line; keeps why it failed.
 * false: it failed. */
bool cli_flush(void);
/** Whether the reader of standard output has gone. */
bool cli_output_closed(void);
/** The failure of standard output. */
bw_status cli_output_failed(cli *c);

/** Opens runtime and namespace (first operand) with this `mode`: "read", "write" or "raw". */
bw_status cli_open(cli *c, const char *mode);
/** … to go on from a cursor (bw_space_resume). */
bw_status cli_resume(cli *c, const char *mode, const bw_cursor *from);
void cli_close(cli *c);

int64_t now_ns(void);

#endif
