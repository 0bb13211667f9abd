// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * The command table: each command describes itself once. Parsing, --help, `batchweave help` and
 * docs/cli.md all come from it.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <batchweave/batchweave.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_type {
    OPTION_SWITCH,
    OPTION_TEXT,
    OPTION_INTEGER, /* min … max */
    OPTION_SIZE,    /* bytes, or KiB, MiB, GiB, TiB; min … max */
    OPTION_TIME,    /* seconds, or ms, s; in nanoseconds */
    OPTION_SHARD,   /* i/n */
    OPTION_SETTING  /* checked by the setting that it sets */
} option_type;

typedef struct option {
    const char *name;
    const char *value; /* its placeholder; NULL for a switch */
    option_type type;
    const char *preset; /* NULL: none */
    const char *help;
    uint64_t min, max;
    const char *setting; /* the bw_config property it sets, or NULL */
    bool required;
} option;

typedef struct example {
    const char *line; /* behind "batchweave " */
    const char *what;
} example;

/** Exit codes are one per class of status (docs/cli.md). */
typedef enum cli_exit {
    EXIT_OK = 0,
    EXIT_USAGE = 1,
    EXIT_WAIT = 2,
    EXIT_STATE = 3,
    EXIT_STORE = 4,
    EXIT_DATA = 5,
    EXIT_FATAL = 6,
    EXIT_SIGNAL = 128 /* + number of the signal */
} cli_exit;

typedef struct cli cli;

typedef struct command {
    const char *name;
    const char *operands; /* as the usage line shows them */
    size_t operands_min, operands_max;
    const char *summary; /* one line */
    const char *details; /* lines, each ends in \n */
    const option *options;
    size_t option_count;
    const example *examples;
    size_t example_count;
    const char *output; /* what goes to standard output in text and with -o json; lines */
    bw_status (*run)(cli *c);
} command;

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

extern const command command_init, command_produce, command_consume, command_info, command_inspect,
    command_get, command_tail, command_verify, command_seal, command_gc, command_errors,
    command_help, command_version, command_bench, command_forget, command_group, command_pin,
    command_release, command_doctor;

/** In the order of a run's life. */
extern const command *const commands[];
extern const size_t command_count;
/** Understood by every command. */
extern const option global_options[];
extern const size_t global_option_count;

const command *command_find(const char *name);

/** What an exit code means, for help and docs; NULL behind the last. */
typedef struct exit_row {
    const char *code;
    const char *classes;
    const char *meaning;
} exit_row;
extern const exit_row exit_table[];
extern const size_t exit_count;
int exit_of(bw_status status);

#endif
